"""An error text → the known errors in it, and what doctor says of them on this machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from torchpick.doctor import examination, logs, mentions, signatures
from torchpick.doctor.examination import Examination
from torchpick.doctor.mentions import Mentions
from torchpick.doctor.signatures import Match, Signature
from torchpick.doctor.subject import Described
from torchpick.environment import interpreter
from torchpick.errors import TorchpickError, UsageError
from torchpick.installers import shell
from torchpick.knowledge.compat import Knowledge
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.finding import ERROR, Finding
from torchpick.model.machine import GivenGpu, Machine, Note
from torchpick.model.noun import Noun
from torchpick.model.pythons import version_of
from torchpick.model.request import Request
from torchpick.session import Session

_NO_GPU_KNOWN = Note(
    "NO_GPU_KNOWN", "no GPU is known here: `--gpu NAME` (and `--driver VERSION`) says which machine the text is about"
)
_MACS = ("macos-arm64", "macos-x86_64")
_SYSTEMS = {"windows", "macos", "linux", "aarch64", "intel"}
# The errors that another build of torch fixes by itself, where they are what a text means first.
_BY_TORCH = {
    "CPU_ONLY_BUILD",
    "OTHER_VENDOR_BUILD",
    "NO_KERNELS",
    "PTX_ONLY_DRIVER_TOO_OLD",
    "DRIVER_TOO_OLD",
    "LIBRARY_DROPPED_GPU",
    "TORCH_MISSING",
}
_AROUND = {"wsl", "container", "image build"}


class Explained(Noun):
    """One error of the text, its cause by the table, and what is wrong: as doctor finds it here, else that cause."""

    match: Match
    cause: Signature
    findings: tuple[Finding, ...]

    @property
    def is_here(self) -> bool:
        return self.findings[0].ailment is not self.cause

    @property
    def command(self) -> str | None:
        return next((finding.cure for finding in self.findings if finding.cure), None)


class Explanation(Noun):
    """Every cause that was recognised, causes before what follows from them, else in the order of the text.

    `machine` is None where no error depends on it, or it could not be examined.
    """

    errors: tuple[Explained, ...]
    machine: Machine | None = None
    notes: tuple[Note, ...] = ()


def explain(chunks: Iterable[bytes], session: Session) -> Explanation:
    """Look for the known errors in a text that streams by, and combine them with the environment it is about."""
    known = session.knowledge.file("errors.json", signatures.read)
    search = signatures.Search(known)
    start = b""
    for chunk in logs.decoded(chunks):
        search.feed(chunk)
        start += chunk[: max(0, mentions.MOST_TEXT - len(start))]
    said = mentions.of_text(start, session.knowledge.file("words.json", mentions.read))
    matches = search.matches() or tuple(
        Match(known[name], 0, text) for name, text in said.facts.items() if name in known
    )
    request, mentioned = _with_mentions(session, said)
    flags = shell.line(Request(gpus=request.gpus, driver=request.driver).flags)
    torch = "torch" if said.torch is None else f"torch=={said.torch.partition('+')[0]}"
    named = {"PACKAGE": said.facts.get("package"), "torch==X.Y.Z": torch, "--gpu NAME --driver VERSION": flags}
    known = {row.id: row.about(named) for row in known.values()}
    facts = _facts(said, request, session)
    alone = Explanation(_explained(matches, facts, known))
    is_described = said.torch and (request.gpus is not None or session.given_gpus)
    is_of_build = is_described or any(match.signature.findings for match in matches)
    if "other program" in facts or not is_of_build:
        return alone
    asked = session.asking(request)
    try:
        exam = _examined(asked, said)
    except TorchpickError as error:
        # Whatever the user gave of the machine or the Python: its refusal is theirs to hear.
        if error.exit_status == 2 and (session.request != Request() or session.given_gpus):
            raise
        text = f"this environment was not looked at: {error.message}"
        return alone._replace(notes=(*mentioned, Note("NOT_EXAMINED", text)))
    machine = exam.subject.machine
    notes = (*mentioned, *_other_torch(said, exam))
    is_judged = isinstance(exam.subject, Described) and exam.findings
    if not (is_judged or machine.counted or asked.given_gpus or request != Request()):
        # The text is about a GPU. Whatever would be right for a machine without one is no answer to it.
        is_of_a_build = any(_BY_TORCH & {*each.cause.findings[:1]} for each in alone.errors)
        return alone._replace(machine=machine, notes=(*notes, _NO_GPU_KNOWN) if is_of_a_build else notes)
    matches = (*matches, *_by_finding(exam, known.values(), said, matches))
    facts |= _facts_of(exam)
    if exam.subject.torch is not None and exam.remedy is not None and not exam.ok:
        facts -= _AROUND  # torch itself is to blame, wherever it runs
    return Explanation(_explained(matches, facts, known, exam), machine, (*notes, *machine.notes))


def _explained(
    matches: Iterable[Match], facts: set[str], known: Mapping[str, Signature], exam: Examination | None = None
) -> tuple[Explained, ...]:
    """The first error of each cause."""
    first: dict[str, Explained] = {}
    for match in matches:
        cause = known[match.signature.cause(facts, known).id]
        findings = _findings((*cause.findings, *match.signature.findings), Finding(cause, cause.title), exam)
        first.setdefault(findings[0].text, Explained(match, cause, findings))
    return tuple(first.values())


def _examined(session: Session, said: Mentions) -> Examination:
    """The environment that the text is of: the one that is here, unless the text or the request is of another."""
    request = session.request
    exam = None
    if request.platform is None and version_of(request.python) is None:
        exam = examination.examine(session, torch_alone=True)
        installed = exam.subject.torch
        is_same = installed is not None and said.torch in (installed.version, installed.release)
        if said.torch is None or is_same:
            return exam
    version = said.torch or ""
    cuda = said.cuda
    if cuda is None and version == said.packages.get("torch") and len(said.packages) > 1:
        cuda = _of_default_index(session, version)
    # Without a label, or the CUDA that goes with it, nothing can be said of a build.
    is_build = version and ("+" in version or cuda is not None)
    if not is_build and exam is not None:
        return exam
    return examination.described(session, {**said.packages, "torch": version} if is_build else {}, cuda or None)


def _of_default_index(session: Session, release: str) -> str | None:
    """The CUDA of the default index's wheel, whose version has no label; "" for a CPU build, None where not known."""
    platform = session.machine.platform.name
    if platform in _MACS:
        return None
    shelf = session.knowledge.table((platform,), DEFAULT_INDEX).of(platform)
    return next((build.cuda or "" for build in shelf.builds(release)), None) if release in shelf.releases() else None


