"""An environment and a machine → findings, and the command that fixes it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence

from torchpick.decide import remarks, resolve
from torchpick.doctor import checks, collect, cure, required
from torchpick.doctor.collect import Circumstances
from torchpick.doctor.cure import Cure
from torchpick.doctor.facts import Facts, WantedTorch
from torchpick.environment import distributions
from torchpick.environment.distributions import Environment
from torchpick.errors import UsageError
from torchpick.model.arch import Fit
from torchpick.model.build import COMPANIONS, family_of
from torchpick.model.finding import ERROR, Ailment, Finding, worst_first
from torchpick.model.machine import Machine, Python
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name, version_of
from torchpick.model.request import Request, Wish
from torchpick.model.table import Table
from torchpick.model.verdict import Reason, Verdict
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.machine.verify import Ran


# What is wrong with the build itself on these GPUs, so that only another build helps.
_BY_HARDWARE = frozenset(
    {
        Ailment.CPU_ONLY_BUILD,
        Ailment.OTHER_VENDOR_BUILD,
        Ailment.NO_KERNELS,
        Ailment.PTX_ONLY_DRIVER_TOO_OLD,
        Ailment.DRIVER_TOO_OLD,
        Ailment.LIBRARY_DROPPED_GPU,
        Ailment.UNKNOWN_ARCHES,
        Ailment.PARTIAL_LIBRARY,
        Ailment.PACKAGE_NO_KERNELS,
        Ailment.PACKAGE_PARTLY,
    }
)


_UNKNOWN = "neither the backend it had nor a GPU is known: name what to fix it for by `--gpu`, `--backend` or `--cpu`"


class Examination(Noun):
    """What was looked at, what is wrong, and the command that fixes torch; `command` None where none does.

    `ran` says on what kernels were run, where they were. `unsupported`: no build at all is for these GPUs.
    """

    facts: Facts
    findings: tuple[Finding, ...]
    cure: Cure | None = None
    command: tuple[str, ...] | None = None
    ran: tuple[str, ...] = ()
    unsupported: str | None = None

    def _repr_html_(self) -> str:
        from torchpick.doctor import listed

        return listed.html(self.findings)

    @property
    def ok(self) -> bool:
        return all(finding.severity != ERROR for finding in self.findings)


def examine(session: Session, folder: str | None = None, *, torch_alone: bool = False) -> Examination:
    """Judge the environment of the request's `python`, else the active one; nothing in it is run.

    `torch_alone` looks at nothing but torch itself, for an answer in a moment.
    """
    folder = os.getcwd() if folder is None else folder
    path, source = target(session.request.python, session.environ, folder)
    here = distributions.read(path, session.environ, source=source, metadata=not torch_alone)
    machine = _machine(session, here)
    table, base = session.table_of((machine,)), session.wish.index_base
    around = Circumstances(session.knowledge, folder, table, machine, session.given_gpus, base)
    facts = collect.torch_alone(here, around) if torch_alone else collect.everything(here, around)
    return _judged(facts, session, around.table)


class Weighing(Noun):
    """For which machine, and with which wish, the builds are weighed that may fix an environment.

    `flags` are what the command has to say beyond the request: what would else be looked up again, and differ.
    """

    machine: Machine
    wish: Wish
    flags: tuple[str, ...] = ()


def _judged(facts: Facts, session: Session, table: Table) -> Examination:
    machine = facts.machine
    findings = checks.run(checks.CHECKS, facts)
    auto = any(setting.backend == "auto" for setting in facts.settings)
    # Without an answer of the driver nothing is guessed about the GPU; what belongs together is known all the same.
    fixable = [finding for finding in findings if finding.by_torch and _can_fix(finding, machine)]
    weighing = _weighing(facts, session) if fixable or auto else None
    verdicts: tuple[Verdict, ...] = ()
    if weighing is not None:
        verdicts = tuple(resolve.judge(weighing.machine, table, weighing.wish))
    if facts.torch is None and (why := _unwheeled(verdicts, machine)):
        facts = facts._replace(unwheeled=why)
        findings = checks.run(checks.CHECKS, facts)
    found = _cure(facts, verdicts, findings) if fixable else None
    command = None if found is None or weighing is None else _command(found, findings, facts, session.request, weighing)
    facts = facts._replace(wanted=_wanted(facts, found), uv_auto_fails=auto and cure.auto_fails(verdicts))
    findings += checks.run(checks.LAST, facts)
    changes = () if found is not None else tuple(change.text for change in remarks.changes(verdicts))
    if fixable and weighing is None:
        changes = (_UNKNOWN,)
    gpus = ", ".join(dict.fromkeys(gpu.label for gpu in machine.counted))
    unsupported = None if found is not None or not gpus else cure.unsupported(verdicts, gpus)
    changes = (*changes, *(() if unsupported is None else (unsupported,)))
    fixed = [
        _fixed(finding, found, command, changes) if _can_fix(finding, machine) else finding for finding in findings
    ]
    return Examination(facts, worst_first(fixed), found, command, unsupported=unsupported)


def _can_fix(finding: Finding, machine: Machine) -> bool:
    return machine.trouble is None or finding.ailment not in _BY_HARDWARE


def _weighing(facts: Facts, session: Session) -> Weighing | None:
    """An environment without a GPU to judge by is judged by its own backend: nothing is turned into a CPU build.

    None where neither a GPU nor a backend is known to go by.
    """
    machine, wish = facts.machine, session.wish
    if machine.trouble is None and machine.counted:
        return Weighing(machine, wish)
    alone = machine if machine.trouble is None else machine._replace(gpus=(), trouble=None)
    none = () if machine.trouble is None else ("--gpu", "none")
    if wish.backends:
        return Weighing(alone, wish, none)
    own = collect.backend_of(facts)
    if own is not None:
        return Weighing(alone, wish._replace(backends=(own,)), (*none, "--backend", own))
    # There is nothing to keep, and no GPU either.
    return Weighing(machine, wish) if facts.environment.find("torch") is None and machine.trouble is None else None


def run(exam: Examination, environ: Mapping[str, str] = os.environ) -> Examination:
    """The same examination with what came of real kernels on each GPU: here, and here alone, its code is run."""
    from torchpick.machine import verify

    facts = exam.facts
    torch, python = facts.torch, facts.environment.executable
    if torch is None or python is None:
        return exam
    there = [gpu for gpu in facts.machine.gpus if gpu.counted]
    kind = verify.kind_of(family_of(torch.backend), apple=any(gpu.vendor == "apple" for gpu in there))
    gpus = verify.of_kind(kind, facts.machine)
    slow = torch.verdict is not None and any(fit.fit is Fit.JIT for fit in torch.verdict.fits)
    deadline = verify.deadline(compiles=slow)
    found = verify.run(python, kind, gpus, environ, deadline)
    failed = [_failed(ran, torch.label) for ran in found.ran if not ran.ok and not ran.partial]
    passed = tuple(_passed(ran) for ran in found.ran if ran.ok or ran.partial)
    nothing = () if found.ran else ("nothing: there is no GPU to run on",)
    return exam._replace(findings=worst_first((*exam.findings, *failed)), ran=passed or nothing)


def _passed(ran: Ran) -> str:
    what = f"{ran.name}, {ran.work}" if ran.work else ran.name
    return f"{what}: computes" if ran.ok else f"{what}: {ran.text.strip().partition(chr(10))[0] or ran.error}"


def _failed(ran: Ran, torch: str) -> Finding:
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    name = ran.name if ran.gpu is None else f"GPU {ran.gpu}, {ran.name}"
    seen = {"gpus": [] if ran.gpu is None else [ran.gpu], "error": ran.error, "text": ran.text[:2000]}
    advice = "`torchpick explain` knows many of these texts"
    return Finding(Ailment.VERIFY_FAILED, f"{torch} does not compute on {name}: {first}", seen, advice=advice)


def target(python: str | None, environ: Mapping[str, str], folder: str) -> tuple[str, str]:
    """The environment to look at, and how it was chosen."""
    if python is not None:
        if version_of(python) is not None:
            hint = "name an interpreter or an environment's folder: `--python .venv`"
            raise UsageError(f"`--python {python}` is a version; doctor examines an environment", hint=hint)
        if os.sep not in python and not os.path.exists(python):
            import shutil

            return shutil.which(python, path=environ.get("PATH")) or python, "given"
        return python, "given"
    from torchpick.environment import interpreter
    from torchpick.environment.world import World

    world = World("/", environ, folder, sys.platform)
    for place, source in interpreter.environments(world):
        return place, source
    if (tool := interpreter.tool_environment(sys.prefix)) is not None:
        found = (interpreter.which(name, world, outside=sys.prefix) for name in ("python3", "python"))
        path = next((each for each in found if each is not None), None)
        if path is None:
            hint = "name an interpreter or an environment's folder: `--python .venv`"
            raise UsageError(f"torchpick runs in a {tool} environment, and no Python is on PATH", hint=hint)
        return path, f"Python on PATH (torchpick itself runs in a {tool} environment)"
    return sys.executable, "the Python that runs torchpick"


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


def _unwheeled(verdicts: Iterable[Verdict], machine: Machine) -> str | None:
    """Why no wheel at all fits this Python, where that is so."""
    barring = {Reason.NO_WHEEL_FOR_PYTHON, Reason.NO_WHEEL_FOR_PLATFORM}
    able = [verdict for verdict in verdicts if verdict.rank.suits == 2]
    if not able or not all(verdict.reasons & barring for verdict in able):
        return None
    libc = " with musl" if machine.platform.libc == "musl" else ""
    return f"no PyTorch wheel is made for {python_name(machine.python.tag)} on {machine.platform.name}{libc}"


def _cure(facts: Facts, verdicts: tuple[Verdict, ...], findings: Iterable[Finding]) -> Cure | None:
    here, torch = facts.environment, facts.torch
    release = torch.release if torch is not None else None
    if release is None and (one := here.find("torch")) is not None:
        release = one.version.partition("+")[0] or None
    there = [name for name in COMPANIONS if here.find(name) is not None]
    by_hardware = any(finding.by_torch and finding.ailment in _BY_HARDWARE for finding in findings)
    return cure.find(release, there, required.asks(here), verdicts, None if by_hardware else collect.backend_of(facts))


def _command(
    found: Cure, findings: Sequence[Finding], facts: Facts, request: Request, weighing: Weighing
) -> tuple[str, ...]:
    """`torchpick install …`, with the machine and the Python given as they were given here."""
    flags = (*request.flags, *weighing.flags)
    if found.narrowed:
        flags = (*flags, "--backend", found.backend)
    needs = dict.fromkeys(finding.needs for finding in findings if finding.needs and found.kept)
    words = ["torchpick", "install", *found.requirements, *needs, *flags]
    by_torch = {finding.ailment for finding in findings if finding.by_torch}
    if not by_torch & {Ailment.TORCH_BROKEN, Ailment.FILES_MISSING} or not _is_recorded(found, facts):
        return tuple(words)
    # Nothing less brings the files of a recorded build back. Both installers would take the newest of every dependency
    # along, numpy too, so that is for where a dependency is missing.
    alone = not needs and not by_torch & {Ailment.REQUIREMENT_MISSING, Ailment.MISSING_LIBRARY}
    return (*words, *(("--no-deps",) if alone else ()), "--", "--force-reinstall")


def _is_recorded(found: Cure, facts: Facts) -> bool:
    """Whether the metadata of torch or a companion already says the very build, so that an installer is content."""
    recorded = [one.version for name in ("torch", *COMPANIONS) if (one := facts.environment.find(name)) is not None]
    return any(version == found.version or version.endswith(f"+{found.backend}") for version in recorded)


def _wanted(facts: Facts, found: Cure | None) -> WantedTorch | None:
    """The version and backend to keep."""
    if found is not None:
        return WantedTorch(found.version, found.backend)
    return None if facts.torch is None else WantedTorch(facts.torch.version, facts.torch.backend)


def _fixed(finding: Finding, found: Cure | None, command: tuple[str, ...] | None, changes: tuple[str, ...]) -> Finding:
    """The finding with the command that fixes torch, where it asks for that; else with what would have to change."""
    if not finding.by_torch:
        return finding
    if found is None or command is None:
        return finding if finding.advice or not changes else finding._replace(advice="; ".join(changes))
    lost = f"; it cannot keep {', '.join(found.lost)}" if found.lost else ""
    if found.kept:
        kept = ", which keeps the version"
    elif finding.ailment is Ailment.TORCH_MISSING:
        kept = ", the best for this machine"
    else:
        kept = f": torch {found.verdict.build.torch} is the nearest release that runs"
    return finding._replace(cure=shlex.join(command), brings=f"that is {found.version}{kept}{lost}")
