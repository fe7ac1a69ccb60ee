"""A command as a value, and how it is run: as a child that has the terminal; output, signals and status are its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from subprocess import CompletedProcess, Popen
from types import FrameType
from typing import NamedTuple

from torchpick.environment import child, rewrite
from torchpick.environment.toolsettings import store_in
from torchpick.environment.world import is_yours, start_of
from torchpick.errors import InstallerError
from torchpick.model.address import holds_secret, redacted
from torchpick.model.fields import written
from torchpick.model.machine import Note

# What a terminal sends by itself to every process of its foreground group, the child included.
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")


class Command(NamedTuple):
    """An installer's exact arguments, what changes in its environment, and the files it is given, by their paths.

    `before` is what has to be done first, and well.
    """

    installer: str
    argv: tuple[str, ...]
    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    files: Mapping[str, str] = {}
    notes: tuple[Note, ...] = ()
    before: Command | None = None

    def environ(self, base: Mapping[str, str]) -> dict[str, str]:
        return {**{name: value for name, value in base.items() if name not in self.unset}, **self.set}

    def shown(self) -> Command:
        """Without the passwords that URLs in it may hold; what is run keeps them."""
        return self._replace(
            argv=tuple(map(redacted, self.argv)),
            set={name: redacted(value) for name, value in self.set.items()},
            files={path: redacted(content) for path, content in self.files.items()},
            before=self.before and self.before.shown(),
        )

    def to_dict(self) -> dict[str, object]:
        return {
            **written(self, "installer", "argv", "before", "files", "notes", optional=("before",)),
            "environ": written(self, "set", "unset"),
        }


def run_command(command: Command, environ: Mapping[str, str], *, talk_only: bool = False) -> tuple[int, bool]:
    """Write its files, start it, and wait: its status, negative for a signal, and whether it was interrupted.

    `talk_only` sends its stdout to stderr, where stdout is for something else.
    """
    if command.before is not None:
        ended = run_command(command.before, environ, talk_only=talk_only)
        if any(ended):
            return ended
    write_files(command.files)
    stdout = sys.stderr.fileno() if talk_only else None
    children: list[Popen[bytes]] = []
    early: list[int] = []  # what came while it was being started
    with _forward_signals(children, early) as signals:
        try:
            process = subprocess.Popen(command.argv, env=command.environ(environ), stdout=stdout)
        except OSError as error:
            raise _cannot_start(command, error) from error
        children.append(process)
        for number in early:
            process.send_signal(number)
        status = process.wait()
    # pip ends an interrupted run with status 1 as any failed one, so the signal itself is what tells.
    interrupted = any(signal.Signals(number).name in _FROM_TERMINAL for number in signals)
    return status, interrupted or status in (-signal.SIGINT, 128 + signal.SIGINT)


# A resolution of hundreds of packages over a slow line; what takes longer hangs.
RESOLVE_S = 900.0
# Of a report, which names every file with its hashes.
MOST_BYTES = 64 << 20


def capture_command(command: Command, environ: Mapping[str, str]) -> CompletedProcess[str]:
    """Write its files, start it without a terminal, and return what it wrote; InstallerError where it hangs."""
    write_files(command.files)
    try:
        result = child.run(command.argv, command.environ(environ), RESOLVE_S, most=MOST_BYTES)
    except OSError as error:
        raise _cannot_start(command, error) from error
    if result.status is None:
        hint = "`--no-deps` skips the dependencies"
        raise InstallerError(f"{command.installer} did not resolve within {RESOLVE_S:.0f} s", hint=hint)
    stdout, stderr = (text.decode("utf-8", "replace") for text in (result.answer, result.talk))
    return CompletedProcess(command.argv, result.status, stdout, stderr.strip())


def _cannot_start(command: Command, error: OSError) -> InstallerError:
    message = f"{command.argv[0]} does not start: {error.strerror}"
    return InstallerError(message, hint="use the other one with `--installer`")


@contextmanager
def _forward_signals(children: Sequence[Popen[bytes]], early: list[int]) -> Iterator[Sequence[int]]:
    """While the installer works: what reaches torchpick goes on to it, and torchpick waits for what it makes of it.

    Yields the signals that came.
    """
    signals: list[int] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        if signal.Signals(number).name not in _FROM_TERMINAL or not _from_terminal():
            for process in children:
                process.send_signal(number)
            if not children:
                early.append(number)

    before = {}
    try:
        for name in (*_FROM_TERMINAL, *_FORWARDED):
            number = getattr(signal, name, None)
            # What is ignored stays so (nohup), for the child too.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, forward)
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _from_terminal() -> bool:
    """Whether a terminal has this process group in front: then its Ctrl-C went to the child as well."""
    if not hasattr(os, "tcgetpgrp"):
        return True  # Windows sends Ctrl-C to all processes of the console
    for stream in (0, 1, 2):
        with suppress(OSError):
            return os.tcgetpgrp(stream) == os.getpgrp()
    return False


def die_of(status: int) -> int:
    """Where a signal ended the installer, end of the same signal; else the exit status to return."""
    if status >= 0:
        return status
    if os.name == "posix":
        sys.stdout.flush()
        sys.stderr.flush()
        with suppress(OSError):  # nothing can be set for a SIGKILL
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return 128 - status


def store_folder(cache: str, *, lasting: bool = False) -> str:
    """Where files are kept: the cache, or a folder of the user's own among the temporary ones where it is read-only.

    Where files must last, a cache that others may change is refused.
    """
    store = store_in(cache)
    if lasting and not is_private_store(cache):
        raise _no_cache(f"others may write to {cache}, and pip and uv read files there")
    with suppress(OSError):
        rewrite.private_folder(store)
        if os.access(store, os.W_OK) and is_private_store(cache):
            return store

    store = os.path.join(tempfile.gettempdir(), f"torchpick-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
    with suppress(OSError):
        rewrite.private_folder(store)
    # In a folder that everybody can write to, somebody else may have been there first.
    if os.path.islink(store) or not os.path.isdir(store) or not is_yours(store):
        raise _no_cache(f"neither {cache} nor {store} is yours alone to write")
    return store


def is_private_store(cache: str) -> bool:
    """Whether what lies in the cache is what was put there; one that is yet to be made is yours."""
    return all(is_yours(path) for path in (cache, store_in(cache)) if os.path.exists(path))


def store_notes(cache: str, store: str) -> tuple[Note, ...]:
    """That another folder is used, where it is."""
    if is_private_store(cache):
        return ()
    return (Note("CACHE_IGNORED", f"others may write to {cache}, so {store} is used in its place"),)


def _no_cache(message: str) -> InstallerError:
    return InstallerError(message, hint="set a folder of your own with TORCHPICK_CACHE_DIR", code="NO_CACHE")


def stored_file(store: str, kind: str, suffix: str, content: str) -> dict[str, str]:
    """A file by its path, which its content names: two runs share it and none can change another's."""
    return {f"{store}/{kind}-{sha256(content.encode()).hexdigest()[:16]}{suffix}": content}


def write_files(files: Mapping[str, str], *, shared: bool = False) -> None:
    """Write what is not there yet; a reader sees the whole file or none.

    Others may read what is `shared` where the redactor finds no secret in it.
    """
    for path, text in files.items():
        content = text.encode()
        if start_of(path, len(content) + 1) != content:
            mode = 0o644 if shared and not holds_secret(text) else 0o600
            rewrite.put(path, text, mode, follow=False, hint="set another folder with TORCHPICK_CACHE_DIR")
