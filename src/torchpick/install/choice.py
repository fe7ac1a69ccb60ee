"""Which installers there are, by their own files, and which of them is used, and why. Nothing is started."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec

from torchpick.environment.distributions import Environment
from torchpick.environment.toolsettings import Setting
from torchpick.environment.world import which
from torchpick.errors import InstallerError
from torchpick.install.installers import PipInstaller, UvInstaller
from torchpick.install.user_settings import UserSettings
from torchpick.model.address import redacted
from torchpick.model.machine import Note

# pip's `--report` is as old as 22.2, and with it the resolver this relies on; `--python` came with 22.3.
OLDEST_PIP = (22, 2)
OLDEST_PIP_FOR_OTHERS = (22, 3)

Installer = PipInstaller | UvInstaller


def choose_installer(wanted: str, target: Environment, uv: str | None, settings: UserSettings) -> Installer:
    """The installer for this target. `auto`: see docs/install.md; settings of the current folder never choose it."""
    uv_words = {word for setting in _user_indexes(settings, settings.uv_places) for word in setting.words}
    unseen = [
        setting for setting in _user_indexes(settings, settings.pip_places) if not uv_words.issuperset(setting.words)
    ]
    if wanted == "pip" or (wanted == "auto" and uv is None):
        pip = _pip_for(target)
        if pip is None:
            raise _no_pip(target, uv)
        return pip
    if uv is None:
        hint = "install uv (`python -m pip install uv`), or set $UV to it"
        raise InstallerError("no uv was found: neither as a module, nor in $UV, nor on PATH", hint=hint)
    names = "; ".join(f"{', '.join(map(redacted, setting.words))} ({setting.source})" for setting in unseen)
    note = Note("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it does not use {names}")
    with_uv = UvInstaller(uv, (note,) if unseen else ())
    for_uv = target.by_uv or target.pip is None or bool(uv_words)
    if wanted == "uv" or (for_uv and not unseen):
        return with_uv
    pip = _pip_for(target)
    if pip is None:
        return with_uv
    note = Note("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {names}")
    return pip._replace(notes=(note,) if for_uv else ())


def _user_indexes(settings: UserSettings, places: Iterable[Setting]) -> list[Setting]:
    """The settings that name indexes of the user's own, outside the current folder."""
    outside = (setting for setting in places if setting.source not in settings.of_folder)
    return [setting for setting in outside if not all(map(settings.is_wheel_index, setting.words))]


def _no_pip(target: Environment, uv: str | None) -> InstallerError:
    more = "" if uv else ", and no uv was found"
    hint = f"`{target.program} -m ensurepip`, or install uv"
    return InstallerError(f"{target.prefix} has no pip{more}", hint=hint, code="NO_INSTALLER")


def _pip_for(target: Environment) -> PipInstaller | None:
    return find_pip(target, *(pip_beside() if target.pip is None else (None, None)))


def find_uv(environ: Mapping[str, str]) -> str | None:
    """The uv to use: as a module beside torchpick, in $UV, on PATH."""
    paths = (_uv_module(), environ.get("UV"), which("uv", environ))
    return next((path for path in paths if path and os.path.isfile(path) and os.access(path, os.X_OK)), None)


def _uv_module() -> str | None:
    """The program of a uv package of this environment; that of a user's own site-packages is on PATH."""
    # Asking importlib costs 3 ms more, for every start without it.
    is_there = any(os.path.isfile(os.path.join(folder, "uv", "__init__.py")) for folder in sys.path if folder)
    if not is_there or sys.modules.get("uv", sys) is None:  # barred, as tests do
        return None
    return os.path.join(sys.prefix, *(("Scripts", "uv.exe") if os.name == "nt" else ("bin", "uv")))


def find_pip(target: Environment, python: str | None, version: str | None) -> PipInstaller | None:
    """The target's pip, else the pip of this version beside torchpick, which `python` starts, with `--python`."""
    if target.pip is not None:
        _check_version(target.pip, OLDEST_PIP, f"the pip in {target.prefix}", target.program)
        return PipInstaller(_start_words(target.program, target.version, target.packages), target.pip)
    if python is None or version is None:
        return None
    _check_version(version, OLDEST_PIP_FOR_OTHERS, "the pip beside torchpick", python)
    words = _start_words(python, ".".join(map(str, sys.version_info[:2])), sys.path)
    return PipInstaller((*words, "--python", target.program), version)


def _start_words(python: str, version: str, folders: Sequence[str]) -> tuple[str, ...]:
    """The words that start this Python's pip, and nothing of the current folder: `-m` alone looks there first."""
    if leading_numbers(version) >= (3, 11):
        return (python, "-P", "-m", "pip")
    paths = (os.path.join(folder, "pip") for folder in folders if folder)
    path = next((path for path in paths if os.path.isfile(os.path.join(path, "__main__.py"))), None)
    return (python, "-I", "-m", "pip") if path is None else (python, path)


def _check_version(version: str, oldest: tuple[int, int], whose: str, python: str) -> None:
    if leading_numbers(version) < oldest:
        raise InstallerError(
            f"{whose} is {version}, and torchpick needs {'.'.join(map(str, oldest))} or newer",
            hint=f"`{python} -m pip install -U pip`, or `--installer uv`",
            code="OLD_INSTALLER",
        )


def leading_numbers(version: str) -> tuple[int, ...]:
    """The numbers at the front: `23.1.dev0` → (23, 1)."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()


def pip_beside() -> tuple[str | None, str | None]:
    """The interpreter and the version of the pip that is installed beside torchpick."""
    spec = find_spec("pip")
    if spec is None or spec.origin is None or not sys.executable:
        return None, None
    names = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
    versions = [match[1] for name in names if (match := re.fullmatch(r"pip-(.+)\.dist-info", name))]
    return (sys.executable, versions[0]) if versions else (None, None)
