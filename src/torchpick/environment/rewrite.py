"""Put another text in a file's place in one step, the user's own or the cache's.

Whoever reads the file meanwhile sees the old text or the new one, whatever dies in between.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, NamedTuple

from torchpick.environment.world import content, is_yours
from torchpick.errors import TorchpickError
from torchpick.model.address import holds_secret
from torchpick.model.machine import Note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES = 4 << 20
_ANOTHER = "repair that file or its folder, or name another file"


class Text(NamedTuple):
    """A file's text, its lines ended by a line feed alone, and what it takes to write it back as it was."""

    file: str
    text: str
    newline: str = "\n"
    exists: bool = True


def read_file(file: str) -> Text:
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


def write_file(there: Text, text: str) -> None:
    """Put the text in the file's place; a new one that holds a secret is its owner's alone."""
    put(there.file, text.replace("\n", there.newline), _mode_of(text))


def _mode_of(text: str) -> int:
    return 0o600 if holds_secret(text) else 0o666


# Of files, by their paths, all that is in them; None where there is none.
Contents = Mapping[str, "bytes | None"]


def contents(files: Iterable[str]) -> Contents:
    """What is in these files before something changes several of them."""
    before: dict[str, bytes | None] = {}
    for file in files:
        with _refused(f"read {file}", _ANOTHER):
            before[file] = _content_of(file)
    return before


def _content_of(file: str) -> bytes | None:
    return content(file, _MOST_JSON) if os.path.exists(file) else None


@contextmanager
def put_back_where_it_fails(before: Contents) -> Iterator[None]:
    """All of the files are changed, or none: what ends in an error, or Ctrl-C, leaves them as they were."""
    try:
        yield
    except BaseException:
        put_back(before)
        raise


def put_back(before: Contents) -> None:
    """Each of the files as it was; what could not be put back is said."""
    failures = []
    for file, data in before.items():
        try:
            now = _content_of(file)
            if data is None and now is not None:
                os.unlink(os.path.realpath(file))
            elif data is not None and data != now:
                os.makedirs(os.path.dirname(file), exist_ok=True)
                replace(file, data, _mode_of(data.decode("utf-8", "replace")))
        except OSError as error:
            failures.append(f"cannot put {file} back: {error.strerror}")
    if failures:
        raise TorchpickError("; ".join(failures), hint="`git checkout` brings back what is committed")


def note_password(before: Text, text: str) -> tuple[Note, ...]:
    """Of a text that was written: whether others can read a secret in it that was not there before."""
    if not holds_secret(text) or holds_secret(before.text) or not os.stat(before.file).st_mode & 0o044:
        return ()
    words = f"{before.file} holds a password now, and others can read it: netrc or a keyring would keep it apart"
    return (Note("PASSWORD_WRITTEN", words),)


def folder(path: str, hint: str = "use another folder") -> None:
    """Make a folder, and those above it, where it is not there yet."""
    with _refused(f"write {path}", hint):
        os.makedirs(path, exist_ok=True)


def private_folder(path: str) -> None:
    """Make a folder of the user's alone, and those above it, whatever the umask. Raises OSError."""
    above = os.path.dirname(path)
    if above != path and not os.path.isdir(above):
        private_folder(above)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)


def cache_folder(path: str) -> None:
    """Make a folder of the cache where it is not there yet."""
    with _refused(f"write {path}", _CACHE_HINT):
        private_folder(path)


def put(file: str, text: str, mode: int = 0o666, *, follow: bool = True, hint: str = _ANOTHER) -> None:
    """Write a file that is ours from the first to the last line: what was there is replaced, and read by nobody."""
    with _refused(f"write {file}", hint):
        replace(file, text.encode("utf-8"), mode, follow=follow)


@contextmanager
def _refused(what: str, hint: str) -> Iterator[None]:
    """Say what the system would not do, why, and what to do then."""
    try:
        yield
    except OSError as error:
        raise TorchpickError(f"cannot {what}: {error.strerror}", hint=hint) from error


