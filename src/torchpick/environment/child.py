"""The one runner of children: a process that may crash, hang, print or never die, and what it says before a deadline.

Its answer comes by a pipe of its own; whatever else it writes is kept apart. It has no input and no terminal, both
pipes are bounded, and it ends with all that it started.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from torchpick.environment.processes import MOST_BYTES, Running, WindowsChild, launched, wait
from torchpick.environment.world import text_of
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What a probe may take beyond what it began with. NVML needs some 50 MB; libcuda reserves address space, which does not
# count (RLIMIT_DATA counts what can be written; setrlimit(2), Linux 4.7).
_MOST_MEMORY = 2 << 30
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
# A fresh interpreter gets our sys.path and nothing of the current folder.
_OWN = """\
import json, sys
question = json.loads(sys.argv[1])
sys.path[:] = question["path"]
from importlib import import_module
import_module(question["module"]).answer(**question["arguments"])
"""


class ChildResult(Noun):
    """How a child ended: `status` is negative for a signal, and None where it had to be stopped."""

    status: int | None
    answer: bytes
    talk: bytes

    @property
    def values(self) -> list[Any]:
        """Its answer, where that is lines of JSON; a line that was cut is none."""
        import json

        return [json.loads(line) for line in self.answer.splitlines(keepends=True) if line.endswith(b"\n")]

    @property
    def last_words(self) -> str:
        """The last line of what it said beside its answer."""
        return self.talk.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()


def run(argv: Sequence[str], environ: Mapping[str, str], limit_s: float, *, most: int = MOST_BYTES) -> ChildResult:
    """Run a program to its end, or to the deadline. Raises OSError where it cannot be started."""
    return finish(start(argv, environ, most=most), limit_s)


def finish(started: Running, limit_s: float) -> ChildResult:
    """Wait for a child to its end, or to the deadline, where it is stopped."""
    until = time.monotonic() + limit_s
    try:
        while not started.finished and time.monotonic() < until:
            wait([started], until)
        status = started.status
    finally:
        started.stop()
    return ChildResult(status, started.answer, started.talk)


def finish_each(
    begin: Callable[[], tuple[Any, Running, float] | None], at_once: int
) -> Iterator[tuple[Any, ChildResult]]:
    """Children as they end, so many at once; `begin` starts one more, and says how long it may take."""
    running: dict[Running, tuple[Any, float]] = {}
    try:
        while True:
            while len(running) < at_once and (begun := begin()):
                key, started, limit_s = begun
                running[started] = key, time.monotonic() + limit_s
            if not running:
                return
            wait([*running], min(until for _, until in running.values()))
            for started, (key, until) in [*running.items()]:
                if started.finished or until <= time.monotonic():
                    del running[started]
                    yield key, finish(started, 0)
    finally:  # also for Ctrl-C, as all of it happens in one thread
        for started in running:
            started.stop()


def start(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    line: bool = False,
    most: int = MOST_BYTES,
) -> Running:
    """Start a program, on any system; its stdout is the answer. Raises OSError where it cannot be started."""
    if os.name == "nt":
        return WindowsChild(argv, environ, line=line, most=most)
    return launched(lambda answer, talk: _spawned(argv, environ, answer, talk), line=line, most=most)


def can_fork() -> bool:
    """Whether a fork is safe: Linux, and this process has one thread (the C libraries' threads counted)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def fork(work: Callable[[], bytes], limit_s: float) -> Running:
    """Run `work` in a fork of this process; what it returns is the answer."""

    def reply(answer: int) -> None:
        write_all(answer, work())

    return launched(lambda answer, talk: _forked(reply, answer, talk, limit_s), line=True, most=MOST_BYTES)


def python(module: str, arguments: Mapping[str, object]) -> list[str]:
    """The command that calls a module's `answer` in a fresh interpreter of our own, isolated from settings."""
    import json

    if not sys.executable:
        raise OSError("this program embeds Python and has no interpreter to start")
    folders = [folder for folder in sys.path if folder not in ("", os.curdir)]
    # An editable install may be found by a hook instead of a path, and a fresh interpreter has no hooks.
    folders.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    question = {"path": folders, "module": module, "arguments": dict(arguments)}
    return [sys.executable, "-I", "-S", "-c", _OWN, json.dumps(question)]


def _forked(work: Callable[[int], None], answer: int, talk: int, limit_s: float) -> int:
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            _settle(talk, limit_s)
            work(answer)
            status = 0
        except BaseException as error:  # noqa: BLE001  # nothing may leave the child but through its pipe
            write_all(2, f"{type(error).__name__}: {error}".encode(errors="replace"))
        finally:
            os._exit(status)
    return pid


def _spawned(argv: Sequence[str], environ: Mapping[str, str], answer: int, talk: int) -> int:
    """Start it without a fork. The subprocess module takes as long to import as the whole of a detection may."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, answer, 1),
        (os.POSIX_SPAWN_DUP2, talk, 2),
    ]
    words, signals = list(argv), [signal.SIGPIPE, signal.SIGINT]
    try:
        try:
            # In a session of its own nothing can wait for a terminal.
            return os.posix_spawn(words[0], words, environ, file_actions=actions, setsid=True, setsigdef=signals)
        except NotImplementedError:  # a Python that was built for an older C library
            return os.posix_spawn(words[0], words, environ, file_actions=actions, setpgroup=0, setsigdef=signals)
    except ValueError as error:  # a NUL in a path
        raise OSError(str(error)) from error


def answer_apart() -> int:
    """In a child that was spawned: take stdout away as the answer's channel, and send what is printed to stderr."""
    channel = os.dup(1)
    os.dup2(2, 1)
    return channel


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def guard(limit_s: float) -> None:
    """No core file, and an end even where the parent was killed: SIGALRM's default action also stops C code.

    On Linux it returns in a fork, whose parent sees to it that nothing outlives it.
    """
    if sys.platform == "win32":
        return
    _confine(limit_s)
    if sys.platform.startswith("linux"):
        _attend()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, limit_s + 1.0)


