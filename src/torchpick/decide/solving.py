"""The search for one environment, in its order. Pure.

What is tried first: projects of the cone that the user named, newest first, one that requires another of them before
it; then what they need, newest first; then torch in its usual order, except that among builds of one release that all
fit, the CUDA of the default index's own torch of that release comes first, since it is what packages link.
"""

from __future__ import annotations

from typing import NamedTuple

from torchpick.decide.demands import (
    PackageDemand,
    are_compatible,
    concerns,
    fitting,
    is_leaf,
    is_withdrawn,
    joined,
    meets,
    overridden,
)
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, ONE_MAJOR, OWN_WHEELS
from torchpick.decide.search import Causes, Cone, Conflict, Needs, find_cone, solve
from torchpick.decide.searchfacts import Refused, SearchFacts, constrained
from torchpick.model.build import COMPANIONS, TRIO, TRITONS, Build, Objection, Reason, Verdict
from torchpick.model.package import Package, Stage
from torchpick.model.versions import grouped, release_key, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torchpick.model.machine import Machine
    from torchpick.model.pick import Wish

# Steps of a search; the deepest real case takes some hundred.
MOST_STEPS = 20_000


class Solution(NamedTuple):
    """What a search found: the packages in the order they were chosen, torch, and all that is asked of any project."""

    packages: Mapping[str, Package]
    torch: Verdict | None
    demands: tuple[PackageDemand, ...]
    level: int
    cone: Cone

    @property
    def build(self) -> Build | None:
        """The torch build; None in an environment without torch."""
        return self.torch and self.torch.build


class Posed(NamedTuple):
    """A demand, and the choices that it follows from."""

    demand: PackageDemand
    causes: Causes


class _State(NamedTuple):
    """How far a search has come: what is chosen or left unread, what is asked of each project, which builds are left.

    `cuts` are the choices that left builds out; `torch` those that need torch, None where nothing does.
    """

    chosen: Mapping[str, Package]
    skipped: frozenset[str]
    posed: Mapping[str, tuple[Posed, ...]]
    builds: tuple[Verdict, ...]
    cuts: Causes
    torch: Causes | None

    @property
    def demands(self) -> tuple[PackageDemand, ...]:
        return tuple(posed.demand for of_name in self.posed.values() for posed in of_name)

    def own(self, package: Package | None) -> tuple[PackageDemand, ...]:
        """What a package itself asks."""
        return () if package is None else tuple(demand for demand in self.demands if demand.by == package.who)