def _with_mentions(session: Session, said: Mentions) -> tuple[Request, list[Note]]:
    """The machine that the text names is the one it is about, unless another is given."""
    request = session.request
    notes = []
    gpu = next((name for name in (said.capability, said.name) if name and _known([name], session.knowledge)), None)
    if gpu and not session.given_gpus:
        request = request._replace(gpus=(gpu,))
        label = gpu if said.name in (None, gpu) else f"{said.name} ({gpu})"
        notes.append(Note("GPU_OF_THE_TEXT", f"the text names {label}, so that GPU is meant; `--gpu` names another"))
    if request.gpus is None and not session.given_gpus and said.platform not in _MACS:
        return request, notes
    platform = said.platform if request.platform is None and request.machine is None else None
    # What a text says of the system around is no more than a hint: the GPUs have to be there in such a machine.
    there = (gpu.platform in (None, platform) for gpu in _known(request.gpus or (), session.knowledge))
    if platform not in (None, interpreter.own().platform.name) and all(there):
        request = request._replace(platform=platform)
        notes.append(Note("PLATFORM_OF_THE_TEXT", f"the text is of {platform}; `--platform` names another"))
    driver = request.driver or request.cuda_driver or session.environ.get("TORCHPICK_DRIVER")
    if request.gpus is None or driver or "amd" in said.facts:
        return request, notes
    if said.driver:
        request = request._replace(driver=said.driver)
        text = f"names driver {said.driver}"
    elif said.driver_cuda:
        request = request._replace(cuda_driver=said.driver_cuda)
        text = f"says that the driver supports CUDA {said.driver_cuda}"
    else:
        return request, notes
    return request, [*notes, Note("DRIVER_OF_THE_TEXT", f"the text {text}")]


