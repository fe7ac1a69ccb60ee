"""Which builds run on which kinds of GPU, in a table and in a fleet, and the fewest that support every kind. Pure.

The judgement is decide.buildfit's. An objection names the GPU it concerns, so all the GPUs of a machine are judged at
once, and what one of them alone would run is read off the same verdicts: nothing is judged twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, reduce
from operator import or_
from typing import NamedTuple, TypeVar

from torchpick.decide import buildfit
from torchpick.decide.remarks import self_contained
from torchpick.model.arch import Arch
from torchpick.model.build import DEFAULT_INDEX, Build, Objection, Rank, Reason, Verdict, toolkit_order
from torchpick.model.machine import Driver, Gpu, Machine
from torchpick.model.pick import GpuPlace, Wish
from torchpick.model.table import Kind, Table
from torchpick.model.versions import grouped, numbers, release_key, remembered

K = TypeVar("K")

Pin = tuple[str, str]  # version and backend: what one environment has
ByPin = Mapping[Pin, Verdict]


class Row(NamedTuple):
    """One kind of GPU with the driver it was judged with, and the builds, each judged as if that GPU were the only one.

    The newest release comes first, and of each the best build.
    """

    gpu: Gpu
    driver: Driver | None
    verdicts: tuple[Verdict, ...]

    @property
    def releases(self) -> dict[str, list[Verdict]]:
        return grouped((verdict.build.torch, verdict) for verdict in self.verdicts)

    def best(self, torch: str | None = None) -> Verdict | None:
        """The one that would be picked, of this release or of all, if any runs."""
        of_release = (verdict for verdict in self.verdicts if torch in (None, verdict.build.torch))
        return next((verdict for verdict in of_release if verdict.ok), None)


def gpus_of(kinds: Iterable[Kind]) -> tuple[Gpu, ...]:
    return tuple(Gpu(index, kind.vendor, None, kind.arch) for index, kind in enumerate(kinds))


def rows(machine: Machine, table: Table, wish: Wish) -> tuple[Row, ...]:
    """A row for each GPU of the machine; without a driver, the newest that supports the GPU is assumed."""
    groups: dict[tuple[str, Driver | None], list[Gpu]] = {}
    for gpu in machine.used:  # GPUs of one vendor that one driver supports; AMD's need none
        driver = machine.driver if gpu.vendor == "nvidia" else None
        if gpu.vendor == "nvidia" and driver is None and gpu.arch:
            driver = table.drivers.assumed(table.drivers.assumed_for((gpu.arch,)))
        groups.setdefault((gpu.vendor, driver), []).append(gpu)
    by_gpu: dict[int, Row] = {}
    for (_, driver), gpus in groups.items():
        judged = verdicts(machine._replace(driver=driver, gpus=tuple(gpus)), table, wish)
        for gpu in gpus:
            asked = (verdict for verdict in judged[gpu.index] if Reason.NOT_REQUESTED not in verdict.reasons)
            newest_first = sorted(asked, key=lambda verdict: release_key(verdict.build.torch), reverse=True)
            by_gpu[gpu.index] = Row(gpu, driver, tuple(newest_first))
    return tuple(by_gpu[gpu.index] for gpu in machine.used)


def verdicts(machine: Machine, table: Table, wish: Wish) -> dict[int, tuple[Verdict, ...]]:
    """GPU's index → every build of its own family in the order of preference that this GPU alone would give."""
    judged = buildfit.judge(machine, table, wish)
    own = [verdict for verdict in judged if Reason.BACKEND_NOT_ALLOWED not in verdict.reasons]
    return {
        gpu.index: tuple(
            sorted((verdict.alone(gpu.index) for verdict in own), key=lambda verdict: verdict.rank, reverse=True)
        )
        for gpu in machine.used
    }