def _confine(limit_s: float) -> None:
    """Let the kernel bound this process: its memory and its time on a processor."""
    import resource

    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, math.ceil(limit_s) + 2)
    if not sys.platform.startswith("linux"):
        return
    with suppress(ValueError, IndexError):
        # A fork begins with all that its parent has.
        had = int(text_of("/proc/self/statm").split()[5]) * os.sysconf("SC_PAGESIZE")
        _limit(resource.RLIMIT_DATA, had + _MOST_MEMORY)


def _attend() -> None:
    """Go on in a fork; this process waits for its end, or a SIGTERM, and kills all that came of it.

    A library may crash, block every signal, and start what leaves its session: all of that stays below this process,
    which runs nothing of the library's, and the fork dies with it.
    """
    import ctypes

    awaited = {signal.SIGCHLD, signal.SIGTERM}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    prctl = ctypes.CDLL(None).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    worker = os.fork()
    if worker == 0:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    pid = status = 0
    while pid == 0 and signal.sigwait(awaited) == signal.SIGCHLD:
        pid, status = os.waitpid(worker, os.WNOHANG)
    _kill_below(os.getpid())
    code = os.waitstatus_to_exitcode(status)
    if code < 0:  # it ends as the fork did
        with suppress(OSError):  # SIGKILL needs no default
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), -code)
    os._exit(code)


def _kill_below(pid: int) -> None:
    """Kill what a process has started, and what that has; who is being killed starts nothing more."""
    killed: set[int] = set()
    while found := set(_below(pid)) - killed:
        for each in found:
            with suppress(OSError):
                os.kill(each, signal.SIGKILL)
        killed |= found


def _below(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for each in map(int, text_of(f"/proc/{pid}/task/{task}/children").split()):
                yield each
                yield from _below(each)


def _limit(kind: int, most: int) -> None:
    """Lower a limit, soft and hard; one that is lower already stays."""
    import resource

    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or most < hard:
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


def _settle(talk: int, limit_s: float) -> None:
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(talk, 1)
    os.dup2(talk, 2)
    # The host program may have put other files in their place, and Python code prints to those.
    sys.stdout = sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    guard(limit_s)
