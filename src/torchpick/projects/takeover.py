"""A project's file changed together with its lock: both as uv takes them, or every byte as it was.

A process of its own waits for the end of this one, so that a project is put back even where this one is killed.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

from torchpick.environment import guard, projectfile, rewrite
from torchpick.environment.rewrite import Contents, Text
from torchpick.errors import InstallerError
from torchpick.install.command import Command, run_command
from torchpick.install.installers import find_uv
from torchpick.projects.backends import lock_folder, workspace_files

_DONE = "done"


def member_requirements(file: str) -> tuple[str, ...]:
    """What the other members of its workspace require, as one lock holds all of them."""
    own = os.path.abspath(file)
    others = (path for path in workspace_files(os.path.dirname(own)) if path != own)
    words = (word for path in others for word in projectfile.read_requirements(rewrite.read_file(path).text, path))
    return tuple(dict.fromkeys(words))


def write_project(there: Text, text: str, environ: Mapping[str, str]) -> bool:
    """Write the file, and its lock with it where there is one: whether that was done."""
    folder, uv = lock_folder(os.path.dirname(os.path.abspath(there.file))), find_uv(environ)
    if folder is None or uv is None:
        rewrite.write_file(there, text)
        return False
    before = rewrite.contents(map(os.path.abspath, (there.file, os.path.join(folder, "uv.lock"))))
    with _watched(before) as watcher:
        rewrite.write_file(there, text)
        command = Command("uv", (uv, "lock", "--project", folder))
        status, interrupted = run_command(command, environ, talk_only=True, started=lambda pid: _send(watcher, pid))
        if interrupted:
            raise KeyboardInterrupt
        if status:
            hint = f"nothing was changed; what uv says above is about what {there.file} requires"
            raise InstallerError("`uv lock` fails with these backends", hint=hint, code="LOCK")
    return True


@contextmanager
def _watched(before: Contents) -> Iterator[IO[bytes]]:
    """Put the files back where this ends in an error or is killed."""
    command = guard.python(__name__, {})
    watcher = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    stdin = watcher.stdin
    if stdin is None:
        raise TypeError("a pipe was asked for")
    try:
        encoded = {file: data and base64.b64encode(data).decode() for file, data in before.items()}
        _send(stdin, encoded)
        with rewrite.put_back_where_it_fails(before):
            yield stdin
    finally:
        with suppress(OSError):
            _send(stdin, _DONE)
            stdin.close()
        watcher.wait()


def answer() -> None:
    """Of the process that waits: without the last word of the one that began it, put everything back."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    lines = [json.loads(line) for line in sys.stdin if line.endswith("\n")]
    if not lines or lines[-1] == _DONE:
        return
    files, *pids = lines
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    rewrite.put_back({file: data and base64.b64decode(data) for file, data in files.items()})


def _send(stream: IO[bytes], value: object) -> None:
    stream.write(json.dumps(value).encode() + b"\n")
    stream.flush()
