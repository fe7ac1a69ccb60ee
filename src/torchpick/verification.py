"""The pick at work: its kernels run on each GPU, and what the table says where one fails."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.install import verify
from torchpick.install.verify import Ran, Verified
from torchpick.model.arch import Fit
from torchpick.model.verdict import Objection, Pick


def verified(pick: Pick, python: str, environ: Mapping[str, str]) -> Verified:
    """Run the kernels on each GPU that counts, with the torch that this interpreter has now."""
    gpus = pick.machine.counted
    family = pick.build.family
    apple = any(gpu.vendor == "apple" for gpu in pick.machine.gpus)
    kind = verify.kind_of(family, apple=apple)
    if family in ("cuda", "rocm") and not gpus:
        kind = "cpu"  # nothing is here that it was picked for
    compiles = any(fit.fit is Fit.JIT for verdict in pick.verdicts for fit in verdict.fits)
    return verify.run(
        python, kind, gpus if kind in ("cuda", "xpu") else (), environ, verify.deadline(compiles=compiles)
    )


def why(ran: Ran, found: Verified, pick: Pick) -> Objection | None:
    """What the table says of the installed build on this GPU, where it says that it cannot run there."""
    for verdict in pick.considered:
        if verdict.build.version == found.torch:
            about = [each for each in verdict.objections if each.gpu == ran.gpu]
            return next(iter(about or verdict.objections), None)
    return None