class Attempt:
    """One search at one level of how far two CUDA majors may live together, in the terms of decide/search.py."""

    def __init__(self, search: SearchFacts, cone: Cone, level: int) -> None:
        self.search, self.cone, self.level = search, cone, level
        self._limits = grouped((limit.name, limit) for limit in search.limits)

    def solve(self, wanted: tuple[PackageDemand, ...]) -> Solution | Conflict | Needs | None:
        start = _State({}, frozenset(), {}, self.search.builds, frozenset(), None)
        state = self._pose(start, [Posed(demand, frozenset()) for demand in wanted], None)
        if not isinstance(state, _State):
            return state
        outcome = solve(self, state, MOST_STEPS)
        if not isinstance(outcome, _State):
            return outcome
        torch = None
        if outcome.torch is not None:
            cuda = any(package.cuda is not None or package.per_cuda for package in outcome.chosen.values())
            torch = self.search.ordered(outcome.builds, packages=cuda)[0]
        return Solution(outcome.chosen, torch, outcome.demands, self.level, self.cone)

    # What the search asks.

    def next_project(self, state: _State) -> str | None:
        """The first in the order of the cone; one that only older versions require comes last."""
        last = len(self.cone.order)
        todo = (
            name
            for name in state.posed
            if name not in state.chosen and name not in state.skipped and self._is_searched(name)
        )
        return min(todo, key=lambda name: (self.cone.order.get(name, last), name), default=None)

    def candidates(self, state: _State, name: str) -> tuple[Iterable[Package | None], Causes]:
        """Its versions that fit what is asked of it; None is one that was not read."""
        facts, posed = self.search.facts[name], state.posed[name]
        demands = [*(item.demand for item in posed), *self._limits.get(name, ())]
        excluding = (item for item in posed if len(self.search.fitting(facts, [item.demand])) < len(facts.versions))
        causes = posed[0].causes.union(*(item.causes for item in excluding))
        return self.search.candidates(facts, demands), causes

    def choose(self, state: _State, name: str, candidate: Package | None) -> _State | Conflict | Needs:
        if candidate is None:
            return state._replace(skipped=state.skipped | {name})
        if candidate.stage is Stage.LISTED:
            return Needs(metadata=((name, candidate.version),))
        posed = state.posed[name]
        if is_withdrawn(candidate, [item.demand for item in posed]):
            return self._refuse(candidate, Objection(Reason.YANKED))
        if objection := self.search.fit.refusal(candidate):
            return self._refuse(candidate, objection)
        # Of an index not every version was read, and pip and uv take the newest with a warning.
        others = self.search.facts[name].versions if self.search.facts[name].in_table else ()
        for extra in _extras(posed):
            if not candidate.has_extra(extra) and any(other.has_extra(extra) for other in others):
                causes = (item.causes for item in posed if extra in item.demand.extras)
                return self._refuse(candidate, constrained(f"has no extra {extra}"), *causes)
        chosen = state._replace(chosen={**state.chosen, name: candidate})
        if candidate.links_torch and chosen.torch is None:
            chosen = chosen._replace(torch=frozenset((name,)))
        return self._pose(chosen, self._demands(candidate, posed), candidate)

    def finish(self, state: _State) -> Conflict | Needs | None:
        unread = tuple(
            (package.name, package.version)
            for package in state.chosen.values()
            if package.stage is Stage.DESCRIBED and self.search.catalog.may_learn
        )
        if unread:
            return Needs(code=unread)
        for package in state.chosen.values() if state.torch is None else ():
            if objection := self.search.fit.mismatch(package, None, state.own(package), self.level):
                self._refuse(package, objection)
                return Conflict(frozenset(state.chosen))  # the next level adds what is missing
        return None

    def retreat(self, name: str, candidate: Package | None) -> None:
        """Say what stood against a version that was chosen and could not be completed: what was refused last."""
        refused = self.search.refused
        if candidate is None or not refused or refused[-1].name == name:
            return
        first = next(other for other in refused if other.name == refused[-1].name)
        text = f"{f'{first.name} {first.version}'.rstrip()} {first.objection.text}"
        why = constrained(f"no version of {first.name} fits beside it; {text}")
        self.search.moved.append(Refused(candidate.name, candidate.version, why))

    # How a state grows.

    def _is_searched(self, name: str) -> bool:
        return not is_leaf(name) and (name in self.cone.order or self.search.in_table(name))

    def _demands(self, package: Package, posed: Iterable[Posed]) -> list[Posed]:
        """What a version requires; of an extra also because of whoever asks for that."""
        own = frozenset((package.name,))
        always = self.search.required(package, ())
        extras = _extras(posed)
        if not extras:
            return [Posed(demand, own) for demand in always]
        asking = own.union(*(item.causes for item in posed if item.demand.extras))
        every = self.search.required(package, extras)
        return [Posed(demand, own if demand in always else asking) for demand in every]

    def _pose(self, state: _State, posed: list[Posed], package: Package | None) -> _State | Conflict | Needs:
        """The state with these demands in it, and what of them cannot be had; `package` is what was chosen last."""
        by_name, queue, torch = dict(state.posed), list(posed), state.torch
        lacking: dict[str, str] = {}
        for item in queue:  # it grows where an extra of what is chosen brings more
            demand = item.demand
            earlier = by_name.get(demand.name, ())
            by_name[demand.name] = (*earlier, item)
            chosen = state.chosen.get(demand.name)
            if chosen is not None:
                if not fitting((chosen,), [demand]):
                    why = constrained(f"asks for {demand.text}, and {chosen.version} is chosen")
                    return self._refuse(package, why, item.causes, frozenset((demand.name,)))
                if set(demand.extras) - set(_extras(earlier)):
                    before = {other.demand for others in by_name.values() for other in others}
                    more = self._demands(chosen, by_name[demand.name])
                    queue += [other for other in more if other.demand not in before]
            elif self._is_lacking(demand.name, package):
                lacking[demand.name] = joined(other.demand for other in by_name[demand.name])
            elif (against := self._against(by_name[demand.name], package)) is not None:
                return against
            if torch is None and (demand.name in TRIO or (demand.name in TRITONS and not demand.by)):
                torch = item.causes
        nearer = self._with_builds(state._replace(posed=by_name, torch=torch), queue, package)
        # What cannot be anyway need not be known better.
        return Needs(pages=lacking, roots=lacking) if lacking and not isinstance(nearer, Conflict) else nearer

    def _is_lacking(self, name: str, package: Package | None) -> bool:
        """Whether it is not known where a project that a package requires leads; of the table's that was seen."""
        facts = self.search.facts.get(name)
        is_known = is_leaf(name) or name in self.cone.order or name in self.cone.plain
        is_open = facts is None or (not facts.in_table and facts.versions != ())
        of_table = package is not None and self.search.in_table(package.name)
        return self.search.catalog.may_learn and not is_known and is_open and not of_table

    def _against(self, posed: tuple[Posed, ...], package: Package | None) -> Conflict | None:
        """What is against the demands on a project that is not chosen, the last of them new."""
        demand, search = posed[-1].demand, self.search
        if is_leaf(demand.name):
            return None
        facts = search.facts.get(demand.name)
        is_on_index = facts is None or facts.in_table or not facts.listed or search.fitting(facts, [demand])
        if demand.by and not is_on_index:
            return self._refuse(package, constrained(f"asks for {demand.text}, which the index does not have"))
        # A plain project is not searched, but two demands on it may contradict each other too.
        demands = [item.demand for item in posed] + self._limits.get(demand.name, [])
        bound = [other for other in demands if other.specifier]
        if len(bound) < 2 or not demand.specifier or are_compatible(bound):
            return None
        other = next(other for other in bound if not are_compatible([other, demand]) or other is bound[-1])
        asks = f"{other.text} ({other.by})" if other.by else other.text
        why = constrained(f"asks for {demand.text}, and {asks} is asked for too")
        return self._refuse(package, why, *(item.causes for item in posed))

    def _with_builds(self, state: _State, posed: list[Posed], package: Package | None) -> _State | Conflict:
        """The state with the builds that meet these demands too."""
        own, fit = state.own(package), self.search.fit
        names = {item.demand.name for item in posed}
        demands = [item.demand for item in posed] + [limit for name in names for limit in self._limits.get(name, ())]
        demands = [demand for demand in demands if concerns(demand.name)]
        beside = [item.demand for name in names for item in state.posed[name]]

        @remembered
        def conflict(release: str) -> str | None:
            return self.search.torch_conflict(release, beside)

        left = tuple(
            verdict
            for verdict in state.builds
            if all(meets(verdict.build, demand) for demand in demands)
            and conflict(verdict.build.torch) is None
            and (package is None or fit.mismatch(package, verdict.build, own, self.level) is None)
        )
        cuts = state.cuts
        if len(left) < len(state.builds):
            cuts = cuts.union(*(item.causes for item in posed), () if package is None else (package.name,))
        if state.torch is not None and not left:
            return self._refuse(package, self._without_torch(state, posed, package), cuts, state.torch)
        return state._replace(builds=left, cuts=cuts)

    def _without_torch(self, state: _State, posed: list[Posed], package: Package | None) -> Objection:
        """Why no torch build is left with these demands: the nearest one's own fault, or what contradicts them."""
        search = self.search
        if package is not None:
            for verdict in search.ordered(state.builds, packages=True):
                objection = search.fit.mismatch(package, verdict.build, state.own(package), self.level)
                if objection and all(meets(verdict.build, item.demand) for item in posed):
                    return objection
        family = [demand for demand in state.demands if concerns(demand.name) and demand.specifier]
        nobody = ("", package and package.who)  # who asks is said of others alone
        texts = (demand.text if demand.by in nobody else f"{demand.text} (by {demand.by})" for demand in family)
        asks = " and ".join(dict.fromkeys(texts))
        bounds = (demand._replace(extras=(), by="") for demand in state.demands if concerns(demand.name))
        meeting = search.meeting(frozenset(bounds))
        if not search.builds and package is not None:  # whatever release it asks for
            meeting, asks = search.verdicts, "a torch that runs here"
        if not meeting:
            companions = dict.fromkeys(demand.name for demand in state.demands if demand.name in COMPANIONS)
            what = asks or " with ".join(["known for this platform", *companions])
            return constrained(f"no torch build is {what}{self._beyond_table(family)}")
        for verdict in meeting:
            if verdict.ok and (why := search.torch_conflict(verdict.build.torch, state.demands)) is not None:
                return constrained(why)
        unfit = [verdict for verdict in meeting if verdict.rank.preference >= 2]
        if not unfit or any(verdict.ok for verdict in meeting):
            return constrained(f"asks for {asks or 'a torch of one CUDA with the rest'}, and no such build is left")
        nearest = min(unfit, key=lambda verdict: len(verdict.reasons))
        fault = nearest.objections[0].text
        return constrained(f"asks for {asks or 'torch'}; the nearest is {nearest.build.version}: {fault}")

    def _beyond_table(self, demands: list[PackageDemand]) -> str:
        """That a newer torch than the table has may be what is asked for."""
        newest = max((verdict.build.torch for verdict in self.search.verdicts), key=release_key, default=None)
        on_torch = [demand for demand in demands if demand.name == "torch"]
        if newest is None or not on_torch or not are_compatible([*on_torch, PackageDemand("torch", f">{newest}")]):
            return ""
        return f": the table ends at {newest}, and `torchpick refresh` looks for newer ones"

    def _refuse(self, package: Package | None, objection: Objection, *causes: Causes) -> Conflict:
        self.search.refuse(package, objection)
        return Conflict(frozenset[str]().union(*causes))