def replace(file: str, data: bytes, mode: int = 0o666, *, follow: bool = True, lasting: bool = True) -> None:
    """Replace a file in one step, with its mode and its owner; `mode` is that of a new one. Raises OSError.

    A link is followed, so that it stays one; without `follow` it is replaced itself, as a pipe or a device is then, for
    folders where others write too. Nothing is left behind where it fails, and one file beside it by a run that is
    killed. What is not `lasting` may be damaged where the power is lost.
    """
    above, name = os.path.split(file)
    target = os.path.realpath(file) if follow else os.path.join(os.path.realpath(above), name)
    try:
        before = os.stat(target, follow_symlinks=follow)
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):
        if follow:
            with open(target, "wb") as stream:  # /dev/stdout, a pipe: nothing to put in their place
                stream.write(data)
            return
        before = None
    # In the same folder: a rename does not cross file systems.
    above = os.path.dirname(target)
    temporary = os.path.join(above, f".torchpick-{os.urandom(9).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, mode if before is None else 0o600)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if before is not None:
                _as_it_was(temporary, before)
            if lasting:
                os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _as_it_was(temporary: str, before: os.stat_result) -> None:
    """Give the new file the owner and the mode of the old; changing the owner clears some bits of the mode."""
    user, group = before.st_uid, before.st_gid
    if sys.platform != "win32" and owners(os.stat(temporary)) != owners(before):
        try:
            os.chown(temporary, user, group)
        except PermissionError as error:
            why = f"it belongs to user {user} and group {group}, and only they or root can leave it to them"
            raise PermissionError(error.errno, why) from error
    os.chmod(temporary, stat.S_IMODE(before.st_mode))


def owners(status: os.stat_result) -> tuple[int, int]:
    return status.st_uid, status.st_gid


# The user's cache: JSON of ours.
_MOST_JSON = 64 << 20
_CACHE_HINT = "set another folder with TORCHPICK_CACHE_DIR"


def write_json(path: Path, value: object) -> None:
    """Put JSON in a file's place."""
    cache_folder(str(path.parent))
    put(str(path), _json(value), 0o600, follow=False, hint=_CACHE_HINT)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def read_json(path: Path) -> object:
    """The content of a file of ours; None if there is none, it cannot be ours, or others may write it."""
    try:
        value: object = json.loads(content(str(path), _MOST_JSON)) if is_yours(str(path)) else None
    except (OSError, ValueError, RecursionError):
        return None
    return value


class Records:
    """A folder with so many private files of JSON, each made anew where it is lost, damaged, or of another schema."""

    def __init__(self, folder: Path, schema: int, most: int, most_bytes: int) -> None:
        self._folder, self._schema, self._most, self._most_bytes = folder, schema, most, most_bytes
        self._written = 0

    def read(self, key: str) -> dict[str, Any]:
        """Empty where there is none."""
        record = read_json(self._file(key))
        return record if isinstance(record, dict) and record.get("schema") == self._schema else {}

    def write(self, key: str, value: Mapping[str, object]) -> None:
        """A record that is too large is not kept; a cache that cannot be written is no error."""
        text = _json({"schema": self._schema, **value})
        with suppress(TorchpickError, OSError):
            if len(text) <= self._most_bytes:
                cache_folder(str(self._folder))
                replace(str(self._file(key)), text.encode(), 0o600, follow=False, lasting=False)
                # To list a full folder takes as long as to read a file.
                if self._written % max(self._most // 64, 1) == 0:
                    self._prune()
                self._written += 1

    def _prune(self) -> None:
        """Let go what killed runs left, and the oldest where there are too many."""
        files = [*self._folder.glob("*.json"), *self._folder.glob(".torchpick-*")]
        if len(files) > self._most:
            files.sort(key=lambda file: file.stat().st_mtime)
            for file in files[: len(files) - self._most * 3 // 4]:
                file.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self._folder / f"{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}.json"
