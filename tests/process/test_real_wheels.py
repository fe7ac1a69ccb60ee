"""Real packages of the user's own package index, read by ranges. Skipped where there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import usersettings
from torchpick.cli import main
from torchpick.errors import TorchpickError
from torchpick.model.versions import parsed
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions

pytestmark = [pytest.mark.process, pytest.mark.network]
LINUX = ["--platform", "linux-x86_64", "--python", "3.12"]


@pytest.fixture(autouse=True)
def _own_index(monkeypatch: pytest.MonkeyPatch) -> None:
    usersettings.take_over(monkeypatch)
    try:
        inspect_target.locate(parsed("packaging==24.0"), ReadOptions())
    except TorchpickError as error:
        pytest.skip(f"no package index: {error}")


def inspect(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = main(["inspect", *words, "--json"])
    answer = json.loads(capsys.readouterr().out)
    if "results" not in answer:
        assert answer["error"]["code"] != "NOT_FOUND", answer["error"]
    found: dict[str, Any] = answer["results"][0]
    return status, found


@pytest.mark.parametrize(("release", "sass", "pascal"), [
    ("2.15.0", "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120", 3),
    ("2.7.1", "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90", 0),
])  # fmt: skip
def test_torch_by_its_flags(release: str, sass: str, pascal: int, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = inspect(capsys, f"torch=={release}", *LINUX, "--gpu", "sm_61")

    assert (found["sass"], found["ptx"], status) == (sass.split(), [], pascal)
    assert found["bytes_read"] <= 0.02 * found["size"]
    assert found["requests"] <= 8


@pytest.mark.parametrize(("what", "gpu", "verdict"), [
    ("packaging==24.0", "9.0", "no GPU code"), ("bitsandbytes==0.50.2", "7.5", "runs"),
    ("bitsandbytes==0.50.2", "6.1", "runs"), ("xformers==0.0.28.post3", "7.5", "runs"),
    ("xformers==0.0.28.post3", "5.2", "will not run"),
])  # fmt: skip
def test_other_packages(what: str, gpu: str, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = inspect(capsys, what, *LINUX, "--gpu", gpu)

    assert found["verdict"] == verdict
