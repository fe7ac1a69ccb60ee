"""Where an environment keeps settings of its own, on each system. Pure."""

from __future__ import annotations

import ntpath
import posixpath

from torchpick.model.noun import Noun


class Places(Noun):
    """`store` holds what the settings name, `journal` records what to put back, `conda` is for scripts of conda's."""

    pip: str
    store: str
    journal: str
    conda: str


def of(prefix: str, system: str) -> Places:
    """The places in the environment with this prefix; `system` as sys.platform says it."""
    path = ntpath if system == "win32" else posixpath
    store = path.join(prefix, "share", "torchpick")
    return Places(
        pip=path.join(prefix, "pip.ini" if system == "win32" else "pip.conf"),
        store=store,
        journal=path.join(store, "pin.json"),
        conda=path.join(prefix, "etc", "conda"),
    )


def project_of(prefix: str, system: str) -> str | None:
    """The pyproject.toml that uv would take this environment for; it need not exist."""
    path = ntpath if system == "win32" else posixpath
    folder, name = path.split(prefix.rstrip("\\/" if system == "win32" else "/"))
    return path.join(folder, "pyproject.toml") if name == ".venv" else None
