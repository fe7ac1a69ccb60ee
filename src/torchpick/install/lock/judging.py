"""The torch of a lock and the packages beside it, judged as an installation judges them."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.install import agreeing
from torchpick.install.agreeing import Agreeing
from torchpick.install.agreement import Agreement
from torchpick.install.lock import resolution
from torchpick.install.lock.resolution import Aim
from torchpick.install.plan import Installation
from torchpick.installers import needs
from torchpick.installers.command import Command
from torchpick.installers.installer import Installer
from torchpick.installers.jobs import Job
from torchpick.installers.needs import Learnt
from torchpick.model.pick import Pick
from torchpick.session import decided


def judged(installation: Installation, installer: Installer, pick: Pick, aim: Aim) -> Job:
    """The pick, the versions that were judged beside it, and what is needed beside what was asked for."""
    return _Judging(installation, installer, aim).job(pick)


def versions(job: Job) -> Mapping[str, str]:
    """The versions that were judged."""
    return {**job.held, **job.related}


class _Judging:
    def __init__(self, installation: Installation, installer: Installer, aim: Aim) -> None:
        self.installation, self.installer, self.aim = installation, installer, aim

    def job(self, pick: Pick) -> Job:
        installation, job = self.installation, self.installation.job(pick)
        full_version = None if self.aim.python is None else installation.target.full_version
        known = installation.known_of(pick.machine, full_version)
        agreement = installation.agreement_of(pick.machine, known, None)
        if not installation.strangers:
            alone = job.no_deps or job.asked.hashed
            return job if alone else installation.related(job, agreement, self._pick_of)
        everything, resolver = installation.weighed(), self._resolver(job)
        learnt = self._learnt(job, everything, resolver)
        if learnt.conflict and not agreement.concerns:
            raise agreeing.conflict(learnt.conflict, everything)
        if learnt.torch is not None:
            job = job._replace(pick=self._pick_of(learnt.torch))
        parties = Agreeing(agreement, resolver, installation.session.environ, everything, self._pick_of)
        return _judged_only(installation.held(parties.agreed(job, learnt).job, agreement), agreement)

    def _resolver(self, job: Job) -> Command:
        return resolution.aimed(self.installer.resolver(job, for_lock=True), self.aim, job.pick.build)

    def _learnt(self, job: Job, everything: Pick, resolver: Command) -> Learnt:
        """What the other requirements need of torch in this environment."""
        tag = job.pick.machine.python.tag
        mine = [each for each in everything.considered if tag in each.build.pythons]
        runnable = [each.build for each in mine if each.ok]
        builds = [each.build for each in mine]
        return needs.learn(resolver, builds, runnable, job.pick.build, job.place, self.installation.session.environ)

    def _pick_of(self, torch: str) -> Pick:
        return decided(self.installation.weighed(f"torch=={torch}"))


def _judged_only(job: Job, agreement: Agreement) -> Job:
    """The job without what of torch's family was not judged: the wheel host decides which version that is."""
    left = {name for name, version in job.related.items() if not agreement.has(name, version)}
    return job._replace(
        held={name: version for name, version in job.held.items() if name not in left},
        related={name: version for name, version in job.related.items() if name not in left},
    )