def _facts(said: Mentions, request: Request, session: Session) -> set[str]:
    """What is known of the surroundings without a look: by the text, and by what was given."""
    facts = set(said.facts)
    if request.platform is not None:
        os, _, cpu = request.platform.partition("-")
        facts = (facts - _SYSTEMS) | {os, cpu}
    vendors = {gpu.vendor for gpu in _known(request.gpus or (), session.knowledge)}
    facts |= vendors | ({"macos"} if "apple" in vendors else set())
    return facts - {"amd"} if "nvidia" in vendors and "amd" not in vendors else facts


def _facts_of(exam: Examination) -> set[str]:
    """What the examination adds: whether torch itself is to blame."""
    torch = exam.subject.torch
    if torch is None or not exam.subject.gpus:
        return set()
    if torch.backend == "cpu":
        return {"cpu build"}
    return {"torch runs"} if torch.verdict is not None and torch.verdict.ok else set()


def _by_finding(
    exam: Examination, known: Iterable[Signature], said: Mentions, matches: Collection[Match]
) -> Iterator[Match]:
    """What is wrong with the torch that the text names, though no known error in it says so."""
    wrong = [finding.code for finding in exam.findings if finding.severity == ERROR and finding.by_torch][:1]
    shown = {code for match in matches for code in match.signature.findings}
    if isinstance(exam.subject, Described) and exam.subject.torch is not None and wrong and not shown & {*wrong}:
        yield from [Match(each, 0, f"torch {said.torch}") for each in known if wrong == [*each.findings[:1]]][:1]


def _other_torch(said: Mentions, exam: Examination) -> Iterator[Note]:
    """Whether it is the torch of the text or the installed one whose findings are shown, and that it runs."""
    installed = exam.subject.torch
    if installed is None or said.torch is None:
        return
    if isinstance(exam.subject, Described):
        yield Note("TORCH_OF_THE_TEXT", f"the text names torch {said.torch}, so that one is judged")
        if exam.ok and "torch runs" in _facts_of(exam):
            driver = exam.subject.machine.driver
            behind = "" if driver is None or said.driver is None else f", and driver {driver.version} supports its CUDA"
            text = f"{installed.label} has code for {exam.subject.labels()}{behind}: there the build is not at fault"
            yield Note("TORCH_RUNS", text)
    elif said.torch not in (installed.version, installed.release):
        yield Note("TORCH_OF_THE_TEXT", f"the text names torch {said.torch}, and {installed.label} is installed here")


def _known(names: Iterable[str], knowledge: Knowledge) -> list[GivenGpu]:
    """The GPUs of these names; what is none is passed over."""
    found = []
    for name in names:
        with suppress(UsageError):
            found.append(knowledge.gpu(name))
    return found


def _findings(wanted: tuple[str, ...], alone: Finding, exam: Examination | None) -> tuple[Finding, ...]:
    """The findings that an error points at, else its cause `alone`; with the command where no torch can be judged."""
    if exam is None:
        return (alone,)
    # That torch is missing is no answer to why it cannot be had.
    found = [finding for finding in exam.findings if finding.code in wanted and finding.code != "TORCH_MISSING"]
    if wanted and not any(finding.advice for finding in found):
        if exam.refused:
            return (*found, alone._replace(advice=exam.refused))
        absent = _BY_TORCH & {wanted[0]} and exam.subject.torch is None and not found
        found += [alone._replace(cure=each.cure, brings=each.brings) for each in exam.findings if absent and each.cure]
    return (*found,) or (alone,)
