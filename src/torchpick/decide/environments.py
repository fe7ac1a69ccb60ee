"""Packages × torch builds × machine × wishes → one environment, or what prevents it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.decide import remarks
from torchpick.decide.demands import PackageDemand, are_compatible, meets
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, OWN_WHEELS, filled
from torchpick.decide.refusal import hints
from torchpick.decide.search import Solution, find_solution
from torchpick.decide.searchfacts import Needs, SearchFacts
from torchpick.model.address import redacted
from torchpick.model.arch import Fit
from torchpick.model.build import COMPANIONS, JIT, NO_CODE, RUNS, UNJUDGED, Build, Reason
from torchpick.model.machine import Machine, Note
from torchpick.model.package import (
    NOT_READ,
    Catalog,
    Package,
    PackageFacts,
    PackageObjection,
    PinnedPackage,
    Stack,
)
from torchpick.model.pick import Wish
from torchpick.model.table import Table, below, floor_of
from torchpick.model.versions import grouped

DEFAULT_INDEX = "the default index"


def best(
    search: SearchFacts, wanted: tuple[PackageDemand, ...], *, allow_mixed: bool = False
) -> tuple[Stack, Solution | None] | Needs:
    """The environment and how it was solved; where none fits its objections say why."""
    solution = find_solution(search, wanted, allow_mixed=allow_mixed)
    if isinstance(solution, Needs):
        return solution
    texts = tuple(demand.text for demand in wanted if not demand.by)
    if solution is not None:
        return _Environment(search, wanted, solution).stack(texts), solution
    objections = _objections(search, wanted)
    stack = Stack(
        search.machine,
        texts,
        objections=objections,
        hints=hints(search, wanted, objections),
        unknown=search.unknown(wanted),
    )
    return stack, None


def versions(
    machine: Machine, table: Table, wish: Wish, name: str, catalog: Catalog
) -> Iterator[tuple[Package, Stack]]:
    """Every known version of a package, newest first, each with the environment it would be in."""
    search = SearchFacts(machine, table, wish, catalog)
    rows = catalog.packages[name].versions
    for version, (first, *_) in grouped((package.version, package) for package in rows).items():
        outcome = best(search, (PackageDemand(name, f"=={version}"),))
        if not isinstance(outcome, Needs):
            stack, _ = outcome
            yield first, stack


def _objections(search: SearchFacts, wanted: tuple[PackageDemand, ...]) -> tuple[PackageObjection, ...]:
    """The objections by package, each once with all its versions, in the newest one's words; named packages first.

    A version of several wheels is refused for what the one for this Python lacks.
    """
    python = Reason.NO_WHEEL_FOR_PYTHON
    judged = {(passed.name, passed.versions) for passed in search.refused if passed.objection.reason is not python}
    refused = (
        passed
        for passed in search.refused
        if passed.objection.reason is not python or (passed.name, passed.versions) not in judged
    )
    objections = []
    for (name, *_), group in grouped((_kind(passed), passed) for passed in refused).items():
        order = [package.version for package in search.facts[name].versions] if name in search.facts else []
        versions = dict.fromkeys(version for passed in group for version in passed.versions)
        newest_first = sorted(versions, key=lambda version: order.index(version) if version in order else -1)
        objections.append(PackageObjection(name, tuple(newest_first), group[0].objection))
    named_order = {demand.name: index for index, demand in enumerate(wanted)}
    return tuple(sorted(objections, key=lambda passed: named_order.get(passed.name, len(named_order))))


def _kind(refused: PackageObjection) -> tuple[str, Reason, int | None, str]:
    """What alike refusals share: it does not matter what versions without code for a GPU were built for."""
    objection = refused.objection
    text = "" if objection.reason is Reason.PACKAGE_NO_KERNELS else objection.text
    return refused.name, objection.reason, objection.gpu, text


class _Environment:
    def __init__(self, search: SearchFacts, wanted: tuple[PackageDemand, ...], solution: Solution) -> None:
        self.search, self.wanted, self.solution = search, wanted, solution
        self.facts, self.demands = search.facts, solution.demands
        self.packages, self.build = tuple(solution.packages.values()), solution.build
        self.index_url = self.build and (
            redacted(self.build.index_url(search.wish.index_base, search.wish.channel)) or None
        )

    def stack(self, texts: tuple[str, ...]) -> Stack:
        """Packages first, torch and its companions last."""
        pins = map(self._pinned, self.packages)
        return Stack(
            machine=self.search.machine,
            asked=texts,
            packages=(*pins, *self._plain_pins(), *self._family(), *self._added()),
            notes=tuple(dict.fromkeys((*self._notes(), *self._moved(), *self._plain_conflicts()))),
            index_url=self.index_url,
            unknown=self.search.unknown(self.demands),
        )

    # What is pinned, and why.

    def _pinned(self, package: Package) -> PinnedPackage:
        torch = self.build
        # What the user asks for of a package, which no other one brings.
        own = (demand for demand in self.demands if demand.name == package.name and not demand.by)
        return PinnedPackage(
            name=package.name,
            version=package.version,
            cuda=_text(torch.cuda_major if package.per_cuda and torch is not None else package.major),
            links_torch=package.links_torch,
            index=filled(package.place, package, torch, self.search.machine.python.tag) or DEFAULT_INDEX,
            verdict=self.search.fit.word(package, torch and torch.cuda),
            why=self._why(package),
            evidence=package.evidence.kind,
            extras=tuple(sorted({extra for demand in own for extra in demand.extras})) or None,
        )

    def _plain_pins(self) -> Iterator[PinnedPackage]:
        """The plain projects that were asked for: named with the version that fits, and left to the installer."""
        plain = self.solution.plain
        for name in dict.fromkeys(demand.name for demand in self.wanted if demand.name in plain):
            demands = [demand for demand in self.demands if demand.name == name]
            package = next(iter(self.search.fitting(self.facts[name], demands)), plain[name][0])
            index, why = package.place or DEFAULT_INDEX, "you asked for it"
            yield PinnedPackage(name, package.version, None, False, index, NO_CODE, why, "resolved", pinned=False)

    def _family(self) -> Iterator[PinnedPackage]:
        torch, machine = self.solution.torch, self.search.machine
        if torch is None:
            return
        build = torch.build
        worst = min((fit.fit for fit in torch.fits), default=None)
        word = JIT if worst is Fit.JIT else RUNS
        is_xpu = build.family == "xpu" and remarks.counts_for_xpu(machine)
        if worst is None and "apple" not in machine.vendors and not is_xpu:
            word = NO_CODE if build.family == "cpu" else UNJUDGED
        whys = {"torch": (build.version, self._why_torch(build))}
        names = {demand.name for demand in self.demands}
        for name in COMPANIONS:
            version = build.companions.get(name) if name in names else None
            if version is not None:
                inferred = ", inferred" if build.is_inferred(name) else ""
                whys[name] = version, f"belongs to torch {build.torch}{inferred}"
        index, cuda = self.index_url or DEFAULT_INDEX, _text(build.cuda_major)
        for name, (version, why) in whys.items():
            yield PinnedPackage(name, version, cuda, True, index, word, why, build.evidence.kind)

    def _added(self) -> Iterator[PinnedPackage]:
        """The nvidia wheels that nothing asks for yet, each with the package that needs it."""
        needed: dict[str, tuple[Package, str]] = {}
        for package, library in self._lacking() if self.solution.level >= ADDED_WHEEL else ():
            if package.major is not None and (wheel := self.search.fit.wheel_for(library, package.major)) is not None:
                needed.setdefault(wheel, (package, library))
        for wheel, (package, library) in needed.items():
            version, why = self._wheel_version(library), f"{package.name} needs {library}"
            yield PinnedPackage(wheel, version, _text(package.major), False, DEFAULT_INDEX, NO_CODE, why, "declared")

    def _lacking(self) -> Iterator[tuple[Package, str]]:
        """The libraries that nothing in the environment provides, each with the package that needs it."""
        for package in self.packages:
            own = tuple(demand for demand in self.demands if demand.by == package.who)
            for library in self.search.fit.missing(package, self.build, own, OWN_WHEELS):
                yield package, library

    def _wheel_version(self, library: str) -> str:
        """The versions of an nvidia wheel that bring a library: its own number leads them, `libcufft.so.11` is 11.*."""
        floor = floor_of(self.search.table.cudnn, "9.11") if library == "libcudnn.so.9" else None
        if floor is not None and any(gpu.arch and below(gpu.arch, floor) for gpu in self.search.fit.gpus):
            return "9.10.*"  # cuDNN 9.11 dropped what is older than Turing
        return f"{library.partition('.so.')[2].partition('.')[0]}.*"

    def _why(self, package: Package) -> str:
        """Who asks for it, and why its newest version was passed over."""
        by = [demand for demand in self.demands if demand.name == package.name and demand.by]
        is_named = any(demand.name == package.name and not demand.by for demand in self.wanted)
        start = "you asked for it" if is_named else _asks(by[0]) if by else "it is needed"
        passed = self._passed_over(package)
        return f"{start}; {passed}" if passed else start

    def _passed_over(self, package: Package) -> str:
        """`not VERSION: WHY` of the newer version that was passed over for this one; empty where none was."""
        facts = self.facts[package.name]
        rows = [row.version for row in facts.versions]
        newer = rows[: rows.index(package.version)]
        refused = (passed for passed in (*self.search.refused, *self.search.moved) if passed.name == package.name)
        over = ((passed.span, passed.objection.text) for passed in refused if passed.span in newer)
        version, why = next(over, facts.newer) or ("", "")
        return f"not {version}: {why}" if version else ""

    def _why_torch(self, build: Build) -> str:
        search, demands = self.search, self.demands
        pins = [demand for demand in demands if demand.name == "torch" and demand.specifier]
        if search.builds[0].build is build:  # a resolver that was bound to it says nothing new
            pins = [demand for demand in pins if not demand.by or demand.text != f"torch=={build.version}"]
        # What excludes the next better build decided.
        order = search.ordered(search.builds, packages=any(package.cuda for package in self.packages))
        better = [verdict.build for verdict in order]
        better = better[: better.index(build)] if build in better else []
        pins.sort(key=lambda demand: not (better and not meets(better[-1], demand)))
        reasons = [_asks(demand) if demand.by else f"you ask for {demand.text}" for demand in pins]
        links = [package for package in self.packages if package.major is not None and package.links_torch]
        reasons += [f"{package.name} links CUDA {package.major}" for package in links[:2]]
        needy = [package for package in self.packages if package.needs and not package.links_torch]
        reasons += [f"{p.name} needs {p.needs[0]}" for p in needy[:2] if p.major == build.cuda_major]
        if links and search.own_cuda.get(build.torch) == build.cuda:
            reasons.append(f"CUDA {build.cuda} is that of the default index's torch {build.torch}")
        if better and (conflict := search.torch_conflict(better[-1].torch, demands)) is not None:
            reasons.insert(0, conflict)
        return "; ".join(dict.fromkeys(reasons)) or "the newest that runs here"

    # What a user should know.

    def _notes(self) -> Iterator[Note]:
        search, solution, torch = self.search, self.solution, self.solution.torch
        names = dict.fromkeys(demand.name for demand in solution.demands)
        if torch is not None:
            of_torch = remarks.notes(torch, search.machine, search.table, Wish(), search.verdicts)
            yield from (note for note in of_torch if note is not remarks.MISCOMPILED)
        for package in self.packages:
            yield from self._of_package(package)
        asked = {(demand.name, extra) for demand in self.wanted for extra in demand.extras}
        taken = [(demand.name, extra) for demand in self.demands if not demand.by for extra in demand.extras]
        for name, extra in taken:
            if (name, extra) not in asked:
                yield Note("CUDA_EXTRA", f"{name}[{extra}] is taken: without an extra it is not for torch's CUDA")
        rivals = ((package.name, rival) for package in self.packages for rival in search.facts[package.name].rivals)
        for one, other in sorted({(min(pair), max(pair)) for pair in rivals if pair[1] in names}):
            text = f"{one} and {other} install the same module, and the one installed last wins: keep one of them"
            yield Note("SAME_MODULE", text)
        if torch is not None:
            yield from self._inferred(torch.build)
            yield from remarks.inferred(torch.build, names)
        yield from self._mixed()

    def _moved(self) -> Iterator[Note]:
        """What is older than its newest version, and what stood against that."""
        for package in self.packages:
            if passed := self._passed_over(package):
                yield Note("PACKAGE_MOVED", f"{package.name} {package.version} is taken, {passed}")

    def _plain_conflicts(self) -> Iterator[Note]:
        """What plain projects ask of others, at the version that was read, against what you ask of them."""
        demands = self.demands
        own = grouped((demand.name, demand) for demand in demands if not demand.by and demand.specifier)
        for package, required in self.solution.plain.values():
            users = ", ".join(dict.fromkeys(demand.by for demand in demands if demand.name == package.name))
            who = f"{package.who}{f', which {users} requires,' if users.strip(', ') else ''}"
            for demand in required:
                if demand.name in own and not are_compatible([demand, *own[demand.name]]):
                    bounds = ",".join(other.specifier for other in own[demand.name])
                    yield Note("PLAIN_CONFLICT", f"{who} wants {demand.text}, and `{demand.name}{bounds}` is asked for")

    def _inferred(self, torch: Build) -> Iterator[Note]:
        """The packages that call torch's own library where nothing names the torch that they are for."""
        if self.search.catalog.no_deps:
            return  # what would name it was left out
        if any(demand.name == "torch" and demand.by and demand.specifier for demand in self.demands):
            return
        for package in self.packages:
            if package.links_torch and package.file and not package.place and not package.undescribed:
                text = f"that {package.who} goes with torch {torch.version} is inferred: its metadata names no torch"
                yield Note("COMPANION_UNVERIFIED", text)

    def _of_package(self, package: Package) -> Iterator[Note]:
        search, torch, who = self.search, self.build, package.who
        word, _, partial = search.fit.coverage(package, torch and torch.cuda)
        facts, platform = search.facts[package.name], search.machine.platform
        if package.file is None and (package.place or facts.source_only is not None):
            yield Note("PACKAGE_UNREAD", _beside(facts, package, torch, search.machine.python.tag))
        elif word == NOT_READ:
            text = f"which GPUs {who} was built for is not known for {platform.name}"
            if package.code is not None:
                text = f"what was read of {who} names none of these GPUs"
            yield Note("PACKAGE_UNREAD", text)
        elif package.code and package.cuda is None and not package.per_cuda and platform.os == "windows":
            yield Note("PACKAGE_UNREAD", f"which CUDA {who} links is not read on Windows")
        if partial:
            yield Note("PARTIAL_LIBRARY", f"{who}: {'; '.join(partial)}")
        elif package.optional and package.major is not None and torch and package.major != torch.cuda_major:
            text = f"its libraries are for CUDA {package.major}, and torch is not, so it falls back to Python"
            yield Note("PARTIAL_LIBRARY", f"{who}: {text}")
        if package.jit == "":
            yield Note("PACKAGE_UNREAD", f"{who} is compiled at run time: for which GPUs is not known")
        if word == JIT:
            yield Note("JIT_ONLY", f"the driver compiles the code of {who} on first use, which takes minutes, once")

    def _mixed(self) -> Iterator[Note]:
        level, torch = self.solution.level, self.build
        libraries = dict.fromkeys(library for _, library in self._lacking())
        if level >= ADDED_WHEEL and libraries:
            path = "import torch first, or set LD_LIBRARY_PATH (on Windows PATH)"
            yield Note("LOADER_PATH", f"{', '.join(libraries)} must be on the loader's path: {path}")
        if level < OWN_WHEELS or torch is None or torch.cuda is None:
            return
        majors = {str(package.major) for package in self.packages if package.major not in (None, torch.cuda_major)}
        if majors:
            allowed = ", as `--allow-mixed` allows" if level >= MIXED else ""
            text = f"libraries of CUDA {', '.join(sorted(majors))} are installed next to torch's CUDA {torch.cuda}"
            yield Note("CUDA_MAJOR_MIXED", f"{text}{allowed}")


def _asks(demand: PackageDemand) -> str:
    return f"{demand.by} asks for {demand.text}"


def _text(major: int | None) -> str | None:
    return None if major is None else str(major)


def _beside(facts: PackageFacts, package: Package, torch: Build | None, python: str) -> str:
    """Where its wheel lies, which was named there and not read; or that none is known for this torch."""
    index = next((index for index in facts.elsewhere if package.place and package.place.startswith(index.url)), None)
    if index is not None:
        where = filled(f"{package.place.partition('#')[0]}: {index.text}", package, torch, python)
        more = f"; {package.name} {facts.refused}" if facts.refused is not None else ""
        return f"{package.who} for {package.platforms[0]} was seen, and not read, at {where}{more}"
    # Where the wheels of an index are known, none of them is for this torch: naming a file would be a guess.
    pages = "; ".join(index.url if index.wheels else f"{index.url}: {index.text}" for index in facts.elsewhere)
    pages = filled(pages, package, torch, python)
    built = f" for torch {torch.version} on {torch.platform}" if torch is not None else ""
    none = f"; no wheel of it is known{built}" if any(index.wheels for index in facts.elsewhere) else ""
    return f"{package.who}: {facts.source_only}{none}{f'. {pages}' if pages else ''}"
