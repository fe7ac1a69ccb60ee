"""A child process on Windows. Written from Microsoft's documentation, untested on Windows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import IO

_MOST_ANSWER = 1 << 20
_MOST_TALK = 8 << 10


class WindowsChild:
    """A child whose pipes are read by threads, as Windows cannot poll them; otherwise as `child.Child`."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], *, line: bool) -> None:
        import subprocess
        import threading

        # Without CREATE_NO_WINDOW a console would flash up.
        flags = int(getattr(subprocess, "CREATE_NO_WINDOW", 0))
        self._process = subprocess.Popen(
            list(argv),
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            creationflags=flags,
        )
        self._line = line
        self.answer = b""
        self.talk = b""
        self.status: int | None = None
        self.overflow = False
        self._threads = [
            threading.Thread(target=self._read_answer, daemon=True),
            threading.Thread(target=self._read_talk, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def finished(self) -> bool:
        return self.status is not None or self.overflow or (self._line and self.answer.endswith(b"\n"))

    @property
    def fds(self) -> list[int]:
        return []

    def pump(self) -> None:
        if self._process.poll() is None:
            return
        for thread in self._threads:
            # A grandchild that holds the pipe must not hold us.
            thread.join(0.1)
        self.status = self._process.returncode

    def stop(self) -> None:
        if self.status is None:
            self._process.kill()
            try:
                self.status = self._process.wait(0.1)
            except Exception:  # noqa: BLE001  # subprocess.TimeoutExpired: left behind
                self._process.returncode = self.status = -9
        for thread in self._threads:
            thread.join(0.1)
        if not any(thread.is_alive() for thread in self._threads):
            for stream in (self._process.stdout, self._process.stderr):
                if stream is not None:
                    stream.close()

    def _read_answer(self) -> None:
        while part := _read(self._process.stdout):
            self.overflow = len(self.answer) + len(part) > _MOST_ANSWER
            if self.overflow:
                return
            self.answer += part

    def _read_talk(self) -> None:
        while part := _read(self._process.stderr):
            self.talk = (self.talk + part)[:_MOST_TALK]


def _read(stream: IO[bytes] | None) -> bytes:
    if stream is None:
        return b""
    try:
        return os.read(stream.fileno(), 1 << 16)
    except (OSError, ValueError):
        return b""
