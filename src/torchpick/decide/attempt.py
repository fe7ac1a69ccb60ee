"""One search at one level of how far two CUDA majors may live together: packages by version, torch by build. Pure."""

from __future__ import annotations

from typing import NamedTuple

from torchpick.decide.cone import Cone, is_leaf
from torchpick.decide.demands import (
    PackageDemand,
    are_compatible,
    fitting,
    is_withdrawn,
    joined,
    meets,
    no_known_version_meets,
    required,
)
from torchpick.decide.obstacles import LastChoice, no_known, no_torch, unread_fault
from torchpick.decide.search import Causes, Conflict, Needs, StepsExceeded, solve
from torchpick.decide.solution import Posed, Refused, Solution, constrained
from torchpick.model.build import TRIO, TRITONS
from torchpick.model.package import Package, PackageFacts, Stage
from torchpick.model.verdict import JIT, Objection, Reason, Verdict
from torchpick.model.versions import grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torchpick.decide.searchfacts import SearchFacts
    from torchpick.model.machine import Machine

# Steps of a search; the deepest real case takes some hundred.
MOST_STEPS = 20_000


def _needs_torch(package: Package, machine: Machine) -> bool:
    demands = required(package.requires, machine, (), package.who)
    return package.links_torch or any(demand.name == "torch" for demand in demands)


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


