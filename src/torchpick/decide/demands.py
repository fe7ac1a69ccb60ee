"""Requirements as a stack needs them: name, extras, specifier, and whether their marker holds on a machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from torchpick.errors import RequirementError
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.versions import admits, leading, normal, simple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.requirements import Requirement


class PackageDemand(Noun):
    """A requirement on a package; `by` names the package that has it, empty for the user."""

    name: str
    specifier: str = ""
    extras: tuple[str, ...] = ()
    by: str = ""

    @property
    def text(self) -> str:
        """As a requirements file writes it."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}{self.specifier}"

    def admits(self, version: str) -> bool:
        """Whether this version meets the requirement; pre-releases only where the specifier names one."""
        return not self.specifier or _admits(self.specifier, version)


_test = lru_cache(maxsize=1024)(admits)


@lru_cache(maxsize=1 << 16)  # a search asks the same of the same builds thousands of times
def _admits(specifier: str, version: str) -> bool:
    return _test(specifier)(version)


def asked(texts: Iterable[str], machine: Machine | None = None) -> tuple[PackageDemand, ...]:
    """The user's requirements, without those whose marker does not hold on the machine.

    A URL or a path is refused: it is judged where it is installed. The packaging library is loaded only for what is
    more than a name with an everyday specifier.
    """
    found = []
    for text in texts:
        stripped = text.strip()
        name = leading(stripped)
        rest = stripped[len(name) :].strip()
        if name and simple(rest) is not None:
            found.append(PackageDemand(normal(name), rest.replace(" ", "")))
            continue
        requirement = _requirement(stripped)
        if machine is None or _holds(requirement, _environment(machine), ()):
            found.append(_demand(requirement, ""))
    return tuple(found)


def _requirement(text: str) -> Requirement:
    from torchpick.model.versions import parsed

    try:
        requirement = parsed(text)
    except ValueError as error:
        reason = str(error).splitlines()[0] if str(error) else "it cannot be parsed"
        hint = 'such as `"torch<2.12"`, in quotes'
        raise RequirementError(f"`{text}` is not a valid requirement: {reason}", hint=hint) from error
    if requirement.url:
        hint = "`torchpick install` takes URLs and paths, with `--dry-run` too"
        raise RequirementError(f"`{text}` has a URL, and names are judged here", hint=hint)
    return requirement


def required(texts: Iterable[str], machine: Machine, extras: tuple[str, ...], by: str) -> tuple[PackageDemand, ...]:
    """The requirements of a package that hold on this machine, with these of its extras."""
    environment = _environment(machine)
    return tuple(_demand(each, by) for each in map(_parsed, texts) if _holds(each, environment, extras))


def _environment(machine: Machine) -> Mapping[str, str]:
    python = machine.python
    return marker_facts(python.version, platform=machine.platform, implementation=python.implementation)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Requirement:
    from torchpick.model.versions import parsed

    return parsed(text)


def _demand(requirement: Requirement, by: str) -> PackageDemand:
    return PackageDemand(normal(requirement.name), str(requirement.specifier), tuple(sorted(requirement.extras)), by)


def _holds(requirement: Requirement, environment: Mapping[str, str], extras: tuple[str, ...]) -> bool:
    marker = "" if requirement.marker is None else str(requirement.marker)
    return any(marker_applies(marker, {**environment, "extra": extra}) for extra in ("", *extras))
