"""What would have to change where no environment fits: a pin, the driver, the index. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.decide import driver_numbers
from torchpick.decide.demands import PackageDemand
from torchpick.decide.places import address, content, has
from torchpick.decide.refusal import JETSON_INDEX
from torchpick.decide.stacksearch import Solution, StackSearch
from torchpick.model.stack import PackageObjection
from torchpick.model.verdict import Reason
from torchpick.model.versions import is_dotted

# What a wheel of another index may fix.
_OF_CUDA = frozenset({Reason.PACKAGE_DRIVER_TOO_OLD, Reason.CUDA_MAJOR_MIXED, Reason.CONSTRAINED})


def hints(
    search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """Every hint, the nearest way first."""
    yield from _without_a_pin(search, asked)
    yield from _without_the_backend(search, asked)
    yield from _elsewhere(search, asked, objections)
    yield from _with_a_newer_driver(search, asked, objections)
    if not search.machine.counted and any(each.objection.reason is Reason.CUDA_MAJOR_MIXED for each in objections):
        yield "without a GPU torch's cpu build is picked: `--backend cu130` picks one for CUDA, `--gpu` specifies a GPU"
    if search.machine.platform.name == "linux-aarch64" and any(
        gpu.arch is not None and gpu.arch.capability == (8, 7) for gpu in search.machine.counted
    ):
        yield f"JetPack 6 takes NVIDIA's own torch (see {JETSON_INDEX}); build what depends on torch against that one"
    yield from _instead(search, asked, objections)


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
        if chosen is not None:
            yield f"without `{demand.specifier}` on {demand.name}: {_short(chosen, demand.name)}"
            return


def _without_the_backend(search: StackSearch, asked: tuple[PackageDemand, ...]) -> Iterator[str]:
    """The environment that would fit without `--backend`."""
    backends = search.wish.backends
    if not backends:
        return
    free = StackSearch(search.machine, search.table, search.wish._replace(backends=()), search.facts)
    solution = free.best(asked)
    if solution is not None and solution.torch is not None:
        yield f"without `--backend {backends[0]}`: {_short(solution, asked[0].name)}"


def _with_a_newer_driver(
    search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]
) -> Iterator[str]:
    """The environment that would fit with the driver that a package needs."""
    old = [each.objection for each in objections if each.objection.reason is Reason.PACKAGE_DRIVER_TOO_OLD]
    for needs in dict.fromkeys(objection.facts["needs"] for objection in old if is_dotted(objection.facts["needs"])):
        machine = driver_numbers.another(search.machine, needs, search.table.drivers)
        chosen = StackSearch(machine, search.table, search.wish, search.facts).best(asked)
        if chosen is not None:
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
    """Other indexes that have a version that was passed over for its CUDA."""
    named = {demand.name for demand in asked}
    for each in objections:
        facts = search.facts.get(each.name)
        if facts is None or each.name not in named or each.objection.reason not in _OF_CUDA:
            continue
        named.remove(each.name)  # the newest that was passed over says enough
        refused = [
            package
            for package in facts.versions
            if package.version in each.versions and not search.situation.coverage(package, None).failing
        ]
        for place in facts.elsewhere:
            package = next((package for package in refused if has(place, package)), None)
            if package is not None and _carried(search, place.cuda):
                yield f"another index has {each.name} {content(place, package, None)}: {address(place, package, None)}"


def _carried(search: StackSearch, majors: tuple[int, ...]) -> bool:
    """Whether the driver carries any of these CUDA majors."""
    driver = search.machine.driver
    if driver is None or not majors:
        return True
    return any(search.table.drivers.carries(driver, f"{major}.0", search.situation.os) for major in majors)
