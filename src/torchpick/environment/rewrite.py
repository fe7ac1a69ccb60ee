"""Read a file that belongs to the user, and put another text in its place in one step."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator

from torchpick.environment.world import content
from torchpick.errors import TorchpickError
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import holds_secret

MOST_BYTES = 4 << 20
# How a file begins that is not in its place yet; one that a killed run left may be removed.
TEMPORARY = ".torchpick-"
BINARY = getattr(os, "O_BINARY", 0)
_ANOTHER = "repair that file or its folder, or name another file"
_OWNER = "it belongs to user {} and group {}, and only they or root can leave it to them"


class Text(Noun):
    """A file's text, its lines ended by a line feed alone, and what it takes to write it back as it was."""

    file: str
    text: str
    newline: str = "\n"
    exists: bool = True


class FileChange(Noun):
    """One file: its text before (None where there was none) and after."""

    file: str
    before: str | None
    after: str

    @property
    def mode(self) -> int:
        """Of the file, where it is new: what holds a secret is its owner's alone."""
        return 0o600 if holds_secret(self.after) else 0o666

    @property
    def notes(self) -> tuple[Note, ...]:
        """Of the change that was made: whether others can read a secret in it that was not there before."""
        if not holds_secret(self.after) or holds_secret(self.before or "") or not os.stat(self.file).st_mode & 0o044:
            return ()
        text = f"{self.file} holds a password now, and others can read it: netrc or a keyring would keep it apart"
        return (Note("PASSWORD_WRITTEN", text),)


def read(file: str) -> Text:
    """The file, or an empty text where there is none."""
    try:
        data = content(file, MOST_BYTES)
    except FileNotFoundError:
        return Text(file, "", os.linesep, exists=False)
    except OSError as error:
        raise TorchpickError(f"cannot read {file}: {error.strerror}", hint=_ANOTHER) from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8 first"
        raise TorchpickError(f"{file} is not UTF-8: byte {error.start} cannot be read", hint=hint) from error
    # Only where every line ends so is it the file's own way; mixed ends are left as they are.
    if text.count("\n") == text.count("\r\n") > 0:
        return Text(file, text.replace("\r\n", "\n"), "\r\n")
    return Text(file, text)


def write(there: Text, text: str, mode: int = 0o666, *, follow: bool = True, hint: str = _ANOTHER) -> None:
    """Put the text in the file's place: whoever reads it meanwhile sees the old or the new. `mode`: of a new file."""
    text = text.replace("\n", there.newline) if there.newline != "\n" else text
    try:
        replace(there.file, text.encode("utf-8"), mode, follow=follow)
    except OSError as error:
        raise TorchpickError(f"cannot write {there.file}: {error.strerror}", hint=hint) from error


def folder(path: str, hint: str = "use another folder") -> None:
    """Make a folder, and those above it, where it is not there yet."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise TorchpickError(f"cannot write {path}: {error.strerror}", hint=hint) from error


def put(file: str, text: str, mode: int = 0o666, *, follow: bool = True, hint: str = _ANOTHER) -> None:
    """Write a file that is ours from the first to the last line: what was there is replaced, and read by nobody."""
    write(Text(file, ""), text, mode, follow=follow, hint=hint)


def replace(file: str, data: bytes, mode: int = 0o666, *, follow: bool = True, lasting: bool = True) -> None:
    """Replace a file in one step, with its mode and its owner; `mode` is that of a new one. Raises OSError.

    A link is followed, so that it stays one; without `follow` it is replaced itself, as a pipe or a device is then, for
    folders where others write too. Nothing is left behind where it fails. What is not `lasting` may be lost or damaged
    with the power, and what killed runs left beside it is for `clear`.
    """
    above, name = os.path.split(file)
    target = os.path.realpath(file) if follow else os.path.join(os.path.realpath(above), name)
    try:
        known = os.stat(target, follow_symlinks=follow)
    except FileNotFoundError:
        known = None
    if known is not None and not stat.S_ISREG(known.st_mode):
        if follow:
            with open(target, "wb") as stream:  # /dev/stdout, a pipe: nothing to put in their place
                stream.write(data)
            return
        known = None
    # In the same folder: a rename does not cross file systems.
    if lasting:
        clear(os.path.dirname(target))
    fresh = f"{TEMPORARY}{_computer()}-{os.getpid()}-{os.urandom(6).hex()}"
    temporary = os.path.join(os.path.dirname(target), fresh)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode if known is None else 0o600)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if known is not None:
                _as_it_was(temporary, known)
            if lasting:
                os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    if lasting:
        _settle(os.path.dirname(target))


def clear(folder: str) -> None:
    """Remove what runs that were killed on this computer left in a folder; others may still be at work."""
    if sys.platform == "win32":  # where asking after a process may end it
        return
    mine = f"{TEMPORARY}{_computer()}-"
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(mine) and _is_gone(name.removeprefix(mine).partition("-")[0]):
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(folder, name))


def _computer() -> str:
    """Separates the temporary files of this computer from those of others that share the folder."""
    import zlib

    name = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")
    return f"{zlib.crc32(name.encode('utf-8', 'surrogateescape')):08x}"


def _is_gone(pid: str) -> bool:
    if not pid.isdecimal() or len(pid) > 9:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _as_it_was(temporary: str, known: os.stat_result) -> None:
    """Give the new file the owner and the mode of the old; changing the owner clears some bits of the mode."""
    if sys.platform != "win32" and owners(os.stat(temporary)) != owners(known):
        try:
            os.chown(temporary, known.st_uid, known.st_gid)
        except PermissionError as error:
            raise PermissionError(error.errno, _OWNER.format(known.st_uid, known.st_gid)) from error
    os.chmod(temporary, stat.S_IMODE(known.st_mode))


def owners(known: os.stat_result) -> tuple[int, int]:
    return known.st_uid, known.st_gid


def _settle(folder: str) -> None:
    """Let the rename outlive a loss of power, where the system can say so of a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# One process at a time: the lock of an open file, which the system lets go when the process that holds it dies.
_POLL = 0.05
_BEYOND = 1 << 30  # behind the end of every file: who reads the file is not kept from it


def wait(handle: int, busy: str, most: float, waiting: Callable[[], None] | None = None) -> None:
    """Take the lock of an open file or folder; `busy` says in words who has it when that takes too long."""
    began = time.monotonic()
    while not take(handle):
        if waiting is not None:
            waiting()
            waiting = None
        if time.monotonic() - began > most:
            raise TorchpickError(f"{busy} for {most:.0f} seconds", hint="wait for it, or stop it")
        time.sleep(_POLL)


@contextlib.contextmanager
def of_environment(prefix: str, most: float = 60.0) -> Iterator[None]:
    """Alone in an environment, which gets no file by it; an environment that cannot be opened has nothing to guard."""
    place = os.path.join(prefix, "pyvenv.cfg") if sys.platform == "win32" else prefix
    try:
        handle = os.open(place, os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        wait(handle, f"another torchpick is changing {prefix}", most)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def take(handle: int) -> bool:
        os.lseek(handle, _BEYOND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: each file is still replaced in one step
            return True
        return True
