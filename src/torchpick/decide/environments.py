"""Packages × torch builds × machine × wishes → one environment, or what prevents it. Pure.

What is tried first: projects of the cone that the user named, newest first, one that requires another of them before
it; then what they need, newest first; then torch in its usual order, except that among builds of one release that all
fit, the CUDA of the default index's own torch of that release comes first, since it is what packages link.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.decide.demands import PackageDemand, meets
from torchpick.decide.packagefit import ADDED_WHEEL
from torchpick.decide.provided import wheel_for
from torchpick.decide.remarks import counts_for_xpu
from torchpick.decide.search import Needs
from torchpick.decide.solution import Refused, Solution
from torchpick.decide.solving import StackSearch
from torchpick.decide.stacknotes import filled, hints, notes, plain_conflicts, unknown, unread
from torchpick.model.arch import Fit
from torchpick.model.build import COMPANIONS, Build
from torchpick.model.machine import Machine, Note
from torchpick.model.package import Catalog, Package
from torchpick.model.redaction import redacted
from torchpick.model.request import Wish
from torchpick.model.stack import PackageObjection, PinnedPackage, Stack
from torchpick.model.table import Table, below, floor_of
from torchpick.model.verdict import JIT, NO_CODE, RUNS, UNJUDGED, Reason, Verdict
from torchpick.model.versions import grouped, named


def best(
    search: StackSearch, asked: tuple[PackageDemand, ...], *, allow_mixed: bool = False
) -> tuple[Stack, Solution | None] | Needs:
    """The environment and how it was solved; where none fits its objections say why."""
    solution = search.best(asked, allow_mixed=allow_mixed)
    if isinstance(solution, Needs):
        return solution
    if solution is not None:
        return _solved(search, asked, solution), solution
    return _refused(search, asked, _objections(search, asked)), None


def versions(
    machine: Machine, table: Table, wish: Wish, name: str, catalog: Catalog
) -> Iterator[tuple[Package, Stack]]:
    """Every known version of a package, newest first, each with the environment it would be in."""
    search = StackSearch(machine, table, wish, catalog)
    rows = catalog.packages[name].versions
    for version, (first, *_) in grouped((package.version, package) for package in rows).items():
        found = best(search, (PackageDemand(name, f"=={version}"),))
        if not isinstance(found, Needs):
            yield first, found[0]


def _objections(search: StackSearch, asked: tuple[PackageDemand, ...]) -> tuple[PackageObjection, ...]:
    """The objections by package, each once with all its versions, in the newest one's words; named packages first.

    A version of several wheels is refused for what the one for this Python lacks.
    """
    python = Reason.NO_WHEEL_FOR_PYTHON
    judged = {(each.name, each.version) for each in search.refused if each.objection.reason is not python}
    refused = (
        each
        for each in search.refused
        if each.objection.reason is not python or (each.name, each.version) not in judged
    )
    found = []
    for (name, *_), group in grouped((_kind(each), each) for each in refused).items():
        order = [package.version for package in search.facts[name].versions] if name in search.facts else []
        versions = dict.fromkeys(each.version for each in group if each.version)
        newest_first = sorted(versions, key=lambda version: order.index(version) if version in order else -1)
        found.append(PackageObjection(name, tuple(newest_first), group[0].objection))
    named = {demand.name: place for place, demand in enumerate(asked)}
    return tuple(sorted(found, key=lambda each: named.get(each.name, len(named))))


def _kind(refused: Refused) -> tuple[str, Reason, int | None, str]:
    """What alike refusals share: it does not matter what versions without code for a GPU were built for."""
    objection = refused.objection
    text = "" if objection.reason is Reason.PACKAGE_NO_KERNELS else objection.text
    return refused.name, objection.reason, objection.gpu, text


DEFAULT_INDEX = "the default index"


def _solved(search: StackSearch, asked: tuple[PackageDemand, ...], chosen: Solution) -> Stack:
    """The stack of an answer: packages first, torch and its companions last."""
    packages = tuple(_pinned(search, asked, chosen, package) for package in chosen.packages.values())
    family = () if chosen.torch is None else _family(search, chosen, chosen.torch)
    return Stack(
        machine=search.machine,
        asked=tuple(demand.text for demand in asked if not demand.by),
        packages=(*packages, *_plain(search, asked, chosen), *family, *_added(search, chosen)),
        notes=tuple(dict.fromkeys((*notes(search, chosen), *_moved(search, chosen), *plain_conflicts(chosen)))),
        index_url=chosen.build and _index_url(search, chosen.build),
        unknown=unknown(search, chosen.demands),
    )


def _refused(search: StackSearch, asked: tuple[PackageDemand, ...], objections: tuple[PackageObjection, ...]) -> Stack:
    """The stack that cannot be had: why, and what would have to change."""
    return Stack(
        machine=search.machine,
        asked=tuple(demand.text for demand in asked if not demand.by),
        objections=objections,
        notes=tuple(unread(search, asked)),
        hints=tuple(dict.fromkeys(hints(search, asked, objections))),
        unknown=unknown(search, asked),
    )


def _pinned(search: StackSearch, asked: tuple[PackageDemand, ...], chosen: Solution, package: Package) -> PinnedPackage:
    torch = chosen.build
    cuda = None if package.major is None else str(package.major)
    if package.per_cuda and torch is not None:
        cuda = _major(torch)
    return PinnedPackage(
        name=package.name,
        version=package.version,
        cuda=cuda,
        links_torch=package.links_torch,
        index=filled(package.place, package, torch, search.machine.python.tag) or DEFAULT_INDEX,
        verdict=search.situation.coverage(package, torch and torch.cuda).word,
        why=_why(search, asked, chosen, package),
        evidence=package.evidence.kind,
        extras=_extras(chosen, package.name),
    )


def _extras(chosen: Solution, name: str) -> tuple[str, ...] | None:
    """What the user asks for of a package, which no other one brings."""
    asked = {extra for demand in chosen.demands if demand.name == name and not demand.by for extra in demand.extras}
    return tuple(sorted(asked)) or None


def _moved(search: StackSearch, chosen: Solution) -> Iterator[Note]:
    """What is older than its newest version, and what stood against that."""
    for package in chosen.packages.values():
        if (passed := _passed_over(search, package)) is not None:
            yield Note("PACKAGE_MOVED", f"{package.name} {package.version} is taken, not {passed[0]}: {passed[1]}")


def _plain(search: StackSearch, asked: tuple[PackageDemand, ...], chosen: Solution) -> Iterator[PinnedPackage]:
    """The plain projects that were asked for: named with the version that fits, and left to the installer."""
    for name in dict.fromkeys(demand.name for demand in asked if demand.name in chosen.cone.plain):
        demands = [demand for demand in chosen.demands if demand.name == name]
        fits = search.fitting(search.facts[name], demands) or [chosen.cone.plain[name].package]
        place = fits[0].place or DEFAULT_INDEX
        yield PinnedPackage(
            name, fits[0].version, None, False, place, NO_CODE, "you asked for it", "resolved", pinned=False
        )


def _why(search: StackSearch, asked: tuple[PackageDemand, ...], chosen: Solution, package: Package) -> str:
    """Who asks for it, and why its newest version was passed over."""
    by = [demand for demand in chosen.demands if demand.name == package.name and demand.by]
    named = any(demand.name == package.name and not demand.by for demand in asked)
    start = "you asked for it" if named else _asks(search, chosen, by[0]) if by else "it is needed"
    passed = _passed_over(search, package)
    return start if passed is None else f"{start}; not {passed[0]}: {passed[1]}"


def _passed_over(search: StackSearch, package: Package) -> tuple[str, str] | None:
    """The newer version that was passed over for this one, and why."""
    versions = [row.version for row in search.facts[package.name].versions]
    newer = versions[: versions.index(package.version)]
    refused = (each for each in (*search.refused, *search.moved) if each.name == package.name)
    over = ((each.version, each.objection.text) for each in refused if each.version in newer)
    return next(over, search.facts[package.name].newer)


def _asks(search: StackSearch, chosen: Solution, demand: PackageDemand) -> str:
    """Who requires something; what METADATA does not say is not said of it."""
    package = next((package for package in chosen.packages.values() if package.who == demand.by), None)
    beyond = () if package is None else search.facts[package.name].rule.beyond_for(package.version)
    verb = "goes with" if any(named(line) == demand.name for line in beyond) else "asks for"
    return f"{demand.by} {verb} {demand.text}"


def _family(search: StackSearch, chosen: Solution, torch: Verdict) -> list[PinnedPackage]:
    """Torch and the companions that were asked for."""
    build, kind = torch.build, torch.build.evidence.kind
    index, cuda = _index_url(search, build) or DEFAULT_INDEX, _major(build)
    worst = min((fit.fit for fit in torch.fits), default=None)
    word = JIT if worst is Fit.JIT else RUNS
    machine = search.machine
    if worst is None and "apple" not in machine.vendors and not (build.family == "xpu" and counts_for_xpu(machine)):
        word = NO_CODE if build.family == "cpu" else UNJUDGED
    pins = [PinnedPackage("torch", build.version, cuda, True, index, word, _why_torch(search, chosen, build), kind)]
    wanted = {demand.name for demand in chosen.demands}
    for name in COMPANIONS:
        version = build.companions.get(name) if name in wanted else None
        if version is not None:
            why = f"belongs to torch {build.torch}" + (", inferred" if build.is_inferred(name) else "")
            pins.append(PinnedPackage(name, version, cuda, True, index, word, why, kind))
    return pins


def _why_torch(search: StackSearch, chosen: Solution, build: Build) -> str:
    pins = [demand for demand in chosen.demands if demand.name == "torch" and demand.specifier]
    if search.builds[0].build is build:  # a resolver that was bound to it says nothing new
        pins = [demand for demand in pins if not demand.by or demand.text != f"torch=={build.version}"]
    # What excludes the next better build decided.
    order = search.ordered(search.builds, packages=any(package.cuda for package in chosen.packages.values()))
    better = [verdict.build for verdict in order]
    better = better[: better.index(build)] if build in better else []
    pins.sort(key=lambda demand: not (better and not meets(better[-1], demand)))
    reasons = [_asks(search, chosen, demand) if demand.by else f"you ask for {demand.text}" for demand in pins]
    links = [package for package in chosen.packages.values() if package.major is not None and package.links_torch]
    reasons += [f"{package.name} links CUDA {package.major}" for package in links[:2]]
    needy = [package for package in chosen.packages.values() if package.needs and not package.links_torch]
    reasons += [f"{p.name} needs {p.needs[0]}" for p in needy[:2] if p.major == build.cuda_major]
    if links and search.own_cuda.get(build.torch) == build.cuda:
        reasons.append(f"CUDA {build.cuda} is that of the default index's torch {build.torch}")
    if better and (conflict := search.torch_conflict(better[-1], chosen.demands)) is not None:
        reasons.insert(0, conflict)
    return "; ".join(dict.fromkeys(reasons)) or "the newest that runs here"


def _index_url(search: StackSearch, build: Build) -> str | None:
    return redacted(build.index_url(search.wish.index_base, search.wish.channel)) or None


def _major(build: Build) -> str | None:
    return None if build.cuda_major is None else str(build.cuda_major)


def _added(search: StackSearch, chosen: Solution) -> list[PinnedPackage]:
    """The nvidia wheels that nothing asks for yet, each with the package that needs it."""
    if chosen.level < ADDED_WHEEL:
        return []
    added: dict[str, PinnedPackage] = {}
    for package, library in search.lacking(chosen):
        wheel = None if package.major is None else wheel_for(library, package.major)
        if wheel is not None and wheel not in added:
            why, cuda = f"{package.name} needs {library}", str(package.major)
            version = _wheel_version(search, library)
            pin = PinnedPackage(wheel, version, cuda, False, DEFAULT_INDEX, NO_CODE, why, "declared")
            added[wheel] = pin
    return list(added.values())


def _wheel_version(search: StackSearch, library: str) -> str:
    """The versions of an nvidia wheel that bring a library: its own number leads them, `libcufft.so.11` is 11.*."""
    floor = floor_of(search.table.floors.cudnn, "9.11") if library == "libcudnn.so.9" else None
    if floor is not None and any(gpu.arch and below(gpu.arch, floor) for gpu in search.situation.gpus):
        return "9.10.*"  # cuDNN 9.11 dropped what is older than Turing
    return f"{library.partition('.so.')[2].partition('.')[0]}.*"
