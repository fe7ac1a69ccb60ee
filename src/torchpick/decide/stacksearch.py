"""The search for one environment: package by package, newest first, with the torch builds that are left. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from torchpick.decide import resolve
from torchpick.decide.demands import PackageDemand, concerns, is_beyond, meets, required
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, ONE_MAJOR, OWN_WHEELS, Situation
from torchpick.model.build import COMPANIONS, TRIO, TRITONS, Build
from torchpick.model.machine import Machine
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.verdict import Objection, Reason, Verdict
from torchpick.model.versions import leading, release_key, span

# Steps of a search; the deepest real case takes some hundred.
MOST_STEPS = 20_000


class Solution(Noun):
    """An answer of the search: the packages in the order they were chosen, torch, and all that was asked."""

    packages: Mapping[str, Package]
    torch: Verdict | None
    demands: tuple[PackageDemand, ...]
    level: int

    @property
    def build(self) -> Build | None:
        """The torch build; None in an environment without torch."""
        return self.torch and self.torch.build


class Refused(Noun):
    """One version that the search passed over, and why."""

    name: str
    version: str
    objection: Objection


def _constrained(why: str) -> Objection:
    return Objection(Reason.CONSTRAINED, {"why": why})


class StackSearch:
    """One machine, one table, one wish; depth first, so that the first answer is the best."""

    def __init__(
        self,
        machine: Machine,
        table: Table,
        wish: Wish,
        facts: Mapping[str, PackageFacts],
        limits: tuple[PackageDemand, ...] = (),
    ) -> None:
        self.machine, self.table, self.wish, self.facts, self.limits = machine, table, wish, facts, limits
        self.situation = Situation(machine, table)
        self.verdicts = tuple(resolve.judge(machine, table, wish._replace(torch="", companions={})))
        self.builds = tuple(verdict for verdict in self.verdicts if verdict.ok)
        torch = facts.get("torch")
        # The default index's own torch: release → the CUDA that packages of its time link.
        self.own_cuda = {} if torch is None else {own.version: own.cuda for own in torch.versions}
        self.refused: list[Refused] = []
        self._steps = 0
        self._meeting: dict[tuple[PackageDemand, ...], tuple[Verdict, ...]] = {}

    def best(self, asked: tuple[PackageDemand, ...], *, allow_mixed: bool = False) -> Solution | None:
        """One CUDA major first; then another that a package brings itself; last one that is added for it."""
        for level in (ONE_MAJOR, OWN_WHEELS, ADDED_WHEEL, *((MIXED,) if allow_mixed else ())):
            self.refused, self._steps = [], 0
            attempt = _Attempt(self, level)
            if chosen := attempt.run(asked):
                return chosen
        if self._steps > MOST_STEPS:
            why = f"the search was stopped after {MOST_STEPS} steps"
            self.refused.insert(0, Refused(asked[0].name, "", _constrained(why)))
        return None

    def step(self) -> bool:
        """Whether one more step may be taken: hostile requirements must not search for ever."""
        self._steps += 1
        return self._steps <= MOST_STEPS

    def ordered(self, builds: Iterable[Verdict], *, packages: bool) -> tuple[Verdict, ...]:
        """Builds in the order of preference; beside CUDA packages the default index's own CUDA leads each release."""
        if not packages:
            return tuple(builds)
        own = self.own_cuda
        return tuple(
            sorted(
                builds,
                key=lambda each: (each.rank.suits, each.rank.release, own.get(each.build.torch) == each.build.cuda),
                reverse=True,
            )
        )

    def meeting(self, demands: Iterable[PackageDemand]) -> tuple[Verdict, ...]:
        """All builds, running or not, that are what is asked of torch's family; a search asks the same many times."""
        key = tuple(dict.fromkeys(PackageDemand(each.name, each.specifier) for each in demands if concerns(each.name)))
        if key not in self._meeting:
            builds = (each for each in self.verdicts if all(meets(each.build, demand) for demand in key))
            self._meeting[key] = tuple(builds)
        return self._meeting[key]

    def lacking(self, chosen: Solution) -> Iterator[tuple[Package, str]]:
        """The libraries that nothing in an answer provides, each with the package that needs it."""
        for package in chosen.packages.values():
            own = tuple(each for each in chosen.demands if each.by == package.who)
            for library in self.situation.missing(package, chosen.build, own, OWN_WHEELS):
                yield package, library


