"""The search for one environment: what is named first, each newest first; what that needs; torch; companions. Pure."""

from __future__ import annotations

from torchpick.decide.attempt import Attempt
from torchpick.decide.cone import Cone, find_cone
from torchpick.decide.demands import (
    PackageDemand,
    overridden,
)
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, ONE_MAJOR, OWN_WHEELS
from torchpick.decide.search import Conflict, Needs, StepsExceeded
from torchpick.decide.searchfacts import SearchFacts
from torchpick.decide.solution import Refused, Solution, constrained
from torchpick.model.package import Package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class StackSearch(SearchFacts):
    """One machine, one table, one wish; the first answer is the best."""

    def best(self, asked: tuple[PackageDemand, ...], *, allow_mixed: bool = False) -> Solution | Needs | None:
        """One CUDA major first; then another that a package brings itself; last one that is added for it."""
        asked = overridden(asked, self.catalog.overrides)
        cone = find_cone(asked, self.limits, self.catalog, self.machine, self.newest)
        unseen = self._unseen(cone)
        if cone.needs is not None or unseen:
            needs = cone.needs or Needs()
            return needs._replace(pages={**needs.pages, **unseen})
        for level in (ONE_MAJOR, OWN_WHEELS, ADDED_WHEEL, *((MIXED,) if allow_mixed else ())):
            self.refused, self.moved = [], []
            found = Attempt(self, cone, level).solve(asked)
            if isinstance(found, StepsExceeded):
                why = f"the search was stopped after {found.steps} steps"
                self.refused.insert(0, Refused(asked[0].name, "", constrained(why)))
                return None
            if not isinstance(found, Conflict):
                return found
        return None

    def _unseen(self, cone: Cone) -> Mapping[str, str]:
        """The packages of the table whose page was not looked at: the table is not the index."""
        if not self.catalog.may_learn:
            return {}
        facts = self.facts
        return {name: "" for name in cone.order if not (facts[name].listed or facts[name].unlisted)}

    def lacking(self, chosen: Solution) -> Iterator[tuple[Package, str]]:
        """The libraries that nothing in an answer provides, each with the package that needs it."""
        for package in chosen.packages.values():
            own = tuple(demand for demand in chosen.demands if demand.by == package.who)
            for library in self.situation.missing(package, chosen.build, own, OWN_WHEELS):
                yield package, library