def releases_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Every release that a row has a build of, newest first."""
    releases = {verdict.build.torch for row in rows for verdict in row.verdicts}
    return tuple(sorted(releases, key=release_key, reverse=True))


def newest_patches(releases: Iterable[str]) -> tuple[str, ...]:
    """Of these releases, newest first, the first of each minor one."""
    newest = grouped(((*release_key(torch)[0], 0)[:2], torch) for torch in releases)
    return tuple(patches[0] for patches in newest.values())


def never_picked(builds: Iterable[Build], platforms: Collection[str]) -> tuple[Verdict, ...]:
    """The builds that are not candidates, each with the objection: another platform, the default index."""
    verdicts = []
    for build in builds:
        if build.platform not in platforms:
            objection = Objection(Reason.NO_WHEEL_FOR_PLATFORM, {"platform": "/".join(sorted(platforms))})
        elif build.backend == DEFAULT_INDEX:
            why = "the default index's own wheel; `--backend default` selects it"
            objection = Objection(Reason.BACKEND_NOT_ALLOWED, {"why": why})
        else:
            continue
        rank = Rank(0, release_key(build.torch), 0, False, toolkit_order(build.backend), build.backend)
        verdicts.append(Verdict(build, (objection,), (), rank))
    return tuple(sorted(verdicts, key=lambda verdict: (verdict.rank, verdict.build.platform), reverse=True))


# GPUs that no build can tell apart (same machine facts, same architecture), and the builds they run, each with the
# verdict as if a GPU of this kind were the only one.
GpuKind = tuple[tuple[GpuPlace, ...], ByPin]


# Of machines that are alike: what a build depends on in them apart from their GPUs; the builds that they run; those
# that each architecture in them would run alone.
_Judged = tuple[object, ByPin, Mapping[Arch | str | None, ByPin]]


class FleetFit:
    """Judges each machine that differs once, in however many fleets it is."""

    def __init__(self, table: Table, wish: Wish) -> None:
        self.table, self.wish = table, wish
        self._judged: dict[object, _Judged] = {}
        self._glibc = remembered(self._newest_glibc)
        self._standing = cache(table.drivers.standing)

    def running(self, machines: Iterable[Machine]) -> list[ByPin]:
        """Each machine's own builds, best first; equal machines share them."""
        return [running for _, running, _ in map(self._judge, machines)]

    def kinds(self, machines: Iterable[Machine]) -> tuple[GpuKind, ...]:
        kinds: dict[object, tuple[list[GpuPlace], ByPin]] = {}
        for index, machine in enumerate(machines):
            facts, _, alone = self._judge(machine)
            for gpu in machine.counted or (None,):
                kind = _kind_of(gpu)
                members, _ = kinds.setdefault((facts, kind), ([], alone[kind]))
                members.append((index, gpu and gpu.index))
        return tuple((tuple(members), served) for members, served in kinds.values())

    def _judge(self, machine: Machine) -> _Judged:
        platform, driver = machine.platform, machine.driver
        if platform.glibc and numbers(platform.glibc) >= self._glibc(platform.name):
            platform = platform._replace(glibc=None)  # it is new enough for every build, whichever it is
        facts = platform, machine.python.tag, driver and self._standing(driver, machine.driver_os)
        key = facts, tuple((gpu.index, gpu.vendor, gpu.arch) for gpu in machine.counted)
        if key not in self._judged:  # the first stands for those alike
            fresh = tuple(buildfit.judge(machine, self.table, self.wish))
            running = {pin_of(verdict): verdict for verdict in fresh if verdict.ok}
            self._judged[key] = facts, running, _alone(machine, fresh, running)
        return self._judged[key]

    def _newest_glibc(self, platform: str) -> tuple[int, ...]:
        return max((numbers(build.glibc) for build in self.table.of(platform) if build.glibc), default=())


def pin_of(verdict: Verdict) -> Pin:
    return verdict.build.version, verdict.build.backend