def _needs_torch(package: Package) -> bool:
    return package.links_torch or any(leading(line) == "torch" for line in package.requires)


def _unknown(facts: PackageFacts, demands: list[PackageDemand]) -> str:
    """That no known version meets these demands, and from which to which they are known."""
    text = ", ".join(dict.fromkeys(demand.text for demand in demands))
    known = span([package.version for package in reversed(facts.versions)] or ["none"])
    return f"no version within `{text}` is known; known: {known}"


def _unread(known: Sequence[Package], number: str, refusal: Callable[[Package], Objection | None]) -> str | None:
    """What is against a version that has not been read: neither the known one before it nor the one after it runs."""
    beside = [*known[:1], *known[-1:]]
    with suppress(ValueError):  # where a range is asked for, or a number of no such order, the ends stand for it
        wanted = release_key(number.removesuffix(".*"))
        older = [package for package in known if release_key(package.version) <= wanted]
        newer = [package for package in known if release_key(package.version) >= wanted]
        beside = older[:1] + newer[-1:]
    refused = [f"{package.version}: {objection.text}" for package in beside if (objection := refusal(package))]
    return f"has not been read; {refused[0]}" if refused and len(refused) == len(beside) else None


class _State(Noun):
    """How far a search has come: what is chosen, what is asked, which torch builds are left."""

    todo: tuple[str, ...]
    packages: Mapping[str, Package]
    demands: tuple[PackageDemand, ...]
    builds: tuple[Verdict, ...]
    needs_torch: bool


