"""An environment and a machine → findings, and the command that fixes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from torchpick.doctor import depends, gpusupport, loading, locked, presence, remedy
from torchpick.doctor.remedy import BY_HARDWARE, Remedy
from torchpick.doctor.subject import DescribedEnvironment, EnvironmentUnderTest
from torchpick.environment import distributions, interpreter, shell
from torchpick.environment.distributions import Environment
from torchpick.environment.interpreter import EnvironmentChoice
from torchpick.environment.world import World, uv_project
from torchpick.errors import UsageError
from torchpick.model.finding import ERROR, NOTE, Ailment, Finding, worst_first
from torchpick.model.machine import Machine, version_of
from torchpick.run import Run

Check = Callable[[EnvironmentUnderTest], Iterator[Finding]]

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
    loading.hidden,
)
# What is looked at beside torch: an answer about torch alone does not wait for these.
_BESIDE: tuple[Check, ...] = (
    gpusupport.partial,
    depends.together,
    depends.numpy,
    gpusupport.other_cuda,
    gpusupport.without_kernels,
    gpusupport.runtimes,
    gpusupport.twice,
    presence.undone,
    loading.lacking,
    loading.library_path,
)


class Examination(NamedTuple):
    """What was looked at, what is wrong, and the command that fixes torch; `remedy` None where none does.

    `refused`: why no build fixes it.
    """

    subject: EnvironmentUnderTest
    findings: tuple[Finding, ...]
    remedy: Remedy | None = None
    refused: str | None = None

    @property
    def ok(self) -> bool:
        return all(finding.severity != ERROR for finding in self.findings)


def examine(run: Run, *, torch_alone: bool = False) -> Examination:
    """Judge the environment of the request's `python`, else the active one; nothing in it is run.

    `torch_alone` looks at nothing but torch itself, for an answer in a moment.
    """
    choice = target(run.request.python, run.environ, os.getcwd())
    metadata = not torch_alone
    here = distributions.read_environment(choice.python, run.environ, source=choice.source, metadata=metadata)
    return _examined(EnvironmentUnderTest(run, here, _machine(run, here), torch_alone=torch_alone))


def described(run: Run, packages: Mapping[str, str], cuda: str | None, program: str | None = None) -> Examination:
    """Judge an environment by the versions that a text names; `cuda` is the one its torch was built for."""
    return _examined(locked.described_environment(run, run.find_machine(), packages, cuda, program))


def _examined(subject: EnvironmentUnderTest) -> Examination:
    findings = [finding for check in _OF_TORCH for finding in check(subject)]
    if isinstance(subject, DescribedEnvironment):
        findings += [*depends.together(subject), *depends.numpy(subject)]
    if not subject.torch_alone:
        findings += [finding for check in _BESIDE for finding in check(subject)]
    fixable = [finding for finding in findings if finding.by_torch and _can_fix(finding, subject)]
    found = remedy.of(subject, findings) if fixable else None
    fix, refused = (None, found) if isinstance(found, str) else (found, None)
    fixed = [_fixed(subject, finding, fix, refused) if _can_fix(finding, subject) else finding for finding in findings]
    lasting = presence.lasting(subject) if any(_changes_torch(finding, fix) for finding in fixed) else None
    if lasting is not None:
        command, brings = lasting
        cure = shell.line(command, subject.run.shell)
        fixed = [
            finding._replace(cure=cure, brings=brings, advice=finding.advice if finding.by_torch else None)
            if _changes_torch(finding, fix)
            else finding
            for finding in fixed
        ]
    return Examination(subject, worst_first(fixed), fix, refused=refused)


def _changes_torch(finding: Finding, fix: Remedy | None) -> bool:
    """Whether another torch is to come, or one is there that the lock of the project takes away."""
    is_other = fix is not None and finding.by_torch and not fix.reinstalled and finding.cure is not None
    return is_other or (finding.ailment is Ailment.LOCK_UNDOES and finding.severity != NOTE)


def _can_fix(finding: Finding, subject: EnvironmentUnderTest) -> bool:
    """Whether a build could: without an answer of the driver nothing is guessed about the GPU."""
    return subject.machine.trouble is None or finding.ailment not in BY_HARDWARE


def _fixed(subject: EnvironmentUnderTest, finding: Finding, fix: Remedy | None, refused: str | None) -> Finding:
    """The finding with the command that fixes torch, where it asks for that; else with why no build does."""
    if not finding.by_torch:
        return finding
    if fix is None:
        return finding._replace(advice=finding.advice.removeprefix("or ") if finding.advice else refused)
    return finding._replace(cure=shell.line(fix.command, subject.run.shell), brings=remedy.brings(fix, finding))


def target(python: str | None, environ: Mapping[str, str], folder: str) -> EnvironmentChoice:
    hint = "name an interpreter or an environment's folder: `--python .venv`"
    if python is not None:
        if version_of(python) is not None:
            raise UsageError(f"`--python {python}` is a version; doctor examines an environment", hint=hint)
        return EnvironmentChoice(python)
    world = World("/", environ, folder, sys.platform)
    if (active := interpreter.find_environment(world)) is not None:
        return active
    tool = interpreter.own_tool(world)
    if tool is None:
        return EnvironmentChoice(sys.executable, "the Python that runs torchpick")
    if (why := interpreter.no_target(tool, world)) is not None:
        if (project := uv_project(folder)) is not None:
            hint = f"`torchpick doctor {project}/uv.lock` judges its lock"
        raise UsageError(f"no environment to examine: {why}", hint=hint, code="NO_TARGET")
    programs = interpreter.on_path(environ)
    if not programs:
        raise UsageError(f"torchpick runs in a {tool} environment, and no Python is on PATH", hint=hint)
    return EnvironmentChoice(programs[0], f"Python on PATH (torchpick itself runs in a {tool} environment)")


def _machine(run: Run, here: Environment) -> Machine:
    """The machine, with the Python of the environment; a driver that does not answer is a finding, not an error."""
    request = run.request
    if request.machine is None:
        return (
            run.with_request(request._replace(python=here.python.version)).find_machine()._replace(python=here.python)
        )
    fleet = run.with_request(request._replace(python=None)).read_fleet()
    if fleet.count > 1:
        hint = "give `--machine` a file with one machine"
        raise UsageError(f"{fleet.count} machines were given, and one environment is examined", hint=hint)
    return fleet.machines[0]._replace(python=here.python)
