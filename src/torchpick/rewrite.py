"""Read a file that belongs to the user, and put another text in its place in one step."""

from __future__ import annotations

import contextlib
import os
import tempfile

from torchpick.errors import TorchpickError
from torchpick.model.noun import Noun

MOST_BYTES = 4 << 20


class Text(Noun):
    """A file's text, its lines ended by a line feed alone, and what it takes to write it back as it was."""

    file: str
    text: str
    newline: str = "\n"
    exists: bool = True


def read(file: str) -> Text:
    """The file, or an empty text where there is none."""
    try:
        with open(file, "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return Text(file, "", os.linesep, exists=False)
    except OSError as error:
        raise TorchpickError(f"cannot read {file}: {error.strerror}", hint="name another file") from error
    if len(content) > MOST_BYTES:
        raise TorchpickError(f"{file} is larger than {MOST_BYTES >> 20} MiB", hint="is it the right file?")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        hint = "save it as UTF-8 first"
        raise TorchpickError(f"{file} is not UTF-8: byte {error.start} cannot be read", hint=hint) from error
    # Only where every line ends so is it the file's own way; mixed ends are left as they are.
    if text.count("\n") == text.count("\r\n") > 0:
        return Text(file, text.replace("\r\n", "\n"), "\r\n")
    return Text(file, text)


def write(there: Text, text: str) -> None:
    """Put the text in the file's place: whoever reads it meanwhile sees the old or the new, and its mode is kept."""
    target = os.path.realpath(there.file)
    folder = os.path.dirname(target)
    content = text.replace("\n", there.newline) if there.newline != "\n" else text
    try:
        handle, temporary = tempfile.mkstemp(prefix=".torchpick-", dir=folder)
        try:
            with open(handle, "wb") as stream:
                stream.write(content.encode("utf-8"))
            os.chmod(temporary, _mode(target))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise TorchpickError(f"cannot write {there.file}: {error.strerror}", hint="name another file") from error


def _mode(target: str) -> int:
    """The mode of what is there, or what a new file would get."""
    try:
        return os.stat(target).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
