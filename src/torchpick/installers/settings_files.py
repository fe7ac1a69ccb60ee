"""The requirements files that the user's own variables and settings name: they may name indexes as any other does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from torchpick.environment import requirements
from torchpick.environment.requirementfiles import located
from torchpick.environment.requirements import Given, Requested, Requirements
from torchpick.environment.toolsettings import pip_variable
from torchpick.errors import RequirementError, UsageError
from torchpick.installers import copies, dashes, variables
from torchpick.installers.copies import Copies
from torchpick.installers.inherits import OwnSettings
from torchpick.model.build import COMPANIONS
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted

# pip's options that name such files, and uv's variables that do.
_PIP = ("requirement", "constraint", "build-constraint")
_UV = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT", "UV_EXCLUDE")


class SettingsFiles(Noun):
    """The variables that lead to copies instead, and the copies."""

    set: Mapping[str, str] = {}
    copies: Copies = Copies()


def of_pip(own: OwnSettings, place: str, skipped: Sequence[str] = ()) -> SettingsFiles:
    """For pip; `skipped` are words that do not count."""
    named = {
        pip_variable(name): [word for word in own.pip[name].words if word not in skipped]
        for name in _PIP
        if name in own.pip
    }
    return _changed(named, own, place)


def of_uv(own: OwnSettings, place: str) -> SettingsFiles:
    """For uv; an override of the family is refused."""
    named = {name: words for name in _UV if (words := own.environ.get(name, "").split())}
    _check_overrides(named.get("UV_OVERRIDE", ()), "UV_OVERRIDE", own)
    return _changed(named, own, place)


def _changed(named: Mapping[str, Sequence[str]], own: OwnSettings, place: str) -> SettingsFiles:
    words = [word for words in named.values() for word in words]
    made = copies.without_wheel_indexes(_read(words, own), place) if words else Copies()
    changed = {
        name: " ".join(_address(made, word) for word in words)
        for name, words in named.items()
        if any(made.path(word) != word for word in words)
    }
    return SettingsFiles(changed, made)


def _address(made: Copies, word: str) -> str:
    """What to name instead of a file: a copy as a URL."""
    path = made.path(word)
    return word if path == word else variables.address(path)


def _read(words: Iterable[str], own: OwnSettings) -> Requirements:
    # What is not there the installer itself will miss.
    there = tuple(word for word in words if "://" in (path := located(word)) or os.path.exists(path))
    return requirements.read(Given(constraints=there), own.environ, own.fetch)


def check(passed_on: Sequence[str], own: OwnSettings) -> None:
    """Refuse a file among the installer's own arguments that leads around the pick: of those no copies are made."""
    overrides = dashes.files(passed_on, dashes.OVERRIDE)
    _check_overrides(overrides, "after `--`", own)
    builds, excludes = dashes.files(passed_on, dashes.BUILD), dashes.files(passed_on, dashes.EXCLUDE)
    for file in (*overrides, *builds, *excludes):
        for source in _read([file], own).sources.values():
            for entry in source.entries:
                if copies.names_wheel_index(entry):
                    hint = f"leave that line out: `{redacted(entry.value)}` would supply other packages too"
                    raise UsageError(f"{source.path} line {entry.first} names a PyTorch wheel index", hint=hint)


def excluded(passed_on: Sequence[str], own: OwnSettings) -> tuple[Requested, ...]:
    """What uv must never install, each with its place."""
    words = (*own.environ.get("UV_EXCLUDE", "").split(), *dashes.files(passed_on, dashes.EXCLUDE))
    found = [*_read(words, own).limits]
    for file in own.uv_files:
        listed = file.table.get("exclude-dependencies")
        for text in listed if isinstance(listed, list) else ():
            with suppress(RequirementError):  # uv itself says what is wrong with it
                found.append(requirements.parse(str(text), f"{file.path} exclude-dependencies"))
    return tuple(found)


def _check_overrides(files: Iterable[str], source: str, own: OwnSettings) -> None:
    """Refuse to override the family: uv would hold an override against the pick."""
    for line in _read(files, own).limits:
        if line.name in ("torch", *COMPANIONS):
            hint = "take it out of that file for this run"
            raise UsageError(f"{line.where} overrides {line.name} ({source})", hint=hint)
