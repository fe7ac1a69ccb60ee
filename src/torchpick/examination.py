"""An environment and a machine → findings, and the command that mends it. Here doctor meets the other edges."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping

from torchpick import gathering, question, remarks, resolve, shipped
from torchpick.doctor import checks, cure, environment
from torchpick.doctor.cure import Cure
from torchpick.doctor.facts import Environment, Facts
from torchpick.errors import UsageError
from torchpick.gathering import Around
from torchpick.model.arch import Fit
from torchpick.model.build import COMPANIONS, family_of
from torchpick.model.finding import ERROR, Ailment, Finding, worst_first
from torchpick.model.machine import Machine, Python
from torchpick.model.noun import Noun
from torchpick.model.pythons import python_name, version_of
from torchpick.model.table import Table
from torchpick.model.verdict import Reason, Verdict
from torchpick.request import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.verify import Ran


class Examination(Noun):
    """What was looked at, what is wrong, and the command that mends torch; `command` None where none does.

    `ran` says on what kernels were run, where they were.
    """

    facts: Facts
    findings: tuple[Finding, ...]
    cure: Cure | None = None
    command: tuple[str, ...] | None = None
    ran: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return all(finding.severity != ERROR for finding in self.findings)


def examine(
    request: Request,
    environ: Mapping[str, str] = os.environ,
    folder: str | None = None,
    *,
    torch_alone: bool = False,
    tell: question.Tell = None,
) -> Examination:
    """Judge the environment of `request.python`, else the active one; nothing in it is run.

    `torch_alone` looks at nothing but torch itself, for an answer in a moment.
    """
    folder = os.getcwd() if folder is None else folder
    path, source = target(request.python, environ, folder)
    here = environment.read(path, environ, source=source, metadata=not torch_alone)
    rules = shipped.rules(environ)
    machine = _machine(request, environ, rules, here, tell)
    table = question.table_of((machine,), environ, rules, request.channel)
    told = request.gpus is not None or request.machine is not None or bool(environ.get("TORCHPICK_GPU"))
    around = Around(environ, folder, table, machine, told)
    facts = gathering.torch_alone(here, around) if torch_alone else gathering.everything(here, around)
    return _judged(facts, request, environ, table)


def _judged(facts: Facts, request: Request, environ: Mapping[str, str], table: Table) -> Examination:
    machine = facts.machine
    findings = checks.run(checks.CHECKS, facts)
    by_torch = any(each.by_torch for each in findings)
    auto = any(each.backend == "auto" for each in facts.settings)
    verdicts: tuple[Verdict, ...] = ()
    # Without an answer of the driver nothing is guessed, so nothing is weighed either.
    if machine.trouble is None and (by_torch or auto):
        verdicts = tuple(resolve.judge(machine, table, question.wish_of(request, environ)))
    if facts.torch is None and (why := _unwheeled(verdicts, machine)):
        facts = facts._replace(unwheeled=why)
        findings = checks.run(checks.CHECKS, facts)
    found = _cure(facts, verdicts) if by_torch else None
    command = None if found is None else _command(found, findings, request)
    facts = facts._replace(wanted=_wanted(facts, found), uv_auto_fails=auto and cure.auto_fails(verdicts))
    findings += checks.run(checks.LAST, facts)
    changes = () if found is not None else tuple(change.text for change in remarks.changes(verdicts))
    mended = [_mended(each, found, command, changes) for each in findings]
    return Examination(facts, worst_first(mended), found, command)


def run(exam: Examination, environ: Mapping[str, str] = os.environ) -> Examination:
    """The same examination with what came of real kernels on each GPU: here, and here alone, its code is run."""
    from torchpick.install import verify

    facts = exam.facts
    torch, python = facts.torch, facts.environment.executable
    if torch is None or python is None:
        return exam
    gpus = [gpu for gpu in facts.gpus if gpu.vendor in ("nvidia", "amd", "intel")]
    apple = any(gpu.vendor == "apple" for gpu in facts.gpus)
    kind = verify.kind_of(family_of(torch.backend), apple=apple)
    slow = torch.verdict is not None and any(fit.fit is Fit.JIT for fit in torch.verdict.fits)
    deadline = verify.deadline(compiles=slow)
    found = verify.run(python, kind, gpus if kind in ("cuda", "xpu") else (), environ, deadline)
    failed = [_failed(ran, torch.label) for ran in found.ran if not ran.ok]
    passed = tuple(f"{ran.name}: computes" for ran in found.ran if ran.ok)
    nothing = () if found.ran else ("nothing: there is no GPU to run on",)
    return exam._replace(findings=worst_first((*exam.findings, *failed)), ran=passed or nothing)


def _failed(ran: Ran, torch: str) -> Finding:
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    name = ran.name if ran.gpu is None else f"GPU {ran.gpu}, {ran.name}"
    seen = {"gpus": [] if ran.gpu is None else [ran.gpu], "error": ran.error, "text": ran.text[:2000]}
    advice = "`torchpick explain` knows many of these texts"
    return Finding(Ailment.VERIFY_FAILED, f"{torch} does not compute on {name}: {first}", seen, advice=advice)


def target(told: str | None, environ: Mapping[str, str], folder: str) -> tuple[str, str]:
    """The environment to look at, and how it was chosen."""
    if told is not None:
        if version_of(told) is not None:
            hint = "name an interpreter or an environment's folder: `--python .venv`"
            raise UsageError(f"`--python {told}` is a version, and an environment is what is looked at", hint=hint)
        if os.sep not in told and not os.path.exists(told):
            import shutil

            return shutil.which(told, path=environ.get("PATH")) or told, "told"
        return told, "told"
    from torchpick.detection import interpreter
    from torchpick.detection.world import World

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


def _machine(
    request: Request, environ: Mapping[str, str], table: Table, here: Environment, tell: question.Tell
) -> Machine:
    """The machine, with the Python of the environment; a driver that does not answer is a finding, not an error."""
    python = Python(here.version, here.implementation, here.free_threaded, here.executable, here.source)
    if request.machine is None:
        version = f"{here.version}{'t' if here.free_threaded else ''}"
        return question.machine_of(request._replace(python=version), environ, table, tell)._replace(python=python)
    machines = question.machines_of(request._replace(python=None), environ, table, tell)
    if len(machines) > 1:
        hint = "tell one machine"
        raise UsageError(f"{len(machines)} machines were told, and one environment is looked at", hint=hint)
    return machines[0]._replace(python=python)


def _unwheeled(verdicts: Iterable[Verdict], machine: Machine) -> str | None:
    """Why no wheel at all fits this Python, where that is so."""
    barring = {Reason.NO_WHEEL_FOR_PYTHON, Reason.NO_WHEEL_FOR_PLATFORM}
    able = [verdict for verdict in verdicts if verdict.rank.suits == 2]
    if not able or not all(verdict.reasons & barring for verdict in able):
        return None
    libc = " with musl" if machine.platform.libc == "musl" else ""
    return f"no PyTorch wheel is made for {python_name(machine.python.tag)} on {machine.platform.name}{libc}"


def _cure(facts: Facts, verdicts: tuple[Verdict, ...]) -> Cure | None:
    here, torch = facts.environment, facts.torch
    release = torch.release if torch is not None else None
    if release is None and (one := here.find("torch")) is not None:
        release = one.version.partition("+")[0] or None
    there = [name for name in COMPANIONS if here.find(name) is not None]
    return cure.find(release, there, gathering.asks(here), verdicts)


def _command(found: Cure, findings: Iterable[Finding], request: Request) -> tuple[str, ...]:
    """`torchpick install …`, with the machine and the Python told as they were told here."""
    words = ["torchpick", "install", *found.requirements]
    for flag, values in (("--gpu", request.gpus), ("--backend", request.backends)):
        for value in values or ():
            words += [flag, value]
    for flag, text in (
        ("--driver", request.driver),
        ("--cuda-driver", request.cuda_driver),
        ("--platform", request.platform),
        ("--glibc", request.glibc),
        ("--machine", request.machine),
        ("--only", request.only),
        ("--python", request.python),
        ("--index-base", request.index_base),
    ):
        if text is not None:
            words += [flag, text]
    if request.visible_only:
        words += ["--gpus", "visible"]
    if request.trust_pci:
        words.append("--trust-pci")
    if any(each.ailment is Ailment.TORCH_BROKEN for each in findings):
        words += ["--", "--force-reinstall"]  # the version is the same, so nothing less brings the files back
    return tuple(words)


def _wanted(facts: Facts, found: Cure | None) -> tuple[str, str] | None:
    """The version and backend to keep."""
    if found is not None:
        return found.version, found.verdict.build.backend
    return None if facts.torch is None else (facts.torch.version, facts.torch.backend)


def _mended(finding: Finding, found: Cure | None, command: tuple[str, ...] | None, changes: tuple[str, ...]) -> Finding:
    """The finding with the command that mends torch, where it asks for that; else with what would have to change."""
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
    advice = f"that is {found.version}{kept}{lost}"
    text = advice if finding.advice is None else f"{advice}; {finding.advice}"
    return finding._replace(cure=shlex.join(command), advice=text)
