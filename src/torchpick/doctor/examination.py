"""An environment and a machine → findings, and the command that fixes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from torchpick.doctor import gpusupport, presence, remedy, surroundings
from torchpick.doctor.remedy import BY_HARDWARE, Remedy
from torchpick.doctor.subject import Subject
from torchpick.environment import distributions
from torchpick.environment.distributions import Environment, TorchSetting
from torchpick.errors import UsageError
from torchpick.model.arch import Fit
from torchpick.model.build import family_of
from torchpick.model.finding import ERROR, Ailment, Finding, worst_first
from torchpick.model.machine import Machine, Python
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name, version_of
from torchpick.model.verdict import Reason, Verdict
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.machine.verify import Ran

Check = Callable[[Subject], Iterator[Finding]]

# These need nothing but torch and the shell.
_OF_TORCH: tuple[Check, ...] = (
    presence.missing,
    presence.broken,
    presence.twice,
    presence.unreadable,
    gpusupport.silent,
    gpusupport.foreign,
    gpusupport.unsupported,
    gpusupport.compiled_at_first_use,
    surroundings.driver_library,
    surroundings.hidden,
)


class Examination(Noun):
    """What was looked at, what is wrong, and the command that fixes torch; `remedy` None where none does.

    `ran` says on what kernels were run, where they were. `unsupported`: no build at all is for these GPUs.
    """

    subject: Subject
    findings: tuple[Finding, ...]
    remedy: Remedy | None = None
    ran: tuple[str, ...] = ()
    unsupported: str | None = None

    def _repr_html_(self) -> str:
        return html(self.findings)

    @property
    def ok(self) -> bool:
        return all(finding.severity != ERROR for finding in self.findings)

    @property
    def command(self) -> tuple[str, ...] | None:
        return None if self.remedy is None else self.remedy.command


class FindingList(list[Finding]):
    """Findings, worst first, that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return html(self)


def html(findings: Iterable[Finding]) -> str:
    from torchpick.model.envelope import html_table

    rows = [
        (finding.severity, finding.code, finding.text, finding.cure or finding.advice or "") for finding in findings
    ]
    return html_table(rows, ("severity", "code", "what", "fix")) if rows else "<p>nothing is wrong</p>"


def examine(session: Session, folder: str | None = None, *, torch_alone: bool = False) -> Examination:
    """Judge the environment of the request's `python`, else the active one; nothing in it is run.

    `torch_alone` looks at nothing but torch itself, for an answer in a moment.
    """
    folder = os.getcwd() if folder is None else folder
    path, source = target(session.request.python, session.environ, folder)
    here = distributions.read(path, session.environ, source=source, metadata=not torch_alone)
    return _examined(Subject(session, here, _machine(session, here), folder, torch_alone=torch_alone))


def _examined(subject: Subject) -> Examination:
    findings = [finding for check in _OF_TORCH for finding in check(subject)]
    settings: tuple[TorchSetting, ...] = ()
    lock = None
    if not subject.torch_alone:
        from torchpick.environment import torchsettings

        findings += [finding for check in _of_all() for finding in check(subject)]
        session, prefix = subject.session, subject.environment.prefix
        settings = torchsettings.read(session.environ, prefix, subject.folder, session.wish.index_base)
        lock = torchsettings.lock(prefix)
    auto = any(setting.backend == "auto" for setting in settings)
    fixable = [finding for finding in findings if finding.by_torch and _can_fix(finding, subject)]
    weighed = remedy.weigh(subject) if fixable or auto else None
    verdicts = () if weighed is None else weighed.verdicts
    if subject.torch is None:
        findings += _unwheeled(verdicts, subject.machine)
    fix = remedy.of(subject, findings, weighed) if fixable and weighed is not None else None
    if (keep := _to_keep(subject, fix)) is not None:
        version, backend = keep
        findings += surroundings.undo(settings, backend, auto_fails=auto and remedy.auto_fails(verdicts))
        findings += surroundings.lock(subject, lock, version, backend) if lock is not None else ()
    gpus = subject.labels()
    unsupported = remedy.unsupported(verdicts, gpus) if fix is None and gpus else None
    changes = (*(remedy.changes(weighed) if fixable and fix is None else ()), *filter(None, (unsupported,)))
    fixed = [_fixed(finding, fix, changes) if _can_fix(finding, subject) else finding for finding in findings]
    return Examination(subject, worst_first(fixed), fix, unsupported=unsupported)


def _of_all() -> tuple[Check, ...]:
    """What is looked at beside torch: an answer about torch alone does not wait for these."""
    from torchpick.doctor import depends, gpucode, loading

    return (
        gpusupport.partial,
        gpusupport.triton,
        depends.together,
        depends.numpy,
        gpucode.other_cuda,
        gpucode.without_kernels,
        gpucode.runtimes,
        gpucode.twice,
        presence.incomplete,
        loading.lacking,
        loading.library_path,
    )


def _can_fix(finding: Finding, subject: Subject) -> bool:
    """Whether a build could: without an answer of the driver nothing is guessed about the GPU."""
    return subject.machine.trouble is None or finding.ailment not in BY_HARDWARE


def _to_keep(subject: Subject, fix: Remedy | None) -> tuple[str, str] | None:
    """The version and backend that the environment should have: of the one that fixes it, else the installed one's."""
    if fix is not None:
        return fix.version, fix.backend
    return None if subject.torch is None else (subject.torch.version, subject.torch.backend)


