"""The one runner of children: a process that may crash, hang, print or never die, and what it says before a deadline.

Its answer comes by a pipe of its own; whatever else it writes is kept apart. It has no input and no terminal, both
pipes are bounded, and it ends with all that it started. Nothing here waits for a process that will not end: a driver
call in the kernel (state D) outlives SIGKILL, so such a child is left behind.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

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


class ChildResult(NamedTuple):
    """How a child ended: `status` is negative for a signal, and None where it had to be stopped."""

    status: int | None
    answer: bytes
    talk: bytes

    @property
    def values(self) -> list[Any]:
        """Its answer, where that is lines of JSON; a line that was cut is none."""
        return [json.loads(line) for line in self.answer.splitlines(keepends=True) if line.endswith(b"\n")]

    @property
    def last_words(self) -> str:
        """The last line of what it said beside its answer."""
        return self.talk.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()


class Running:
    """A child that was started; `status` is set once it ended. With `line` its answer is one line."""

    def __init__(self, pid: int, pipes: tuple[int, int], *, line: bool = False, most: int = MOST_BYTES) -> None:
        self._pid, self._line, self._most = pid, line, most
        self._answer_fd, self._talk_fd = pipes
        self._answer, self._talk = bytearray(), bytearray()
        self.status: int | None = None
        self.overflow = False
        for fd in self.fds:
            os.set_blocking(fd, False)

    @property
    def answer(self) -> bytes:
        return bytes(self._answer)

    @property
    def talk(self) -> bytes:
        return bytes(self._talk)

    @property
    def finished(self) -> bool:
        """Whether nothing more is to come: it ended, or its one line is complete."""
        return self.status is not None or self.overflow or (self._line and self._answer.endswith(b"\n"))

    @property
    def fds(self) -> list[int]:
        return [fd for fd in (self._answer_fd, self._talk_fd) if fd >= 0]

    def pump(self) -> None:
        """Take what there is, and notice the end."""
        if self.finished:
            return
        ended = self._reap()
        self._answer_fd, answer = _drain(self._answer_fd)
        self._talk_fd, talk = _drain(self._talk_fd)
        self._take(answer, talk)
        if ended is not None:
            self.status = ended
        elif not self.fds:
            # Both pipes closed: it is on its way out, or it closed them itself and is no longer usable.
            self.status = self._ended(_GRACE_S)
            self.stop()

    def stop(self) -> None:
        """Kill it and its children, wait a moment, and leave it behind if it stays."""
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

    def _take(self, answer: bytes, talk: bytes) -> None:
        """Of the answer the beginning counts, of what it says the end."""
        self._answer += answer
        self.overflow = len(self._answer) > self._most
        del self._answer[self._most :]
        self._talk += talk
        del self._talk[: -self._most]

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
        import subprocess  # dear to import, and of no use where a child is forked

        self._too_long = subprocess.TimeoutExpired
        self._process = subprocess.Popen(
            list(argv),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Without it a console would flash up.
            creationflags=int(getattr(subprocess, "CREATE_NO_WINDOW", 0)),
        )
        super().__init__(self._process.pid, (-1, -1), line=line, most=most)

    def pump(self) -> None:
        if self.finished:
            return
        with suppress(self._too_long):
            self._take(*self._process.communicate(timeout=_TICK_S))
            self.status = self._process.returncode

    def stop(self) -> None:
        if self.status is None:
            self._process.kill()
            self.pump()
        if self.status is None:  # left behind
            self._process.returncode = self.status = -9


def run(argv: Sequence[str], environ: Mapping[str, str], limit_s: float, *, most: int = MOST_BYTES) -> ChildResult:
    """Run a program to its end, or to the deadline. Raises OSError where it cannot be started."""
    return finish(start(argv, environ, most=most), limit_s)


def finish(child: Running, limit_s: float) -> ChildResult:
    """Wait for a child to its end, or to the deadline, where it is stopped."""
    until = time.monotonic() + limit_s
    try:
        while not child.finished and time.monotonic() < until:
            wait([child], until)
        status = child.status
    finally:
        child.stop()
    return ChildResult(status, child.answer, child.talk)


def finish_each(
    begin: Callable[[], tuple[Any, Running, float] | None], at_once: int
) -> Iterator[tuple[Any, ChildResult]]:
    """Children as they end, so many at once; `begin` starts one more, and says how long it may take."""
    running: dict[Running, tuple[Any, float]] = {}
    try:
        while True:
            while len(running) < at_once and (begun := begin()):
                key, child, limit_s = begun
                running[child] = key, time.monotonic() + limit_s
            if not running:
                return
            wait([*running], min(until for _, until in running.values()))
            for child, (key, until) in [*running.items()]:
                if child.finished or until <= time.monotonic():
                    del running[child]
                    yield key, finish(child, 0)
    finally:  # also for Ctrl-C, as all of it happens in one thread
        for child in running:
            child.stop()


def wait(children: Sequence[Running], until: float) -> None:
    """Return when one more of the children has finished, or at `until` (of the monotonic clock)."""
    waiting = [child for child in children if not child.finished]
    while waiting:
        for child in waiting:
            child.pump()
        left = until - time.monotonic()
        if left <= 0 or any(child.finished for child in waiting):
            return
        fds = [fd for child in waiting for fd in child.fds]
        if fds:  # none on Windows, where looking waits
            poll = select.poll()  # not select(): a host program may have more than 1024 files open
            for fd in fds:
                poll.register(fd, select.POLLIN)
            poll.poll(min(left, _TICK_S) * 1000)


def start(argv: Sequence[str], environ: Mapping[str, str], *, line: bool = False, most: int = MOST_BYTES) -> Running:
    """Start a program, on any system; its stdout is the answer. Raises OSError where it cannot be started."""
    if os.name == "nt":
        return WindowsChild(argv, environ, line=line, most=most)
    return launched(lambda answer, talk: _spawned(argv, environ, answer, talk), line=line, most=most)


def launched(begin: Callable[[int, int], int], *, line: bool, most: int = MOST_BYTES) -> Running:
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
    return Running(pid, (answer[0], talk[0]), line=line, most=most)


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


def _pipe() -> tuple[int, int]:
    """A pipe whose ends lie above the standard streams, even where this process was started without them."""
    import fcntl

    ends = os.pipe()
    if min(ends) > 2:
        return ends
    read, write = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in ends)
    for fd in ends:
        os.close(fd)
    return read, write


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
