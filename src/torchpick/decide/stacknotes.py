"""What a user should know of an environment, and where none fits what would have to change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchpick.decide import driver_numbers, remarks
from torchpick.decide.demands import PackageDemand, are_compatible, joined, no_known_version_meets
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, OWN_WHEELS
from torchpick.decide.refusal import JETSON_PAGE, begins
from torchpick.decide.solution import Solution
from torchpick.decide.solving import StackSearch
from torchpick.model.build import DEFAULT_INDEX, TRIO, TRITONS, Build
from torchpick.model.machine import Note
from torchpick.model.package import OtherIndex, Package, PackageFacts, same_module_conflicts
from torchpick.model.request import Wish
from torchpick.model.stack import NOT_READ, PackageObjection
from torchpick.model.verdict import JIT, Reason
from torchpick.model.versions import grouped, is_dotted, leading, major_minor, parsed, release_key


def filled(text: str, package: Package, torch: Build | None, python: str) -> str:
    """A place's URL, or what lies there, filled in as far as the package, torch and the Python say."""
    values = {"version": package.version, "python": python}
    if torch is not None:
        values |= {
            "torch": major_minor(torch.torch),
            "release": torch.torch,
            "cu": torch.backend,
            "major": str(torch.cuda_major or ""),
            "abi": _abi(torch),
        }
    for key, value in values.items():
        text = text.replace(f"{{{key}}}", value)
    return text


def has(place: OtherIndex, package: Package) -> bool:
    """Whether this version is within what is known of the place."""
    bounds = ",".join(f"{operator}{bound}" for operator, bound in ((">=", place.since), ("<=", place.until)) if bound)
    return PackageDemand(package.name, bounds).admits(package.version)


def _abi(torch: Build) -> str:
    """Which C++ ABI a torch wheel for Linux has, as prebuilt wheels name it: the new one from 2.6.0+cu126 on."""
    release = release_key(torch.torch)
    new = release >= release_key("2.7") or (release >= release_key("2.6") and torch.backend == "cu126")
    return str(new).upper()


def notes(search: StackSearch, chosen: Solution) -> Iterator[Note]:
    """Every note of an answer."""
    torch = chosen.build
    yield from _of_torch(search, chosen)
    for package in chosen.packages.values():
        yield from _of_package(search, package, torch)
    yield from _rivals(search, chosen)
    if torch is not None:
        yield from remarks.inferred(torch, dict.fromkeys(demand.name for demand in chosen.demands))
    yield from _mixed(search, chosen, torch)


def plain_conflicts(chosen: Solution) -> Iterator[Note]:
    """What plain projects ask of others, at the version that was read, that this environment does not meet."""
    versions = {name: package.version for name, package in chosen.packages.items()}
    if chosen.build is not None:
        versions |= chosen.build.pins
    own = grouped((demand.name, demand) for demand in chosen.demands if not demand.by and demand.specifier)
    for reading in chosen.cone.plain.values():
        users = ", ".join(dict.fromkeys(demand.by for demand in chosen.demands if demand.name == reading.package.name))
        who = f"{reading.package.who}{f', which {users} requires,' if users.strip(', ') else ''}"
        for demand in reading.demands:
            version = versions.get(demand.name)
            if version is not None and not demand.admits(version):
                yield Note("PLAIN_CONFLICT", f"{who} wants {demand.text}, and {demand.name} {version} is taken")
            elif demand.name in own and not are_compatible([demand, *own[demand.name]]):
                asked = ",".join(other.specifier for other in own[demand.name])
                yield Note("PLAIN_CONFLICT", f"{who} wants {demand.text}, and `{demand.name}{asked}` is asked for")


def unknown(search: StackSearch, demands: Iterable[PackageDemand]) -> dict[str, str]:
    """The packages of which no known version for this Python meets what is asked, each with all of that."""
    asked = grouped((demand.name, demand) for demand in demands)
    return {name: joined(mine) for name, mine in asked.items() if _is_unknown(search, name, mine)}


