"""An error text → the known errors in it, and what doctor says of them on this machine."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from torchpick.doctor import endings, examination, offers, reading, remedy, situation, steps, texts
from torchpick.doctor.endings import Ending
from torchpick.doctor.examination import Examination
from torchpick.doctor.situation import Situation
from torchpick.doctor.subject import DescribedEnvironment
from torchpick.doctor.texts import Match, Signature
from torchpick.environment import interpreter
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.gpuindex import letters
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.finding import NOTE, Finding
from torchpick.model.machine import GpuProduct, Machine, Note, version_of
from torchpick.model.pick import Request
from torchpick.model.versions import normal
from torchpick.run import Run

_MACS = ("macos-arm64", "macos-x86_64")
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
# And of these those whose fix depends on the GPU.
_OF_GPUS = _BY_TORCH - {"TORCH_MISSING"} | {"PACKAGE_NO_KERNELS"}
# Those that a Python or a system decides, where an installer says no more than that it has no such wheel.
_OF_PLATFORM = {"PIP_NO_VERSION", "NOT_A_SUPPORTED_WHEEL", "WHEEL_OF_OTHER_PYTHON"}
_AROUND = {"wsl", "container", "image build"}
# Where no torch is to be judged: it is not torch, or a CUDA build on an AMD GPU on purpose.
_OTHERS = {"other program", "zluda"}


class Explained(NamedTuple):
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


class Explanation(NamedTuple):
    """Every cause that was recognised, causes before what follows from them, else in the order of the text.

    `machine` is None where no error depends on it, or it could not be examined. `facts` are what the text names.
    `ending` is the line that the program ended with, where that is not known, and `question` is what to ask.
    """

    errors: tuple[Explained, ...]
    machine: Machine | None = None
    notes: tuple[Note, ...] = ()
    facts: tuple[str, ...] = ()
    ending: Ending | None = None
    question: str = ""


def explain(chunks: Iterable[bytes], run: Run) -> Explanation:
    """Look for the known errors in a text that streams by, and combine them with the environment it is about."""
    known = run.knowledge.file("errors.json", texts.read_signatures)
    words = run.knowledge.file("words.json", situation.read_words)
    text, read, matches, ending = reading.read(chunks, known, words)
    said = offers.with_python(read, run)
    request, mentioned = _with_mentions(run, said)
    first = matches[0] if matches else Match(next(iter(known.values())), 0, "")
    package = first.package or situation.package_of((first.text, first.frame), words)
    values = offers.values(said, first.text, package, request, run)
    worlds = [words[kind] for kind in situation.WORLDS]
    with_package = cache(lambda name: offers.with_package(name, said, request, run))
    facts = _facts(said, request, run) | _spelt(known.values(), text.lower(), first.text)
    doings = steps.Doings(text)
    notes = (*mentioned, *_of_list(said, read), *situation.contradictions(said))
    alone = Explanation(
        (), notes=notes, facts=said.named, ending=ending, question=endings.question(text, said, ending, words)
    )

    def answered(*notes: Note, exam: Examination | None = None, is_unknown: bool = False) -> Explanation:
        advised = {}
        for match in matches:
            cause = steps.fitting(match.signature.cause(facts, known), facts)
            name = values["PACKAGE"] if any(map(steps.names_release, cause.cures)) else None
            filled = {**values, "RELEASE": with_package(name) if name else None}
            advised[match.signature.id] = steps.about(cause, filled, facts, worlds, doings.has)
        errors = _explained(matches, facts, advised, exam)
        asks = _questions(errors[0], known, said, exam, is_unknown=is_unknown) if errors else ()
        return alone._replace(errors=errors, notes=(*alone.notes, *notes, *asks))

    asked = run.with_request(request)
    is_described = said.torch and (asked.has_given_gpus or said.driver or said.driver_cuda or said.packages)
    if facts & _OTHERS or not (is_described or any(match.signature.findings for match in matches)):
        return answered()
    beside = tuple(name for name in ("torchvision", "torchaudio") if name in facts)
    try:
        codes = {code for match in matches for code in match.signature.findings[:1]}
        exam = _examined(run.with_request(request._replace(requirements=beside)), said, codes)
    except TorchpickError as error:
        # Whatever the user gave of the machine or the Python: its refusal is theirs to hear.
        if error.exit_status == 2 and (run.request != Request() or run.has_given_gpus):
            raise
        return answered(Note("NOT_EXAMINED", f"this environment was not looked at: {error.message}"))
    if package is not None:  # what else does not go together is not what that line is about
        findings = (one for one in exam.findings if one.seen.get("package") in (None, normal(package)))
        exam = exam._replace(findings=(*findings,))
    machine = exam.subject.machine
    alone = alone._replace(machine=machine, notes=(*alone.notes, *_of_torch(said, exam)))
    facts |= _facts_of(exam) | {note.code for note in alone.notes}
    is_judged = isinstance(exam.subject, DescribedEnvironment) and (exam.findings or "TORCH_RUNS" in facts)
    if not (is_judged or machine.counted or asked.has_given_gpus or request != Request()):
        # The text is about a GPU. Whatever would be right for a machine without one is no answer to it.
        return answered(is_unknown=True)
    matches = (*matches, *_by_finding(exam, known.values(), said, matches))
    if exam.subject.torch is not None and exam.remedy is not None and not exam.ok:
        facts -= _AROUND  # torch itself is to blame, wherever it runs
    certain = (note for note in machine.notes if note.code != "DRIVER_ASSUMED")  # there is a line for each range
    return answered(*certain, exam=exam)


def _questions(
    first: Explained, known: Mapping[str, Signature], said: Situation, exam: Examination | None, *, is_unknown: bool
) -> Iterator[Note]:
    """What decides about the remedy and is not in the text: the GPU, else the torch or the system."""
    cause = known.get(first.cause.id)
    ways = (*cause.cures, *(way for where, _, way in cause.steps if not where)) if cause and cause.install else ()
    is_pair = any(steps.names_release(way) or "torch==X.Y.Z torch" in way for way in ways)
    if is_unknown and {*first.cause.findings[:1]} & _OF_GPUS:
        yield Note("NO_GPU_KNOWN", "which GPU is it? none is known here: `--gpu` (and `--driver`) says it")
    elif is_pair and first.command is None and said.torch is None and (exam is None or exam.subject.torch is None):
        yield Note("NO_TORCH_KNOWN", "which torch is it (`pip show torch`)? that decides which release fits")
    elif first.cause.id in _OF_PLATFORM and None in (said.platform, said.python):
        missing = [name for name, value in (("Python", said.python), ("system", said.platform)) if value is None]
        yield Note("NO_PLATFORM_KNOWN", f"which {' and which '.join(missing)} is it? `pip debug` says both")


def _explained(
    matches: Iterable[Match], facts: set[str], advised: Mapping[str, Signature], exam: Examination | None
) -> tuple[Explained, ...]:
    """The first error of each cause; `advised` are the causes of the matches, by the ids of what was seen."""
    first: dict[str, Explained] = {}
    ranges = remedy.for_drivers(exam.subject, exam.findings) if exam is not None and exam.remedy is not None else ()
    for match in matches:
        cause = advised[match.signature.id]
        wanted = (*cause.findings, *match.signature.findings)
        # Around torch, on a Mac, and where no wheel was found, a cause of its own has a remedy of its own.
        is_elsewhere = "TORCH_MISSING" in match.signature.findings[:1] or not facts.isdisjoint({*_AROUND, "macos"})
        of_torch = cause.id == match.signature.id or not is_elsewhere
        if wanted[:1] == ("TORCH_MISSING",) and cause.install and "torch named" in facts:
            of_torch = False  # it is there, and not where the program looks
        findings = _findings(wanted, Finding(cause, cause.title), exam, of_torch=of_torch)
        if ranges and any(finding.cure for finding in findings):
            # Which command is right depends on a driver that nobody named.
            by_driver = cause._replace(cures=(*ranges, *cause.cures))
            findings = tuple(
                finding._replace(
                    ailment=by_driver if finding.ailment is cause else finding.ailment, cure=None, brings=None
                )
                for finding in findings
            )
            cause = by_driver
        first.setdefault(findings[0].text, Explained(match, cause, findings))
    return tuple(first.values())


def _examined(run: Run, said: Situation, wanted: Collection[str]) -> Examination:
    """The environment that the text is of: the one that is here, unless the text or the request is of another.

    Of several builds that its torch may be it is one with which what is `wanted` is wrong.
    """
    request = run.request
    exam = None
    is_here = said.program is None or not run.has_given_gpus
    if is_here and request.platform is None and version_of(request.python) is None:
        exam = examination.examine(run, torch_alone=True)
        installed = exam.subject.torch
        if installed is not None and said.torch in (None, installed.version, installed.release):
            return exam
    if not run.has_given_gpus and not run.find_machine().counted:
        request = _driven(request, said)
    asked = run.with_request(request._replace(python=request.python or said.python))
    packages = {**said.packages, "torch": str(said.torch)}
    exams = [examination.described(asked, packages, cuda, said.program) for cuda in _cudas(asked, said)]
    shown = [exam for exam in exams if any(finding.code in wanted for finding in exam.findings)]
    # Of several that it may be, nothing is known unless each of them is wrong, or one as the text says.
    if shown or len(exams) == 1 or (exams and not any(exam.ok for exam in exams)):
        return (shown or exams)[-1]
    if exam is not None and (exam.subject.torch is not None or said.python is None or not asked.has_given_gpus):
        return exam
    return examination.described(asked, {}, None, said.program)


def _cudas(run: Run, said: Situation) -> list[str | None]:
    """What the torch of the text may be built for: one CUDA where that is said, else those of its release's builds."""
    version = said.torch or ""
    if "+" in version or said.cuda is not None:
        return [said.cuda] if version else []
    if not {"amd", "other backend", "jetson"}.isdisjoint(said.facts):
        return []  # it need not be for any CUDA
    is_listed = version == said.packages.get("torch") and len(said.packages) > 1
    platform = run.request.platform or said.platform or run.find_machine().platform.name
    if platform in _MACS or not (is_listed or run.has_given_gpus):
        return []
    # The wheel of a listing is the default index's.
    table = run.knowledge.table((platform,), DEFAULT_INDEX if is_listed else "stable")
    return [build.cuda for build in table.of(platform).builds(version) if is_listed or build.cuda]


