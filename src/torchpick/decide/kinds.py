"""Machines judged once each, and the kinds of GPU that no build can tell apart. Pure.

The judgement is resolve's: an objection names the GPU it concerns, so what one GPU alone would run is read off the
same verdicts, and nothing is judged twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from torchpick.decide import resolve
from torchpick.decide.cover import CoverSet
from torchpick.decide.remarks import self_contained
from torchpick.model.arch import Arch
from torchpick.model.build import Build, BuildKey, toolkit_order
from torchpick.model.machine import Gpu, Machine
from torchpick.model.noun import Noun
from torchpick.model.pick import GpuPlace
from torchpick.model.request import Wish
from torchpick.model.table import Table
from torchpick.model.verdict import Objection, Reason, Verdict
from torchpick.model.versions import numbers, release_key

# So many different sentences of one reason are kept for a build that several machines object to.
_MOST_TEXTS = 3

Pin = tuple[str, str]  # version and backend: what one environment has


class GpuKind(Noun):
    """GPUs that no build can tell apart: same machine facts, same architecture.

    `served` are the builds they run, each with the verdict as if a GPU of this kind were the only one.
    """

    members: tuple[GpuPlace, ...]
    served: Mapping[Pin, Verdict]


def pin_of(verdict: Verdict) -> Pin:
    return verdict.build.version, verdict.build.backend


class Judgement(Noun):
    """What is kept of one machine: the builds that it runs, and those that each architecture in it would run alone.

    `facts` are what a build depends on in it apart from its GPUs.
    """

    facts: object
    running: Mapping[Pin, Verdict]
    alone: Mapping[Arch | str | None, Mapping[Pin, Verdict]]


class FleetFit:
    """Judges each machine that differs once, in however many fleets it is; of what does not run little is kept."""

    def __init__(self, table: Table, wish: Wish) -> None:
        self.table, self.wish = table, wish
        self.considered = _Considered()
        self._known: dict[object, Judgement] = {}
        self._hardware: dict[object, dict[BuildKey, resolve.Hardware]] = {}
        self._glibcs: dict[str, tuple[int, ...]] = {}

    def running(self, machines: Iterable[Machine]) -> list[Mapping[Pin, Verdict]]:
        """Each machine's own builds, best first; equal machines share them."""
        return [self._judgement(place, machine).running for place, machine in enumerate(machines)]

    def kinds(self, machines: Iterable[Machine]) -> tuple[GpuKind, ...]:
        """The kinds of GPU in these machines."""
        found: dict[object, tuple[list[GpuPlace], Mapping[Pin, Verdict]]] = {}
        for place, machine in enumerate(machines):
            judged = self._judgement(place, machine)
            counted: Iterable[Gpu | None] = machine.counted or (None,)
            for gpu in counted:
                kind = _kind_of(gpu)
                members, _ = found.setdefault((judged.facts, kind), ([], judged.alone[kind]))
                members.append(GpuPlace(place, gpu and gpu.index))
        return tuple(GpuKind(tuple(members), served) for members, served in found.values())

    def _judgement(self, place: int, machine: Machine) -> Judgement:
        gpus = tuple((gpu.index, gpu.name, gpu.arch) for gpu in machine.counted)
        facts = self._facts(machine)
        key = facts, gpus
        if key not in self._known:
            hardware = self._hardware.setdefault((machine.platform.name, machine.driver, gpus), {})
            fresh = tuple(resolve.judge(machine, self.table, self.wish, hardware))
            self.considered.add(place, fresh)
            running = {pin_of(verdict): verdict for verdict in fresh if verdict.ok}
            self._known[key] = Judgement(facts, running, _alone(machine, fresh, running))
        return self._known[key]

    def _facts(self, machine: Machine) -> object:
        """What a build depends on in a machine, apart from its GPUs; any glibc that is new enough for all is one."""
        platform, driver = machine.platform, machine.driver
        name = platform.name
        if name not in self._glibcs:
            self._glibcs[name] = max((numbers(build.glibc) for build in self.table.of(name) if build.glibc), default=())
        if platform.glibc and numbers(platform.glibc) >= self._glibcs[name]:
            platform = platform._replace(glibc=None)
        return platform, machine.python.tag, driver and (driver.version, driver.cuda, driver.os)


def _alone(
    machine: Machine, verdicts: Sequence[Verdict], running: Mapping[Pin, Verdict]
) -> dict[Arch | str | None, Mapping[Pin, Verdict]]:
    if len(machine.counted) < 2:
        return {_kind_of(gpu): running for gpu in machine.counted or (None,)}
    found: dict[Arch | str | None, Mapping[Pin, Verdict]] = {}
    for gpu in machine.counted:
        if gpu.arch not in found:
            mine = (verdict for verdict in verdicts if verdict.supports(gpu.index))
            found[gpu.arch] = {pin_of(verdict): verdict.alone(gpu.index) for verdict in mine}
    return found


def _kind_of(gpu: Gpu | None) -> Arch | str | None:
    return "none" if gpu is None else gpu.arch


def columns(kinds: Sequence[GpuKind]) -> dict[Pin, CoverSet]:
    """Each build as the set of kinds that it supports. Its worth is its own, so no other kind can change an order."""
    bits: dict[Pin, int] = {}
    builds: dict[Pin, Build] = {}
    for place, kind in enumerate(kinds):
        for pin, verdict in kind.served.items():
            bits[pin] = bits.get(pin, 0) | 1 << place
            builds.setdefault(pin, verdict.build)
    # The newest torch counts; a cpu build never for the sake of a newer one.
    worth = {pin: (build.family != "cpu", release_key(build.torch)) for pin, build in builds.items()}
    return {pin: CoverSet(mask, worth[pin], _detail(builds[pin])) for pin, mask in bits.items()}


def _detail(build: Build) -> tuple[object, ...]:
    """The newest CUDA major, and of that the lowest minor, which the most drivers speak; a ROCm inside its wheel."""
    toolkit = toolkit_order(build.backend)
    if build.family != "cuda":
        return (self_contained(build),), toolkit, build.backend, build.version
    return toolkit[:1], tuple(-part for part in toolkit[1:]), build.backend, build.version


class _Considered:
    """One list for all the machines: a build of a platform as it is where it is worst, with everybody's objections."""

    def __init__(self) -> None:
        self._known: dict[BuildKey, tuple[Verdict, dict[Reason, dict[str, Objection]]]] = {}

    def add(self, place: int, verdicts: Iterable[Verdict]) -> None:
        for verdict in verdicts:
            key = verdict.build.key
            worst, kept = self._known.get(key) or (None, {})
            if worst is None or verdict.rank < worst.rank:
                worst = verdict._replace(fits=tuple(fit._replace(machine=place) for fit in verdict.fits))
                self._known[key] = worst, kept
            for objection in verdict.objections:
                texts = kept.setdefault(objection.reason, {})
                if len(texts) < _MOST_TEXTS:
                    texts.setdefault(objection.text, objection._replace(machine=place))

    def verdicts(self) -> tuple[Verdict, ...]:
        found = [
            worst._replace(objections=tuple(each for texts in kept.values() for each in texts.values()))
            for worst, kept in self._known.values()
        ]
        return tuple(sorted(found, key=lambda verdict: (verdict.rank, verdict.build.platform), reverse=True))
