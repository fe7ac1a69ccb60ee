"""The contract of the library: its names, its call, its errors."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    with pytest.raises(torchpick.UsageError, match="is not a known GPU"):
        torchpick.pick(gpus=["rtx 9090"])


def test_detecting_gives_a_machine_and_leaves_the_name_callable() -> None:
    machine = torchpick.detect(python="3.12")

    assert machine.python.version == "3.12"
    assert isinstance(machine, torchpick.Machine)
    assert callable(torchpick.detect)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"gpus": "sm_61"}, "gpus='sm_61' must be a list of strings"),
        ({"gpus": [61]}, "gpus=[61] must be a list of strings"),
        ({"gpus": 61}, "gpus=61 must be a list of strings"),
        ({"driver": 580}, "driver=580 must be a string"),
        ({"cuda_driver": 12.8}, "cuda_driver=12.8 must be a string"),
        ({"python": 3.12}, "python=3.12 must be a string"),
        ({"glibc": 2.35}, "glibc=2.35 must be a string"),
        ({"platform": 1}, "platform=1 must be a string"),
        ({"index_base": 1}, "index_base=1 must be a string"),
        ({"backends": "cu126"}, "backends='cu126' must be a list"),
        ({"torch": "vision"}, "`torch vision` is not a valid requirement"),
        ({"torch": "2.9.1"}, "`torch 2.9.1` is not a valid requirement"),
        ({"torch": 2.9}, "`torch 2.9` is not a valid requirement"),
        ({"torch": None}, "`torch None` is not a valid requirement"),
        ({"companions": {"torchvision": "0.24"}}, "`torchvision 0.24` is not a valid requirement"),
        ({"companions": {"torchvision<1 ; x": ""}}, "is not a valid requirement"),
        ({"channel": "nightlies"}, "channel='nightlies' is not a channel"),
    ],
)
def test_what_is_of_another_kind_is_told_in_a_sentence(arguments: dict[str, Any], words: str) -> None:
    told: dict[str, Any] = {"gpus": ["sm_61"], "python": "3.12", "platform": "linux-x86_64", **arguments}

    with pytest.raises(torchpick.UsageError) as caught:
        torchpick.pick(**told)

    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("arguments", [{"gpus": "sm_61"}, {"driver": 580}, {"python": 3.12}])
def test_check_hears_the_same(arguments: dict[str, Any]) -> None:
    with pytest.raises(torchpick.UsageError):
        torchpick.check(**arguments)


@pytest.mark.parametrize("arguments", [{"gpus": "sm_61"}, {"driver": 580}, {"channel": "nightlies"}])
def test_plan_hears_the_same(arguments: dict[str, Any]) -> None:
    with pytest.raises(torchpick.UsageError):
        torchpick.plan("vllm", **arguments)


def test_an_error_crosses_to_another_process() -> None:
    with pytest.raises(torchpick.NoBuildError) as caught:
        torchpick.pick(gpus=["sm_61", "sm_120"], driver="580.95.05", python="3.12", platform="linux-x86_64")

    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):  # noqa: S301
        assert isinstance(again, torchpick.NoBuildError)
        assert (str(again), again.hint, again.code) == (str(caught.value), caught.value.hint, "NO_BUILD")
        assert again.pick == caught.value.pick


def test_a_pick_and_a_machine_are_shown_in_one_line() -> None:
    pick = torchpick.pick(
        gpus=["GTX 1080 Ti", "GTX 1080 Ti"], driver="580.95.05", python="3.12", platform="linux-x86_64"
    )
    with pytest.raises(torchpick.NoBuildError) as caught:
        torchpick.pick(gpus=["sm_61"], driver="600", python="3.12", platform="linux-x86_64")

    machine = "2 x GTX 1080 Ti (sm_61), driver 580.95.05, linux-x86_64, Python 3.12"
    assert repr(pick) == f"<Pick torch {pick.version} for {machine}>"
    assert repr(pick.machine) == f"<Machine {machine}>"
    assert repr(caught.value.pick) == "<Pick of nothing for sm_61, driver 600, linux-x86_64, Python 3.12>"


@pytest.mark.process
@pytest.mark.parametrize("torch", ["", "<2.12", ">=2.5,<2.8", "==2.9.1", "!=2.14.1", "~=2.7.0", "==2.6.*"])
def test_a_pick_with_an_everyday_specifier_needs_no_dependency(torch: str) -> None:
    """`-S` hides everything that is installed."""
    wish: dict[str, Any] = {"gpus": ["sm_61"], "driver": "580.95.05", "python": "3.12", "platform": "linux-x86_64"}
    wish["torch"] = torch
    source = str(Path(torchpick.__file__).parents[1])
    program = (
        f"import sys; sys.path.insert(0, {source!r}); import torchpick; print(torchpick.pick(**{wish}).requirements)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout.strip(), done.stderr) == (str(torchpick.pick(**wish).requirements), "")
