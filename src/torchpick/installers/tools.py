"""Which installers there are: uv by its own file, pip by its folder in the target. Nothing is started."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache

from torchpick.environment.distributions import Environment
from torchpick.environment.world import opened, which
from torchpick.errors import InstallerError
from torchpick.installers.pip import PipInstaller

# pip's `--report` is as old as 22.2, and with it the resolver this relies on; `--python` came with 22.3.
OLDEST_PIP = (22, 2)
OLDEST_PIP_FOR_OTHERS = (22, 3)


def uv(environ: Mapping[str, str]) -> str | None:
    """The uv to use: as a module beside torchpick, in $UV, on PATH."""
    places = (_module(), environ.get("UV"), which("uv", environ))
    return next((path for path in places if path and os.path.isfile(path) and os.access(path, os.X_OK)), None)


def _module() -> str | None:
    """The program of a uv package of this environment; that of a user's own site-packages is on PATH."""
    # Asking importlib costs 3 ms more, for every start without it.
    there = any(os.path.isfile(os.path.join(folder, "uv", "__init__.py")) for folder in sys.path if folder)
    if not there or sys.modules.get("uv", sys) is None:  # barred, as tests do
        return None
    return os.path.join(sys.prefix, *(("Scripts", "uv.exe") if os.name == "nt" else ("bin", "uv")))


@lru_cache(maxsize=64)
def takes(uv: str, flag: str) -> bool:
    """Whether the uv at this path has the flag (its long name, without the dashes), by its own file.

    So a dry run need not start it.
    """
    import mmap

    try:
        with opened(uv) as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as image:
            return image.find(flag.encode()) >= 0
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


# What makes `uv pip compile` write a lock, which names every file; the oldest uvs that know a backend cannot.
LOCK = ("--format", "pylock.toml")


def pip(target: Environment, own: str | None, own_version: str | None) -> PipInstaller | None:
    """The target's pip, else the pip beside torchpick (`own` is its interpreter) with `--python`."""
    if target.pip is not None:
        _check(target.pip, OLDEST_PIP, f"the pip in {target.prefix}", f"{target.program} -m pip install -U pip")
        return PipInstaller(_started(target.program, target.version, target.packages), target.pip)
    if own is None or own_version is None:
        return None
    _check(own_version, OLDEST_PIP_FOR_OTHERS, "the pip beside torchpick", f"{own} -m pip install -U pip")
    version = ".".join(map(str, sys.version_info[:2]))
    return PipInstaller((*_started(own, version, sys.path), "--python", target.program), own_version)


def _started(python: str, version: str, folders: Iterable[str]) -> tuple[str, ...]:
    """The words that start this Python's pip, and nothing of the current folder: `-m` alone looks there first."""
    if version_of(version) >= (3, 11):
        return (python, "-P", "-m", "pip")
    mine = (os.path.join(folder, "pip") for folder in folders if folder)
    folder = next((each for each in mine if os.path.isfile(os.path.join(each, "__main__.py"))), None)
    return (python, "-I", "-m", "pip") if folder is None else (python, folder)


def _check(version: str, oldest: tuple[int, int], whose: str, mend: str) -> None:
    if version_of(version) < oldest:
        wanted = ".".join(map(str, oldest))
        raise InstallerError(
            f"{whose} is {version}, and torchpick needs {wanted} or newer",
            hint=f"`{mend}`, or `--installer uv`",
            code="OLD_INSTALLER",
        )


def version_of(text: str) -> tuple[int, ...]:
    """The numbers at the front: `23.1.dev0` → (23, 1)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def beside() -> tuple[str | None, str | None]:
    """The interpreter and the version of the pip that is installed beside torchpick."""
    from importlib.util import find_spec

    spec = find_spec("pip")
    if spec is None or spec.origin is None or not sys.executable:
        return None, None
    folder = os.path.dirname(os.path.dirname(spec.origin))
    match = next((found for name in os.listdir(folder) if (found := re.fullmatch(r"pip-(.+)\.dist-info", name))), None)
    return (sys.executable, match[1]) if match else (None, None)