class Attempt:
    """One search at one level; what it decides is in the terms of decide/search.py."""

    def __init__(self, search: SearchFacts, cone: Cone, level: int) -> None:
        self.search, self.cone, self.level = search, cone, level
        self._limits = grouped((limit.name, limit) for limit in search.limits)

    def solve(self, asked: tuple[PackageDemand, ...]) -> Solution | Conflict | Needs | StepsExceeded:
        start = _State({}, frozenset(), {}, self.search.builds, frozenset(), None)
        state = self._pose(start, [Posed(demand, frozenset()) for demand in asked], None)
        if not isinstance(state, _State):
            return state
        found = solve(self, state, MOST_STEPS)
        return self._solution(found) if isinstance(found, _State) else found

    def _solution(self, state: _State) -> Solution:
        torch = None
        if state.torch is not None:
            cuda = any(package.cuda is not None or package.per_cuda for package in state.chosen.values())
            torch = self.search.ordered(state.builds, packages=cuda)[0]
        demands = tuple(posed.demand for of_name in state.posed.values() for posed in of_name)
        return Solution(state.chosen, torch, demands, self.level, self.cone)

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
        demands = [*(each.demand for each in posed), *self._limits.get(name, ())]
        admitted = self.search.fitting(facts, demands)
        excluding = (each for each in posed if len(self.search.fitting(facts, [each.demand])) < len(facts.versions))
        causes = posed[0].causes.union(*(each.causes for each in excluding))
        if not admitted:
            return self._without_known(facts, demands), causes
        return self._worth_trying(facts, admitted), causes

    def choose(self, state: _State, name: str, candidate: Package | None) -> _State | Conflict | Needs:
        if candidate is None:
            return state._replace(skipped=state.skipped | {name})
        if candidate.stage is Stage.LISTED:
            return Needs(metadata=((name, candidate.version),))
        posed = state.posed[name]
        if is_withdrawn(candidate, [each.demand for each in posed]):
            return self._refuse(candidate, Objection(Reason.YANKED))
        if objection := self.search.situation.refusal(candidate):
            return self._refuse(candidate, objection)
        extras = tuple(dict.fromkeys(extra for each in posed for extra in each.demand.extras))
        # Of an index not every version was read, and pip and uv take the newest with a warning.
        others = self.search.facts[name].versions if self.search.facts[name].in_table else ()
        for extra in extras:
            if not candidate.has_extra(extra) and any(other.has_extra(extra) for other in others):
                causes = (each.causes for each in posed if extra in each.demand.extras)
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
            own = _own(state, package)
            if objection := self.search.situation.mismatch(package, None, own, self.level):
                self._refuse(package, objection)
                return Conflict(frozenset(state.chosen))  # the next level adds what is missing
        return None

    def retreat(self, name: str, candidate: Package | None) -> None:
        """Say what stood against a version that was chosen and could not be completed: what was refused last."""
        if candidate is not None and self.search.refused:
            last = self.search.refused[-1]
            if last.name != name:
                first = next(each for each in self.search.refused if each.name == last.name)
                other = f"{first.name} {first.version}".rstrip()
                why = constrained(f"no version of {first.name} fits beside it; {other} {first.objection.text}")
                self.search.moved.append(Refused(candidate.name, candidate.version, why))

    # How a state grows.

    def _is_searched(self, name: str) -> bool:
        return not is_leaf(name) and (
            name in self.cone.order or (name in self.search.facts and self.search.facts[name].in_table)
        )

    def _demands(self, package: Package, posed: Iterable[Posed]) -> list[Posed]:
        """What a version requires; of an extra also because of whoever asks for that."""
        own = frozenset((package.name,))
        extras = tuple(dict.fromkeys(extra for each in posed for extra in each.demand.extras))
        always = self.search.required(package, ())
        if not extras:
            return [Posed(demand, own) for demand in always]
        asking = own.union(*(each.causes for each in posed if each.demand.extras))
        every = self.search.required(package, extras)
        return [Posed(demand, own if demand in always else asking) for demand in every]

    def _pose(self, state: _State, posed: list[Posed], package: Package | None) -> _State | Conflict | Needs:
        """The state with these demands in it, and what of them cannot be had; `package` is what was chosen last."""
        by_name, queue, torch = dict(state.posed), list(posed), state.torch
        lacking: dict[str, str] = {}
        for each in queue:  # it grows where an extra of what is chosen brings more
            demand = each.demand
            earlier = by_name.get(demand.name, ())
            by_name[demand.name] = (*earlier, each)
            there = state.chosen.get(demand.name)
            if there is not None:
                if not fitting((there,), [demand]):
                    why = constrained(f"asks for {demand.text}, and {there.version} is chosen")
                    return self._refuse(package, why, each.causes, frozenset((demand.name,)))
                if set(demand.extras) - {extra for other in earlier for extra in other.demand.extras}:
                    known = {other.demand for others in by_name.values() for other in others}
                    more = self._demands(there, by_name[demand.name])
                    queue += [other for other in more if other.demand not in known]
            elif self._is_lacking(demand.name, package):
                lacking[demand.name] = joined(other.demand for other in by_name[demand.name])
            elif (against := self._against(by_name[demand.name], package)) is not None:
                return against
            if torch is None and (demand.name in TRIO or (demand.name in TRITONS and not demand.by)):
                torch = each.causes
        nearer = self._with_builds(state._replace(posed=by_name, torch=torch), queue, package)
        # What cannot be anyway need not be known better.
        return Needs(pages=lacking, roots=lacking) if lacking and not isinstance(nearer, Conflict) else nearer

    def _is_lacking(self, name: str, package: Package | None) -> bool:
        """Whether it is not known where a project that a package requires leads; of the table's that was seen."""
        facts = self.search.facts.get(name)
        is_known = is_leaf(name) or name in self.cone.order or name in self.cone.plain
        is_open = facts is None or (not facts.in_table and facts.versions != ())
        of_table = package is not None and self.search.facts[package.name].in_table
        return self.search.catalog.may_learn and not is_known and is_open and not of_table

    def _against(self, posed: tuple[Posed, ...], package: Package | None) -> Conflict | None:
        """What is against the demands on a project that is not chosen, the last of them new."""
        demand, search = posed[-1].demand, self.search
        name = demand.name
        if is_leaf(name):
            return None
        facts = search.facts.get(name)
        is_on_index = facts is None or facts.in_table or not facts.listed or search.fitting(facts, [demand])
        if demand.by and not is_on_index:
            return self._refuse(package, constrained(f"asks for {demand.text}, which the index does not have"))
        # A plain project is not searched, but two demands on it may contradict each other too.
        demands = [each.demand for each in posed] + [*self._limits.get(name, ())]
        bound = [each for each in demands if each.specifier]
        if len(bound) < 2 or not demand.specifier or are_compatible(bound):
            return None
        other = next(each for each in bound if not are_compatible([each, demand]) or each is bound[-1])
        asks = f"{other.text} ({other.by})" if other.by else other.text
        why = constrained(f"asks for {demand.text}, and {asks} is asked for too")
        return self._refuse(package, why, *(each.causes for each in posed))

    def _with_builds(self, state: _State, posed: list[Posed], package: Package | None) -> _State | Conflict:
        """The state with the builds that meet these demands too."""
        causes = frozenset[str]().union(*(each.causes for each in posed))
        if package is not None:
            causes |= {package.name}
        own = () if package is None else _own(state, package)
        fits = [verdict for verdict in state.builds if self._fits(verdict, state, posed, package, own)]
        cuts = state.cuts if len(fits) == len(state.builds) else state.cuts | causes
        if state.torch is not None and not fits:
            every = [each.demand for of_name in state.posed.values() for each in of_name]
            last = LastChoice(package, [each.demand for each in posed], own)
            objection = no_torch(self.search, self.level, state.builds, every, last)
            return self._refuse(package, objection, cuts, state.torch)
        return state._replace(builds=tuple(fits), cuts=cuts)

    def _fits(
        self,
        verdict: Verdict,
        state: _State,
        posed: Iterable[Posed],
        package: Package | None,
        own: tuple[PackageDemand, ...],
    ) -> bool:
        names = {each.demand.name for each in posed}
        limits = (limit for name in sorted(names) for limit in self._limits.get(name, ()))
        build = verdict.build
        if not all(meets(build, demand) for demand in (*(each.demand for each in posed), *limits)):
            return False
        if self.search.torch_conflict(build, (each.demand for name in names for each in state.posed[name])) is not None:
            return False
        return package is None or self.search.situation.mismatch(package, build, own, self.level) is None

    def _without_known(self, facts: PackageFacts, demands: list[PackageDemand]) -> Iterator[Package | None]:
        """One that is not in the table, which a note says, where what is there speaks for it."""
        why, version = facts.refused or no_known(facts, demands), ""
        versions = [package.version for package in facts.versions]
        unseen = facts.in_table and not facts.listed
        if (
            unseen
            and facts.refused is None
            and all(demand.by for demand in demands)
            and no_known_version_meets(versions, demands)
        ):
            parts = ",".join(demand.specifier for demand in demands).split(",")
            version = max(parts, key=lambda part: part.startswith("=")).lstrip("=")
            unread = unread_fault(facts.versions, version, self.search.situation.refusal)
            if unread is None:
                yield None
                return
            why = unread
        self.search.refused.append(Refused(facts.name, version, constrained(why)))

    def _worth_trying(self, facts: PackageFacts, admitted: list[Package]) -> Iterator[Package]:
        """What was not read comes last, and not at all where what was read beside it speaks against it."""
        situation = self.search.situation
        unread = [package for package in admitted if package.stage is Stage.READ and situation.is_unread(package)]
        judged = [package for package in admitted if package not in unread and not self._is_hopeless(facts, package)]
        read = [
            package
            for package in facts.versions
            if unread and package.stage is Stage.READ and not situation.is_unread(package)
        ]
        for package in unread:
            why = unread_fault(read, package.version, situation.kernels)
            if why is None:
                judged.append(package)
            else:
                self._refuse(package, constrained(why))
        newest, machine = admitted[0], self.search.machine
        for package in self._by_fit(judged):
            is_read = package.stage is not Stage.LISTED and facts.in_table
            if is_read and package.code == () and _needs_torch(newest, machine) and not _needs_torch(package, machine):
                why = "does not need torch by itself, so it is not what newer versions are"
                self._refuse(package, constrained(why))
                continue
            yield package

    def _is_hopeless(self, facts: PackageFacts, package: Package) -> bool:
        """Whether a version that is to be read lies between, or before, known ones that do not run here."""
        if package.stage is Stage.READ or not facts.in_table:
            return False
        versions = list(facts.versions)
        known = [row for row in versions if row.stage is Stage.READ and row.code]
        if not known or versions.index(package) < versions.index(known[0]):
            return False  # it may be for what the newest known one is not
        return unread_fault(known, package.version, self.search.situation.refusal) is not None

    def _by_fit(self, packages: Iterable[Package]) -> Iterator[Package]:
        """Of one version first what has machine code for the GPU, then what lies on an index of the user's.

        What is to be built comes last.
        """
        coverage = self.search.situation.coverage

        def order(package: Package) -> tuple[bool, bool, bool]:
            is_source = package.file is None and not package.place
            return coverage(package, None).word == JIT, is_source, package.place != ""

        for files in grouped((package.version, package) for package in packages).values():
            yield from sorted(files, key=order)

    def _refuse(self, package: Package | None, objection: Objection, *causes: Causes) -> Conflict:
        name, version = ("torch", "") if package is None else (package.name, package.version)
        self.search.refused.append(Refused(name, version, objection))
        return Conflict(frozenset[str]().union(*causes))


def _own(state: _State, package: Package) -> tuple[PackageDemand, ...]:
    """What a package itself asks."""
    return tuple(each.demand for of_name in state.posed.values() for each in of_name if each.demand.by == package.who)
