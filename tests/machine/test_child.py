"""Processes that misbehave, one way at a time."""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from torchpick.environment import child, guard
from torchpick.environment.child import Running, WindowsChild
from torchpick.machine import probe
from torchpick.machine.probe import DriverReading

pytestmark = pytest.mark.process

# For what takes a moment where the computer is idle; a busy one takes its time.
PATIENCE_S = 60


def finish(each: Running, seconds: float = 5.0) -> None:
    until = time.monotonic() + seconds
    while not each.finished and time.monotonic() < until:
        child.wait([each], until)


def started(argv: list[str], *, windows: bool, line: bool = False) -> Running:
    return (
        WindowsChild(argv, os.environ, line=line, most=1 << 20) if windows else child.start(argv, os.environ, line=line)
    )


def test_several_at_once_each_until_its_own_deadline() -> None:
    """One that hangs is stopped alone, what is added meanwhile is begun too, and never are there more at once."""
    asked = [("hangs", "exec sleep 600", 0.5), ("quick", "echo answer", PATIENCE_S), ("later", "echo more", PATIENCE_S)]
    beginning: list[str] = []
    most = 0

    def begin() -> tuple[str, Running, float] | None:
        nonlocal most
        if not asked:
            return None
        name, script, limit_s = asked.pop(0)
        beginning.append(name)
        most = max(most, len(beginning) - len(ended))
        return name, child.start(["/bin/sh", "-c", script], os.environ), limit_s

    ended: dict[str, tuple[int | None, bytes]] = {}
    for name, result in child.finish_each(begin, 2):
        ended[name] = result.status, result.answer
        if name == "later":
            asked.append(("added", "exit 3", PATIENCE_S))

    assert ended == {"hangs": (None, b""), "quick": (0, b"answer\n"), "later": (0, b"more\n"), "added": (3, b"")}
    assert (beginning, most) == (["hangs", "quick", "later", "added"], 2)


def test_those_still_running_end_with_who_waits_for_them(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    asked = [f"echo $$ > {file}; exec sleep 600", f"until [ -s {file} ]; do sleep 0.05; done"]
    results = child.finish_each(
        lambda: (None, child.start(["/bin/sh", "-c", asked.pop(0)], os.environ), PATIENCE_S) if asked else None, 2
    )
    next(results)
    results.close()  # type: ignore[attr-defined]  # a generator, as Ctrl-C ends it

    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text("utf-8")), 0)


@pytest.mark.parametrize("windows", [False, True])
class TestProgram:
    def test_its_streams_are_kept_apart(self, windows: bool) -> None:
        each = started(["/bin/sh", "-c", "echo answer; echo talk >&2; exit 3"], windows=windows)
        finish(each)
        each.stop()
        assert (each.answer, each.talk, each.status) == (b"answer\n", b"talk\n", 3)

    def test_it_is_killed_at_the_deadline(self, windows: bool) -> None:
        forever = "trap '' TERM INT; while :; do sleep 0.05 >/dev/null 2>&1; done"
        each = started(["/bin/sh", "-c", forever], windows=windows)
        began = time.monotonic()
        finish(each, 0.2)
        assert not each.finished
        each.stop()
        assert time.monotonic() - began < PATIENCE_S

    def test_endless_output_is_cut_off(self, windows: bool) -> None:
        each = started(["/bin/sh", "-c", "head -c 2097152 /dev/zero; exec sleep 600"], windows=windows)
        finish(each)
        each.stop()
        assert each.overflow
        assert len(each.answer) <= 1 << 20

    def test_a_line_is_enough_where_a_line_is_the_answer(self, windows: bool) -> None:
        began = time.monotonic()
        each = started(["/bin/sh", "-c", "echo done; exec sleep 30"], windows=windows, line=True)
        finish(each)
        each.stop()
        assert each.answer == b"done\n"
        assert time.monotonic() - began < 25  # and not the 30 seconds that it sleeps

    def test_what_cannot_be_started(self, windows: bool) -> None:
        with pytest.raises(OSError, match=r"."):
            started(["/no/such/program"], windows=windows)