def _alone(machine: Machine, verdicts: Sequence[Verdict], running: ByPin) -> Mapping[Arch | str | None, ByPin]:
    if len(machine.counted) < 2:
        return {_kind_of(gpu): running for gpu in machine.counted or (None,)}
    alone: dict[Arch | str | None, ByPin] = {}
    for gpu in machine.counted:
        if gpu.arch not in alone:
            able = (verdict for verdict in verdicts if verdict.supports(gpu.index))
            alone[gpu.arch] = {pin_of(verdict): verdict.alone(gpu.index) for verdict in able}
    return alone


def _kind_of(gpu: Gpu | None) -> Arch | str | None:
    return "none" if gpu is None else gpu.arch


# The fewest builds that support every kind.


# A candidate set: the elements it covers, as bits, and its worth in two orders; larger is better. The first is compared
# over all chosen sets, the worst first; the second only where the first leaves a tie.
CoverSet = tuple[int, tuple[object, ...], tuple[object, ...]]


def smallest_cover(columns: Mapping[K, CoverSet]) -> tuple[K, ...]:
    """The columns that cover all that can be covered: the fewest, and of those whose worst member is best. Exact.

    Few columns are neither covered nor bettered by another; what was solved of them is remembered.
    """
    columns = undominated(columns)

    @cache
    def best(left: int, count: int) -> tuple[K, ...] | None:
        """The best cover of what is left with so many columns; its first element is covered first."""
        if not count:
            return None if left else ()
        able = (name for name, (bits, *_) in columns.items() if bits & left & -left)
        rests = ((name, best(left & ~columns[name][0], count - 1)) for name in able)
        return max(((*rest, name) for name, rest in rests if rest is not None), key=order, default=None)

    def order(cover: tuple[K, ...]) -> tuple[object, ...]:
        """The better, the worst member of each compared first."""
        chosen = [columns[name] for name in cover]
        return sorted(worth for _, worth, _ in chosen), sorted(detail for _, _, detail in chosen)

    everything = reduce(or_, (bits for bits, _, _ in columns.values()), 0)
    covers = (best(everything, count) for count in range(len(columns) + 1))
    return next(cover for cover in covers if cover is not None)


def undominated(columns: Mapping[K, CoverSet]) -> dict[K, CoverSet]:
    """Without the columns that another one covers and equals or betters."""

    def order(name: K) -> tuple[object, ...]:
        return columns[name][1:]

    by_bits = grouped((bits, name) for name, (bits, _, _) in columns.items() if bits)
    best = {bits: max(names, key=order) for bits, names in by_bits.items()}
    left: list[K] = []
    for bits, name in sorted(best.items(), key=lambda item: item[0].bit_count(), reverse=True):
        if not any(bits & ~columns[other][0] == 0 and order(name) <= order(other) for other in left):
            left.append(name)
    return {name: columns[name] for name in left}


def columns(kinds: Sequence[GpuKind]) -> dict[Pin, CoverSet]:
    """Each build as the set of kinds that it supports. Its worth is its own, so no other kind can change an order."""
    bits: Counter[Pin] = Counter()
    builds: dict[Pin, Build] = {}
    for index, (_, served) in enumerate(kinds):
        for pin, verdict in served.items():
            bits[pin] |= 1 << index
            builds.setdefault(pin, verdict.build)
    # The newest torch counts; a cpu build never for the sake of a newer one.
    worth = {pin: (build.family != "cpu", release_key(build.torch)) for pin, build in builds.items()}
    return {pin: (mask, worth[pin], _detail(builds[pin])) for pin, mask in bits.items()}


def _detail(build: Build) -> tuple[object, ...]:
    """The newest CUDA major, and of that the lowest minor, which the most drivers speak; a ROCm inside its wheel."""
    toolkit = toolkit_order(build.backend)
    if build.family != "cuda":
        return (self_contained(build),), toolkit, build.backend, build.version
    return toolkit[:1], tuple(-part for part in toolkit[1:]), build.backend, build.version


def fewest(kinds: Sequence[GpuKind]) -> tuple[Pin, ...]:
    return smallest_cover(columns(kinds))
