"""A child process as it runs: its two pipes, how it ends, and how it is ended with all that it started.

Nothing here waits for a process that will not end: a driver call in the kernel (state D) outlives SIGKILL, so such a
child is left behind.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

# An honest answer of a probe is a few kB.
MOST_BYTES = 1 << 20
# How long a killed child may take to go before it is left behind.
_GRACE_S = 0.1
# Whoever attends a probe calls no driver, and waits for a processor at most before it has killed all that came of it.
# One that has answered is told to, and not worth waiting for.
_ATTENDED_GRACE_S = 2.0
_ANSWERED_GRACE_S = 0.02
# How often a child is looked at whose pipe a grandchild keeps open.
_TICK_S = 0.05


class Running:
    """A child that was started; `status` is set once it ended."""

    def __init__(self, *, line: bool, most: int) -> None:
        self._line = line
        self._most = most
        self._answer = bytearray()
        self._talk = bytearray()
        self.status: int | None = None
        self.overflow = False

    @property
    def answer(self) -> bytes:
        return bytes(self._answer)

    @property
    def talk(self) -> bytes:
        """The end of what it said."""
        return bytes(self._talk)

    @property
    def finished(self) -> bool:
        """Whether nothing more is to come: it ended, or its one line is complete."""
        return self.status is not None or self.overflow or (self._line and self._answer.endswith(b"\n"))

    @property
    def fds(self) -> list[int]:
        return []

    def pump(self) -> None:
        """Take what there is, and notice the end."""
        raise NotImplementedError

    def stop(self) -> None:
        """Kill it and its children, wait a moment, and leave it behind if it stays."""
        raise NotImplementedError

    def _answered(self, more: bytes) -> None:
        self._answer += more
        self.overflow = len(self._answer) > self._most
        del self._answer[self._most :]

    def _talked(self, more: bytes) -> None:
        self._talk += more
        del self._talk[: -self._most]


class PosixChild(Running):
    """A child whose pipes are polled."""

    def __init__(self, pid: int, answer_fd: int, talk_fd: int, *, line: bool, most: int) -> None:
        super().__init__(line=line, most=most)
        self._pid = pid
        self._answer_fd = answer_fd
        self._talk_fd = talk_fd
        for fd in (answer_fd, talk_fd):
            os.set_blocking(fd, False)

    @property
    def fds(self) -> list[int]:
        return [fd for fd in (self._answer_fd, self._talk_fd) if fd >= 0]

    def pump(self) -> None:
        if self.finished:
            return
        ended = self._reap()
        self._answer_fd, more = _drain(self._answer_fd)
        self._answered(more)
        self._talk_fd, more = _drain(self._talk_fd)
        self._talked(more)
        if ended is not None:
            self.status = ended
        elif self._answer_fd < 0 and self._talk_fd < 0:
            # Both pipes closed: it is on its way out, or it closed them itself and is no longer usable.
            self.status = self._ended(_GRACE_S)
            self.stop()

    def stop(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self._answer_fd = self._talk_fd = -1
        if self.status is None and self._line:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, signal.SIGTERM)
            self.status = self._ended(_ANSWERED_GRACE_S if self.finished else _ATTENDED_GRACE_S)
        if self.status is None and not (self._line and self.finished):
            for end in (os.killpg, os.kill):
                with suppress(ProcessLookupError, PermissionError):
                    end(self._pid, signal.SIGKILL)
            ended = self._ended(_GRACE_S)
            self.status = -signal.SIGKILL if ended is None else ended

    def _ended(self, grace_s: float) -> int | None:
        """Its status, if it has one within so many seconds."""
        until = time.monotonic() + grace_s
        while (ended := self._reap()) is None and time.monotonic() < until:
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


class WindowsChild(Running):
    """A child whose pipes the standard library reads, as Windows cannot poll them. Untested on Windows."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, line: bool, most: int) -> None:
        import subprocess

        super().__init__(line=line, most=most)
        self._process = subprocess.Popen(
            list(argv),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Without it a console would flash up.
            creationflags=int(getattr(subprocess, "CREATE_NO_WINDOW", 0)),
        )

    def pump(self) -> None:
        from subprocess import TimeoutExpired

        if self.finished:
            return
        with suppress(TimeoutExpired):
            answer, talk = self._process.communicate(timeout=_TICK_S)
            self._answered(answer)
            self._talked(talk)
            self.status = self._process.returncode

    def stop(self) -> None:
        if self.status is None:
            self._process.kill()
            self.pump()
        if self.status is None:  # left behind
            self._process.returncode = self.status = -9


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
        if not fds:  # Windows, where looking waits
            continue
        poll = select.poll()  # not select(): a host program may have more than 1024 files open
        for fd in fds:
            poll.register(fd, select.POLLIN)
        poll.poll(min(left, _TICK_S) * 1000)


def launched(begin: Callable[[int, int], int], *, line: bool, most: int) -> Running:
    """The child that `begin` starts: it is given the pipes to write answer and talk to, and returns the process."""
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
    return PosixChild(pid, answer[0], talk[0], line=line, most=most)


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
    parts: list[bytes] = []
    for _ in range(16 if fd >= 0 else 0):
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
