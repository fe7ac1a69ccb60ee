"""The pick at work: its kernels run on each GPU, and what the table says where one fails."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.environment import distributions
from torchpick.install.asking import TargetQuestion
from torchpick.install.job import Job
from torchpick.install.user_settings import leads_away
from torchpick.machine import verify
from torchpick.machine.verify import Ran, Verified
from torchpick.model.arch import Fit
from torchpick.model.pick import Pick
from torchpick.model.verdict import Objection


def verify_pick(pick: Pick, python: str, environ: Mapping[str, str]) -> Verified:
    """Run the kernels on each GPU that counts, with the torch that this interpreter has now."""
    kind, gpus = verify.devices_to_check(pick.build.family, pick.machine)
    if kind == "cuda" and not gpus:
        kind = "cpu"  # nothing is here that it was picked for
    compiles = any(fit.fit is Fit.JIT for verdict in pick.verdicts for fit in verdict.fits)
    return verify.run_kernels(python, kind, gpus, environ, verify.JIT_DEADLINE_S if compiles else verify.DEADLINE_S)


def missing_torch(asking: TargetQuestion, job: Job) -> str | None:
    """What of torch is not there after a run that needed it; None where all is as it was to be."""
    needed = "torch" in job.needs or any(each.name == "torch" for each in asking.wanted)
    if not needed or leads_away(job.passed_on):
        return None
    installed = distributions.find_installed("torch", job.target.packages)
    if installed is not None and installed.version == job.pick.version:
        return None
    return "there is no torch" if installed is None else f"there is torch {installed.version}"


def explain_failure(ran: Ran, found: Verified, pick: Pick) -> Objection | None:
    """What the table says of the installed build on this GPU, where it says that it cannot run there."""
    for verdict in pick.considered:
        if verdict.build.version == found.torch:
            about = [each for each in verdict.objections if each.gpu == ran.gpu]
            return next(iter(about or verdict.objections), None)
    return None
