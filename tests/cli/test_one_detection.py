"""A driver is asked once in a run, whatever the run asks of it: one may take seconds to answer, or hang."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from tests.fakes.nvidia import Computer, Fakes, gpu
from torchpick.cli import install, main
from torchpick.cli.arguments import Arguments
from torchpick.environment.child import Running
from torchpick.install.asking import TargetQuestion
from torchpick.install.command import Command
from torchpick.install.handover import hand_over
from torchpick.install.job import Job
from torchpick.machine import computer, probe
from torchpick.machine.kernel import LookOptions, Seen
from torchpick.model.machine import Platform

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not sys.platform.startswith("linux") or shutil.which("cc") is None,
        reason="no C compiler to make the stand-in libraries with",
    ),
]
KERNELS = "CUDA error: no kernel image is available for execution on the device"


@pytest.fixture
def children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """This computer has the stand-in driver; the sources of which children were started to ask it."""
    root = tmp_path / "root"
    root.mkdir()
    made = Computer(root, Fakes(tmp_path / "fakes")).driver().say(gpu(1, "6.1", "NVIDIA GeForce GTX 1080 Ti"))
    monkeypatch.setenv("FAKE_NVIDIA", str(made.config))
    look, start, started = computer.look, probe.start, list[str]()

    def look_there(how: LookOptions, platform: Platform) -> Seen:
        return look(how._replace(world=made.world()), platform)

    def counted(source: str, libraries: list[str], limit_s: float) -> Running:
        started.append(source)
        return start(source, libraries, limit_s)

    monkeypatch.setattr(computer, "look", look_there)
    monkeypatch.setattr(probe, "start", counted)
    return started


@pytest.mark.parametrize(
    "words",
    [
        ["detect"],
        ["url"],
        [],
        ["install", "torch", "torchvision", "--dry-run", "--offline"],
        ["plan", "torch", "--offline"],
        ["doctor"],
        ["explain", KERNELS],
        ["explain", f"torch 2.15.0+cu132, python 3.12: {KERNELS}"],
    ],
    ids=" ".join,
)
def test_a_command_asks_the_driver_once(
    words: list[str], children: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(Home(tmp_path / ".venv").torch().root))

    main(words)

    assert children.count("nvml") == 1


def test_a_fix_asks_it_once_before_and_once_after(
    children: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(Home(tmp_path / ".venv").torch().root))
    picked: list[str] = []

    def start(_args: Arguments, _question: TargetQuestion, handed: tuple[Job, Command], **_: bool) -> int:
        picked.append(handed[0].pick.version)
        return 0

    monkeypatch.setattr(install, "run_installer", start)
    # No page is read, as for a dry run.
    monkeypatch.setattr(install, "hand_over", lambda question, learnt, **_: hand_over(question, learnt, pages=False))

    main(["doctor", "--fix"])

    assert "looked again" in capsys.readouterr().err
    assert picked == ["2.9.1+cu126"]
    assert children.count("nvml") == 2
