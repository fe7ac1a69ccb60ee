"""What a user should know about a stack: what was not read, what lacks code, what is mixed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from torchpick.decide import pairing, remarks
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, OWN_WHEELS
from torchpick.decide.places import address, content
from torchpick.decide.stacksearch import WITH_TORCH, Solution, StackSearch
from torchpick.model.build import COMPANIONS, DEFAULT_INDEX, Build
from torchpick.model.machine import Note
from torchpick.model.package import Package, PackageFacts, doubles
from torchpick.model.request import Wish
from torchpick.model.stack import NOT_READ
from torchpick.model.verdict import JIT


def notes(search: StackSearch, chosen: Solution) -> Iterator[Note]:
    """Every note of an answer."""
    torch = None if chosen.torch is None else chosen.torch.build
    yield from _of_torch(search, chosen)
    for package in chosen.packages.values():
        yield from _of_package(search, package, torch)
    yield from _rivals(search, chosen)
    if torch is not None:
        yield from _companions(chosen, torch)
    yield from _mixed(search, chosen, torch)


def unknown(facts: Mapping[str, PackageFacts], demands: Iterable[PackageDemand]) -> dict[str, str]:
    """The packages of which no known version meets what is asked, each with all of that."""
    asked: dict[str, list[PackageDemand]] = {}
    for demand in demands:
        asked.setdefault(demand.name, []).append(demand)
    return {
        name: ",".join(dict.fromkeys(demand.specifier for demand in mine if demand.specifier))
        for name, mine in asked.items()
        if _is_unknown(facts, name, mine)
    }


def _is_unknown(facts: Mapping[str, PackageFacts], name: str, asked: Sequence[PackageDemand]) -> bool:
    if name in ("torch", *COMPANIONS) or name in WITH_TORCH or name.startswith("nvidia-"):
        return False
    known = facts.get(name)
    if known is None:
        return any(not demand.by for demand in asked)
    return known.refused is None and not any(
        all(demand.admits(package.version) for demand in asked) for package in known.versions
    )


def unread(search: StackSearch, demands: Iterable[PackageDemand]) -> Iterator[Note]:
    """What the table does not know: nothing is approved silently."""
    demands = tuple(demands)
    for name in unknown(search.facts, demands):
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
        if note.code != "COMPANION_UNVERIFIED":  # those that were asked for are named one by one
            yield note


def _of_package(search: StackSearch, package: Package, torch: Build | None) -> Iterator[Note]:
    coverage = search.situation.coverage(package, None if torch is None else torch.cuda)
    facts = search.facts[package.name]
    who = package.who
    if coverage.word == NOT_READ:
        text = f"which GPUs {who} was built for is not known for {search.machine.platform.name}"
        if package.code is not None:
            text = f"only a part of {who} was read, and it names none of these GPUs"
        yield Note("PACKAGE_UNREAD", text)
    elif package.code and package.cuda is None and not package.per_cuda and search.machine.platform.os == "windows":
        yield Note("PACKAGE_UNREAD", f"which CUDA {who} links is not read on Windows")
    if coverage.partial:
        yield Note("PARTIAL_LIBRARY", f"{who}: {'; '.join(coverage.partial)}")
    if coverage.word == JIT:
        yield Note("JIT_ONLY", f"the driver compiles the code of {who} on first use, which takes minutes, once")
    if facts.wheel_host and torch is not None and torch.cuda is not None and torch.backend != DEFAULT_INDEX:
        text = f"{who} was judged by the default index's wheel; the wheel host may have one for {torch.backend}"
        yield Note("DEFAULT_INDEX_WHEEL", text)
    if package.file is None and facts.source_only is not None:
        places = "; ".join(
            f"{address(each, package, torch)}: {content(each, package, torch)}" for each in facts.elsewhere
        )
        yield Note("PACKAGE_UNREAD", f"{who}: {facts.source_only}{f'. {places}' if places else ''}")


def _rivals(search: StackSearch, chosen: Solution) -> Iterator[Note]:
    names = {demand.name for demand in chosen.demands}
    for name, stays in doubles(chosen.packages, names, search.facts).items():
        yield same_module(name, stays)


def same_module(name: str, stays: str, *, left_out: bool = False) -> Note:
    """Two packages that install the same module, of which one is left out or has to go."""
    end = f"and the one installed last wins: uninstall both, then install {stays} alone"
    if left_out:
        end = f"so {name} is left out"
    return Note("SAME_MODULE", f"{stays} and {name} install the same module, {end}")


def _companions(chosen: Solution, torch: Build) -> Iterator[Note]:
    for name in dict.fromkeys(demand.name for demand in chosen.demands if demand.name in COMPANIONS):
        companion = pairing.companion(torch, name)
        if companion is not None and companion.inferred:
            text = f"that {name} {companion.version} goes with torch {torch.version} is inferred"
            yield Note("COMPANION_UNVERIFIED", text)


def _mixed(search: StackSearch, chosen: Solution, torch: Build | None) -> Iterator[Note]:
    libraries = [library for _, library in search.lacking(chosen)]
    if chosen.level >= ADDED_WHEEL and libraries:
        names = ", ".join(dict.fromkeys(libraries))
        yield Note("LOADER_PATH", f"{names} must be on the loader's path: import torch first, or set LD_LIBRARY_PATH")
    if chosen.level < OWN_WHEELS or torch is None or torch.cuda is None:
        return
    majors = {str(package.major) for package in chosen.packages.values() if package.major is not None}
    others = sorted(majors - {str(torch.cuda_major)})
    if others:
        allowed = ", as `--allow-mixed` allows" if chosen.level >= MIXED else ""
        text = f"libraries of CUDA {', '.join(others)} are installed next to torch's CUDA {torch.cuda}{allowed}"
        yield Note("CUDA_MAJOR_MIXED", text)