def _with_mentions(run: Run, said: Situation) -> tuple[Request, tuple[Note, ...]]:
    """The machine that the text names is the one it is about, unless another is given."""
    request = run.request
    named: dict[object, str] = {}
    for name in () if run.has_given_gpus else (said.capability or said.name, *said.others):
        for gpu in _known([name], run):
            named.setdefault(gpu.arch, str(name))
    if named and _has_gpus(run, said, _known(named.values(), run)):
        text = f"this machine has the {', '.join(named.values())} of the text, so its own driver counts"
        return request, (Note("GPU_IS_HERE", f"{text}; `--gpu` and other flags name another machine"),)
    if named:
        request = request._replace(gpus=(*named.values(),))
    if request.gpus is None and not run.has_given_gpus and said.platform not in _MACS:
        return request, ()
    platform = said.platform if request.platform is None and request.machine is None else None
    # What a text says of the system around is no more than a hint: the GPUs have to be there in such a machine.
    there = (
        gpu.platform in (None, platform) and (gpu.vendor == "apple" or platform not in _MACS)
        for gpu in _known(request.gpus or (), run)
    )
    if platform not in (None, interpreter.running().platform.name) and all(there):
        request = request._replace(platform=platform)
        named["platform"] = str(platform)
    given = request.driver or request.cuda_driver or run.environ.get("TORCHPICK_DRIVER")
    if not given and request.gpus is not None and "amd" not in said.facts:
        request = _driven(request, said)
        if request.driver or request.cuda_driver:
            named["driver"] = f"driver {request.driver or f'for CUDA {request.cuda_driver}'}"
    text = f"machine of the text: {', '.join(named.values())} (`--gpu` names another)"
    return request, (Note("MACHINE_OF_THE_TEXT", text),) if named else ()


