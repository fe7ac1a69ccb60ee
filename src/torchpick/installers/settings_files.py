"""The requirements files that the user's own variables and settings name: they may name indexes as any other does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from torchpick.environment import requirements
from torchpick.environment.requirement_texts import located
from torchpick.environment.requirements import Given, Requirements
from torchpick.environment.settings import pip_variable
from torchpick.errors import UsageError
from torchpick.installers import copies, variables
from torchpick.installers.copies import Copies
from torchpick.installers.inherits import OwnSettings
from torchpick.model.build import COMPANIONS
from torchpick.model.noun import Noun

# pip's options that name such files, and uv's variables that do.
_PIP = ("requirement", "constraint", "build-constraint")
_UV = ("UV_CONSTRAINT", "UV_OVERRIDE", "UV_BUILD_CONSTRAINT")
# The same options behind `--`, by what follows them: the long ones may be cut short.
_SHORT = ("-r", "-c", "-b")
_LONG = ("--requirements", "--constraints", "--overrides", "--build-constraints")


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
    """For uv; refuses to override the family, as uv would hold an override against the pick."""
    named = {name: words for name in _UV if (words := own.environ.get(name, "").split())}
    if override := named.get("UV_OVERRIDE"):
        asked = _read(override, own)
        for line in asked.limits:
            if line.name in ("torch", *COMPANIONS):
                hint = "take it out of that file for this run"
                raise UsageError(f"{line.where} overrides {line.name} (UV_OVERRIDE)", hint=hint)
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
    """Refuse a file among the installer's own arguments that names a wheel index: of those no copies are made."""
    rest = iter(passed_on)
    for word in rest:
        name, mark, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        long = len(name) > 4 and any(option.startswith(name) for option in _LONG)
        if name not in _SHORT and not long:
            continue
        file = value if mark else next(rest, "")
        if not file:
            continue  # the installer itself says what is missing
        for source in _read([file], own).sources.values():
            for entry in source.entries:
                if copies.names_wheel_index(entry):
                    hint = f"name the file before `--`, such as `-r {file}`"
                    raise UsageError(f"{source.path} line {entry.first} names a PyTorch wheel index", hint=hint)
