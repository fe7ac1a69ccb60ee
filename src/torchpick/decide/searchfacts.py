"""What a search goes by: the machine, the builds that run there, what is known of packages, what was refused. Pure."""

from __future__ import annotations

from torchpick.decide import resolve
from torchpick.decide.demands import (
    PackageDemand,
    are_compatible,
    concerns,
    fitting,
    meets,
    of_version,
    overridden,
    required,
)
from torchpick.decide.packagefit import PackageFit
from torchpick.decide.solution import Refused
from torchpick.model.build import Build
from torchpick.model.package import Catalog, Package, PackageFacts, Stage
from torchpick.model.verdict import Verdict
from torchpick.model.versions import grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torchpick.model.machine import Machine
    from torchpick.model.request import Wish
    from torchpick.model.table import Table


class SearchFacts:
    """One machine, one table, one wish, prepared once for all that is asked of them."""

    def __init__(
        self,
        machine: Machine,
        table: Table,
        wish: Wish,
        catalog: Catalog,
        limits: tuple[PackageDemand, ...] = (),
    ) -> None:
        self.machine, self.table, self.wish, self.catalog, self.limits = machine, table, wish, catalog, limits
        self.facts = catalog.packages
        self.situation = PackageFit(machine, table, catalog.shared_files)
        self.verdicts = tuple(resolve.judge(machine, table, wish._replace(torch="", companions={})))
        self.builds = tuple(verdict for verdict in self.verdicts if verdict.ok)
        torch = self.facts.get("torch")
        # The default index's own torch: release → the CUDA that packages of its time link.
        self.own_cuda = {} if torch is None else {own.version: own.cuda for own in torch.versions}
        self.refused: list[Refused] = []
        self.moved: list[Refused] = []  # what was chosen, and could not be completed
        self._meeting: dict[tuple[PackageDemand, ...], tuple[Verdict, ...]] = {}
        self._torch_demands: dict[str, Mapping[str, PackageDemand]] = {}

    def fitting(self, facts: PackageFacts, demands: Iterable[PackageDemand]) -> list[Package]:
        """The versions of a project that these demands admit, newest first; what is installed comes before them.

        Once nothing more can be learnt, a version that was only listed is none.
        """
        learns = self.catalog.may_learn
        versions = [package for package in facts.versions if learns or package.stage is not Stage.LISTED]
        found = fitting(versions, demands, pre=self.catalog.pre)
        there = self.catalog.installed.get(facts.name)
        return found if there is None else sorted(found, key=lambda package: package.version != there)

    def required(self, package: Package, extras: tuple[str, ...]) -> tuple[PackageDemand, ...]:
        """What a version requires, as far as that counts."""
        return of_version(package, self.catalog, self.machine, extras)

    def newest(self, facts: PackageFacts, demands: Sequence[PackageDemand]) -> Package | None:
        """The version that the closure reads: the newest that fits, of those for this Python if there are any."""
        admitted = self.fitting(facts, demands)
        of_python = (package for package in admitted if self.situation.is_of_python(package))
        return next(of_python, next(iter(admitted), None))

    def ordered(self, builds: Iterable[Verdict], *, packages: bool) -> tuple[Verdict, ...]:
        """Builds in the order of preference; beside CUDA packages the default index's own CUDA leads each release."""
        if not packages:
            return tuple(builds)
        own = self.own_cuda
        return tuple(
            sorted(
                builds,
                key=lambda verdict: (
                    verdict.rank.suits,
                    verdict.rank.release,
                    own.get(verdict.build.torch) == verdict.build.cuda,
                ),
                reverse=True,
            )
        )

    def meeting(self, demands: Iterable[PackageDemand]) -> tuple[Verdict, ...]:
        """All builds, running or not, that are what is asked of torch's family; a search asks the same many times."""
        key = tuple(
            dict.fromkeys(PackageDemand(demand.name, demand.specifier) for demand in demands if concerns(demand.name))
        )
        if key not in self._meeting:
            builds = (verdict for verdict in self.verdicts if all(meets(verdict.build, demand) for demand in key))
            self._meeting[key] = tuple(builds)
        return self._meeting[key]

    def torch_conflict(self, build: Build, demands: Iterable[PackageDemand]) -> str | None:
        """What this torch requires of a plain project that contradicts these demands, the limits included."""
        needs = self.torch_demands(build.torch)
        every = (*demands, *self.limits)
        bound = grouped((demand.name, demand) for demand in every if demand.specifier and demand.name in needs)
        for name, others in bound.items():
            if not are_compatible([*others, needs[name]]):
                return f"torch {build.torch} requires {needs[name].text}, and {others[0].text} is asked for"
        return None

    def torch_demands(self, release: str) -> Mapping[str, PackageDemand]:
        """What a release of torch itself requires of plain projects, by name."""
        if release not in self._torch_demands:
            lines = () if self.catalog.no_deps else self.catalog.torch_requirements(release)
            demands = overridden(required(lines, self.machine, (), f"torch {release}"), self.catalog.overrides)
            self._torch_demands[release] = {demand.name: demand for demand in demands if demand.specifier}
        return self._torch_demands[release]
