"""A process that may crash, hang, print or never die, and what it says before a deadline.

Its answer comes by a pipe of its own; whatever it writes to its standard streams is kept apart. Nothing here waits for
a process that will not end: a driver call in the kernel (state D) outlives SIGKILL, so such a child is left behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from torchpick.environment.bounds import confine

# An honest answer is a few kB; `nvidia-smi` for 64 GPUs about 10 kB.
_MOST_ANSWER = 1 << 20
_MOST_TALK = 8 << 10
# How long a killed child may take to go before it is left behind; one that has answered is not worth waiting for, and
# the driver's teardown of its process takes long where nothing else keeps the GPU awake.
_GRACE_S = 0.1
_ANSWERED_GRACE_S = 0.02
# How often a child is looked at whose pipe a grandchild keeps open.
_TICK_S = 0.05
_left_behind: list[int] = []


class Running(Protocol):
    """A child as its callers see it, on any system."""

    answer: bytes
    talk: bytes
    status: int | None
    overflow: bool

    @property
    def finished(self) -> bool: ...
    @property
    def fds(self) -> list[int]: ...
    def pump(self) -> None: ...
    def stop(self) -> None: ...


class Child:
    """A child on POSIX; `status` is set once it ended (negative: a signal)."""

    __slots__ = ("_answer_fd", "_line", "_pid", "_talk_fd", "answer", "overflow", "status", "talk")

    def __init__(self, pid: int, answer_fd: int, talk_fd: int, *, line: bool) -> None:
        self._pid = pid
        self._answer_fd = answer_fd
        self._talk_fd = talk_fd
        self._line = line
        self.answer = b""
        self.talk = b""
        self.status: int | None = None
        self.overflow = False
        for fd in (answer_fd, talk_fd):
            os.set_blocking(fd, False)

    @property
    def finished(self) -> bool:
        """Whether nothing more is to come: it ended, or its one line is complete."""
        return self.status is not None or self.overflow or (self._line and self.answer.endswith(b"\n"))

    @property
    def fds(self) -> list[int]:
        return [fd for fd in (self._answer_fd, self._talk_fd) if fd >= 0]

    def pump(self) -> None:
        """Take what there is, and notice the end."""
        if self.finished:
            return
        ended = self._reap()
        self._answer_fd, more = _drain(self._answer_fd)
        self.overflow = len(self.answer) + len(more) > _MOST_ANSWER
        self.answer = (self.answer + more)[:_MOST_ANSWER]
        self._talk_fd, more = _drain(self._talk_fd)
        self.talk = (self.talk + more)[:_MOST_TALK]
        if ended is not None:
            self.status = ended
        elif self._answer_fd < 0 and self._talk_fd < 0:
            # Both pipes closed: it is on its way out, or it closed them itself and is no longer usable.
            self.status = self._end()

    def stop(self) -> None:
        """Kill it and its children, wait a moment, and leave it behind if it stays."""
        for fd in self.fds:
            os.close(fd)
        self._answer_fd = self._talk_fd = -1
        if self.status is None:
            self.status = self._end(kill=True, grace_s=_ANSWERED_GRACE_S if self.finished else _GRACE_S)

    def _end(self, *, kill: bool = False, grace_s: float = _GRACE_S) -> int:
        if kill:
            _kill(self._pid)
        until = time.monotonic() + grace_s
        while (ended := self._reap()) is None:
            if time.monotonic() > until:
                if not kill:
                    return self._end(kill=True)
                _left_behind.append(self._pid)
                return -signal.SIGKILL
            time.sleep(0.0005)
        return ended

    def _reap(self) -> int | None:
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:  # the host program ignores SIGCHLD and the kernel reaped it
            return 0
        if not pid:
            return None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)  # what it started and left behind, which nobody else would stop
        return os.waitstatus_to_exitcode(status)


def wait(children: Sequence[Running], until: float) -> None:
    """Return when one more of the children has finished, or at `until` (of the monotonic clock)."""
    import select

    waiting = [child for child in children if not child.finished]
    while waiting:
        for child in waiting:
            child.pump()
        left = until - time.monotonic()
        if left <= 0 or any(child.finished for child in waiting):
            return
        fds = [fd for child in waiting for fd in child.fds]
        if not fds:  # Windows, where threads read the pipes
            time.sleep(0.01)
            continue
        poll = select.poll()  # not select(): a host program may have more than 1024 files open
        for fd in fds:
            poll.register(fd, select.POLLIN)
        poll.poll(min(left, _TICK_S) * 1000)


def can_fork() -> bool:
    """Whether a fork is safe: Linux, and this process has one thread (the C libraries' threads counted)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def fork(work: Callable[[], bytes], limit_s: float) -> Child:
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

    return _launched(begin, line=True)


def _launched(begin: Callable[[int, int], int], *, line: bool) -> Child:
    """The child that `begin` starts: it is given the pipes to write answer and talk to, and returns the process."""
    _reap_left_behind()
    answer, talk = _pipe(), _pipe()
    try:
        pid = begin(answer[1], talk[1])
    except OSError:  # no process to be had
        for fd in (answer[0], talk[0]):
            os.close(fd)
        raise
    finally:
        for fd in (answer[1], talk[1]):
            os.close(fd)
    return Child(pid, answer[0], talk[0], line=line)


def _fork_and_run(argv: list[str], environ: Mapping[str, str], limit_s: float, *, line: bool) -> Child:
    """As `_spawn`, by a fork that confines itself before it becomes the program."""
    if not os.access(argv[0], os.X_OK):
        raise FileNotFoundError(2, "No such program", argv[0])

    def begin(answer: int, talk: int) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                os.setpgid(0, 0)
                for fd, place in ((os.open(os.devnull, os.O_RDONLY), 0), (answer, 1), (talk, 2)):
                    os.dup2(fd, place)
                for number in (signal.SIGPIPE, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                confine(limit_s)
                os.execve(argv[0], argv, environ)  # noqa: S606
            except BaseException as error:  # noqa: BLE001  # nothing may leave the child but through its pipe
                write_all(2, str(error).encode(errors="replace"))
            finally:
                os._exit(127)
        return pid

    return _launched(begin, line=line)


def _spawn(argv: list[str], environ: Mapping[str, str], *, line: bool) -> Child:
    def begin(answer: int, talk: int) -> int:
        try:
            # Not the subprocess module: importing it costs as much as the whole of a detection may.
            return os.posix_spawn(
                argv[0],
                argv,
                environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, answer, 1),
                    (os.POSIX_SPAWN_DUP2, talk, 2),
                ],
                setpgroup=0,
                setsigdef=[signal.SIGPIPE, signal.SIGINT],
            )
        except ValueError as error:  # a NUL in a path
            raise OSError(str(error)) from error

    return _launched(begin, line=line)


