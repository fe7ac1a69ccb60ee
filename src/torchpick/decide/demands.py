"""What is asked: the wish that flags and variables state, requirements, and whether a build or a version meets them."""

from __future__ import annotations

from torchpick.errors import RequirementError, UsageError
from torchpick.model import NamedTuple
from torchpick.model.address import WHEEL_HOST, Address, redacted
from torchpick.model.build import FAMILIES, TRIO, TRITONS, Build
from torchpick.model.pick import Request, Wish
from torchpick.model.versions import (
    admits,
    check_bounds,
    everyday,
    grouped,
    leading,
    marker_applies,
    marker_facts,
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

    from torchpick.model.machine import Machine, Platform, Python
    from torchpick.model.package import Package


class PackageDemand(NamedTuple):
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


# A demand, and the names of the choices that it follows from.
Posed = tuple[PackageDemand, frozenset[str]]


def extras_of(posed: Iterable[Posed]) -> tuple[str, ...]:
    """The extras that are asked for, each once."""
    return tuple(dict.fromkeys(extra for demand, _ in posed for extra in demand.extras))


# NVIDIA's own wheels of CUDA, which are judged by their names. Up to CUDA 12 all end with its major.
_PARTS = (
    "cublas|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparselt|nccl|npp|nvfatbin|nvjitlink|nvjpeg|nvptxcompiler"
)
_CUDA = rf"nvidia-(?:cuda-[a-z-]+?|{_PARTS}|nvshmem|nvtx|nvvm)(?:-cu\d\d)?|cuda-(?:toolkit|pathfinder|bindings)"


def brings_cuda(name: str) -> bool:
    return pattern(_CUDA).fullmatch(name) is not None


@remembered
def is_leaf(name: str) -> bool:
    """Whether a project is judged by its name alone, as a part of torch or of CUDA."""
    return name in TRIO or name in TRITONS or brings_cuda(name)


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
        fits = [package for package in versions if admitted(package.version)]
        sound = [package for package in fits if not is_withdrawn(package, demands)]
        if sound:
            return sound
        withdrawn = withdrawn or fits
    return withdrawn


def is_withdrawn(package: Package, demands: Iterable[PackageDemand]) -> bool:
    """Whether a version was withdrawn, and is not asked for by its number."""
    parts = (part for demand in demands for part in demand.specifier.split(","))
    return package.yanked and package.version not in {part.lstrip("=") for part in parts}


def are_compatible(demands: Iterable[PackageDemand]) -> bool:
    """Whether some version could meet them all."""
    return _has_versions(joined(demands))


# Packaging compares clauses in the square of their number. What more of them leave is seen by trying the versions.
_MOST_CLAUSES = 200


@remembered
def _has_versions(specifier: str) -> bool:
    from packaging.specifiers import SpecifierSet

    check_bounds(specifier)
    return specifier.count(",") >= _MOST_CLAUSES or not SpecifierSet(specifier).is_unsatisfiable()


def parse_demands(texts: Iterable[str], machine: Callable[[], Machine] | None = None) -> tuple[PackageDemand, ...]:
    """The user's requirements, without those whose marker does not hold on the machine; it is asked for where needed.

    A URL or a path is refused: it is judged where it is installed. The packaging library is loaded only for what is
    more than a name with an everyday specifier.
    """
    demands = []
    for text in map(str.strip, texts):
        name = leading(text)
        if name and (specifier := everyday(text[len(name) :])) is not None:
            demands.append(PackageDemand(normal(name), specifier))
            continue
        requirement = _requirement(text)
        if machine is not None and requirement.marker:
            of = machine()
            if not _holds(requirement, _facts(of.python, of.platform), ()):
                continue
        demands.append(_demand(requirement))
    return tuple(demands)


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
    demands = (_required_by_line((text, python, platform, extras)) for text in texts)
    return tuple(demand._replace(by=by) for demand in demands if demand is not None)


@remembered  # versions of a project have most lines in common
def _required_by_line(of: tuple[str, Python, Platform, tuple[str, ...]]) -> PackageDemand | None:
    text, python, platform, extras = of
    requirement = parsed(text)
    return _demand(requirement) if _holds(requirement, _facts(python, platform), extras) else None


def _facts(python: Python, platform: Platform) -> Mapping[str, str]:
    return marker_facts(python.version, platform=platform.name, implementation=python.implementation)


def overridden(demands: Iterable[PackageDemand], overrides: Mapping[str, tuple[str, ...]]) -> tuple[PackageDemand, ...]:
    """The demands, with what an override says in the place of those on its project."""
    if not overrides:
        return tuple(demands)
    return tuple(
        demand._replace(specifier=specifier)
        for demand in demands
        for specifier in overrides.get(demand.name, (demand.specifier,))
    )


def _demand(requirement: Requirement) -> PackageDemand:
    return PackageDemand(normal(requirement.name), str(requirement.specifier), tuple(sorted(requirement.extras)))


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
    return of_family(wish, parse_demands((text for text in texts if named(text) in TRIO), machine))


def of_family(wish: Wish, demands: Iterable[PackageDemand]) -> Wish:
    """The wish with these demands, all of them on torch and its companions."""
    by_name = grouped((demand.name, demand) for demand in demands)
    companions = {name: joined(of_name) for name, of_name in by_name.items()}
    return wish._replace(torch=companions.pop("torch", ""), companions=companions)


def package_demands(texts: Iterable[str], machine: Callable[[], Machine]) -> tuple[PackageDemand, ...]:
    """All that is asked, where anything but torch and its companions is; empty where nothing is."""
    return () if all(named(text) in TRIO for text in texts) else parse_demands(texts, machine)


def wish_of(request: Request, environ: Mapping[str, str]) -> Wish:
    """The wish of flags and variables; what the requirements add is `narrowed`."""
    named = map(str.strip, environ.get("TORCHPICK_BACKEND", "").split(","))
    backends = request.backends or tuple(filter(None, named))
    if request.cpu:
        if request.backends and set(request.backends) != {"cpu"}:
            hint = "`--cpu` means `--backend cpu`; `--allow-cpu` picks it only if nothing else runs"
            raise UsageError(f"`--cpu` contradicts `--backend {request.backends[0]}`", hint=hint)
        backends = ("cpu",)
    if unknown := [backend for backend in backends if not is_backend(backend) and backend not in FAMILIES]:
        hint = "such as cu126, cuda, cpu, rocm7.2, rocm or xpu; `torchpick list --all` shows all"
        raise UsageError(f"unknown backend `{unknown[0]}`", hint=hint)
    base = request.index_base if request.index_base is not None else environ.get("TORCHPICK_INDEX_BASE") or WHEEL_HOST
    return Wish(
        backends=backends,
        channel=request.channel,
        index_base=_base(base),
        allow_cpu=request.allow_cpu,
        allow_unconfirmed=request.allow_unconfirmed,
        whole=request.whole,
    )


def takes(wish: Wish, build: Build) -> bool:
    """Whether a build is of a backend that was asked for, or none was."""
    named = {build.backend, build.family} & {*wish.backends}
    return bool(named or not wish.backends or (wish.allow_cpu and build.backend == "cpu"))


def is_backend(text: str) -> bool:
    kind, digits = text.rstrip("0123456789."), text.lstrip("abcdefghijklmnopqrstuvwxyz")
    return text in ("cpu", "xpu", "default") or (kind == "cu" and digits.isdigit()) or (kind == "rocm" and bool(digits))


def _base(url: str) -> str:
    if url == WHEEL_HOST:
        return url  # without a look, which a start would pay for
    from urllib.parse import urlsplit

    hint = "such as https://mirror.example/whl, file:///srv/whl, or flat+https://… for one flat page"
    plain = url.removeprefix("flat+")
    try:
        url, parts = str(Address(url)), urlsplit(plain)
        host, _ = parts.hostname, parts.port  # which raises where that is no port
    except ValueError as error:
        raise _refused(url, "is not a valid mirror URL", hint) from error
    leads_to = parts.path if plain.startswith("file://") else host
    if not leads_to or not plain.startswith(("https://", "http://", "file://")):
        raise _refused(url, "is not a valid mirror URL", hint)
    if url.startswith("flat+"):
        return url  # one page, whose links are relative to it as it is spelled
    if "?" in url or "#" in url:
        hint = "remove what follows the path; credentials go before the host or into netrc"
        raise _refused(url, "has a query or a fragment, so no backend can be added to it", hint)
    return url.rstrip("/")


def _refused(url: str, why: str, hint: str) -> UsageError:
    # On one line, as in free text a line's end is the end of a password, too.
    return UsageError(f"`{redacted(' '.join(url.split()))}` {why}", hint=hint)
