"""Which releases and backends run on which kind of GPU. Pure; the judgement is resolve's.

An objection names the GPU it concerns, so all the kinds are put into one machine and judged at once, and what one of
them alone would run is read off the same verdicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchpick.decide import resolve
from torchpick.model.machine import Driver, Gpu, Machine
from torchpick.model.noun import Noun
from torchpick.model.request import Wish
from torchpick.model.table import Kind, Table
from torchpick.model.verdict import Reason, Verdict
from torchpick.model.versions import grouped, release_key


class Cell(Noun):
    """The builds of one release for one kind of GPU, best first, each judged as if that GPU were the only one."""

    torch: str
    verdicts: tuple[Verdict, ...]

    @property
    def best(self) -> Verdict | None:
        """The one that would be picked, if any runs."""
        return next((verdict for verdict in self.verdicts if verdict.ok), None)


class Row(Noun):
    """One kind of GPU with the driver it was judged with, and a cell for each release, newest first."""

    gpu: Gpu
    driver: Driver | None
    cells: tuple[Cell, ...]

    @property
    def newest(self) -> Verdict | None:
        return next((cell.best for cell in self.cells if cell.best is not None), None)


def gpus_of(kinds: Iterable[Kind]) -> tuple[Gpu, ...]:
    return tuple(Gpu(place, kind.vendor, None, kind.arch) for place, kind in enumerate(kinds))


def rows(machine: Machine, table: Table, wish: Wish) -> tuple[Row, ...]:
    """A row for each GPU of the machine; without a driver, the newest that supports the GPU is assumed."""
    by_gpu: dict[int, Row] = {}
    for driver, gpus in _by_driver(machine, table):
        judged = verdicts(machine._replace(driver=driver, gpus=gpus), table, wish)
        for gpu in gpus:
            by_gpu[gpu.index] = Row(gpu, driver, cells(judged[gpu.index]))
    return tuple(by_gpu[gpu.index] for gpu in machine.used)


def verdicts(machine: Machine, table: Table, wish: Wish) -> dict[int, tuple[Verdict, ...]]:
    """GPU's index → every build of its own family in the order of preference that this GPU alone would give."""
    judged = [
        verdict for verdict in resolve.judge(machine, table, wish) if Reason.BACKEND_NOT_ALLOWED not in verdict.reasons
    ]
    return {
        gpu.index: tuple(
            sorted((verdict.alone(gpu.index) for verdict in judged), key=lambda verdict: verdict.rank, reverse=True)
        )
        for gpu in machine.used
    }


def cells(ordered: Sequence[Verdict]) -> tuple[Cell, ...]:
    """The verdicts by release, newest first; releases that were not asked for are left out."""
    by_release = grouped((each.build.torch, each) for each in ordered if Reason.NOT_REQUESTED not in each.reasons)
    newest_first = sorted(by_release, key=release_key, reverse=True)
    return tuple(Cell(torch, tuple(by_release[torch])) for torch in newest_first)


def releases_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Every release that a row has a cell for, newest first."""
    return tuple(sorted({cell.torch for row in rows for cell in row.cells}, key=release_key, reverse=True))


def newest_patches(releases: Iterable[str]) -> tuple[str, ...]:
    """Of these releases, newest first, the first of each minor one."""
    newest = grouped(((*release_key(torch)[0], 0)[:2], torch) for torch in releases)
    return tuple(patches[0] for patches in newest.values())


def _by_driver(machine: Machine, table: Table) -> list[tuple[Driver | None, tuple[Gpu, ...]]]:
    """The GPUs in groups of one vendor that one driver supports; AMD's need none."""
    groups: dict[tuple[str, Driver | None], list[Gpu]] = {}
    for gpu in machine.used:
        driver = machine.driver if gpu.vendor == "nvidia" else None
        if gpu.vendor == "nvidia" and driver is None and gpu.arch:
            driver = table.drivers.assumed(table.drivers.assumed_for((gpu.arch,)))
        groups.setdefault((gpu.vendor, driver), []).append(gpu)
    return [(driver, tuple(gpus)) for (_, driver), gpus in groups.items()]