def _fixed(finding: Finding, fix: Remedy | None, changes: tuple[str, ...]) -> Finding:
    """The finding with the command that fixes torch, where it asks for that; else with what would have to change."""
    if not finding.by_torch:
        return finding
    if fix is None:
        return finding if finding.advice or not changes else finding._replace(advice="; ".join(changes))
    return finding._replace(cure=fix.text, brings=remedy.brings(fix, finding))


def _unwheeled(verdicts: Iterable[Verdict], machine: Machine) -> Iterator[Finding]:
    """That no wheel at all fits this Python, where that is so."""
    barring = {Reason.NO_WHEEL_FOR_PYTHON, Reason.NO_WHEEL_FOR_PLATFORM}
    able = [verdict for verdict in verdicts if verdict.rank.suits == 2]
    if able and all(verdict.reasons & barring for verdict in able):
        tag, platform = machine.python.tag, machine.platform
        libc = " with musl" if platform.libc == "musl" else ""
        yield Finding(
            Ailment.NO_WHEEL_FOR_PYTHON,
            f"no PyTorch wheel is made for {python_name(tag)} on {platform.name}{libc}",
            {"python": tag, "platform": platform.name},
            advice="create an environment with a Python that has wheels: `torchpick list` names them",
        )


def run(exam: Examination, environ: Mapping[str, str] = os.environ) -> Examination:
    """The same examination with what came of real kernels on each GPU: here, and here alone, its code is run."""
    from torchpick.machine import verify

    torch, machine = exam.subject.torch, exam.subject.machine
    python = exam.subject.environment.executable
    if torch is None or python is None:
        return exam
    kind = verify.kind_of(
        family_of(torch.backend), apple=any(gpu.vendor == "apple" and gpu.counted for gpu in machine.gpus)
    )
    gpus = verify.of_kind(kind, machine)
    slow = torch.verdict is not None and any(fit.fit is Fit.JIT for fit in torch.verdict.fits)
    verified = verify.run(python, kind, gpus, environ, verify.deadline(compiles=slow))
    failed = [_failed(ran, torch.label) for ran in verified.ran if not ran.ok]
    passed = tuple(f"{ran.name}: computes" for ran in verified.ran if ran.ok)
    nothing = () if verified.ran else ("nothing: there is no GPU to run on",)
    return exam._replace(findings=worst_first((*exam.findings, *failed)), ran=passed or nothing)


def _failed(ran: Ran, torch: str) -> Finding:
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    name = ran.name if ran.gpu is None else f"GPU {ran.gpu}, {ran.name}"
    seen = {"gpus": [] if ran.gpu is None else [ran.gpu], "error": ran.error, "text": ran.text[:2000]}
    advice = "`torchpick explain` knows many of these texts"
    return Finding(Ailment.VERIFY_FAILED, f"{torch} does not compute on {name}: {first}", seen, advice=advice)


def of_process(subject: Subject, imported: str | None) -> tuple[Finding, ...]:
    """Where this process has imported another torch than the one that its environment holds now."""
    installed = None if subject.torch is None else subject.torch.version
    if imported is None or installed is None or imported == installed:
        return ()
    text = f"this process has imported torch {imported}, and torch {installed} is installed now"
    advice = "restart the kernel (or the program): a module that is imported stays as it is"
    return (Finding(Ailment.RESTART_KERNEL, text, {"imported": imported, "installed": installed}, advice),)


def target(python: str | None, environ: Mapping[str, str], folder: str) -> tuple[str, str]:
    """The environment to look at, and how it was chosen."""
    from torchpick.environment import interpreter
    from torchpick.environment.world import World, which

    hint = "name an interpreter or an environment's folder: `--python .venv`"
    if python is not None:
        if version_of(python) is not None:
            raise UsageError(f"`--python {python}` is a version; doctor examines an environment", hint=hint)
        is_name = os.sep not in python and not os.path.isdir(os.path.join(folder, python))
        return (which(python, environ) or python) if is_name else python, "given"
    world = World("/", environ, folder, sys.platform)
    for place, source in interpreter.environments(world):
        return place, source
    tool = interpreter.tool_environment(sys.prefix)
    if tool is None:
        return sys.executable, "the Python that runs torchpick"
    programs = (which(name, environ, outside=sys.prefix) for name in ("python3", "python"))
    path = next(filter(None, programs), None)
    if path is None:
        raise UsageError(f"torchpick runs in a {tool} environment, and no Python is on PATH", hint=hint)
    return path, f"Python on PATH (torchpick itself runs in a {tool} environment)"


def _machine(session: Session, here: Environment) -> Machine:
    """The machine, with the Python of the environment; a driver that does not answer is a finding, not an error."""
    python = Python(here.version, here.implementation, here.free_threaded, here.executable, here.source)
    request = session.request
    if request.machine is None:
        version = f"{here.version}{'t' if here.free_threaded else ''}"
        return session.asking(request._replace(python=version)).machine._replace(python=python)
    fleet = session.asking(request._replace(python=None)).fleet
    if fleet.count > 1:
        hint = "give `--machine` a file with one machine"
        raise UsageError(f"{fleet.count} machines were given, and one environment is examined", hint=hint)
    return fleet.machines[0]._replace(python=python)
