"""Packages are installed on this computer: another machine is refused, whatever names it."""

from __future__ import annotations

import sys

import pytest

from torchpick.cli import main

ELSEWHERE = "macos-x86_64"


@pytest.mark.parametrize("name", ["--machine", "--platform", "TORCHPICK_PLATFORM"])
def test_another_machine_is_refused_by_the_name_of_what_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [name, ELSEWHERE] if name.startswith("--") else []
    if not words:
        monkeypatch.setenv(name, ELSEWHERE)

    assert main(["install", "torch", "--dry-run", *words]) == 2

    assert f"`{name}` is another machine" in capsys.readouterr().err


def test_a_gpu_of_another_platform_is_another_machine(capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = "sm_80" if sys.platform == "darwin" else "M2"

    assert main(["install", "torch", "--dry-run", "--gpu", elsewhere]) == 2

    assert "`--gpu` is another machine" in capsys.readouterr().err
