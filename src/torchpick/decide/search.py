"""The search for one environment: which project is next, which versions it may have, what stands against one. Pure.

First come projects of the cone that the user named, one that requires another of them before it; then what they need;
each newest first; then torch in its usual order, except that among builds of one release that all fit, the CUDA of the
default index's own torch of that release comes first, since it is what packages link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import tee
from typing import NamedTuple

from torchpick.decide.backjumping import Causes, solve
from torchpick.decide.demands import (
    PackageDemand,
    Posed,
    are_compatible,
    concerns,
    extras_of,
    fitting,
    is_leaf,
    is_withdrawn,
    joined,
    meets,
    overridden,
)
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, ONE_MAJOR, OWN_WHEELS
from torchpick.decide.searchfacts import Needs, Reading, SearchFacts, constrained, find_cone, passed_over
from torchpick.model.build import COMPANIONS, TRIO, TRITONS, Build, Objection, Reason, Verdict
from torchpick.model.package import Package, PackageObjection, Stage
from torchpick.model.versions import grouped, release_key

# Steps of a search; the deepest real case takes some hundred.
MOST_STEPS = 20_000


class Solution(NamedTuple):
    """What a search found: the packages in the order they were chosen, torch, and all that is asked of any project."""

    packages: Mapping[str, Package]
    torch: Verdict | None
    demands: tuple[PackageDemand, ...]
    level: int
    plain: Mapping[str, Reading]

    @property
    def build(self) -> Build | None:
        """The torch build; None in an environment without torch."""
        return self.torch and self.torch.build


class _State(NamedTuple):
    """How far a search has come; `cuts` are the choices that left builds out, `torch` those that need torch, if any."""

    chosen: Mapping[str, Package]
    skipped: frozenset[str]
    posed: Mapping[str, tuple[Posed, ...]]
    builds: tuple[Verdict, ...]
    cuts: Causes
    torch: Causes | None

    @property
    def demands(self) -> tuple[PackageDemand, ...]:
        return tuple(demand for of_name in self.posed.values() for demand, _ in of_name)

    def own(self, package: Package | None) -> tuple[PackageDemand, ...]:
        who = package and package.who
        return tuple(demand for demand in self.demands if demand.by == who)


class Attempt:
    """One search at one level of how far two CUDA majors may live together, in the terms of decide/backjumping.py."""

    def __init__(self, search: SearchFacts, order: Mapping[str, int], plain: Mapping[str, Reading], level: int) -> None:
        self.search, self.order, self.plain, self.level, self.builds = search, order, plain, level, search.builds
        self._limits = grouped((limit.name, limit) for limit in search.limits)
        self._judged: dict[tuple[object, ...], Iterator[Package | PackageObjection | None]] = {}

    def solve(self, wanted: tuple[PackageDemand, ...]) -> Solution | Causes | Needs | None:
        asked: list[Posed] = [(demand, frozenset()) for demand in wanted]
        state: _State | Causes | Needs | None
        state = self._pose(_State({}, frozenset(), {}, self.builds, frozenset(), None), asked, None)
        if isinstance(state, _State):
            self.builds = state.builds
            state = solve(self, state, MOST_STEPS)
        if not isinstance(state, _State):
            return state
        return Solution(state.chosen, self.torch(state), state.demands, self.level, self.plain)

    def torch(self, state: _State) -> Verdict | None:
        """The best of the builds that are left, where anything needs torch."""
        cuda = any(package.cuda is not None or package.per_cuda for package in state.chosen.values())
        return None if state.torch is None else self.search.ordered(state.builds, packages=cuda)[0]

    def next_project(self, state: _State) -> str | None:
        """The first in the order of the cone; one that only older versions require comes last; then CUDA's extras."""
        todo = (
            name
            for name in state.posed
            if name not in state.chosen and name not in state.skipped and not is_leaf(name)
            if name in self.order or self.search.in_table(name)
        )
        name = min(todo, key=lambda name: (self.order.get(name, len(self.order)), name), default=None)
        return next(self._cuda_extras(state), None) if name is None else name

    def _cuda_extras(self, state: _State) -> Iterator[str]:
        """The extras by which named packages are for torch's CUDA, where without one they are for another or none."""
        torch = self.torch(state)
        for package in state.chosen.values() if torch is not None else ():
            asked = [demand for demand, _ in state.posed[package.name] if not demand.by]
            extras = [extra for demand in asked for extra in demand.extras]
            extra = torch and asked and self.search.facts[package.name].cuda_extra(package, torch.build, extras)
            if extra and (choice := f"{package.name}[{extra}]") not in state.skipped:
                yield choice

    def candidates(self, state: _State, name: str) -> tuple[Iterable[Package | None], Causes]:
        """Its versions that fit what is asked of it; None is one that was not read."""
        if "[" in name:
            return (state.chosen[name.partition("[")[0]], None), frozenset()
        facts, posed = self.search.facts[name], state.posed[name]
        demands = [*(demand for demand, _ in posed), *self._limits.get(name, ())]
        excluding = (by for demand, by in posed if len(self.search.fitting(facts, [demand])) < len(facts.versions))
        causes = next(by for _, by in posed).union(*excluding)
        # A search comes to the same project again and again, with the same demands of other versions.
        key = name, tuple((demand.specifier, demand.extras, not demand.by) for demand in demands)
        judged = self._judged.get(key) or self.search.judged(facts, demands, self.builds, self.level)
        self._judged[key], judged = tee(judged)
        return self._noting(judged), causes

    def _noting(self, judged: Iterable[Package | PackageObjection | None]) -> Iterator[Package | None]:
        """The candidates; why others are passed over is kept."""
        for outcome in judged:
            if isinstance(outcome, PackageObjection):
                self.search.refused.append(outcome)
            else:
                yield outcome

    def choose(self, state: _State, name: str, candidate: Package | None) -> _State | Causes | Needs:
        if self.search.is_unseen(name):
            return Needs(pages={name: ""})
        if candidate is None:
            return state._replace(skipped=state.skipped | {name})
        if "[" in name and (torch := self.torch(state)) is not None:  # what it brings must go with torch as it is
            demand = PackageDemand(candidate.name, "", (name.partition("[")[2].rstrip("]"),))
            bound = state._replace(builds=(torch,), cuts=state.cuts | {name})
            return self._pose(bound, [(demand, frozenset((name,)))], candidate)
        if candidate.stage is Stage.LISTED:
            return Needs(metadata=((name, candidate.version),))
        posed = state.posed[name]
        is_yanked = is_withdrawn(candidate, [demand for demand, _ in posed])
        if objection := Objection(Reason.YANKED) if is_yanked else self.search.fit.refusal(candidate):
            return self._refuse(candidate, objection)
        # Of an index not every version was read, and pip and uv take the newest with a warning.
        others = self.search.facts[name].versions if self.search.facts[name].in_table else ()
        for extra in extras_of(posed):
            if not candidate.has_extra(extra) and any(other.has_extra(extra) for other in others):
                causes = (by for demand, by in posed if extra in demand.extras)
                return self._refuse(candidate, constrained(f"has no extra {extra}"), *causes)
        torch_by = frozenset((name,)) if candidate.links_torch and state.torch is None else state.torch
        chosen = state._replace(chosen={**state.chosen, name: candidate}, torch=torch_by)
        return self._pose(chosen, self._demands(candidate, posed), candidate)

    def finish(self, state: _State) -> Causes | Needs | None:
        if state.torch is None and self.level < ADDED_WHEEL and any(map(self.search.gives_no_more, state.chosen)):
            return Causes()
        unread = [package for package in state.chosen.values() if package.stage is Stage.DESCRIBED]
        if unread and self.search.catalog.may_learn:
            return Needs(code=tuple((package.name, package.version) for package in unread))
        for package in state.chosen.values() if state.torch is None else ():
            if objection := self.search.fit.mismatch(package, None, state.own(package), self.level):
                self._refuse(package, objection)
                return frozenset(state.chosen)  # the next level adds what is missing
        return None

    def retreat(self, name: str, candidate: Package | None) -> None:
        """Say what stood against a version that was chosen and could not be completed: what was refused last."""
        refused = self.search.refused
        if candidate is None or not refused or refused[-1].name == name:
            return
        first = next(other for other in refused if other.name == refused[-1].name)
        who = f"{first.name} {first.span}".rstrip()
        why = constrained(f"no version of {first.name} fits beside it; {who} {first.objection.text}")
        self.search.moved.append(PackageObjection(candidate.name, (candidate.version,), why))

    def _demands(self, package: Package, posed: Iterable[Posed]) -> list[Posed]:
        """What a version requires; of an extra also because of whoever asks for that."""
        own, always = frozenset((package.name,)), frozenset(self.search.required(package, ()))
        asking = own.union(*(by for demand, by in posed if demand.extras))
        every = self.search.required(package, extras_of(posed))
        return [(demand, own if demand in always else asking) for demand in every]

    def _pose(self, state: _State, posed: list[Posed], package: Package | None) -> _State | Causes | Needs:
        """The state with these demands in it, and what of them cannot be had; `package` is what was chosen last."""
        by_name, queue, torch = dict(state.posed), list(posed), state.torch
        lacking: dict[str, str] = {}
        for demand, causes in queue:  # it grows where an extra of what is chosen brings more
            earlier = by_name.get(demand.name, ())
            by_name[demand.name] = (*earlier, (demand, causes))
            chosen = state.chosen.get(demand.name)
            if chosen is not None:
                if not fitting((chosen,), [demand]):
                    why = constrained(f"asks for {demand.text}, and {chosen.version} is chosen")
                    return self._refuse(package, why, causes, frozenset((demand.name,)))
                if set(demand.extras) - set(extras_of(earlier)):
                    before = {other for others in by_name.values() for other, _ in others}
                    more = self._demands(chosen, by_name[demand.name])
                    queue += [(other, by) for other, by in more if other not in before]
            elif self._is_lacking(demand.name, package):
                lacking[demand.name] = joined(other for other, _ in by_name[demand.name])
            elif (against := self._against(by_name[demand.name], package)) is not None:
                return against
            if torch is None and (demand.name in TRIO or (demand.name in TRITONS and not demand.by)):
                torch = causes
        nearer = self._with_builds(state._replace(posed=by_name, torch=torch), queue, package)
        # What cannot be anyway need not be known better.
        return Needs(pages=lacking, roots=lacking) if lacking and not isinstance(nearer, frozenset) else nearer

    def _is_lacking(self, name: str, package: Package | None) -> bool:
        """Whether it is not known where a project that a package requires leads; of the table's that was seen."""
        if name in self.order or name in self.plain or is_leaf(name) or not self.search.catalog.may_learn:
            return False
        facts = self.search.facts.get(name)
        is_open = facts is None or (not facts.in_table and facts.versions != ())
        return is_open and (package is None or not self.search.in_table(package.name))

    def _against(self, posed: tuple[Posed, ...], package: Package | None) -> Causes | None:
        """What is against the demands on a project that is not chosen, the last of them new."""
        (demand, _), search = posed[-1], self.search
        if is_leaf(demand.name):
            return None
        facts = search.facts.get(demand.name)
        if demand.by and facts and facts.listed and not facts.in_table and not search.fitting(facts, [demand]):
            return self._refuse(package, constrained(f"asks for {demand.text}, which the index does not have"))
        # A plain project is not searched, but two demands on it may contradict each other too.
        demands = [item for item, _ in posed] + self._limits.get(demand.name, [])
        bound = [other for other in demands if other.specifier]
        if len(bound) < 2 or not demand.specifier or are_compatible(bound):
            return None
        beside = [other for other in bound if other is not demand]
        others = [other for other in beside if not are_compatible([other, demand])][:1] or beside
        texts = " and ".join(f"{other.text} ({other.by})" if other.by else other.text for other in others)
        why = constrained(f"asks for {demand.text}, and {texts} {'is' if len(others) == 1 else 'are'} asked for too")
        return self._refuse(package, why, *(causes for _, causes in posed))

    def _with_builds(self, state: _State, posed: list[Posed], package: Package | None) -> _State | Causes:
        """The state with the builds that meet these demands too."""
        own, fit = state.own(package), self.search.fit
        names = {demand.name for demand, _ in posed}
        demands = [demand for demand, _ in posed] + [limit for name in names for limit in self._limits.get(name, ())]
        demands = [demand for demand in demands if concerns(demand.name)]
        beside = [demand for name in names for demand, _ in state.posed[name]]
        releases = {verdict.build.torch for verdict in state.builds}
        against = {release for release in releases if self.search.torch_conflict(release, beside) is not None}
        left = tuple(
            verdict
            for verdict in state.builds
            if all(meets(verdict.build, demand) for demand in demands)
            and verdict.build.torch not in against
            and (package is None or fit.mismatch(package, verdict.build, own, self.level) is None)
        )
        cuts = state.cuts
        if len(left) < len(state.builds):
            cuts = cuts.union(*(causes for _, causes in posed), () if package is None else (package.name,))
        if state.torch is not None and not left:
            return self._refuse(package, self._without_torch(state, posed, package), cuts, state.torch)
        return state._replace(builds=left, cuts=cuts)

    def _without_torch(self, state: _State, posed: list[Posed], package: Package | None) -> Objection:
        """Why no torch build is left with these demands: the nearest one's own fault, or what contradicts them."""
        search = self.search
        if package is not None:
            for verdict in search.ordered(state.builds, packages=True):
                objection = search.fit.mismatch(package, verdict.build, state.own(package), self.level)
                if objection and all(meets(verdict.build, demand) for demand, _ in posed):
                    return objection
        family = [demand for demand in state.demands if concerns(demand.name) and demand.specifier]
        nobody = ("", package and package.who)  # who asks is said of others alone
        texts = (demand.text if demand.by in nobody else f"{demand.text} (by {demand.by})" for demand in family)
        asks = " and ".join(dict.fromkeys(texts))
        bounds = {demand._replace(extras=(), by="") for demand in state.demands if concerns(demand.name)}
        meeting = search.meeting(frozenset(bounds))
        if not search.builds and package is not None:  # whatever release it asks for
            meeting, asks = search.verdicts, "a torch that runs here"
        if not meeting:
            companions = dict.fromkeys(demand.name for demand in state.demands if demand.name in COMPANIONS)
            what = asks or " with ".join(["known for this platform", *companions])
            newest = max((verdict.build.torch for verdict in search.verdicts), key=release_key, default=None)
            on_torch = [demand for demand in family if demand.name == "torch"]
            if newest and on_torch and are_compatible([*on_torch, PackageDemand("torch", f">{newest}")]):
                what += f": the table ends at {newest}, and `torchpick refresh` looks for newer ones"
            return constrained(f"no torch build is {what}")
        for verdict in meeting:
            if verdict.ok and (why := search.torch_conflict(verdict.build.torch, state.demands)) is not None:
                return constrained(why)
        unfit = [verdict for verdict in meeting if verdict.rank.preference >= 2]
        if not unfit or any(verdict.ok for verdict in meeting):
            return constrained(f"asks for {asks or 'a torch of one CUDA with the rest'}, and no such build is left")
        nearest = min(unfit, key=lambda verdict: len(verdict.reasons))
        what = f"the nearest is {nearest.build.version}: {nearest.objections[0].text}"
        return constrained(f"asks for {asks or 'torch'}; {what}")

    def _refuse(self, package: Package | None, objection: Objection, *causes: Causes) -> Causes:
        self.search.refused.append(passed_over(package, objection))
        return Causes().union(*causes)


def find_solution(
    search: SearchFacts, wanted: tuple[PackageDemand, ...], *, allow_mixed: bool = False
) -> Solution | Needs | None:
    """The best: one CUDA major first; then another that a package brings itself; last one that is added for it."""
    wanted = overridden(wanted, search.catalog.overrides)
    order, plain, needs = find_cone(search, wanted)
    if unseen := {name: "" for name in order if search.is_unseen(name)}:
        needs = needs or Needs()
        return needs._replace(pages={**needs.pages, **unseen})
    if needs is not None:
        return needs
    # Where nothing loads or is built for CUDA, there is no second major to live with.
    more = (OWN_WHEELS, ADDED_WHEEL) if search.fit.gpus or any(verdict.build.cuda for verdict in search.builds) else ()
    for level in (ONE_MAJOR, *more, *((MIXED,) if allow_mixed else ())):
        search.refused, search.moved = [], []
        outcome = Attempt(search, order, plain, level).solve(wanted)
        if outcome is None:
            why = constrained(f"the search was stopped after {MOST_STEPS} steps")
            search.refused.insert(0, PackageObjection(wanted[0].name, (), why))
        if not isinstance(outcome, frozenset):
            return outcome
    return None