def spawn_python(code: str, arguments: str, limit_s: float) -> Running:
    """Run Python code in a fresh interpreter of our own; it answers by `answer_apart`."""
    argv = [sys.executable, "-I", "-S", "-c", code, arguments, str(limit_s)]
    return start(argv, os.environ, line=True)


def start(argv: list[str], environ: Mapping[str, str], *, line: bool = False, limit_s: float | None = None) -> Running:
    """Start a program, on any system; its stdout is the answer. Raises OSError where it cannot be started.

    With `limit_s` the kernel bounds it, as far as a fork is safe here.
    """
    if os.name == "nt":
        from torchpick.environment.windows_child import WindowsChild

        return WindowsChild(argv, environ, line=line)
    if limit_s is not None and can_fork():
        return _fork_and_run(argv, environ, limit_s, line=line)
    return _spawn(argv, environ, line=line)


def answer_apart() -> int:
    """In a child that was spawned: take stdout away as the answer's channel, and send what is printed to stderr."""
    channel = os.dup(1)
    os.dup2(2, 1)
    return channel


def write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def guard(limit_s: float) -> None:
    """No core file, and an end even where the parent was killed: SIGALRM's default action also stops C code."""
    if sys.platform == "win32":
        return
    confine(limit_s)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    signal.setitimer(signal.ITIMER_REAL, limit_s + 1.0)


def _settle(talk: int, limit_s: float) -> None:
    os.setpgid(0, 0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(talk, 1)
    os.dup2(talk, 2)
    # The host program may have put other files in their place, and Python code prints to those.
    sys.stdout = sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].disable()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    guard(limit_s)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends lie above the standard streams, even where this process was started without them."""
    import fcntl

    ends = []
    for fd in os.pipe():
        if fd <= 2:
            above = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
            os.close(fd)
            ends.append(above)
        else:
            ends.append(fd)
    return ends[0], ends[1]


def _drain(fd: int) -> tuple[int, bytes]:
    """What is there to be read, at most a few buffers; the descriptor, or -1 once the other side is closed."""
    if fd < 0:
        return fd, b""
    parts: list[bytes] = []
    for _ in range(16):
        try:
            part = os.read(fd, 1 << 16)
        except BlockingIOError:
            break
        except OSError:
            part = b""
        if not part:
            os.close(fd)
            return -1, b"".join(parts)
        parts.append(part)
    return fd, b"".join(parts)


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _reap_left_behind() -> None:
    for pid in list(_left_behind):
        try:
            gone = os.waitpid(pid, os.WNOHANG)[0] != 0
        except ChildProcessError:
            gone = True
        if gone:
            _left_behind.remove(pid)