class _Attempt:
    """One search at one level."""

    def __init__(self, search: StackSearch, level: int) -> None:
        self.search, self.level = search, level

    def run(self, asked: tuple[PackageDemand, ...]) -> Solution | None:
        # A limit on a companion asks for none; it binds one that something does ask for.
        limits = tuple(limit for limit in self.search.limits if limit.name not in COMPANIONS)
        start = _State((), {}, limits, self.search.builds, needs_torch=False)
        state, objection = self._asking(start, asked, None)
        if objection is not None:
            self.search.refused.append(Refused("torch", "", objection))
            return None
        return self._extend(state)

    def _extend(self, state: _State) -> Solution | None:
        if not state.todo:
            return self._finished(state)
        name, todo = state.todo[0], state.todo[1:]
        mine = [demand for demand in state.demands if demand.name == name]
        facts = self.search.facts[name]
        known = [package for package in facts.versions if all(demand.admits(package.version) for demand in mine)]
        if not known:
            return self._without_known(state._replace(todo=todo), facts, mine)
        newest = known[0]
        for package in self._judged_first(facts, known):
            if not self.search.step():
                return None
            if package.code == () and _needs_torch(newest) and not _needs_torch(package):
                why = "does not need torch by itself, so it is not what newer versions are"
                self._refuse(name, package.version, _constrained(why))
                continue
            nearer, objection = self._choosing(state._replace(todo=todo), package)
            if objection:
                self._refuse(name, package.version, objection)
            elif chosen := self._extend(nearer):
                return chosen
        return None

    def _without_known(self, state: _State, facts: PackageFacts, mine: list[PackageDemand]) -> Solution | None:
        """The answer with a version that is not in the table, as a note says, where what is there speaks for it."""
        why, version = facts.refused or _unknown(facts, mine), ""
        versions = [package.version for package in facts.versions]
        if facts.refused is None and all(demand.by for demand in mine) and is_beyond(versions, mine):
            parts = ",".join(demand.specifier for demand in mine).split(",")
            version = max(parts, key=lambda part: part.startswith("=")).lstrip("=")
            unread = _unread(facts.versions, version, self.search.situation.refusal)
            if unread is None:
                return self._extend(state)
            why = unread
        self._refuse(facts.name, version, _constrained(why))
        return None

    def _judged_first(self, facts: PackageFacts, known: list[Package]) -> list[Package]:
        """What was not read comes last, and not at all where what was read beside it speaks against it."""
        situation = self.search.situation
        unread = [package for package in known if situation.is_unread(package)]
        judged = [package for package in known if package not in unread]
        read = [package for package in facts.versions if unread and not situation.is_unread(package)]
        for package in unread:
            why = _unread(read, package.version, situation.kernels)
            if why is None:
                judged.append(package)
            else:
                self._refuse(package.name, package.version, _constrained(why))
        return judged

    def _choosing(self, state: _State, package: Package) -> tuple[_State, Objection | None]:
        """The state with this package in it, or why it cannot be."""
        if objection := self.search.situation.refusal(package):
            return state, objection
        extras = tuple(e for demand in state.demands if demand.name == package.name for e in demand.extras)
        others = self.search.facts[package.name].versions
        for extra in extras:
            if not package.has_extra(extra) and any(other.has_extra(extra) for other in others):
                return state, _constrained(f"has no extra {extra}")
        demands = required(package.requires, self.search.machine, extras, package.who)
        chosen = state._replace(
            packages={**state.packages, package.name: package}, needs_torch=state.needs_torch or package.links_torch
        )
        return self._asking(chosen, demands, package)

    def _asking(
        self, state: _State, demands: tuple[PackageDemand, ...], package: Package | None
    ) -> tuple[_State, Objection | None]:
        """The state with these demands in it, and what of them cannot be had."""
        todo = list(state.todo)
        for demand in demands:
            there = state.packages.get(demand.name)
            if there is not None and not demand.admits(there.version):
                return state, _constrained(f"asks for {demand.text}, and {there.version} is chosen")
            if there is None and demand.name not in {*todo, *TRIO} and demand.name in self.search.facts:
                todo.append(demand.name)
        every = (*state.demands, *demands)
        needs_torch = state.needs_torch or any(
            each.name in TRIO or (each.name in TRITONS and not each.by) for each in demands
        )
        nearer = state._replace(todo=tuple(todo), demands=every, needs_torch=needs_torch)
        fitting = tuple(build for build in state.builds if self._fits(build, demands, package))
        if needs_torch and not fitting:
            return state, self._no_torch(state, package, demands, every)
        return nearer._replace(builds=fitting), None

    def _fits(self, verdict: Verdict, demands: tuple[PackageDemand, ...], package: Package | None) -> bool:
        asked = {demand.name for demand in demands}
        limits = (limit for limit in self.search.limits if limit.name in asked)
        if not all(meets(verdict.build, demand) for demand in (*demands, *limits)):
            return False
        situation = self.search.situation
        return package is None or situation.mismatch(package, verdict.build, demands, self.level) is None

    def _finished(self, state: _State) -> Solution | None:
        if state.needs_torch:
            cuda = any(package.cuda is not None or package.per_cuda for package in state.packages.values())
            torch = self.search.ordered(state.builds, packages=cuda)[0]
            return Solution(state.packages, torch, state.demands, self.level)
        for package in state.packages.values():
            own = tuple(each for each in state.demands if each.by == package.who)
            if self.search.situation.mismatch(package, None, own, self.level) is not None:
                return None  # the next level adds what is missing
        return Solution(state.packages, None, state.demands, self.level)

    def _refuse(self, name: str, version: str, objection: Objection) -> None:
        self.search.refused.append(Refused(name, version, objection))

    def _no_torch(
        self,
        state: _State,
        package: Package | None,
        demands: tuple[PackageDemand, ...],
        every: tuple[PackageDemand, ...],
    ) -> Objection:
        """Why no torch build is left with these demands: the nearest one's own fault, or what contradicts them."""
        search = self.search
        if package is not None:
            for verdict in search.ordered(state.builds, packages=True):
                objection = search.situation.mismatch(package, verdict.build, demands, self.level)
                if objection and all(meets(verdict.build, demand) for demand in demands):
                    return objection
        family = [demand for demand in every if concerns(demand.name) and demand.specifier]
        own = ("", package and package.who)  # who asks is said of others alone
        said = (each.text if each.by in own else f"{each.text} (by {each.by})" for each in family)
        asks = " and ".join(dict.fromkeys(said))
        meeting = search.meeting(every)
        if not search.builds and package is not None:  # whatever release it asks for
            meeting, asks = search.verdicts, "a torch that runs here"
        if not meeting:
            beside = " with ".join(
                ["known for this platform", *dict.fromkeys(each.name for each in every if each.name in COMPANIONS)]
            )
            return _constrained(f"no torch build is {asks or beside}")
        unfit = [verdict for verdict in meeting if verdict.rank.suits >= 2]
        if not unfit or any(verdict.ok for verdict in meeting):
            return _constrained(f"asks for {asks or 'a torch of one CUDA with the rest'}, and no such build is left")
        nearest = min(unfit, key=lambda verdict: len(verdict.reasons))
        why = f"asks for {asks or 'torch'}; the nearest is {nearest.build.version}: {nearest.objections[0].text}"
        return _constrained(why)