def _is_unknown(search: StackSearch, name: str, asked: Sequence[PackageDemand]) -> bool:
    if name in TRIO or name in TRITONS or name.startswith("nvidia-"):
        return False
    known = search.facts.get(name)
    if known is None:
        return any(not demand.by for demand in asked)
    pins = {demand.specifier for demand in asked}
    here = (
        package.version
        for package in known.versions
        if search.situation.is_of_python(package) or f"=={package.version}" in pins
    )
    return known.refused is None and no_known_version_meets(here, asked)


def unread(search: StackSearch, demands: Iterable[PackageDemand]) -> Iterator[Note]:
    """What the table does not know: nothing is approved silently."""
    demands = tuple(demands)
    for name in unknown(search, demands):
        if name not in search.facts:
            text = f"{name} is not in the table: its requirements are only known on installation"
            yield Note("PACKAGE_UNREAD", text)
        for demand in demands if name in search.facts else ():
            if demand.name == name and demand.by:
                yield Note("PACKAGE_UNREAD", f"{demand.by} asks for {demand.text}, which is not in the table")


def _of_torch(search: StackSearch, chosen: Solution) -> Iterator[Note]:
    if chosen.torch is None:
        return
    for note in remarks.notes(chosen.torch, search.machine, search.table, Wish(), search.verdicts):
        if note.code != "CUDA_MISCOMPILE":
            yield note


def _of_package(search: StackSearch, package: Package, torch: Build | None) -> Iterator[Note]:
    coverage = search.situation.coverage(package, torch and torch.cuda)
    facts = search.facts[package.name]
    who = package.who
    if package.file is None and (package.place or facts.source_only is not None):
        yield Note("PACKAGE_UNREAD", _beside(facts, package, torch, search.machine.python.tag))
    elif coverage.word == NOT_READ:
        text = f"which GPUs {who} was built for is not known for {search.machine.platform.name}"
        if package.code is not None:
            text = f"what was read of {who} names none of these GPUs"
        yield Note("PACKAGE_UNREAD", text)
    elif package.code and package.cuda is None and not package.per_cuda and search.machine.platform.os == "windows":
        yield Note("PACKAGE_UNREAD", f"which CUDA {who} links is not read on Windows")
    if coverage.partial:
        yield Note("PARTIAL_LIBRARY", f"{who}: {'; '.join(coverage.partial)}")
    elif package.optional and package.major is not None and torch and package.major != torch.cuda_major:
        text = f"its libraries are for CUDA {package.major}, and torch is not, so it falls back to Python"
        yield Note("PARTIAL_LIBRARY", f"{who}: {text}")
    if package.jit == "":
        yield Note("PACKAGE_UNREAD", f"{who} is compiled at run time: for which GPUs is not known")
    if coverage.word == JIT:
        yield Note("JIT_ONLY", f"the driver compiles the code of {who} on first use, which takes minutes, once")
    read_elsewhere = facts.wheel_host and not package.place
    if read_elsewhere and torch and torch.cuda and torch.backend != DEFAULT_INDEX:
        text = f"{who} was judged by the default index's wheel; the wheel host may have one for {torch.backend}"
        yield Note("DEFAULT_INDEX_WHEEL", text)


def _beside(facts: PackageFacts, package: Package, torch: Build | None, python: str) -> str:
    """Where its wheel lies, which was named there and not read; or that none is known for this torch."""
    place = next((each for each in facts.elsewhere if package.place and package.place.startswith(each.url)), None)
    if place is not None:
        there = filled(f"{package.place.partition('#')[0]}: {place.text}", package, torch, python)
        more = f"; {package.name} {facts.refused}" if facts.refused is not None else ""
        return f"{package.who} for {package.platforms[0]} was seen, and not read, at {there}{more}"
    # Where the wheels of a place are known, none of them is for this torch: naming a file would be a guess.
    named = (each.url if each.wheels else f"{each.url}: {each.text}" for each in facts.elsewhere)
    pages = filled("; ".join(named), package, torch, python)
    built = f" for torch {torch.version} on {torch.platform}" if torch is not None else ""
    known = "; no wheel of it is known" + built if any(each.wheels for each in facts.elsewhere) else ""
    return f"{package.who}: {facts.source_only}{known}{f'. {pages}' if pages else ''}"


