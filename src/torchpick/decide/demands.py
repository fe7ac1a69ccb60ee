"""Requirements as a stack needs them: name, extras, specifier, and whether their marker holds on a machine. Pure."""

from __future__ import annotations

from torchpick.errors import RequirementError
from torchpick.model.build import TRIO, Build
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.pythons import marker_applies, marker_facts
from torchpick.model.request import Wish
from torchpick.model.versions import (
    admits,
    everyday,
    grouped,
    leading,
    named,
    normal,
    parsed,
    pattern,
    release_key,
    remembered,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from packaging.requirements import Requirement

    from torchpick.model.machine import Platform, Python
    from torchpick.model.package import Catalog, Package


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
        return not self.specifier or admits(self.specifier)(version)


# NVIDIA's own wheels of CUDA, which are judged by their names. Up to CUDA 12 all end with its major.
_PARTS = (
    "cublas|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparselt|nccl|npp|nvfatbin|nvjitlink|nvjpeg|nvptxcompiler"
)
_CUDA = rf"nvidia-(?:cuda-[a-z-]+?|{_PARTS}|nvshmem|nvtx|nvvm)(?:-cu\d\d)?|cuda-(?:toolkit|pathfinder|bindings)"


def brings_cuda(name: str) -> bool:
    """Whether a project is one of NVIDIA's wheels of CUDA."""
    return pattern(_CUDA).fullmatch(name) is not None


def joined(demands: Iterable[PackageDemand]) -> str:
    """One specifier for all of them."""
    return ",".join(dict.fromkeys(demand.specifier for demand in demands if demand.specifier))


def fitting(versions: Sequence[Package], demands: Iterable[PackageDemand], *, pre: bool = False) -> list[Package]:
    """The versions that these demands admit, in their order.

    Pre-releases count where a specifier names one, where nothing else fits (PEP 440), or with `pre`; what was withdrawn
    where it is asked for by its number, or where there is nothing else, which is then said.
    """
    demands = (*demands,)
    specifier = joined(demands)
    withdrawn: list[Package] = []
    for admitted in dict.fromkeys((admits(specifier, prereleases=pre), admits(specifier, prereleases=True))):
        found = [package for package in versions if admitted(package.version)]
        sound = [package for package in found if not is_withdrawn(package, demands)]
        if sound:
            return sound
        withdrawn = withdrawn or found
    return withdrawn


def is_withdrawn(package: Package, demands: Iterable[PackageDemand]) -> bool:
    """Whether a version was withdrawn, and is not asked for by its number."""
    parts = (part for demand in demands for part in demand.specifier.split(","))
    return package.yanked and package.version not in {part.lstrip("=") for part in parts if part.startswith("==")}


def are_compatible(demands: Iterable[PackageDemand]) -> bool:
    """Whether some version could meet them all: one at, or right above, a version that they name, or below them all."""
    specifier = joined(demands)
    named = {part.strip().lstrip("<>=!~").strip().removesuffix(".*") for part in specifier.split(",")}
    admitted = admits(specifier, prereleases=True)
    return any(admitted(text) for version in sorted(named) for text in (version, f"{version}.0.0.1", "0"))


def no_known_version_meets(versions: Iterable[str], demands: Sequence[PackageDemand]) -> bool:
    """Whether only another version than these could meet the demands; one asked for by its number is among these."""
    known = [*versions]
    if any(demand.specifier.removeprefix("==") in known for demand in demands):
        return False
    return not any(all(demand.admits(version) for demand in demands) for version in known)


def asked(texts: Iterable[str], machine: Callable[[], Machine] | None = None) -> tuple[PackageDemand, ...]:
    """The user's requirements, without those whose marker does not hold on the machine; it is asked for where needed.

    A URL or a path is refused: it is judged where it is installed. The packaging library is loaded only for what is
    more than a name with an everyday specifier.
    """
    found = []
    for text in texts:
        stripped = text.strip()
        name = leading(stripped)
        if name and (specifier := everyday(stripped[len(name) :])) is not None:
            found.append(PackageDemand(normal(name), specifier))
            continue
        requirement = _requirement(stripped)
        if machine is None or not requirement.marker or _holds(requirement, _environment(machine()), ()):
            found.append(_demand(requirement, ""))
    return tuple(found)


def _requirement(text: str) -> Requirement:
    try:
        requirement = parsed(text)
    except ValueError as error:
        hint = 'such as `torch==2.6.0`, or `"torch<2.12"` in quotes'
        raise RequirementError(f"`{text}` is not a valid requirement: {error}", hint=hint) from error
    if requirement.url:
        hint = "`torchpick install` takes URLs and paths, with `--dry-run` too"
        raise RequirementError(f"`{text}` has a URL, and names are judged here", hint=hint)
    return requirement


def required(texts: Iterable[str], machine: Machine, extras: tuple[str, ...], by: str) -> tuple[PackageDemand, ...]:
    """The requirements of a package that hold on this machine, with these of its extras."""
    return _required((tuple(texts), machine.python, machine.platform, extras, by))


@remembered  # a search asks the same of the same version again and again
def _required(of: tuple[tuple[str, ...], Python, Platform, tuple[str, ...], str]) -> tuple[PackageDemand, ...]:
    texts, python, platform, extras, by = of
    environment = marker_facts(python.version, platform=platform, implementation=python.implementation)
    return tuple(_demand(each, by) for each in map(_parsed, texts) if _holds(each, environment, extras))


def _environment(machine: Machine) -> Mapping[str, str]:
    python = machine.python
    return marker_facts(python.version, platform=machine.platform, implementation=python.implementation)


def overridden(demands: Iterable[PackageDemand], overrides: Mapping[str, tuple[str, ...]]) -> tuple[PackageDemand, ...]:
    """The demands, with what an override says in the place of those on its project."""
    if not overrides:
        return tuple(demands)
    return tuple(
        demand._replace(specifier=specifier)
        for demand in demands
        for specifier in overrides.get(demand.name, (demand.specifier,))
    )


def of_version(
    package: Package, catalog: Catalog, machine: Machine, extras: tuple[str, ...]
) -> tuple[PackageDemand, ...]:
    """What a version requires, as far as that counts."""
    lines = () if catalog.no_deps else package.requires
    return overridden(required(lines, machine, extras, package.who), catalog.overrides)


_parsed = remembered(parsed)


def _demand(requirement: Requirement, by: str) -> PackageDemand:
    return PackageDemand(normal(requirement.name), str(requirement.specifier), tuple(sorted(requirement.extras)), by)


def _holds(requirement: Requirement, environment: Mapping[str, str], extras: tuple[str, ...]) -> bool:
    marker = "" if requirement.marker is None else str(requirement.marker)
    return any(marker_applies(marker, {**environment, "extra": extra}) for extra in ("", *extras))


# What a build may not meet; a demand for anything else says nothing of it.
_CONCERNED = frozenset({"triton", *TRIO})
# NVIDIA's wheels that carry the number of their toolkit. On Linux torch's METADATA pins each of them exactly from 2.5
# on (2.4.1 leaves nvjitlink open) up to CUDA 12; that of CUDA 13 lets pip take newer ones.
_OF_TOOLKIT = frozenset(
    f"nvidia-{name}-cu12" for name in ("cuda-runtime", "cuda-nvrtc", "cuda-cupti", "nvtx", "nvjitlink")
)
_PINS_SINCE = (2, 5)


def concerns(name: str) -> bool:
    """Whether a build of torch may fail to meet a demand for this project."""
    return name in _CONCERNED or name in _OF_TOOLKIT


def meets(build: Build, demand: PackageDemand) -> bool:
    """Whether this build is what was asked; a demand for anything else is always met."""
    if not concerns(demand.name):
        return True
    if demand.name == "torch":
        return demand.admits(build.version)
    if demand.name == "triton":  # a build pins its own; where that is not known, nothing speaks against it
        triton = build.libraries.get("triton")
        return triton is None or demand.admits(triton)
    if demand.name in _OF_TOOLKIT:
        pinned = build.platform.startswith("linux") and release_key(build.torch)[0] >= _PINS_SINCE
        any_update = PackageDemand(demand.name, f"=={build.cuda}.*")
        return not pinned or build.cuda_major != 12 or are_compatible([demand, any_update])
    version = build.companions.get(demand.name)
    return version is not None and demand.admits(version)


def narrowed(wish: Wish, texts: Iterable[str], machine: Callable[[], Machine] | None = None) -> Wish:
    """The wish with what these requirements ask of torch and its companions in it."""
    return of_family(wish, asked((text for text in texts if named(text) in TRIO), machine))


def of_family(wish: Wish, demands: Iterable[PackageDemand]) -> Wish:
    """The wish with these demands, all of them on torch and its companions."""
    specifiers = grouped((demand.name, demand.specifier) for demand in demands)
    joined = {name: ",".join(filter(None, mine)) for name, mine in specifiers.items()}
    return wish._replace(torch=joined.pop("torch", ""), companions=joined)


def package_demands(texts: Iterable[str], machine: Callable[[], Machine]) -> tuple[PackageDemand, ...]:
    """All that is asked, where anything but torch and its companions is; empty where nothing is."""
    if all(named(text) in TRIO for text in texts):
        return ()
    return asked(texts, machine)
