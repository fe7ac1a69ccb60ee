"""An error text → the known errors in it, and what doctor says of them on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from torchpick import shipped
from torchpick.doctor import signatures
from torchpick.doctor.signatures import Match
from torchpick.errors import TorchpickError
from torchpick.model.finding import Ailment, Finding
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.places import compat_dir
from torchpick.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick import question
    from torchpick.examination import Examination

# A finding that stands for others where there is no torch to have them.
_ABSENT = {"TORCH_MISSING", "TORCH_BROKEN"}


class Explained(Noun):
    """One error of the text, and the findings of this environment that go with it."""

    match: Match
    here: tuple[Finding, ...] = ()


class Explanation(Noun):
    """Every error that was recognised, in the order of the text; `machine` is None where it was not asked about."""

    errors: tuple[Explained, ...]
    machine: Machine | None = None
    notes: tuple[Note, ...] = ()


def explain(
    chunks: Iterable[bytes],
    request: Request,
    environ: Mapping[str, str] = os.environ,
    *,
    tell: question.Tell = None,
) -> Explanation:
    """Look for the known errors in a text that streams by, and combine them with the environment."""
    file = os.path.join(compat_dir(environ), "errors.json")
    search = signatures.Search(shipped.read(file, signatures.read))
    for chunk in signatures.decoded(chunks):
        search.feed(chunk)
    matches = search.matches()
    if not any(match.signature.findings for match in matches):
        return Explanation(tuple(Explained(match) for match in matches))
    request, notes = _with_facts_of_the_text(request, environ, matches)
    from torchpick import examination

    try:
        exam = examination.examine(request, environ, torch_alone=True, tell=tell)
    except TorchpickError as error:
        if error.exit_status == 2 and _told(request, environ):
            raise
        found = Note("NOT_EXAMINED", f"this environment was not looked at: {error.message}")
        return Explanation(tuple(Explained(match) for match in matches), None, (*notes, found))
    errors = tuple(Explained(match, _here(match, exam)) for match in matches)
    return Explanation(errors, exam.facts.machine, (*notes, *exam.facts.machine.notes))


def _told(request: Request, environ: Mapping[str, str]) -> bool:
    """Whether the user told anything of the machine or the Python, so that its refusal is theirs to hear."""
    return request != Request() or bool(environ.get("TORCHPICK_GPU"))


def _with_facts_of_the_text(
    request: Request, environ: Mapping[str, str], matches: Sequence[Match]
) -> tuple[Request, tuple[Note, ...]]:
    """A GPU that the text names is the one it is about, unless another was told; likewise the driver's CUDA."""
    kept = {name: value for match in matches for name, value in match.kept.items()}
    notes = []
    gpu, cuda = kept.get("gpu", ""), kept.get("cuda", "")
    told = request.gpus is not None or request.machine is not None or environ.get("TORCHPICK_GPU")
    if not told and gpu.startswith(("sm_", "gfx")):
        request = request._replace(gpus=(gpu,))
        notes.append(Note("GPU_OF_THE_TEXT", f"the text names {gpu}, so that GPU is meant; `--gpu` tells another"))
    driver = request.driver or request.cuda_driver or environ.get("TORCHPICK_DRIVER")
    if request.gpus is not None and driver is None and cuda.isascii() and cuda.isdigit() and 4 <= len(cuda) <= 5:
        spoken = f"{int(cuda) // 1000}.{int(cuda) % 1000 // 10}"
        request = request._replace(cuda_driver=spoken)
        notes.append(Note("DRIVER_OF_THE_TEXT", f"the text says that the driver speaks CUDA {spoken}"))
    return request, tuple(notes)


def _here(match: Match, exam: Examination) -> tuple[Finding, ...]:
    """The findings that this error points at; where no torch is installed, the command that installs one that runs."""
    wanted = set(match.signature.findings)
    found = [finding for finding in exam.findings if finding.code in wanted]
    if found or not exam.command or not wanted & _BY_TORCH:
        return tuple(found)
    return tuple(finding for finding in exam.findings if finding.code in _ABSENT)


# The errors that another build of torch would mend.
_BY_TORCH = {
    each.name
    for each in (
        Ailment.NO_KERNELS,
        Ailment.PTX_ONLY_DRIVER_TOO_OLD,
        Ailment.DRIVER_TOO_OLD,
        Ailment.CPU_ONLY_BUILD,
        Ailment.OTHER_VENDOR_BUILD,
        Ailment.LIBRARY_DROPPED_GPU,
        Ailment.COMPANION_OTHER_CUDA,
    )
}