def _has_gpus(run: Run, said: Situation, products: Iterable[GpuProduct]) -> bool:
    """Whether this computer is of the text's system and has GPUs of these architectures, and of the name in it."""
    if run.request.platform is not None or said.platform not in (None, interpreter.running().platform.name):
        return False
    gpus = run.find_machine().counted
    names = [letters(gpu.name) for gpu in gpus if gpu.name]
    is_named = said.name is None or not names or any(letters(said.name) in name for name in names)
    return is_named and {product.arch for product in products} <= {gpu.arch for gpu in gpus}


def _driven(request: Request, said: Situation) -> Request:
    return request._replace(driver=said.driver, cuda_driver=None if said.driver else said.driver_cuda)


def _facts(said: Situation, request: Request, run: Run) -> set[str]:
    """What is known of the surroundings without a look: by the text, and by what was given."""
    facts = set(said.facts)
    if "gpus passed" in facts:
        facts.discard("container")  # its command gives it the GPUs: something else is to blame
    if request.platform is not None:
        os, _, cpu = request.platform.partition("-")
        facts = (facts - situation.SYSTEMS) | {os, cpu}
    vendors = {gpu.vendor for gpu in _known(request.gpus or (), run)}
    if "apple" in vendors:
        facts.add("macos")
    elif vendors:
        facts.discard("macos")
    if vendors == {"nvidia"}:
        facts.discard("amd")
    if said.asked and said.python:
        facts.discard("other python")  # the table knows better
    return facts | vendors | offers.facts(said, run)