def _rivals(search: StackSearch, chosen: Solution) -> Iterator[Note]:
    names = {demand.name for demand in chosen.demands}
    for name, stays in same_module_conflicts(chosen.packages, names, search.facts).items():
        yield same_module(name, stays)


def same_module(name: str, stays: str, *, left_out: bool = False) -> Note:
    """Two packages that install the same module, of which one is left out or has to go."""
    end = f"and the one installed last wins: uninstall both, then install {stays} alone"
    if left_out:
        end = f"so {name} is left out"
    return Note("SAME_MODULE", f"{stays} and {name} install the same module, {end}")


def _mixed(search: StackSearch, chosen: Solution, torch: Build | None) -> Iterator[Note]:
    libraries = [library for _, library in search.lacking(chosen)]
    if chosen.level >= ADDED_WHEEL and libraries:
        names = ", ".join(dict.fromkeys(libraries))
        text = f"{names} must be on the loader's path: import torch first, or set LD_LIBRARY_PATH (on Windows PATH)"
        yield Note("LOADER_PATH", text)
    if chosen.level < OWN_WHEELS or torch is None or torch.cuda is None:
        return
    majors = {str(package.major) for package in chosen.packages.values() if package.major is not None}
    others = sorted(majors - {str(torch.cuda_major)})
    if others:
        allowed = ", as `--allow-mixed` allows" if chosen.level >= MIXED else ""
        text = f"libraries of CUDA {', '.join(others)} are installed next to torch's CUDA {torch.cuda}{allowed}"
        yield Note("CUDA_MAJOR_MIXED", text)


# What a wheel of another index may fix.
_OF_CUDA = frozenset({Reason.PACKAGE_DRIVER_TOO_OLD, Reason.CUDA_MAJOR_MIXED, Reason.CONSTRAINED})


