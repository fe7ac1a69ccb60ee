"""What a probe eats and how long it lives is bounded by the kernel, whatever its code does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.nvidia import Computer, gpu
from tests.machine.conftest import Look
from tests.machine.test_nvidia_faults import choose_child
from tests.machine.test_nvidia_good import archs
from torchpick.environment import child, guard

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the bounds are Linux's"),
]
FORK = pytest.mark.fork
SOURCE = str(Path(child.__file__).parents[2])
# A process of one thread, in which a fork is safe.
PARENT = """\
import os, signal, sys, time
sys.path.insert(0, {source!r})
from torchpick.environment import child, guard

def stubborn():
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    os.write(1, b"")
    while True:
        time.sleep(0.05)

def greedy():
    held = []
    while True:
        held.append(bytearray(64 << 20))

started = {start}
print(started._pid, flush=True)
until = time.monotonic() + {wait}
while not started.finished and time.monotonic() < until:
    child.wait([started], until)
started.stop()
print(started.status, started.talk[-200:], flush=True)
"""
STARTS = {
    "fork": "guard.fork(stubborn, 30.0)",
    "interpreter": """child.start([sys.executable, "-I", "-S", "-c", "import sys; sys.path.insert(0, {source!r}); "
        "from torchpick.environment import guard; guard.confine(30.0); import signal, time; "
        "signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals)); time.sleep(300)"], os.environ)""",
}


def program(start: str, wait: float) -> list[str]:
    text = PARENT.format(source=SOURCE, start=start.replace("{source!r}", repr(SOURCE)), wait=wait)
    return [sys.executable, "-c", text]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def is_gone(pid: int) -> bool:
    """Whether a process ends by itself; one that does not is ended here."""
    until = time.monotonic() + 20
    while (alive := is_alive(pid)) and time.monotonic() < until:
        time.sleep(0.02)
    if alive:
        os.kill(pid, signal.SIGKILL)
    return not alive


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_it_dies_with_its_parent_though_it_blocks_every_signal(start: str) -> None:
    with subprocess.Popen(program(start, 60.0), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        until = time.monotonic() + 30
        # Confined, it says so by its limits; killed earlier, there would be nothing to see.
        while (
            "Max cpu time              32" not in Path(f"/proc/{pid}/limits").read_text("utf-8")
            and time.monotonic() < until
        ):
            time.sleep(0.01)
        time.sleep(0.2)
        parent.kill()
    assert is_gone(pid)


@pytest.mark.parametrize(
    ("act", "forked"),
    [*((act, False) for act in ("", "segv", "exit")), *(pytest.param(act, True, marks=FORK) for act in ("", "hang"))],
)
def test_nothing_that_a_driver_library_starts_outlives_the_detection(
    computer: Computer, look: Look, act: str, forked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_child(monkeypatch, forked=forked)
    left = computer.root / "left"
    computer.driver().say(f"nvml.leaves {left}\nnvml.act {act}\n{gpu(1, '8.9')}")

    found = look(computer, timeout=8.0 if act == "hang" else 60.0)

    pid = int(left.read_text("utf-8"))
    is_killed = is_gone(pid)
    assert archs(found) == ["sm_89"]
    assert found.gpus[0].source == ("cuda" if act else "nvml")
    assert is_killed


def test_it_cannot_eat_the_machine() -> None:
    done = subprocess.run(
        program("guard.fork(greedy, 300.0)", 300.0), capture_output=True, text=True, check=True, timeout=400
    )

    assert "MemoryError" in done.stdout


def test_a_library_that_could_not_be_asked_is_no_sign_that_there_is_no_gpu(
    computer: Computer, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> child.Running:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(guard, "fork", refuse)
    monkeypatch.setattr(child, "start", refuse)
    found = look(computer.driver())

    assert archs(found) == []
    assert found.trouble is not None
    assert found.trouble.code == "PROBE_NOT_STARTED"
    assert "Resource temporarily unavailable" in found.trouble.text
