"""How much is judged for a question, as counts: a machine under load tells nothing by its clock."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.decide.test_stack import known, package
from tests.laws.strategies import gpu
from torchpick.decide import buildfit, demands, environments, several
from torchpick.decide import search as engine
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import PackageFit
from torchpick.decide.searchfacts import Needs, SearchFacts
from torchpick.knowledge import compat
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.fleet import Crowd, Fleet, Hosts
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.package import Catalog
from torchpick.model.pick import Wish

PLATFORM = Platform("linux", "x86_64", "2.35", "glibc")
TABLE = compat.Knowledge({}).table((PLATFORM.name,))


def machine(arch: str, driver: str = "580.95.05", glibc: str = "2.35") -> Machine:
    return Machine(PLATFORM._replace(glibc=glibc), Python("3.12"), Driver(driver), (gpu(0, Arch.parse(arch)),))


def test_upgrades_judge_no_machine_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: Counter[object] = Counter()
    really = buildfit.judge

    def counting(where: Machine, *more: Any) -> Any:
        judged[where.driver, where.gpus] += 1
        return really(where, *more)

    monkeypatch.setattr(buildfit, "judge", counting)
    drivers = ("470.256.02", "535.183.01", "550.127.05")
    alike = [(driver, glibc) for driver in drivers for glibc in ("2.35", "2.39")]  # new enough for every build
    machines = [machine(arch, *which) for arch in ("sm_60", "sm_70", "sm_80", "sm_86") for which in alike]
    crowds = tuple(Crowd(each, Hosts((f"n{place}",))) for place, each in enumerate(machines))

    outlook = several.outlook(Fleet(crowds), TABLE, Wish(), upgrades=True)

    assert outlook.upgrades
    assert max(judged.values()) == 1


def test_a_search_that_finds_nothing_asks_the_builds_of_each_demand_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    really = demands.meets

    def counting(build: Build, demand: PackageDemand) -> bool:
        nonlocal asked
        asked += 1
        return really(build, demand)

    monkeypatch.setattr(engine, "meets", counting)
    versions = [str(number) for number in range(30, 0, -1)]
    facts = known(
        *(package("one", version, "torch==2.10.0", links_torch=True) for version in versions),
        *(package("two", version, "torch==2.11.0", links_torch=True) for version in versions),
    )

    search = SearchFacts(machine("sm_86"), TABLE, Wish(), Catalog(facts))
    best = environments.best(search, (PackageDemand("one"), PackageDemand("two")))
    assert not isinstance(best, Needs)
    found, _ = best

    refused = len(versions) ** 2
    assert not found.ok
    assert asked < refused * len(list(TABLE.of(PLATFORM.name)))


def test_what_a_version_links_is_judged_once_however_many_require_it(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: Counter[object] = Counter()
    really = PackageFit.linked
    monkeypatch.setattr(PackageFit, "linked", lambda fit, *of: (really(fit, *of), judged.update([str(of)]))[0])
    versions = [str(number) for number in range(9, 0, -1)]
    requiring = (package("one", version, "two") for version in versions)
    facts = known(*requiring, *(package("two", version, cuda="10", links_torch=True) for version in versions))
    search = SearchFacts(machine("sm_86"), TABLE, Wish(), Catalog(facts))

    assert engine.find_solution(search, (PackageDemand("one"),)) is None
    assert len(judged) > 2 * len(versions)
    assert max(judged.values()) == 1
