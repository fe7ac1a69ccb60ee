"""What was changed in somebody's files, to be put back: byte for byte, if nobody else touched them since."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Sequence
from hashlib import sha256

from torchpick.environment import rewrite
from torchpick.errors import TorchpickError
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import holds_secret

Restore = Callable[[str, str], str]


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
    def tells_secret(self) -> bool:
        """Whether others can read a secret in it that was not there before."""
        if not holds_secret(self.after) or holds_secret(self.before or ""):
            return False
        try:
            return bool(os.stat(self.file).st_mode & 0o044)
        except OSError:
            return False


def password_told(file: str) -> Note:
    """What to say of a change that shows a secret."""
    text = f"{file} holds a password now, and others can read it: netrc or a keyring would keep it apart"
    return Note("PASSWORD_WRITTEN", text)


class JournalEntry(Noun):
    """What the journal keeps of a change."""

    file: str
    before: str | None
    before_hash: str
    after_hash: str


def write(journal: str, changes: Sequence[FileChange]) -> None:
    """Keep the changes before they are made; who may not read the files may not read what was in them."""
    mode = 0o666
    entries = [
        {
            "file": each.file,
            "before": each.before,
            "before_hash": _hash(each.before or ""),
            "after_hash": _hash(each.after),
        }
        for each in changes
    ]
    for change in changes:
        with contextlib.suppress(OSError):
            mode &= os.stat(change.file).st_mode
    there = rewrite.read(journal)
    text = json.dumps({"schema": 1, "journal": os.path.realpath(journal), "files": entries}, indent=1)
    rewrite.write(there, text + "\n", mode)


def read(journal: str) -> tuple[JournalEntry, ...]:
    """The entries; none where there is no journal, or one that was copied here with another environment."""
    there = rewrite.read(journal)
    if not there.exists:
        return ()
    try:
        fields = Fields(loads(there.text))
        if fields.has("journal") and fields.text("journal") != os.path.realpath(journal):
            return ()
        return tuple(
            JournalEntry(
                each.text("file"), each.maybe_text("before"), each.text("before_hash"), each.text("after_hash")
            )
            for each in fields.objects("files")
        )
    except ShapeError as error:
        hint = f"delete {journal} and remove the lines that torchpick marked by hand"
        raise TorchpickError(f"{journal}: {error}", hint=hint, code="JOURNAL") from error


def put_back(entry: JournalEntry, by_marks: Restore) -> bool:
    """Put one file back; `by_marks` takes ours out of a file that has been changed since. Whether anything was done."""
    there = rewrite.read(entry.file)
    if not there.exists or _hash(there.text) == entry.before_hash:
        return False
    if _hash(there.text) == entry.after_hash:
        text = entry.before
    else:
        text = by_marks(entry.file, there.text)
        if text == there.text:
            return False
        if entry.before is None and not text.strip():
            text = None
    if text is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.realpath(entry.file))  # a link to a file that was not there is somebody's own
    else:
        rewrite.write(there, text)
    return True


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
