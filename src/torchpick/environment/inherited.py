"""What the user's own settings would add to a run: their indexes stay, PyTorch wheel indexes are left out and named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from torchpick.environment import toolsettings
from torchpick.environment.toolsettings import PIP_PLACES, Setting, UvFile, pip_variable
from torchpick.model.build import is_wheel_host
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted


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
    spoken = toolsettings.pip_of_environ(environ)
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
    import tomlkit

    changed: dict[str, str] = {}
    unset: list[str] = []
    notes: list[Note] = []
    for said in toolsettings.uv_of_environ(environ):
        kept = _others(said)
        if len(kept) == len(said.words):
            continue
        notes.append(_left_out(said))
        if kept:
            changed[said.name] = (toolsettings.UV_PLACES[said.name] or " ").join(kept)
        else:
            unset.append(said.name)
    if environ.get("UV_TORCH_BACKEND"):
        unset.append("UV_TORCH_BACKEND")  # an earlier `torchpick env` sets it, so it goes without a word
    known = list(files)
    found = [said for file in known for said in toolsettings.uv_of_file(file)]
    bad = [said for said in found if any(map(is_wheel_host, said.words))]
    notes += [_left_out(said) for said in bad]
    backends = [file.path for file in known if toolsettings.uv_key((file,), "torch-backend")]
    notes += [Note("BACKEND_LEFT_OUT", f"{path} sets torch-backend, left out for this run") for path in backends]
    text = tomlkit.dumps(_without_wheel_indexes(_merged(known))) if bad or backends else None
    return Inherited(changed, tuple(unset), text, tuple(notes))


def _left_out(said: Setting) -> Note:
    named = ", ".join(redacted(word) for word in said.words if is_wheel_host(word))
    return Note("INDEX_LEFT_OUT", f"{said.source} names a PyTorch wheel index, left out for this run: {named}")


def own_places(found: Iterable[Setting]) -> list[Setting]:
    """The settings that name indexes of the user's own."""
    names = {*PIP_PLACES, *toolsettings.UV_PLACES, "index"}
    return [said for said in found if said.name in names and not all(map(is_wheel_host, said.words))]


def _without_wheel_indexes(table: Mapping[str, object]) -> dict[str, object]:
    """A uv.toml's table with the PyTorch wheel indexes and the backend taken out."""
    kept: dict[str, object] = {}
    for name, value in table.items():
        if name == "torch-backend":
            continue
        if name == "pip" and isinstance(value, Mapping):
            kept[name] = _without_wheel_indexes(value)
        elif name == "index-url" and isinstance(value, str):
            if not is_wheel_host(value):
                kept[name] = value
        elif name in ("extra-index-url", "find-links") and isinstance(value, list):
            kept[name] = [each for each in value if not is_wheel_host(str(each))]
        elif name == "index" and isinstance(value, list):
            kept[name] = [each for each in value if not _open_wheel_index(each)]
        else:
            kept[name] = value
    return kept


def _open_wheel_index(entry: object) -> bool:
    if not isinstance(entry, Mapping) or entry.get("explicit"):
        return False
    return is_wheel_host(str(entry.get("url", "")))


# What `[tool.uv]` of a project may hold and uv refuses in a uv.toml (tried with uv 0.13.9).
_PROJECT_ONLY = frozenset({
    "build-backend", "conflicts", "default-groups", "dependency-groups", "dev-dependencies", "environments", "managed",
    "package", "required-environments", "sources", "workspace",
})  # fmt: skip


def _merged(files: Iterable[UvFile]) -> dict[str, object]:
    """One table as uv sees the files together: the first that says a thing wins, lists add up."""
    found: dict[str, object] = {}
    for file in files:
        _merge(found, {name: value for name, value in file.table.items() if name not in _PROJECT_ONLY})
    return found


def _merge(into: dict[str, object], table: Mapping[str, object]) -> None:
    for name, value in table.items():
        known = into.get(name)
        if isinstance(known, dict) and isinstance(value, Mapping):
            _merge(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            known.extend(value)
        elif name not in into:
            into[name] = {} if isinstance(value, Mapping) else list(value) if isinstance(value, list) else value
            if isinstance(value, Mapping):
                _merge(into[name], value)  # type: ignore[arg-type]  # the dict of the line above