def hints(
    search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """Every hint, the nearest way first."""
    yield from _older(search, asked)
    unpinned = [*_without_a_pin(search, asked)]
    yield from unpinned
    yield from _without_the_backend(search, asked)
    if search.machine.jetsons:
        yield f"up to JetPack 6, what depends on torch is built against NVIDIA's own ({JETSON_PAGE})"
    elif search.situation.gpus:  # theirs are for NVIDIA's discrete GPUs
        yield from _elsewhere(search, asked, objections)
    known = (search.facts[each.name] for each in asked if each.name in search.facts)
    yield from (f"{facts.name} {facts.refused}" for facts in known if facts.refused is not None and facts.versions)
    yield from _with_a_newer_driver(search, asked, objections)
    if not search.machine.used and any(each.objection.reason is Reason.CUDA_MAJOR_MIXED for each in objections):
        yield "without a GPU torch's cpu build is picked: `--backend cu130` picks one for CUDA, `--gpu` specifies a GPU"
    if not unpinned:
        yield from _instead(search, asked, objections)


def _older(search: StackSearch, asked: tuple[PackageDemand, ...]) -> Iterator[str]:
    """Where the table begins, if older versions than it knows could be what is asked for."""
    exact = (each.specifier.lstrip("=~<") for each in asked if each.name == "torch")
    torch = next((text for text in exact if is_dotted(text)), "")
    for demand in asked:
        if demand.name == "torch":
            yield from begins(demand.specifier, search.verdicts)
            continue
        facts = search.facts.get(demand.name)
        if facts is None or not facts.versions or not torch:
            continue
        needs = [parsed(text) for text in facts.versions[-1].requires if leading(text) == "torch"]
        floors = [each.version for need in needs for each in need.specifier if is_dotted(each.version)]
        if floors and all(release_key(torch) < release_key(floor) for floor in floors):
            yield f"the table of {demand.name} begins at {facts.versions[-1].version}"


def _instead(
    search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """What runs on this GPU where a package has no code for it."""
    uncoded = {each.name for each in objections if each.objection.reason is Reason.PACKAGE_NO_KERNELS}
    for_else = {each.name for each in objections} - uncoded
    for demand in asked:
        facts = search.facts.get(demand.name)
        if facts is not None and facts.advice is not None and demand.name not in for_else:
            yield facts.advice
    if uncoded and search.builds:
        yield f"torch itself runs here: torch {search.builds[0].build.version}"


def _without_a_pin(search: StackSearch, asked: tuple[PackageDemand, ...]) -> Iterator[str]:
    """The environment that would fit without one of the pins."""
    for demand in asked:
        if not demand.specifier:
            continue
        freed = tuple(each._replace(specifier="") if each is demand else each for each in asked)
        chosen = search.best(freed)
        if isinstance(chosen, Solution):
            yield f"without `{demand.specifier}` on {demand.name}: {_short(chosen, demand.name)}"
            return


def _without_the_backend(search: StackSearch, asked: tuple[PackageDemand, ...]) -> Iterator[str]:
    """The environment that would fit without `--backend`."""
    backends = search.wish.backends
    if not backends:
        return
    free = StackSearch(search.machine, search.table, search.wish._replace(backends=()), search.catalog)
    solution = free.best(asked)
    if isinstance(solution, Solution) and solution.torch is not None:
        yield f"without `--backend {backends[0]}`: {_short(solution, asked[0].name)}"


def _with_a_newer_driver(
    search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """The environment that would fit with the driver that a package needs."""
    old = [each.objection for each in objections if each.objection.reason is Reason.PACKAGE_DRIVER_TOO_OLD]
    for needs in dict.fromkeys(objection.facts["needs"] for objection in old if is_dotted(objection.facts["needs"])):
        machine = driver_numbers.another(search.machine, needs, search.table.drivers)
        chosen = StackSearch(machine, search.table, search.wish, search.catalog).best(asked)
        if isinstance(chosen, Solution):
            yield f"with driver {needs} or newer: {_short(chosen, asked[0].name)}"


def _short(chosen: Solution, name: str) -> str:
    package = chosen.packages.get(name)
    words = [] if package is None else [f"{name} {package.version}"]
    if chosen.torch is not None:
        words.append(f"torch {chosen.torch.build.version}")
    return ", ".join(words)


def _elsewhere(
    search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """Other indexes that have a version that was passed over for its CUDA, for the platforms of its usual wheels."""
    named = {demand.name for demand in asked}
    for each in objections:
        facts = search.facts.get(each.name)
        if facts is None or each.name not in named or each.objection.reason not in _OF_CUDA:
            continue
        named.remove(each.name)  # the newest that was passed over says enough
        refused = [
            package
            for package in facts.versions
            if package.version in each.versions
            and not package.place
            and {"any", search.machine.platform.name} & {*package.platforms}
            and not search.situation.coverage(package, None).failing
        ]
        for place in (each for each in facts.elsewhere if not each.wheels):  # the others are judged as versions
            package = next((package for package in refused if has(place, package)), None)
            if package is not None and _carried(search, place.cuda):
                yield filled(f"another index has {each.name} {place.text}: {place.url}", package, None, "")


def _carried(search: StackSearch, majors: tuple[int, ...]) -> bool:
    """Whether the driver carries any of these CUDA majors."""
    driver = search.machine.driver
    if driver is None or not majors:
        return True
    return any(search.table.drivers.supports_cuda(driver, f"{major}.0", search.situation.os) for major in majors)