def _extras(posed: Iterable[Posed]) -> tuple[str, ...]:
    """The extras that are asked for, each once."""
    return tuple(dict.fromkeys(extra for item in posed for extra in item.demand.extras))


class StackSearch(SearchFacts):
    """The search by these facts; the first answer is the best."""

    def changed(self, machine: Machine | None = None, wish: Wish | None = None) -> StackSearch:
        """A search that differs in its machine or its wish."""
        return StackSearch(machine or self.machine, self.table, wish or self.wish, self.catalog, self.limits)

    def best(self, wanted: tuple[PackageDemand, ...], *, allow_mixed: bool = False) -> Solution | Needs | None:
        """One CUDA major first; then another that a package brings itself; last one that is added for it."""
        wanted = overridden(wanted, self.catalog.overrides)
        cone = find_cone(self, wanted)
        # The table is not the index: the page of each of its packages is looked at.
        of_cone = (self.facts[name] for name in cone.order if self.catalog.may_learn)
        unseen = {facts.name: "" for facts in of_cone if not (facts.listed or facts.unlisted)}
        if cone.needs is not None or unseen:
            needs = cone.needs or Needs()
            return needs._replace(pages={**needs.pages, **unseen})
        for level in (ONE_MAJOR, OWN_WHEELS, ADDED_WHEEL, *((MIXED,) if allow_mixed else ())):
            self.refused, self.moved = [], []
            outcome = Attempt(self, cone, level).solve(wanted)
            if outcome is None:
                why = f"the search was stopped after {MOST_STEPS} steps"
                self.refused.insert(0, Refused(wanted[0].name, "", constrained(why)))
                return None
            if not isinstance(outcome, Conflict):
                return outcome
        return None

    def lacking(self, solution: Solution) -> Iterator[tuple[Package, str]]:
        """The libraries that nothing in an environment provides, each with the package that needs it."""
        for package in solution.packages.values():
            own = tuple(demand for demand in solution.demands if demand.by == package.who)
            for library in self.fit.missing(package, solution.build, own, OWN_WHEELS):
                yield package, library
