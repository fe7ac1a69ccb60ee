"""Copies of the user's requirements files without the lines that name a PyTorch wheel index. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import groupby

from torchpick.environment.requirementfiles import RequirementLine, beside, located
from torchpick.environment.requirements import Requirements, RequirementsFile
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
    """A copy of each file that names a PyTorch wheel index, of each from another computer, and of what leads there."""
    copier = _Copier(asked.sources, place)
    for path in asked.sources:
        copier.visit(path, ())
    return Copies(copier.made, tuple(copier.notes))


class _Copier:
    def __init__(self, sources: Mapping[str, RequirementsFile], place: str) -> None:
        self.sources = sources
        self.place = place
        self.made: dict[str, StoredFile] = {}
        self.notes: list[Note] = []
        self.seen: set[str] = set()
        # With a copy of one, a circle would lead back to its original.
        self.cuts = any("://" in path or any(map(names_wheel_index, of.entries)) for path, of in sources.items())

    def visit(self, path: str, above: tuple[str, ...]) -> None:
        """Make the copy of a file after those of the files that it names."""
        if path in self.seen or path not in self.sources:
            return
        self.seen.add(path)
        source = self.sources[path]
        for entry in source.entries:
            if entry.option in _FILES:
                self.visit(located(beside(path, entry.value)), (*above, path))
        lines = source.text.splitlines()
        changed = "://" in path
        for (first, last), entries in groupby(source.entries, key=lambda entry: (entry.first, entry.last)):
            line = [(entry, self._word(entry, path, above)) for entry in entries]
            if all(word is None for _, word in line):
                continue
            changed = changed or any(word == "" or self._leads_to_copy(entry, path) for entry, word in line)
            words = [f"{entry.option} {_quoted(entry.value)}" if word is None else word for entry, word in line]
            lines[first - 1 : last] = [" ".join(filter(None, words))] + [""] * (last - first)
        if changed:
            text = "\n".join(lines) + "\n"
            self.made[path] = store.file(self.place, "requirements", ".txt", text, private=True)

    def _word(self, entry: RequirementLine, path: str, above: tuple[str, ...]) -> str | None:
        """The option as the copy has it; None where it stays as it is, empty where it goes."""
        if names_wheel_index(entry):
            shown = redacted(path) if "://" in path else os.path.basename(path)
            text = f"{shown} line {entry.first} names a PyTorch wheel index, left out for this run"
            self.notes.append(Note("INDEX_LEFT_OUT", f"{text}: {redacted(entry.value)}"))
            return ""
        if entry.option in _FILES:
            target = located(beside(path, entry.value))
            if self.cuts and target in (*above, path):
                return ""
            copy = self.made.get(target)
            return f"{entry.option} {_quoted(target if copy is None else copy.path)}"
        # pip looks for a relative find-links beside the file first.
        if entry.option == "--find-links" and os.path.exists(beside(path, entry.value)):
            return f"--find-links {_quoted(os.path.abspath(beside(path, entry.value)))}"
        return None

    def _leads_to_copy(self, entry: RequirementLine, path: str) -> bool:
        return entry.option in _FILES and located(beside(path, entry.value)) in self.made


def names_wheel_index(entry: RequirementLine) -> bool:
    """Whether the line makes a PyTorch wheel index count for every package."""
    return entry.option in _PLACES and is_wheel_host(entry.value)


def _quoted(value: str) -> str:
    """Pip splits option lines as a shell does."""
    return f'"{value}"' if " " in value or "'" in value else value
