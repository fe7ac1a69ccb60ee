"""Copies of the user's requirements files without the lines that name a PyTorch wheel index. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchpick.install import store
from torchpick.install.lines import Entry
from torchpick.install.requirements import Asked, Source, beside
from torchpick.install.settings import is_wheel_index, redacted
from torchpick.install.store import File
from torchpick.model.machine import Note
from torchpick.model.noun import Noun

_PLACES = ("--index-url", "--extra-index-url", "--find-links")
_FILES = ("--requirement", "--constraint")


class Copies(Noun):
    """The copies by the path they stand for, those they name before them, and what was left out, in words."""

    files: Mapping[str, File] = {}
    notes: tuple[Note, ...] = ()

    def path(self, given: str) -> str:
        """What to pass instead of a file that the user named."""
        copy = self.files.get(os.path.abspath(given))
        return given if copy is None else copy.path


def without_wheel_indexes(asked: Asked, place: str) -> Copies:
    """A copy of each file that names a PyTorch wheel index, and of each that leads to such a file."""
    made: dict[str, File] = {}
    notes: list[Note] = []
    for path in _inner_first(asked.sources):
        source = asked.sources[path]
        lines = source.text.splitlines()
        changed = False
        for entry in source.entries:
            new = _changed(entry, source.path, made)
            if new is None:
                continue
            if not new:
                url = redacted(entry.value)
                where = f"{os.path.basename(path)} line {entry.first}"
                text = f"{where} names a PyTorch wheel index, left out for this run: {url}"
                notes.append(Note("INDEX_LEFT_OUT", text))
            lines[entry.first - 1 : entry.last] = [new] + [""] * (entry.last - entry.first)
            changed = changed or not new or _leads_to_copy(entry, path, made)
        if changed:
            made[path] = store.file(place, "requirements", ".txt", "\n".join(lines) + "\n", private=True)
    return Copies(made, tuple(notes))


def _inner_first(sources: Mapping[str, Source]) -> list[str]:
    """A file after those that it names; a circle is cut where it closes."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(path: str) -> None:
        if path in seen or path not in sources:
            return
        seen.add(path)
        for entry in sources[path].entries:
            if entry.option in _FILES:
                visit(os.path.abspath(beside(path, entry.value)))
        order.append(path)

    for path in sources:
        visit(path)
    return order


def _changed(entry: Entry, path: str, made: Mapping[str, File]) -> str | None:
    """The line as the copy has it; None where it stays as it is, empty where it goes."""
    if entry.option in _PLACES and is_wheel_index(entry.value):
        return ""
    if entry.option in _FILES and "://" not in entry.value:
        target = os.path.abspath(beside(path, entry.value))
        copy = made.get(target)
        return f"{entry.option} {_quoted(target if copy is None else copy.path)}"
    # pip looks for a relative find-links beside the file first.
    if entry.option == "--find-links" and "://" not in entry.value and os.path.exists(beside(path, entry.value)):
        return f"--find-links {_quoted(os.path.abspath(beside(path, entry.value)))}"
    return None


def _leads_to_copy(entry: Entry, path: str, made: Mapping[str, File]) -> bool:
    return entry.option in _FILES and os.path.abspath(beside(path, entry.value)) in made


def _quoted(path: str) -> str:
    """Pip splits option lines as a shell does."""
    return f'"{path}"' if " " in path or "'" in path else path
