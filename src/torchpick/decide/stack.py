"""Packages × torch builds × machine × wishes → one environment, or what prevents it. Pure.

What is tried first: packages the user named, newest first, in the order they were named; then what they need, newest
first; then torch in its usual order, except that among builds of one release that all fit, the CUDA of the default
index's own torch of that release comes first, since it is what packages link.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchpick.decide import stackwords
from torchpick.decide.demands import PackageDemand
from torchpick.decide.stacksearch import Refused, Solution, StackSearch
from torchpick.model.machine import Machine
from torchpick.model.package import Package, PackageFacts
from torchpick.model.request import Wish
from torchpick.model.stack import PackageObjection, Stack
from torchpick.model.table import Table
from torchpick.model.verdict import Reason


def stack(  # noqa: PLR0913 # what an environment depends on, nothing of it optional
    machine: Machine,
    table: Table,
    wish: Wish,
    asked: tuple[PackageDemand, ...],
    facts: Mapping[str, PackageFacts],
    *,
    allow_mixed: bool = False,
) -> Stack:
    """The best environment for the requirements; if none fits, its objections say why."""
    return best(StackSearch(machine, table, wish, facts), asked, allow_mixed=allow_mixed)[0]


def best(
    search: StackSearch, asked: tuple[PackageDemand, ...], *, allow_mixed: bool = False
) -> tuple[Stack, Solution | None]:
    """The environment and how it was solved; where none fits its objections say why."""
    solution = search.best(asked, allow_mixed=allow_mixed)
    if solution is not None:
        return stackwords.answer(search, asked, solution), solution
    return stackwords.refusal(search, asked, grouped(search.refused, asked)), None


def versions(
    machine: Machine, table: Table, wish: Wish, name: str, facts: Mapping[str, PackageFacts]
) -> Iterator[tuple[Package, Stack]]:
    """Every known version of a package, newest first, each with the environment it would be in."""
    search = StackSearch(machine, table, wish, facts)
    for package in facts[name].versions:
        yield package, best(search, (PackageDemand(name, f"=={package.version}"),))[0]


def grouped(refused: Iterable[Refused], asked: tuple[PackageDemand, ...]) -> tuple[PackageObjection, ...]:
    """The objections by package, those of neighbouring versions together with the newest one's words; named ones first.

    Versions without code for a GPU differ in what they were built for, and that does not matter.
    """
    groups: dict[str, list[list[Refused]]] = {}
    for each in refused:
        mine = groups.setdefault(each.name, [])
        if mine and _alike(mine[-1][-1], each):
            mine[-1].append(each)
        elif not any(_alike(group[0], each) and each.version in {one.version for one in group} for group in mine):
            mine.append([each])
    found = [
        PackageObjection(name, tuple(dict.fromkeys(each.version for each in group if each.version)), group[0].objection)
        for name, mine in groups.items()
        for group in mine
    ]
    order = {demand.name: place for place, demand in enumerate(asked)}
    return tuple(sorted(found, key=lambda each: order.get(each.name, len(order))))


def _alike(one: Refused, other: Refused) -> bool:
    if one.objection.reason is not other.objection.reason or one.objection.gpu != other.objection.gpu:
        return False
    return one.objection.reason is Reason.PACKAGE_NO_KERNELS or one.objection.text == other.objection.text
