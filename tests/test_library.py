"""The contract of the library: its names, its call, its errors."""

from __future__ import annotations

import json

import pytest

import torchpick


def test_the_public_names_are_what_all_says() -> None:
    assert sorted(dir(torchpick)) == sorted(torchpick.__all__)
    for name in torchpick.__all__:
        assert getattr(torchpick, name) is not None


def test_what_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchpick.nothing  # noqa: B018


def test_a_told_machine_is_answered() -> None:
    pick = torchpick.pick(
        gpus=["sm_61"], driver="580.95.05", python="3.11", platform="linux-x86_64", glibc="2.35", torch="<2.12"
    )

    assert pick.version == "2.11.0+cu126"
    assert pick.index_url == "https://download.pytorch.org/whl/cu126"
    assert pick.requirements == ("torch==2.11.0+cu126",)
    answer = json.loads(json.dumps(pick.to_json()))
    assert answer["pick"]["version"] == pick.version
    assert answer["status"] == "ok"


def test_companions_are_pinned_where_they_are_asked_for() -> None:
    pick = torchpick.pick(
        gpus=["a100"], driver="580.95.05", python="3.12", platform="linux-x86_64", companions={"torchvision": ""}
    )

    assert pick.requirements[1].startswith("torchvision==")


def test_no_gpu_is_an_empty_list() -> None:
    assert torchpick.pick(gpus=[], python="3.12", platform="linux-x86_64").version.endswith("+cpu")


def test_where_nothing_runs_the_error_carries_the_answer() -> None:
    with pytest.raises(torchpick.NoBuildError) as caught:
        torchpick.pick(gpus=["sm_61", "sm_120"], driver="580.95.05", python="3.12", platform="linux-x86_64")

    assert caught.value.exit_status == 3
    assert [group.verdict.build.version for group in caught.value.pick.plan] == ["2.15.0+cu132", "2.14.1+cu126"]


def test_a_bad_argument_is_a_usage_error() -> None:
    with pytest.raises(torchpick.UsageError, match="is no GPU that torchpick knows"):
        torchpick.pick(gpus=["rtx 9090"])


def test_detecting_gives_a_machine_and_leaves_the_name_callable() -> None:
    machine = torchpick.detect(python="3.12")

    assert machine.python.version == "3.12"
    assert isinstance(machine, torchpick.Machine)
    assert callable(torchpick.detect)
