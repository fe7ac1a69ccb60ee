"""Which installer is used, and why."""

from __future__ import annotations

from torchpick.environment.inherited import own_places
from torchpick.environment.targets import Target
from torchpick.environment.toolsettings import Setting
from torchpick.errors import InstallerError
from torchpick.installers import pip, tools, uv
from torchpick.installers.inherits import OwnSettings
from torchpick.installers.installer import Installer
from torchpick.installers.tools import Pip
from torchpick.model.machine import Note
from torchpick.model.redaction import redacted

INSTALLERS = ("auto", "uv", "pip")


def choose(wanted: str, target: Target, has_uv: str | None, own: OwnSettings, place: str) -> Installer:
    """The installer for this target; `place` is where files of ours are kept. `auto`: see docs/install.md."""
    uv_own = [word for said in own_places(own.uv) for word in said.words]
    unseen = [said for said in own_places(own.pip.values()) if not set(said.words) <= set(uv_own)]
    if wanted == "pip" or (wanted == "auto" and has_uv is None):
        return pip.of(_there(_pip(target), target, has_uv), own, target, place)
    if has_uv is None:
        hint = "install uv (`python -m pip install uv`), set $UV to it, or use `--installer pip`"
        raise InstallerError("no uv was found: neither as a module, nor in $UV, nor on PATH", hint=hint)
    if wanted == "uv":
        return uv.of(has_uv, own, place, _unseen_by_uv(unseen))
    for_uv = target.by_uv or target.pip is None or bool(uv_own)
    if for_uv and not unseen:
        return uv.of(has_uv, own, place)
    has_pip = _pip(target)
    if has_pip is None:
        return uv.of(has_uv, own, place, _unseen_by_uv(unseen))
    note = Note("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {_named(unseen)}")
    return pip.of(has_pip, own, target, place, (note,) if for_uv else ())


def _pip(target: Target) -> Pip | None:
    return tools.pip(target, *(tools.beside() if target.pip is None else (None, None)))


def _there(has_pip: Pip | None, target: Target, has_uv: str | None) -> Pip:
    if has_pip is None:
        word = "" if has_uv else ", and no uv was found"
        hint = f"`{target.python} -m ensurepip`, or install uv"
        raise InstallerError(f"{target.prefix} has no pip{word}", hint=hint, code="NO_INSTALLER")
    return has_pip


def _unseen_by_uv(unseen: list[Setting]) -> tuple[Note, ...]:
    if not unseen:
        return ()
    return (Note("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it does not use {_named(unseen)}"),)


def _named(unseen: list[Setting]) -> str:
    return "; ".join(f"{', '.join(map(redacted, said.words))} ({said.source})" for said in unseen)
