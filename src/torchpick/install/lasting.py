"""A torch in the environment of a project of uv's: whether uv's next sync leaves it, and what keeps it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from torchpick.environment import projectfile, toolsettings
from torchpick.environment.world import is_same, nearest_with, text_of, uv_project
from torchpick.errors import InstallerError, TorchpickError
from torchpick.model.versions import some_of

_MOST_LOCK = 64 << 20
# As uv writes it: the name first, and then the version.
_TORCH = re.compile(r'(?m)^name = "torch"\r?\nversion = "([^"]+)"')


class Undone(NamedTuple):
    """What uv does to an installed torch, and what keeps it; `locked` are the versions of the lock.

    `by_extra`: it is one of them, and which one is taken depends on the extra or group that is named.
    """

    what: str
    remedy: str
    locked: tuple[str, ...]
    by_extra: bool = False


def project_of_environment(prefix: str, environ: Mapping[str, str]) -> str | None:
    """The folder of the project for which uv keeps this environment, with a lock; None where there is none."""
    own = toolsettings.project_of(prefix)
    if own is not None and os.path.isfile(own) and os.path.isfile(os.path.join(os.path.dirname(own), "uv.lock")):
        return os.path.dirname(own)
    if named := environ.get("UV_PROJECT_ENVIRONMENT"):
        project = uv_project(os.getcwd())
        return project if project and is_same(os.path.join(project, named), prefix) else None
    return None


def find_undone(prefix: str, version: str, environ: Mapping[str, str]) -> Undone | None:
    """What uv's next sync does to this torch; None where it stays, or where uv keeps no project here."""
    folder = project_of_environment(prefix, environ)
    if folder is None:
        return None
    lock = text_of(os.path.join(folder, "uv.lock"), _MOST_LOCK)
    locked = tuple(dict.fromkeys(_TORCH.findall(lock)))
    where = os.path.join(folder, "uv.lock")
    if version in locked:
        if "\nconflicts = " not in lock:
            return None
        what = f"{where} has torch {some_of(locked)}: plain `uv run` and `uv sync` take the one that no extra names"
        return Undone(what, "`torchpick run uv run …` and `torchpick run uv sync` take this machine's", locked, True)
    if not locked:
        what = f"{where} has no torch, and the next `uv sync` takes {version} out"
        return Undone(what, f"`torchpick pin` and then `uv add torch` keep {version}", locked)
    what = f"{where} has torch {some_of(locked)}, which the next `uv sync` or `uv run` brings back"
    return Undone(what, f"`torchpick pin` and then `uv sync` keep {version}", locked)


# Torch among the constraints that `torchpick pin` wrote.
_PINNED = re.compile(rf'(?m)^constraint-dependencies = .*"torch==([^" ;]+).*# {projectfile.PIN}$')

_CONSTRAINT = re.compile(r"(?m)^torch(?:===?([^ ;\n]+)| @ \S*/torch-([^-/\s]+)-)")


def read_pin(prefix: str) -> tuple[str, str, tuple[str, ...]] | None:
    """The file that pins an environment, its torch, and what the project of that file requires; None without a pin."""
    file = toolsettings.project_of(prefix)
    text = text_of(file) if file is not None else ""
    if file is not None and (pinned := _PINNED.search(text)) is not None:
        try:
            return file, pinned[1], projectfile.read_requirements(text, file) or ("torch",)
        except TorchpickError:
            return None
    file = toolsettings.own_pip_file(prefix)
    words = (
        word for setting in toolsettings.read_pip_file(file) if setting.name == "constraint" for word in setting.words
    )
    store = toolsettings.store_of(prefix)
    texts = (text_of(word) for word in words if os.path.dirname(word) == store)
    pins = (match for text in texts if (match := _CONSTRAINT.search(text)) is not None)
    return next(((file, pin[1] or pin[2].replace("%2B", "+"), ("torch",)) for pin in pins), None)


def check_pin(version: str, folder: str) -> None:
    """Refuse where uv reads a pin of this project's to another torch, which it would not find a way around."""
    project = nearest_with(folder, "pyproject.toml")
    if project is None:
        return
    file = f"{project}/pyproject.toml"
    pinned = _PINNED.search(text_of(file))
    if pinned is not None and pinned[1] != version:
        raise InstallerError(
            f"{file} is pinned to torch {pinned[1]}, which uv obeys, and {version} runs here",
            hint="`torchpick pin` pins this machine's, `torchpick unpin` takes the pin out",
            code="PINNED",
        )
