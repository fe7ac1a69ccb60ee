"""What the user's own settings would add to a run: their indexes stay, PyTorch wheel indexes are left out and named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from torchpick.environment import settings, toml
from torchpick.environment.config_files import UvFile, merged
from torchpick.environment.settings import PIP_PLACES, Setting, pip_variable
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.wheelhost import is_wheel_host


class Inherited(Noun):
    """Changes to the environment of one run, and what was changed, in words. `uv_file` replaces all of uv's files."""

    set: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    uv_file: str | None = None
    notes: tuple[Note, ...] = ()


def of_pip(effective: Mapping[str, Setting], environ: Mapping[str, str], below: Mapping[str, Setting]) -> Inherited:
    """For pip. `effective` is what holds, `below` what would hold without the variables."""
    changed: dict[str, str] = {}
    unset: list[str] = []
    notes: list[Note] = []
    reset = False
    spoken = settings.pip_of_environ(environ)
    for name in PIP_PLACES:
        said = effective.get(name)
        if said is None or not any(map(is_wheel_host, said.words)):
            continue
        # Where the last variable says nothing else, one before it in another spelling speaks again.
        told = [said, *(each for each in reversed(spoken) if each.name == name)]
        kept = next((words for each in told if (words := _others(each))), [])
        notes.append(_left_out(said))
        variable = pip_variable(name)
        if kept:
            changed[variable] = " ".join(kept)
        elif said.source.startswith("PIP_") and not (name in below and any(map(is_wheel_host, below[name].words))):
            unset.append(variable)
        elif name != "index-url":
            # A blank: an empty variable would let the configuration file speak again.
            changed[variable] = " "
        else:
            reset = True
    for said in spoken:
        variable = pip_variable(said.name)
        if said.source != variable:  # what another spelling says, by the name under which it may be changed
            unset.append(said.source)
            if variable not in unset:
                changed.setdefault(variable, " ".join(effective[said.name].words))
    if reset:
        changed = {**_as_variables(effective, environ), **changed, "PIP_CONFIG_FILE": os.devnull}
        changed.pop("PIP_INDEX_URL", None)
        unset.append("PIP_INDEX_URL")
    return Inherited(changed, tuple(unset), None, tuple(notes))


def _others(said: Setting) -> list[str]:
    """The places that are not a wheel index of PyTorch."""
    return [word for word in said.words if not is_wheel_host(word)]


def _as_variables(effective: Mapping[str, Setting], environ: Mapping[str, str]) -> dict[str, str]:
    """Everything the files say as variables: pip reads both alike, and only so can a file's index-url be unsaid."""
    return {
        pip_variable(name): " ".join(said.words)
        for name, said in effective.items()
        if pip_variable(name) not in environ and not said.source.startswith("PIP_")
    }


def of_uv(environ: Mapping[str, str], files: Iterable[UvFile]) -> Inherited:
    """For uv. Where a file of its names a wheel index, all its files are replaced by one without."""
    changed: dict[str, str] = {}
    unset: list[str] = []
    notes: list[Note] = []
    for said in settings.uv_of_environ(environ):
        kept = _others(said)
        if len(kept) == len(said.words):
            continue
        notes.append(_left_out(said))
        if kept:
            changed[said.name] = (settings.UV_PLACES[said.name] or " ").join(kept)
        else:
            unset.append(said.name)
    if environ.get("UV_TORCH_BACKEND"):
        unset.append("UV_TORCH_BACKEND")  # an earlier `torchpick env` sets it, so it goes without a word
    known = list(files)
    found = [said for file in known for said in settings.uv_of_table(file.table, file.path)]
    bad = [said for said in found if any(map(is_wheel_host, said.words))]
    notes += [_left_out(said) for said in bad]
    backends = [file.path for file in known if settings.backend_of(file.table) is not None]
    notes += [Note("BACKEND_LEFT_OUT", f"{path} sets torch-backend, left out for this run") for path in backends]
    text = toml.dumps(settings.without_wheel_indexes(merged(known))) if bad or backends else None
    return Inherited(changed, tuple(unset), text, tuple(notes))


def _left_out(said: Setting) -> Note:
    named = ", ".join(redacted(word) for word in said.words if is_wheel_host(word))
    return Note("INDEX_LEFT_OUT", f"{said.source} names a PyTorch wheel index, left out for this run: {named}")


def own_places(found: Iterable[Setting]) -> list[Setting]:
    """The settings that name indexes of the user's own."""
    names = {*PIP_PLACES, *settings.UV_PLACES, "index"}
    return [said for said in found if said.name in names and not all(map(is_wheel_host, said.words))]
