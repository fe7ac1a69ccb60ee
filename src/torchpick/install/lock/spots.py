"""The torch of a lock and the packages beside it, judged for every machine until what one takes suits all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torchpick.errors import NoBuildError
from torchpick.install import agreeing
from torchpick.install.agreeing import Agreeing
from torchpick.install.agreement import Agreement
from torchpick.install.joined import LearntPackages
from torchpick.install.lock import resolution
from torchpick.install.lock.ground import kind_of
from torchpick.install.lock.resolution import Aim
from torchpick.install.plan import Installation
from torchpick.installers import needs
from torchpick.installers.command import Command
from torchpick.installers.installer import Installer
from torchpick.installers.jobs import Job
from torchpick.installers.needs import Learnt
from torchpick.model.build import Build
from torchpick.model.lock import LockEnvironment
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.session import decided

# Other builds of torch that a library's pins may lead to, before it is called a conflict.
_MOST_MOVES = 8


class LockAgreed(Noun):
    """The pick, the versions that each environment holds, and what is needed beside what was asked for."""

    pick: Pick
    held: Mapping[LockEnvironment, Mapping[str, str]]
    added: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


class Spot(Noun):
    """One kind of machine in an environment."""

    place: int
    aim: Aim


def agreed(installation: Installation, installer: Installer, pick: Pick, aims: list[tuple[int, Aim]]) -> LockAgreed:
    """What every machine of the pick agrees with; NoBuildError where there is no such thing."""
    return _Rounds(installation, installer, pick, aims).agreed()


class _Rounds:
    """The judgement goes round until no machine moves what another one agreed with."""

    def __init__(
        self, installation: Installation, installer: Installer, pick: Pick, aims: list[tuple[int, Aim]]
    ) -> None:
        self.installation, self.installer, self.pick, self.aims = installation, installer, pick, aims
        self.everything = installation.weighed(machines=pick.machines)
        self.common = _common(self.everything)
        self.spots = _spots(pick.machines, aims)
        self.picks = {pick.version: pick}
        self.learnt: dict[LockEnvironment, Learnt] = {}
        self.jobs: dict[Spot, Job] = {}
        self.known = {aim.environment: self._known_of(pick.machines[place], aim) for place, aim in aims}

    def _known_of(self, machine: Machine, aim: Aim) -> LearntPackages:
        here = aim.python is not None and len(self.aims) == 1
        return self.installation.known_of(machine, self.installation.target.full_version if here else None)

    def agreed(self) -> LockAgreed:
        left = [*self.spots]
        for _ in range(_MOST_MOVES * len(self.spots)):
            if not left:
                break
            spot = left.pop(0)
            before, torch = self.learnt.get(spot.aim.environment), self.pick.version
            job = self._judged(spot)
            self.jobs[spot] = job
            if job.pick.version != torch:
                self.pick = self.picks[job.pick.version]
                self.learnt = {spot.aim.environment: self.learnt[spot.aim.environment]}
                left = [each for each in self.spots if each != spot]
            elif before is not None and before.versions != self.learnt[spot.aim.environment].versions:
                same = [each for each in self.spots if each.aim == spot.aim and each != spot]
                left = [*same, *(each for each in left if each not in same)]
        else:
            if left:
                raise agreeing.conflict(("the machines agree on no versions",), self.everything)
        held: dict[LockEnvironment, dict[str, str]] = {aim.environment: {} for _, aim in self.aims}
        for spot, job in self.jobs.items():
            held[spot.aim.environment] |= {**job.held, **job.related}
        jobs = self.jobs.values()
        added = tuple(dict.fromkeys(text for job in jobs for text in job.added))
        return LockAgreed(self.pick, held, added, tuple(dict.fromkeys(note for job in jobs for note in job.notes)))

    def _judged(self, spot: Spot) -> Job:
        """The job for one machine: what it holds, and the pick that it was judged with."""
        installation, env = self.installation, spot.aim.environment
        pick = _alone(self.pick, spot.place)
        job = installation.job(pick)
        several = len(self.spots) > 1
        agreement = installation.agreement_of(
            pick.machine, self.known[env], pick if several else None, self.common if several else None
        )
        if not installation.strangers:
            self.learnt[env] = Learnt()
            if job.no_deps or job.asked.hashed:
                return job
            return installation.related(job, agreement, lambda torch: self._pick_of(torch, spot))
        resolver = self._resolver(job, spot)
        learnt = self.learnt.get(env) or self._learnt(job, resolver, spot)
        if learnt.conflict and not agreement.concerns:
            raise agreeing.conflict(learnt.conflict, self.everything)
        if learnt.torch is not None:
            job = job._replace(pick=self._pick_of(learnt.torch, spot))
        environ = installation.session.environ
        parties = Agreeing(agreement, resolver, environ, self.everything, lambda torch: self._pick_of(torch, spot))
        tried = parties.agreed(job, learnt)
        self.learnt[env] = tried.learnt._replace(torch=None, users=learnt.users | tried.learnt.users)
        return _judged_only(installation.held(tried.job, agreement), agreement)

    def _resolver(self, job: Job, spot: Spot) -> Command:
        aim = spot.aim._replace(macos=macos_of(job.pick.build))
        return resolution.aimed(self.installer.resolver(job, for_lock=True), aim)

    def _learnt(self, job: Job, resolver: Command, spot: Spot) -> Learnt:
        """What the other requirements need of torch in this environment."""
        tag = job.pick.machine.python.tag
        mine = [each for each in self.everything.considered if each.build.platform == spot.aim.environment.platform]
        mine = [each for each in mine if tag in each.build.pythons]
        runnable = [each.build for each in mine if each.ok]
        builds = [each.build for each in mine]
        environ = self.installation.session.environ
        return needs.learn(resolver, builds, runnable, job.pick.build, job.place, environ)

    def _pick_of(self, torch: str, spot: Spot) -> Pick:
        """The pick of this torch for all machines, as the one machine has it."""
        if torch not in self.picks:
            found = picked(self.installation, self.pick.machines, f"torch=={torch}")
            self.picks[torch] = self.picks[found.version] = found
        return _alone(self.picks[torch], spot.place)


def _spots(machines: tuple[Machine, ...], aims: list[tuple[int, Aim]]) -> list[Spot]:
    """Each kind of machine once in its environment."""
    found: dict[object, Spot] = {}
    for _, aim in aims:
        env = aim.environment
        for place, machine in enumerate(machines):
            python = machine.python
            if LockEnvironment(machine.platform.name, python.version, python.free_threaded) == env:
                found.setdefault((env, kind_of(machine)), Spot(place, aim))
    return list(found.values())


def _common(everything: Pick) -> frozenset[str]:
    """The versions of torch that run on all the machines, whatever their platforms."""
    running: dict[str, set[str]] = {machine.platform.name: set() for machine in everything.machines}
    for verdict in everything.considered:
        if verdict.ok:
            running.setdefault(verdict.build.platform, set()).add(verdict.build.version)
    return frozenset.intersection(*map(frozenset, running.values()))


def _alone(pick: Pick, place: int) -> Pick:
    """The pick as one of its machines has it."""
    return pick._replace(machines=(pick.machines[place],), verdicts=(pick.verdicts[place],))


def _judged_only(job: Job, agreement: Agreement) -> Job:
    """The job without what of torch's family was not judged: the wheel host decides which version that is."""
    left = {name for name, version in job.related.items() if not agreement.has(name, version)}
    return job._replace(
        held={name: version for name, version in job.held.items() if name not in left},
        related={name: version for name, version in job.related.items() if name not in left},
    )


def picked(installation: Installation, machines: tuple[Machine, ...], *more: str) -> Pick:
    """The pick for all the machines; where there is none for several, the hint says what there is instead."""
    found = installation.weighed(*more, machines=machines)
    if not found.ok:
        installation.check_bound(found, machines)
    try:
        return decided(found)
    except NoBuildError as error:
        if len(machines) == 1:
            raise
        hint = f"`--each` writes one lock for each machine; {error.hint}"
        raise NoBuildError(error.message, pick=error.pick, hint=hint) from error


def macos_of(build: Build) -> str | None:
    """The oldest macOS that the build runs on, by its tag: `macosx_14_0_arm64` → `14.0`."""
    found = [re.match(r"macosx_(\d+)_(\d+)_", tag) for tag in build.tags]
    return next((f"{match[1]}.{match[2]}" for match in found if match), None)
