"""The child that calls into a driver library: a fork of this process or an interpreter of our own, which dies in time.

Whatever the library does, the kernel bounds its memory and time, and nothing that came of it stays.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from torchpick.environment.child import Running, launched
from torchpick.environment.world import text_of

if sys.platform != "win32":
    import resource

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

    def begin(answer: int, talk: int) -> int:
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                _settle(talk, limit_s)
                write_all(answer, work())
                status = 0
            except BaseException as error:  # noqa: BLE001  # nothing may leave the child but through its pipe
                write_all(2, f"{type(error).__name__}: {error}".encode(errors="replace"))
            finally:
                os._exit(status)
        return pid

    return launched(begin, line=True)


def python(module: str, arguments: Mapping[str, object]) -> list[str]:
    """The command that calls a module's `answer` in a fresh interpreter of our own, isolated from settings."""
    if not sys.executable:
        raise OSError("this program embeds Python and has no interpreter to start")
    folders = [folder for folder in sys.path if folder not in ("", os.curdir)]
    # An editable install may be found by a hook instead of a path, and a fresh interpreter has no hooks.
    folders.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    question = {"path": folders, "module": module, "arguments": dict(arguments)}
    return [sys.executable, "-I", "-S", "-c", _OWN, json.dumps(question)]


def answer_apart() -> int:
    """In a child that was spawned: take stdout away as the answer's channel, and send what is printed to stderr."""
    channel = os.dup(1)
    os.dup2(2, 1)
    return channel


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def confine(limit_s: float) -> None:
    """No core file, and an end even where the parent was killed: SIGALRM's default action also stops C code.

    On Linux it returns in a fork, whose parent sees to it that nothing outlives it.
    """
    if sys.platform == "win32":
        return
    _lower_limits(limit_s)
    if sys.platform.startswith("linux"):
        _attend()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, limit_s + 1.0)


def _lower_limits(limit_s: float) -> None:
    """Let the kernel bound this process: its memory and its time on a processor."""
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
    while below := {*_below(pid)} - killed:
        for descendant in below:
            with suppress(OSError):
                os.kill(descendant, signal.SIGKILL)
        killed |= below


def _below(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in map(int, text_of(f"/proc/{pid}/task/{task}/children").split()):
                yield child
                yield from _below(child)


def _limit(kind: int, most: int) -> None:
    """Lower a limit, soft and hard; one that is lower already stays."""
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
    confine(limit_s)
