"""Copies of the user's requirements files without the lines that name a PyTorch wheel index. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import groupby

from torchpick.environment.requirementfiles import RequirementLine, beside, located
from torchpick.environment.requirements import Requirements
from torchpick.installers import store
from torchpick.installers.store import StoredFile
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

_PLACES = ("--index-url", "--extra-index-url", "--find-links")
_FILES = ("--requirement", "--constraint")


class Copies(Noun):
    """The copies by the path or URL they stand for, those they name before them, and what was left out, in words."""

    files: Mapping[str, StoredFile] = {}
    notes: tuple[Note, ...] = ()

    def path(self, given: str) -> str:
        """What to pass instead of a file that the user named."""
        copy = self.files.get(located(given))
        return given if copy is None else copy.path


def without_wheel_indexes(asked: Requirements, place: str) -> Copies:
    """Copies of all files where one of them names a PyTorch wheel index or lies on another computer."""
    sources = asked.sources
    if not any("://" in path or any(map(names_wheel_index, entries)) for path, entries in sources.items()):
        return Copies()
    copier = _Copier(sources, place)
    for path in sources:
        copier.visit(path, ())
    return Copies(copier.made, tuple(copier.notes))


class _Copier:
    def __init__(self, sources: Mapping[str, tuple[RequirementLine, ...]], place: str) -> None:
        self.sources = sources
        self.place = place
        self.made: dict[str, StoredFile] = {}
        self.notes: list[Note] = []

    def visit(self, path: str, above: tuple[str, ...]) -> None:
        """Make the copy of a file after those of the files that it names; a circle would lead back to its original."""
        if path in self.made or path in above or path not in self.sources:
            return
        entries = self.sources[path]
        for entry in entries:
            if entry.option in _FILES:
                self.visit(located(beside(path, entry.value)), (*above, path))
        lines = []
        for _, group in groupby(entries, key=lambda entry: entry.first):
            line = [*group]
            words = [self._word(entry, path) for entry in line]
            if set(words) == {None}:
                lines.append(line[0].text)
            else:
                lines.append(" ".join(filter(None, map(_said, line, words))))
        text = "".join(f"{line}\n" for line in lines if line)
        self.made[path] = store.file(self.place, "requirements", ".txt", text, private=True)

    def _word(self, entry: RequirementLine, path: str) -> str | None:
        """The option as the copy has it; None where it stays as it is, empty where it goes."""
        if names_wheel_index(entry):
            shown = redacted(path) if "://" in path else os.path.basename(path)
            text = f"{shown} line {entry.first} names a PyTorch wheel index, left out for this run"
            self.notes.append(Note("INDEX_LEFT_OUT", f"{text}: {redacted(entry.value)}"))
            return ""
        if entry.option in _FILES:
            copy = self.made.get(located(beside(path, entry.value)))
            return "" if copy is None else f"{entry.option} {_quoted(copy.path)}"
        # pip looks for a relative find-links beside the file first.
        if entry.option == "--find-links" and os.path.exists(beside(path, entry.value)):
            return f"--find-links {_quoted(os.path.abspath(beside(path, entry.value)))}"
        return None


def names_wheel_index(entry: RequirementLine) -> bool:
    """Whether the line makes a PyTorch wheel index count for every package."""
    return entry.option in _PLACES and is_wheel_host(entry.value)


def _said(entry: RequirementLine, word: str | None) -> str:
    return f"{entry.option} {_quoted(entry.value)}" if word is None else word


def _quoted(value: str) -> str:
    """Pip splits option lines as a shell does."""
    return f'"{value}"' if " " in value or "'" in value else value
