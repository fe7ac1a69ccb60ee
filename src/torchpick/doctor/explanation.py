"""An error text → the known errors in it, and what doctor says of them on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchpick.doctor import logs, mentions, signatures
from torchpick.doctor.mentions import Mentions
from torchpick.doctor.signatures import Match
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge import gpuspec
from torchpick.knowledge.compat import Knowledge
from torchpick.model.finding import Ailment, Finding
from torchpick.model.machine import Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.request import Request
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.doctor.examination import Examination

_NO_GPU_KNOWN = Note(
    "NO_GPU_KNOWN", "no GPU is known here: `--gpu NAME` (and `--driver VERSION`) says which machine the text is about"
)
# A finding that stands for others where there is no torch to have them.
_ABSENT = {"TORCH_MISSING", "TORCH_BROKEN"}


class Explained(Noun):
    """One error of the text, and the findings of this environment that go with it."""

    match: Match
    here: tuple[Finding, ...] = ()


class Explanation(Noun):
    """Every error that was recognised, causes before what follows from them, else in the order of the text.

    `machine` is None where no error depends on it, or it could not be examined.
    """

    errors: tuple[Explained, ...]
    machine: Machine | None = None
    notes: tuple[Note, ...] = ()


def explain(chunks: Iterable[bytes], session: Session) -> Explanation:
    """Look for the known errors in a text that streams by, and combine them with the environment."""
    search = signatures.Search(session.knowledge.file("errors.json", signatures.read))
    start = b""
    for chunk in logs.decoded(chunks):
        search.feed(chunk)
        start += chunk[: max(0, mentions.MOST_TEXT - len(start))]
    matches = search.matches()
    alone = Explanation(tuple(Explained(match) for match in matches))
    if not any(match.signature.findings for match in matches):
        return alone
    said = mentions.of_text([start])
    request, notes = _with_mentions(session, said)
    asked = session.asking(request)
    # Whatever the user gave of the machine or the Python: its refusal is theirs to hear.
    is_given = request != Request() or asked.given_gpus
    from torchpick.doctor import examination

    try:
        exam = examination.examine(asked, torch_alone=True)
    except TorchpickError as error:
        if error.exit_status == 2 and is_given:
            raise
        found = Note("NOT_EXAMINED", f"this environment was not looked at: {error.message}")
        return alone._replace(notes=(*notes, found))
    machine = exam.subject.machine
    notes = (*notes, *_other_torch(said, exam))
    if not machine.counted and not is_given:
        # The text is about a GPU. Whatever would be right for a machine without one is no answer to it.
        return alone._replace(machine=machine, notes=(*notes, _NO_GPU_KNOWN))
    errors = tuple(Explained(match, _here(match, exam)) for match in matches)
    return Explanation(errors, machine, (*notes, *machine.notes))


def _with_mentions(session: Session, said: Mentions) -> tuple[Request, tuple[Note, ...]]:
    """The GPU and the driver that the text names are the ones it is about, unless others are given."""
    request = session.request
    notes = []
    gpu = said.capability or (said.name if _is_known(said.name, session.knowledge) else None)
    if not session.given_gpus and gpu is not None:
        request = request._replace(gpus=(gpu,))
        label = gpu if said.name in (None, gpu) else f"{said.name} ({gpu})"
        notes.append(Note("GPU_OF_THE_TEXT", f"the text names {label}, so that GPU is meant; `--gpu` names another"))
    if request.gpus is None or request.driver or request.cuda_driver or session.environ.get("TORCHPICK_DRIVER"):
        return request, tuple(notes)
    if said.driver is not None:
        request = request._replace(driver=said.driver)
        notes.append(Note("DRIVER_OF_THE_TEXT", f"the text names driver {said.driver}"))
    elif said.driver_cuda is not None:
        request = request._replace(cuda_driver=said.driver_cuda)
        notes.append(Note("DRIVER_OF_THE_TEXT", f"the text says that the driver supports CUDA {said.driver_cuda}"))
    return request, tuple(notes)


def _other_torch(said: Mentions, exam: Examination) -> Iterator[Note]:
    """That the text is of another torch than the installed one, whose findings are shown."""
    installed = exam.subject.torch
    if installed is None or said.torch is None or said.torch in (installed.version, installed.release):
        return
    yield Note("TORCH_OF_THE_TEXT", f"the text names torch {said.torch}, and {installed.label} is installed here")


def _is_known(name: str | None, knowledge: Knowledge) -> bool:
    if name is None:
        return False
    try:
        gpuspec.parse(name, knowledge)
    except UsageError:
        return False
    return True


def _here(match: Match, exam: Examination) -> tuple[Finding, ...]:
    """The findings that this error points at; without a torch the command that installs one, or that none runs."""
    wanted = set(match.signature.findings)
    found = [finding for finding in exam.findings if finding.code in wanted]
    if exam.unsupported is not None and not any(finding.advice for finding in found) and wanted & _BY_TORCH:
        return (*found, Finding(Ailment.NO_KERNELS, exam.unsupported))
    if found or not exam.command or not wanted & _BY_TORCH:
        return tuple(found)
    return tuple(finding for finding in exam.findings if finding.code in _ABSENT)


# The errors that another build of torch would fix.
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
