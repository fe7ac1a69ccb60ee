"""Which installer does the work, and why. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchpick.errors import InstallerError
from torchpick.install.environment import Target
from torchpick.install.settings import Setting, redacted
from torchpick.install.tools import Pip, Uv
from torchpick.model.machine import Note
from torchpick.model.noun import Noun

INSTALLERS = ("auto", "uv", "pip")


class Chosen(Noun):
    """One of the two, and what to say of it."""

    uv: Uv | None
    pip: Pip | None
    notes: tuple[Note, ...] = ()

    @property
    def its_pip(self) -> Pip:
        """The pip, where uv was not chosen."""
        if self.pip is None:
            raise LookupError("uv was chosen")
        return self.pip

    @property
    def name(self) -> str:
        return "uv" if self.uv is not None else "pip"


def choose(  # noqa: PLR0913 # facts of the run, each from another place
    wanted: str,
    target: Target,
    uv: Uv | None,
    pip: Callable[[], Pip | None],
    pip_places: Iterable[Setting],
    uv_places: Iterable[Setting],
) -> Chosen:
    """`pip` and `uv_places` are the settings that name indexes of the user's own. `auto`: see docs/install.md."""
    uv_own = [word for said in uv_places for word in said.words]
    unseen = [said for said in pip_places if not set(said.words) <= set(uv_own)]
    if wanted == "pip" or (wanted == "auto" and uv is None):
        return Chosen(None, _there(pip(), target, uv))
    if wanted == "uv":
        if uv is None:
            hint = "install uv (`python -m pip install uv`), name it in $UV, or `--installer pip`"
            raise InstallerError("there is no uv: neither as a module, nor in $UV, nor on PATH", hint=hint)
        return Chosen(uv, None, _unseen_by_uv(unseen))
    for_uv = target.by_uv or target.pip is None or bool(uv_own)
    if for_uv and not unseen:
        return Chosen(uv, None)
    found = pip()
    if found is None:
        return Chosen(uv, None, _unseen_by_uv(unseen))
    return Chosen(None, found, _kept_to_pip(unseen) if for_uv else ())


def _there(pip: Pip | None, target: Target, uv: Uv | None) -> Pip:
    if pip is None:
        word = "" if uv else ", and there is no uv"
        hint = f"`{target.python} -m ensurepip`, or install uv and let it do the work"
        raise InstallerError(f"{target.prefix} has no pip{word}", hint=hint, code="NO_INSTALLER")
    return pip


def _unseen_by_uv(unseen: list[Setting]) -> tuple[Note, ...]:
    if not unseen:
        return ()
    return (Note("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it will not ask {_named(unseen)}"),)


def _kept_to_pip(unseen: list[Setting]) -> tuple[Note, ...]:
    return (Note("PIP_FOR_ITS_SETTINGS", f"pip does the work, as uv would not see {_named(unseen)}"),)


def _named(unseen: list[Setting]) -> str:
    return "; ".join(f"{', '.join(map(redacted, said.words))} ({said.source})" for said in unseen)
