"""The constraints that an installer obeys unasked: of its variables, its files, the project it is run in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchpick.environment import requirements
from torchpick.environment.requirements import Requested
from torchpick.environment.toolsettings import UvFile
from torchpick.errors import RequirementError, UsageError
from torchpick.installers import store
from torchpick.installers.inherits import OwnSettings
from torchpick.model.build import COMPANIONS
from torchpick.model.pick import Pick
from torchpick.model.redaction import redacted


def of(installer: str, own: OwnSettings, places: tuple[str, ...]) -> tuple[Requested, ...]:
    """What binds this installer, each line with its place; `places` hold our own files, which bind nobody."""
    if installer == "uv":
        words = own.environ.get("UV_CONSTRAINT", "").split()
        in_files = (each for file in own.uv_files for each in _of_uv(file))
        return (*_read(words, "UV_CONSTRAINT", own, places), *in_files)
    said = own.pip.get("constraint")
    return () if said is None else _read(said.words, said.source, own, places)


def _read(words: Iterable[str], source: str, own: OwnSettings, places: tuple[str, ...]) -> tuple[Requested, ...]:
    return requirements.limits(store.not_ours(words, *places), source, own.environ, own.fetch)


# An override takes the place of what anybody requires, and our pins are constraints, which hold beside it (uv 0.13.9).
_BINDING = ("constraint-dependencies", "override-dependencies")


def _of_uv(file: UvFile) -> Iterator[Requested]:
    """The constraints and overrides of a uv.toml or of `[tool.uv]`; what uv cannot read either is left to it."""
    for name in _BINDING:
        listed = file.table.get(name)
        for text in listed if isinstance(listed, list) else ():
            try:
                yield requirements.parse(str(text), f"{file.path} {name}")
            except RequirementError:
                continue


def check_excluded(excluded: Iterable[Requested], wanted: Iterable[Requested]) -> None:
    """Refuse to install what the settings exclude: the installer would leave it out, and say nothing."""
    family = {each.name for each in wanted} & {"torch", *COMPANIONS}
    for each in excluded:
        if each.name in family or (family and each.name == "torch"):
            hint = "take it out there for this run"
            raise UsageError(f"{each.where} excludes {each.name}, which is asked for", hint=hint)


def check_addresses(limits: Iterable[Requested], pick: Pick) -> None:
    """Refuse a constraint that names a file of the family elsewhere: uv would take it, and pip stop at it."""
    for each in limits:
        if not (pick.index_url and each.place and each.name in ("torch", *COMPANIONS)):
            continue
        from torchpick.install import proof

        if not proof.is_from(each.place, pick.index_url):
            hint = "leave that line out: torchpick names the very file; `--index-base URL` specifies a mirror"
            message = f"{each.where} leads {each.name} to {redacted(each.place)}"
            raise UsageError(f"{message}, and only {redacted(pick.index_url)} may supply it", hint=hint)