@pytest.mark.parametrize("words", ["pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})", "signal(14, signal.SIG_IGN)"])
def test_a_child_ends_by_itself_although_its_parent_held_the_alarm_back(words: str) -> None:
    program = (
        f"import signal, time; signal.{words}\n"
        "from torchpick.environment import guard\n"
        "guard.confine(0.0); time.sleep(120)"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    ended = child.run([sys.executable, "-c", program], environ, PATIENCE_S)

    assert (ended.status, ended.talk) == (-signal.SIGALRM, b"")


@pytest.mark.parametrize("name", ["SIGINT", "SIGPIPE"])
def test_a_signal_that_is_ignored_here_still_ends_a_child(name: str) -> None:
    number = signal.Signals[name]
    before = signal.signal(number, signal.SIG_IGN)
    try:
        each = started(["/bin/sh", "-c", f"kill -{int(number)} $$; echo survived"], windows=False)
    finally:
        signal.signal(number, before)
    finish(each, PATIENCE_S)
    each.stop()

    assert (each.status, each.answer) == (-number, b"")


def shell(script: str, *, most: int = 1 << 20) -> child.ChildResult:
    return child.run(["/bin/sh", "-c", script], {"PATH": os.defpath}, PATIENCE_S, most=most)


def test_of_a_longer_answer_the_beginning_counts_and_of_what_is_said_the_end() -> None:
    assert shell("printf 12345; printf abcde >&2; exit 3", most=5) == (3, b"12345", b"abcde")
    assert shell("printf 12345; printf abcdefgh >&2", most=5) == (0, b"12345", b"defgh")
    longer = shell("printf 123456; exec sleep 600", most=5)
    assert (longer.status, longer.answer) == (None, b"12345")


def test_a_path_that_no_system_can_have_is_not_started() -> None:
    with pytest.raises(OSError, match=r"null (byte|character)"):
        child.start(["/bin/sh\0"], {})


def test_one_that_closes_its_answer_is_still_heard(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    each = child.start(["/bin/sh", "-c", f"exec >&-; echo first >&2; read word <{go_on}; echo later >&2"], {})
    until = time.monotonic() + PATIENCE_S
    while len(each.fds) > 1 or each.talk != b"first\n":
        assert time.monotonic() < until
        child.wait([each], time.monotonic() + 0.01)
    assert not each.finished
    go_on.write_text("word\n", "utf-8")

    assert child.finish(each, PATIENCE_S) == (0, b"", b"first\nlater\n")


def test_one_that_closes_all_and_stays_is_ended() -> None:
    each = child.start(["/bin/sh", "-c", "exec >&- 2>&-; exec sleep 600"], {"PATH": os.defpath})

    assert child.finish(each, PATIENCE_S).status == -signal.SIGKILL


@contextmanager
def without_streams() -> Iterator[None]:
    """This process without its standard streams; what is left open in their place is an error."""
    kept = [os.dup(fd) for fd in (0, 1, 2)]
    try:
        for fd in (0, 1, 2):
            os.close(fd)
        yield
        for fd in (0, 1, 2):
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(fd)
    finally:
        for fd, copy in enumerate(kept):
            os.dup2(copy, fd)
            os.close(copy)


def test_without_standard_streams_of_our_own_a_child_is_heard() -> None:
    with without_streams():
        heard = shell("read word; echo answer; echo said >&2")

    assert heard == (0, b"answer\n", b"said\n")


@pytest.mark.fork
@pytest.mark.usefixtures("forkable")
def test_without_standard_streams_what_a_fork_prints_is_not_its_answer() -> None:
    def work() -> bytes:
        os.write(1, b"printed")
        return b"answer\n"

    with without_streams():
        each = guard.fork(work, PATIENCE_S)
        heard = child.finish(each, PATIENCE_S)

    assert (heard.answer, heard.talk) == (b"answer\n", b"printed")


@pytest.mark.fork
@pytest.mark.usefixtures("forkable")
def test_a_fork_that_raises_says_what(capfd: pytest.CaptureFixture[str]) -> None:
    def work() -> bytes:
        raise SystemExit("no\udc80")

    each = guard.fork(work, 5.0)
    finish(each)
    each.stop()
    assert (each.answer, each.talk, each.status) == (b"", b"SystemExit: no?", 70)
    assert capfd.readouterr() == ("", "")


@pytest.mark.fork
@pytest.mark.usefixtures("forkable")
def test_a_crash_of_a_fork_is_a_signal_and_leaves_no_child() -> None:
    def work() -> bytes:
        import ctypes

        ctypes.string_at(0)
        return b""

    each = guard.fork(work, 5.0)
    finish(each)
    each.stop()
    assert each.status == -11
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.fork
@pytest.mark.usefixtures("forkable")
def test_a_crash_is_not_reported_into_the_hosts_files(tmp_path: Path) -> None:
    """A host program may have told faulthandler to write to a file of its own."""
    was_on = faulthandler.is_enabled()
    with (tmp_path / "crash").open("w", encoding="utf-8") as file:
        faulthandler.enable(file)
        each = guard.fork(faulthandler._sigsegv, 5.0)  # type: ignore[attr-defined]
        finish(each)
        each.stop()
        faulthandler.disable()
    if was_on:
        faulthandler.enable(2)
    assert each.status == -11
    assert (tmp_path / "crash").read_text("utf-8") == ""


@pytest.mark.fork
@pytest.mark.usefixtures("forkable")
def test_descriptors_are_not_leaked() -> None:
    folder = Path("/proc/self/fd")
    before = list(folder.iterdir())
    for _ in range(3):
        each = guard.fork(lambda: b"x\n", 5.0)
        finish(each)
        each.stop()
        with pytest.raises(OSError, match=r"."):
            child.start(["/no/such/program"], os.environ)
    assert len(list(folder.iterdir())) == len(before)


@pytest.mark.fork
@pytest.mark.usefixtures("forkable")
def test_a_program_with_threads_does_not_fork() -> None:
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()
    try:
        assert not guard.can_fork()
    finally:
        event.set()
        thread.join()
    # The kernel's own thread ends a moment after Python's; the tests that follow fork again.
    limit = time.monotonic() + 30
    while not guard.can_fork():
        assert time.monotonic() < limit


def saying(line: str, seconds: float = 0) -> Callable[[float], Running]:
    argv = ["/bin/sh", "-c", f"sleep {seconds}; echo '{line}'"]
    return lambda _limit: child.start(argv, os.environ)


NOTHING = '{"devices": []}'


def sources(readings: list[DriverReading]) -> list[tuple[str, str | None]]:
    return [(each.source, each.failure or None) for each in readings]


def test_the_next_source_is_asked_beside_a_silent_one_which_may_still_answer() -> None:
    refused = '{"failure": {"kind": "refused", "text": "x"}}'
    starts = {"slow": saying('{"driver": "580.95.05", "devices": []}', 3.6), "quick": saying(refused)}
    found = probe.ask(starts, time.monotonic() + 6.0, lambda readings: any(each.driver for each in readings))
    assert sources(found) == [("slow", None), ("quick", "refused")]


def test_asking_stops_once_it_is_enough() -> None:
    starts = {"first": saying(NOTHING), "second": saying(NOTHING)}
    assert sources(probe.ask(starts, time.monotonic() + PATIENCE_S, bool)) == [("first", None)]


def test_what_is_silent_until_the_deadline_hangs() -> None:
    starts = {"nvml": saying(NOTHING, 30), "cuda": saying(NOTHING, 30)}
    began = time.monotonic()
    found = probe.ask(starts, began + 1.5, lambda _: False)
    assert sources(found) == [("nvml", "hangs"), ("cuda", "hangs")]
    assert time.monotonic() - began < 25  # and not the 30 seconds that they sleep


def test_a_source_that_cannot_be_started_was_not_asked() -> None:
    starts = {"gone": lambda _limit: child.start(["/no/such"], os.environ)}
    assert sources(probe.ask(starts, time.monotonic() + PATIENCE_S, bool)) == [("gone", "unasked")]


@pytest.mark.parametrize(("body", "kind"), [
    ('printf \'{"source": "nvml", "driver": null\'', "silent"), ("printf '{}\\n'", "silent"), ("exit 0", "silent"),
    ("kill -SEGV $$", "crashed"), ("head -c 2000000 /dev/zero", "silent"),
])  # fmt: skip
def test_only_a_complete_answer_is_one(body: str, kind: str) -> None:
    starts = {"nvml": lambda _limit: child.start(["/bin/sh", "-c", body], os.environ, line=True)}
    assert sources(probe.ask(starts, time.monotonic() + PATIENCE_S, bool)) == [("nvml", kind)]


def test_a_python_without_an_executable_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(guard, "can_fork", lambda: False)
    found = probe.ask({"nvml": partial(probe.start, "nvml", [])}, time.monotonic() + PATIENCE_S, bool)
    assert sources(found) == [("nvml", "unasked")]


@pytest.mark.process
@pytest.mark.skipif(shutil.which("setsid") is None, reason="no setsid command")
def test_what_leaves_its_session_is_not_waited_for(tmp_path: Path) -> None:
    """It holds the child's pipes, and would keep whoever waits for their end."""
    began = time.monotonic()
    away = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60' &"
    line = f"{away} while [ ! -s {tmp_path}/pid ]; do :; done; echo hi"
    done = child.run(["/bin/sh", "-c", line], dict(os.environ), 30.0)
    took = time.monotonic() - began
    os.kill(int((tmp_path / "pid").read_text("utf-8")), signal.SIGKILL)

    assert (done.status, done.answer) == (0, b"hi\n")
    assert took < 10
