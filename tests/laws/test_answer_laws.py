"""What holds of every answer, whatever the machine, the builds, the packages and the limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import devices, machines, tables, wishes
from torchpick.decide.answer import Answer, Question, answer, decided
from torchpick.decide.demands import PackageDemand
from torchpick.errors import NoBuildError
from torchpick.model.arch import Arch
from torchpick.model.machine import Machine
from torchpick.model.package import Catalog, LibraryCode, Package, PackageFacts
from torchpick.model.pick import Limit, Wish
from torchpick.model.table import Table
from torchpick.model.versions import admits

REQUIRES = ("torch", 'torch<2.10; extra == "old"')
bounds = st.sampled_from(("<2.12", "==2.9.1", ">=2.10", "!=2.15.0", "<1.0"))
limited = st.lists(st.builds(lambda text: Limit("torch", text, "limits.txt"), bounds), max_size=2).map(tuple)
# Of each version its code: None where nobody read it.
codes = st.lists(st.one_of(st.none(), st.lists(devices, max_size=3)), min_size=1, max_size=3)
demands = st.lists(
    st.sampled_from((PackageDemand("lib"), PackageDemand("lib", "", ("old",)), PackageDemand("torch", ">=2.9"))),
    max_size=2,
    unique=True,
).map(tuple)


@st.composite
def packages(draw: st.DrawFn) -> dict[str, PackageFacts]:
    """A package with code of its own, its newest version first."""
    drawn = draw(codes)
    return {"lib": PackageFacts("lib", tuple(_package(f"{len(drawn) - n}.0", each) for n, each in enumerate(drawn)))}


def _package(version: str, arches: list[Arch] | None) -> Package:
    code = None if arches is None else tuple([LibraryCode("lib.so", tuple(arches))] if arches else ())
    file = None if code is None else "lib.whl"  # what is to be built was not read, whatever its setup.py says
    return Package("lib", version, REQUIRES, code=code, links_torch=True, file=file)


def asked(
    machine: Machine, table: Table, wish: Wish, wanted: tuple[PackageDemand, ...], known: dict[str, PackageFacts]
) -> Answer:
    wanted = wanted if any(demand.name == "lib" for demand in wanted) else ()
    found = answer(Question(wish, wanted), (machine,), lambda _: table, lambda: Catalog(known))
    assert isinstance(found, Answer)  # of what can be learnt nothing is lacking
    return found


@given(machines(), tables(), wishes, limited, demands, packages())
def test_what_is_answered_meets_all_that_binds_and_a_limit_never_makes_it_better(
    machine: Machine, table: Table, wish: Wish, limits: tuple[Limit, ...],
    wanted: tuple[PackageDemand, ...], known: dict[str, PackageFacts],
) -> None:  # fmt: skip
    bound = asked(machine, table, wish._replace(limits=limits), wanted, known)
    free = asked(machine, table, wish, wanted, known)

    if bound.ok:
        assert free.ok
        assert all(admits(limit.specifier)(bound.pick.version) for limit in limits)
        if not bound.judged and not free.judged:
            assert bound.pick.verdicts[0].rank <= free.pick.verdicts[0].rank
        is_named = any(note.code == "CONSTRAINED" for note in bound.pick.notes)
        assert is_named or bound.pick.version == free.pick.version
        assert not is_named or any(not admits(limit.specifier)(free.pick.version) for limit in limits)


@given(machines(), tables(), wishes, packages())
def test_an_extra_is_never_dropped(machine: Machine, table: Table, wish: Wish, known: dict[str, PackageFacts]) -> None:
    found = asked(machine, table, wish, (PackageDemand("lib", "", ("old",)),), known)

    if found.ok:
        assert found.environment.version("lib") is not None
        assert admits("<2.10")(found.pick.version)


@given(machines(), tables(), wishes, packages())
def test_not_judged_never_wins(machine: Machine, table: Table, wish: Wish, known: dict[str, PackageFacts]) -> None:
    versions = known["lib"].versions
    judged = {"lib": PackageFacts("lib", tuple(each for each in versions if each.code is not None))}
    found = asked(machine, table, wish, (PackageDemand("lib"),), known)
    taken = next((each for each in versions if found.ok and each.version == found.environment.version("lib")), None)

    if taken is not None and taken.code is None and any(gpu.vendor == "nvidia" for gpu in machine.counted):
        assert not asked(machine, table, wish, (PackageDemand("lib"),), judged).ok
    if judged["lib"].versions and asked(machine, table, wish, (PackageDemand("lib"),), judged).ok:
        assert found.ok


@given(machines(), tables(), wishes, limited, demands, packages())
def test_a_refusal_says_why_and_what_helps(
    machine: Machine, table: Table, wish: Wish, limits: tuple[Limit, ...],
    wanted: tuple[PackageDemand, ...], known: dict[str, PackageFacts],
) -> None:  # fmt: skip
    found = asked(machine, table, wish._replace(limits=limits), wanted, known)
    if found.ok:
        return
    with pytest.raises(NoBuildError) as refused:
        decided(found, table)

    assert refused.value.message
    assert refused.value.hint
    assert found.stack is None or not found.stack.packages or not found.stack.objections
