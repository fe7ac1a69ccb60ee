"""The user's requirements files in one, without the lines that name a PyTorch wheel index. Pure."""

from __future__ import annotations

import os

from torchpick.environment.requirementfiles import RequirementLine, beside
from torchpick.environment.requirementline import option
from torchpick.environment.requirements import Requirements
from torchpick.installers import store
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.redaction import redacted


def without_wheel_indexes(
    asked: Requirements, place: str
) -> tuple[Requirements, tuple[store.StoredFile, ...], tuple[Note, ...]]:
    """The same, by one file of requirements and one of constraints where a file is not as an installer may read it.

    That is where one names a PyTorch wheel index, or lies on another computer: an installer would read it again.
    """
    sources = asked.sources
    named = any(is_wheel_host(entry.place) for entries in sources.values() for entry in entries)
    if not named and not any("://" in path for path, _ in sources):
        return asked, (), ()
    notes = []
    texts = {False: "", True: ""}
    for (path, limits), entries in sources.items():
        for entry in entries:
            if is_wheel_host(entry.place):
                shown = redacted(path) if "://" in path else os.path.basename(path)
                text = f"{shown} line {entry.first} names a PyTorch wheel index, left out for this run"
                notes.append(Note("INDEX_LEFT_OUT", f"{text}: {redacted(entry.value)}"))
            elif entry.option not in ("--requirement", "--constraint"):  # what they name is among the sources
                texts[limits] += f"{_line(entry, path)}\n"
    files = {
        kind: store.file(place, "requirements", ".txt", text, private=True) for kind, text in texts.items() if text
    }
    paths = {kind: (each.path,) for kind, each in files.items()}
    given = asked.given._replace(files=(*asked.opaque, *paths.get(False, ())), constraints=paths.get(True, ()))
    return asked._replace(given=given), tuple(files.values()), tuple(notes)


def _line(entry: RequirementLine, path: str) -> str:
    """A requirement as it stands; of several options in a line each has one of its own."""
    value = beside(path, entry.value)
    # pip looks for a relative find-links beside the file first.
    value = os.path.abspath(value) if entry.option == "--find-links" and os.path.exists(value) else entry.value
    return option(entry.option, value) if entry.option else entry.text