def _spelt(known: Iterable[Signature], lower: str, line: str) -> set[str]:
    """The facts that are words of a text in small letters, and whether the line of the error names torch or CUDA."""
    of_torch = {"line of torch"} if re.search(r"(?i)torch|cuda|cudnn|nccl", line) else set()
    return of_torch | {fact for row in known for fact in row.spelt if texts.says(fact, lower)}


def _of_list(said: Situation, read: Situation) -> Iterator[Note]:
    """Which Python it is by the versions that an installer has, where the text names none."""
    if said.python != read.python:
        yield Note("PYTHON_OF_THE_LIST", f"the list of versions begins as that of Python {said.python} does")


def _facts_of(exam: Examination) -> set[str]:
    """What the examination adds: whether torch itself is to blame, and the Python that the command names."""
    subject, torch = exam.subject, exam.subject.torch
    is_described = isinstance(subject, DescribedEnvironment)
    own = {"own python"} if is_described and exam.remedy and subject.environment.python.executable else set()
    own |= {"no build"} if exam.refused else set()
    own |= {"torch stays"} if any(one.code == "NO_KERNELS" and not one.by_torch for one in exam.findings) else set()
    if torch is None or not (subject.gpus or is_described):
        return own
    if torch.backend == "cpu":
        return {*own, "cpu build"}
    return {*own, "torch runs"} if subject.gpus and torch.runs else own


def _by_finding(
    exam: Examination, known: Collection[Signature], said: Situation, matches: Collection[Match]
) -> Iterator[Match]:
    """What is wrong with the torch that the text names, though no known error in it says so."""
    if not isinstance(exam.subject, DescribedEnvironment) or exam.subject.torch is None:
        return
    shown = {code for match in matches for code in match.signature.findings}
    # What does not go together is beside the point where the text is of something else.
    wrong = (each.code for each in exam.findings if each.code in _BY_TORCH or not (matches or each.severity == NOTE))
    if (code := next(wrong, None)) is not None and code not in shown:
        rows = [each for each in known if code in each.findings]
        yield Match(min(rows, key=lambda each: each.findings.index(code)), 0, f"torch {said.torch}")


def _of_torch(said: Situation, exam: Examination) -> Iterator[Note]:
    """Whether it is the torch of the text whose findings are shown, and for what nothing is wrong with it."""
    subject, torch = exam.subject, exam.subject.torch
    if torch is None or said.torch is None:
        return
    if not isinstance(subject, DescribedEnvironment):
        if said.torch not in (torch.version, torch.release):
            yield Note("TORCH_OF_THE_TEXT", f"the text names torch {said.torch}, and {torch.label} is installed here")
        return
    words = [f"has code for {subject.labels()}"] if subject.gpus else []
    driver = subject.machine.driver
    if driver is not None and driver.source == "given":
        words.append(f"goes with driver {driver.label}")
    if words and torch.runs and exam.ok:
        yield Note("TORCH_RUNS", f"{torch.label} {' and '.join(words)}: the build is not at fault")
    else:
        yield Note("TORCH_OF_THE_TEXT", f"the text names torch {said.torch}, so that one is judged")


def _known(names: Iterable[str | None], run: Run) -> Iterator[GpuProduct]:
    """The GPUs of these names; what is none is passed over."""
    for name in filter(None, names):
        with suppress(UsageError):
            yield run.knowledge.gpu(name)


def _findings(
    wanted: tuple[str, ...], alone: Finding, exam: Examination | None, *, of_torch: bool
) -> tuple[Finding, ...]:
    """The findings that an error points at, else its cause `alone`; with the command where no torch can be judged.

    `of_torch`: it is torch itself that the error is about.
    """
    if exam is None:
        return (alone,)
    # That torch is missing is no answer to why it cannot be had.
    found = [finding for finding in exam.findings if finding.code in wanted and finding.code != "TORCH_MISSING"]
    if wanted and not any(finding.advice for finding in found):
        if exam.refused:
            return (*found, alone._replace(advice=exam.refused))
        absent = of_torch and _BY_TORCH & {wanted[0]} and exam.subject.torch is None and not found
        found += [alone._replace(cure=each.cure, brings=each.brings) for each in exam.findings if absent and each.cure]
    return (*found,) or (alone,)
