"""What a search of one environment finds: the solution, and what it passed over. Pure."""

from __future__ import annotations

from typing import NamedTuple

from torchpick.decide.cone import Cone
from torchpick.decide.demands import PackageDemand
from torchpick.decide.search import Causes
from torchpick.model.build import Build
from torchpick.model.package import Package
from torchpick.model.verdict import Objection, Reason, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Posed(NamedTuple):
    """A demand, and the choices that it follows from."""

    demand: PackageDemand
    causes: Causes


class Solution(NamedTuple):
    """An answer of the search: the packages in the order they were chosen, torch, and all that was asked."""

    packages: Mapping[str, Package]
    torch: Verdict | None
    demands: tuple[PackageDemand, ...]
    level: int
    cone: Cone

    @property
    def build(self) -> Build | None:
        """The torch build; None in an environment without torch."""
        return self.torch and self.torch.build


class Refused(NamedTuple):
    """One version that the search passed over, and why."""

    name: str
    version: str
    objection: Objection


def constrained(why: str) -> Objection:
    return Objection(Reason.CONSTRAINED, {"why": why})
