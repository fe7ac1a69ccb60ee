"""Which installer is used, and why."""

from __future__ import annotations

from torchpick.environment.distributions import Environment
from torchpick.environment.toolsettings import Setting
from torchpick.errors import InstallerError
from torchpick.installers import tools
from torchpick.installers.own_settings import OwnSettings
from torchpick.installers.pip import PipInstaller
from torchpick.installers.uv import UvInstaller
from torchpick.model.machine import Note
from torchpick.model.redaction import redacted

Installer = PipInstaller | UvInstaller


def choose(wanted: str, target: Environment, has_uv: str | None, own: OwnSettings) -> Installer:
    """The installer for this target. `auto`: see docs/install.md; settings of the current folder never choose it."""
    uv_own = [word for said in _users(own, own.uv_places) for word in said.words]
    unseen = [said for said in _users(own, own.pip_places) if not set(said.words) <= set(uv_own)]
    if wanted == "pip" or (wanted == "auto" and has_uv is None):
        return _there(_pip(target), target, has_uv)
    if has_uv is None:
        hint = "install uv (`python -m pip install uv`), or set $UV to it"
        raise InstallerError("no uv was found: neither as a module, nor in $UV, nor on PATH", hint=hint)
    if wanted == "uv":
        return UvInstaller(has_uv, _unseen_by_uv(unseen))
    for_uv = target.by_uv or target.pip is None or bool(uv_own)
    if for_uv and not unseen:
        return UvInstaller(has_uv)
    has_pip = _pip(target)
    if has_pip is None:
        return UvInstaller(has_uv, _unseen_by_uv(unseen))
    note = Note("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {_named(unseen)}")
    return has_pip._replace(notes=(note,) if for_uv else ())


def _pip(target: Environment) -> PipInstaller | None:
    return tools.pip(target, *(tools.beside() if target.pip is None else (None, None)))


def _users(own: OwnSettings, places: list[Setting]) -> list[Setting]:
    """The settings that name indexes of the user's own, outside the current folder."""
    mine = (said for said in places if said.source not in own.of_folder)
    return [said for said in mine if not all(map(own.is_wheel_index, said.words))]


def _there(has_pip: PipInstaller | None, target: Environment, has_uv: str | None) -> PipInstaller:
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
