"""A project's file changed together with its lock: both as uv takes them, or every byte as it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from torchpick.environment import projectfile, rewrite
from torchpick.environment.rewrite import Text
from torchpick.errors import InstallerError
from torchpick.install.command import Command, run_command
from torchpick.install.installers import find_uv
from torchpick.projects.backends import lock_folder, workspace_files


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
    terminate = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with rewrite.put_back_where_it_fails(before):
            rewrite.write_file(there, text)
            command = Command("uv", (uv, "lock", "--project", folder))
            status, interrupted = run_command(command, environ, talk_only=True)
            if interrupted:
                raise KeyboardInterrupt
            if status:
                hint = f"nothing was changed; what uv says above is about what {there.file} requires"
                raise InstallerError("`uv lock` fails with these backends", hint=hint, code="LOCK")
    finally:
        signal.signal(signal.SIGTERM, terminate)
    return True
