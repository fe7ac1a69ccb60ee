"""A project whose extras or groups are backends: their names, and a command of uv's with the one for this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torchpick.decide.demands import is_backend
from torchpick.environment import rewrite, toml
from torchpick.environment.world import nearest_with
from torchpick.model.versions import named

# The commands of uv's that install what the project says, and those that change that first.
_INSTALLING, _CHANGING = ("sync", "run"), ("add", "remove")
# Where one of these is given, the user says what is installed, or the project is not meant.
_OWN_CHOICE = ("--all-extras", "--all-groups", "--no-project", "--script", "--only-group", "--no-sync", "--isolated")


class BackendNames(NamedTuple):
    """The names of a project's file that are backends and hold torch: all of them extras, or all of them groups."""

    file: str
    kind: str
    names: Mapping[str, str]


def read_backends(folder: str) -> BackendNames | None:
    """Those of the project in this folder or above; None where none of its extras and groups is a backend."""
    project = nearest_with(folder, "pyproject.toml")
    if project is None:
        return None
    file = f"{project}/pyproject.toml"
    data = toml.read(rewrite.read_file(file).text, file)
    tables = {
        "extra": toml.table_at(data, "project", "optional-dependencies"),
        "group": toml.table_at(data, "dependency-groups"),
    }
    for kind, table in tables.items():
        names = {name: _backend(name) for name, texts in table.items() if "torch" in map(named, toml.texts(texts))}
        backends = {name: backend for name, backend in names.items() if is_backend(backend)}
        if backends:
            return BackendNames(file, kind, backends)
    return None


def _backend(name: str) -> str:
    """`rocm7-2`, as uv writes an extra with a dot in its name."""
    return name.replace("-", ".").replace("_", ".") if name.startswith("rocm") else name


def is_of_project(argv: Sequence[str]) -> bool:
    """Whether a command is uv's for the project of the folder, with the choice left open."""
    name = os.path.basename(argv[0]).lower().removesuffix(".exe")
    return name == "uv" and len(argv) > 1 and argv[1] in (*_INSTALLING, *_CHANGING)


def commands(argv: Sequence[str], project: BackendNames, name: str) -> tuple[tuple[str, ...], ...] | None:
    """What to run in its place, one after the other; None where the command says itself what it wants."""
    program, command, *words = argv
    options = {word.partition("=")[0] for word in words}
    given = {value for word in words for value in (word, word.partition("=")[2])}
    if options & {*_OWN_CHOICE} or ("--" + project.kind in options and given & {*project.names}):
        return None
    others = [other for other in project.names if other != name] if project.kind == "group" else []
    choice = (*(word for other in others for word in ("--no-group", other)), f"--{project.kind}", name)
    if command in _INSTALLING:
        return ((program, command, *choice, *words),)
    # Of `uv add` an extra is one of what is added.
    return ((program, command, "--no-sync", *words), (program, "sync", "--inexact", *choice))
