"""Which installers there are, by their own files, and which of them is used, and why. Nothing is started."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping

from torchpick.environment.distributions import Environment
from torchpick.environment.toolsettings import Setting
from torchpick.environment.world import which
from torchpick.errors import InstallerError
from torchpick.install.installers import PipInstaller, UvInstaller
from torchpick.install.user_settings import UserSettings
from torchpick.model.machine import Note
from torchpick.model.redaction import redacted

# pip's `--report` is as old as 22.2, and with it the resolver this relies on; `--python` came with 22.3.
OLDEST_PIP = (22, 2)


OLDEST_PIP_FOR_OTHERS = (22, 3)


def find_uv(environ: Mapping[str, str]) -> str | None:
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


def find_pip(target: Environment, own: str | None, own_version: str | None) -> PipInstaller | None:
    """The target's pip, else the pip beside torchpick (`own` is its interpreter) with `--python`."""
    if target.pip is not None:
        _check_version(target.pip, OLDEST_PIP, f"the pip in {target.prefix}", f"{target.program} -m pip install -U pip")
        return PipInstaller(_start_words(target.program, target.version, target.packages), target.pip)
    if own is None or own_version is None:
        return None
    _check_version(own_version, OLDEST_PIP_FOR_OTHERS, "the pip beside torchpick", f"{own} -m pip install -U pip")
    version = ".".join(map(str, sys.version_info[:2]))
    return PipInstaller((*_start_words(own, version, sys.path), "--python", target.program), own_version)


def _start_words(python: str, version: str, folders: Iterable[str]) -> tuple[str, ...]:
    """The words that start this Python's pip, and nothing of the current folder: `-m` alone looks there first."""
    if leading_numbers(version) >= (3, 11):
        return (python, "-P", "-m", "pip")
    mine = (os.path.join(folder, "pip") for folder in folders if folder)
    folder = next((each for each in mine if os.path.isfile(os.path.join(each, "__main__.py"))), None)
    return (python, "-I", "-m", "pip") if folder is None else (python, folder)


def _check_version(version: str, oldest: tuple[int, int], whose: str, mend: str) -> None:
    if leading_numbers(version) < oldest:
        wanted = ".".join(map(str, oldest))
        raise InstallerError(
            f"{whose} is {version}, and torchpick needs {wanted} or newer",
            hint=f"`{mend}`, or `--installer uv`",
            code="OLD_INSTALLER",
        )


def leading_numbers(text: str) -> tuple[int, ...]:
    """The numbers at the front: `23.1.dev0` → (23, 1)."""
    match = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def pip_beside() -> tuple[str | None, str | None]:
    """The interpreter and the version of the pip that is installed beside torchpick."""
    from importlib.util import find_spec

    spec = find_spec("pip")
    if spec is None or spec.origin is None or not sys.executable:
        return None, None
    folder = os.path.dirname(os.path.dirname(spec.origin))
    match = next((found for name in os.listdir(folder) if (found := re.fullmatch(r"pip-(.+)\.dist-info", name))), None)
    return (sys.executable, match[1]) if match else (None, None)


Installer = PipInstaller | UvInstaller


def choose_installer(wanted: str, target: Environment, has_uv: str | None, own: UserSettings) -> Installer:
    """The installer for this target. `auto`: see docs/install.md; settings of the current folder never choose it."""
    uv_own = [word for said in _user_indexes(own, own.uv_places) for word in said.words]
    unseen = [said for said in _user_indexes(own, own.pip_places) if not set(said.words) <= set(uv_own)]
    if wanted == "pip" or (wanted == "auto" and has_uv is None):
        return _existing_pip(_pip_for(target), target, has_uv)
    if has_uv is None:
        hint = "install uv (`python -m pip install uv`), or set $UV to it"
        raise InstallerError("no uv was found: neither as a module, nor in $UV, nor on PATH", hint=hint)
    if wanted == "uv":
        return UvInstaller(has_uv, _unseen_by_uv(unseen))
    for_uv = target.by_uv or target.pip is None or bool(uv_own)
    if for_uv and not unseen:
        return UvInstaller(has_uv)
    has_pip = _pip_for(target)
    if has_pip is None:
        return UvInstaller(has_uv, _unseen_by_uv(unseen))
    note = Note("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {_named(unseen)}")
    return has_pip._replace(notes=(note,) if for_uv else ())


def _pip_for(target: Environment) -> PipInstaller | None:
    return find_pip(target, *(pip_beside() if target.pip is None else (None, None)))


def _user_indexes(own: UserSettings, places: list[Setting]) -> list[Setting]:
    """The settings that name indexes of the user's own, outside the current folder."""
    mine = (said for said in places if said.source not in own.of_folder)
    return [said for said in mine if not all(map(own.is_wheel_index, said.words))]


def _existing_pip(has_pip: PipInstaller | None, target: Environment, has_uv: str | None) -> PipInstaller:
    if has_pip is None:
        word = "" if has_uv else ", and no uv was found"
        hint = f"`{target.program} -m ensurepip`, or install uv"
        raise InstallerError(f"{target.prefix} has no pip{word}", hint=hint, code="NO_INSTALLER")
    return has_pip


def _unseen_by_uv(unseen: list[Setting]) -> tuple[Note, ...]:
    if not unseen:
        return ()
    return (Note("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it does not use {_named(unseen)}"),)


def _named(unseen: list[Setting]) -> str:
    return "; ".join(f"{', '.join(map(redacted, said.words))} ({said.source})" for said in unseen)
