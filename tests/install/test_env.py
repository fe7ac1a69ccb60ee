"""`torchpick env`: what it refuses before it writes a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.install.jobs import PICK
from torchpick.cli import main
from torchpick.install.env import uv_index
from torchpick.machine import computer
from torchpick.machine.given import MachineOverrides
from torchpick.model.machine import Machine


def without_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    really_detect = computer.detect

    def detect(facts: MachineOverrides, **how: Any) -> Machine:  # whatever the real one takes
        return really_detect(facts._replace(gpus=()), **how)

    monkeypatch.setattr(computer, "detect", detect)


def test_an_image_is_not_for_the_cpu_because_this_computer_has_no_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_gpus(monkeypatch)

    status = main(["env", "--shell", "dockerfile", "--offline"])
    out, err = capsys.readouterr()

    assert status == 2
    assert out.startswith("RUN ")
    assert "--gpu t4" in err


def test_an_option_for_the_installer_is_shown_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "torch", "--no-cache-dir"]) == 2

    assert "`torchpick install … -- --no-cache-dir`" in capsys.readouterr().err


def test_no_setting_gets_a_line_of_its_own_among_a_jobs_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What is added to GITHUB_ENV sets every variable that it names."""
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))
    for name in (
        "PIP_FIND_LINKS",
        "PIP_CONSTRAINT",
        "UV_CONSTRAINT",
        "PIP_EXTRA_INDEX_URL",
        "UV_INDEX",
        "UV_FIND_LINKS",
    ):
        monkeypatch.setenv(name, "https://own.example/simple\nLD_PRELOAD=evil.so")

        status = main(["env", "--shell", "github", "--offline", "--gpu", "none"])

        out, err = capsys.readouterr()
        lines = out.replace("false\n", "").splitlines()
        assert (status, bool(lines)) in ((0, True), (2, False)), err
        assert status == 0 or f"{name} holds a line break" in err
        assert all(line.startswith(("PIP_", "UV_")) and "=" in line for line in lines), (name, lines)
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("base", "entry"),
    [
        ("https://mirror/whl/", {"name": "pytorch-cu126", "url": "https://mirror/whl/cu126", "explicit": True}),
        (
            "flat+https://mirror/wheels/",
            {"name": "pytorch-mirror", "url": "https://mirror/wheels/", "format": "flat", "explicit": True},
        ),
    ],
)
def test_uv_asks_the_index_of_the_pick_for_what_names_it_alone(base: str, entry: dict[str, object]) -> None:
    assert uv_index(PICK._replace(wish=PICK.wish._replace(index_base=base))) == entry
