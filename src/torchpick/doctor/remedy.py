"""The command that fixes an environment: the nearest build that runs, with what it keeps; else a package put back.

Here, and nowhere else in this room, the search is asked and commands are written. Whatever can be kept is: the release,
the companions, what others require of torch.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

from torchpick.decide import refusal, remarks
from torchpick.decide.answer import Answer, Question, driver_spans
from torchpick.doctor import depends, installedtorch
from torchpick.doctor.subject import DescribedEnvironment, EnvironmentUnderTest
from torchpick.environment import shell
from torchpick.environment.distributions import Distribution, Environment
from torchpick.install.question import answer_request, read_wish
from torchpick.model.build import COMPANIONS, TRIO, Verdict
from torchpick.model.finding import Ailment, Finding
from torchpick.model.machine import Machine, version_of
from torchpick.model.pick import Limit, Pick, Request, Wish

# What is wrong with the build itself on these GPUs, so that only another build helps.
BY_HARDWARE = frozenset(
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
UNKNOWN = "neither the backend it had nor a GPU is known: name what to fix it for by `--gpu`, `--backend` or `--cpu`"


class Remedy(NamedTuple):
    """The build to install, the requirements that say so, what could not be kept, and the request that picks it.

    `narrowed`: the requirements alone would pick another backend, so it has to be named. `bound_by` are the constraints
    without which it would be another build. `needs` are requirements that the build makes; `reinstalled`: the same
    version is put over itself, `alone` without its dependencies.
    """

    verdict: Verdict
    requirements: tuple[str, ...]
    kept: bool
    lost: tuple[str, ...] = ()
    narrowed: bool = False
    bound_by: tuple[str, ...] = ()
    request: Request = Request()
    flags: tuple[str, ...] = ()
    pick: Pick | None = None
    needs: tuple[str, ...] = ()
    reinstalled: bool = False
    alone: bool = False

    @property
    def backend(self) -> str:
        return self.verdict.build.backend

    @property
    def version(self) -> str:
        return self.verdict.build.version

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.requirements, *self.needs)

    @property
    def command(self) -> tuple[str, ...]:
        """What does the same, to be typed."""
        again = ("--", "--force-reinstall") if self.reinstalled else ()
        alone = ("--no-deps",) if self.alone else ()
        return ("torchpick", "install", *self.words, *self.flags, *alone, *again)


def _basis(subject: EnvironmentUnderTest) -> tuple[Machine, Wish, Request, tuple[str, ...]] | None:
    """What it is judged by, and the flags beyond the request; None where neither a GPU nor a backend is known.

    An environment without a GPU to judge by is judged by its own backend: nothing is turned into a CPU build.
    """
    machine, wish, request = subject.machine, read_wish(subject.run), _there(subject.run.request)
    flags: tuple[str, ...] = ()
    own = installedtorch.backend_of(subject.torch, subject.environment)
    if machine.trouble is not None:
        machine, flags = machine._replace(gpus=(), trouble=None), ("--gpu", "none")
        request = request._replace(gpus=("none",))
    if not machine.counted and not wish.backends:
        if isinstance(subject, DescribedEnvironment) and machine.driver is not None:
            builds = subject.table.of(machine.platform.name)
            wish = wish._replace(backends=tuple({build.backend for build in builds if build.family == "cuda"}))
        elif own is not None:
            wish, flags = wish._replace(backends=(own,)), (*flags, "--backend", own)
            request = request._replace(backends=(own,))
        elif flags or subject.environment.find("torch") is not None:
            return None  # there is something to keep, and it is not known
    return machine, wish, request, flags


def of(subject: EnvironmentUnderTest, findings: Sequence[Finding]) -> Remedy | str:
    """`torchpick install …` for what is wrong with torch, as machine and Python were given here; else why none does."""
    basis = _basis(subject)
    if basis is None:
        return UNKNOWN
    machine, wish, request, flags = basis
    here, torch = subject.environment, subject.torch
    ailments = {finding.ailment for finding in findings if finding.by_torch}
    backend = None if ailments & BY_HARDWARE else installedtorch.backend_of(torch, here)
    remedy = _nearest(subject, machine, wish, backend)
    if isinstance(remedy, str):
        return remedy
    request = request._replace(backends=(remedy.backend,)) if remedy.narrowed else request
    narrowed = ("--backend", remedy.backend) if remedy.narrowed else ()
    program = here.python.executable if isinstance(subject, DescribedEnvironment) else None
    flags = (*_there(subject.run.request).flags, *flags, *narrowed, *(("--python", program) if program else ()))
    needs = tuple(dict.fromkeys(finding.needs for finding in findings if finding.needs and remedy.kept))
    # Nothing less brings the files of a recorded build back. Both installers would take the newest of every
    # dependency along, numpy too, so that is for where a dependency is missing.
    again = Ailment.TORCH_BROKEN in ailments and _is_recorded(remedy, here)
    alone = again and not needs and not ailments & {Ailment.REQUIREMENT_MISSING, Ailment.MISSING_LIBRARY}
    return remedy._replace(request=request, flags=flags, needs=needs, reinstalled=again, alone=alone)


def _nearest(subject: EnvironmentUnderTest, machine: Machine, wish: Wish, backend: str | None) -> Remedy | str:
    """The answer that stays nearest to what is there: its release, else with as much of what goes with it as can be.

    `backend` is the one to stay with where it runs: that of a torch with which nothing is wrong.
    """
    here = subject.environment

    def ask(of: Wish) -> Answer:
        return answer_request(subject.run, Question(of), machines=(machine,), everything=False)

    recorded = subject.torch or here.find("torch")
    release = "" if recorded is None else recorded.version.partition("+")[0]
    companions = {name: "" for name in COMPANIONS if here.find(name) is not None or name in wish.companions}
    demands = [(package, demand) for package, demand in depends.on(here, "torch") if package.name not in TRIO]
    bound = tuple(Limit("torch", demand.specifier, package.label) for package, demand in demands)
    near = wish._replace(near=release)
    free = ask(near)
    if not free.ok:
        barred = free.pick._replace(wish=wish._replace(allow_cpu=True))  # a build for the CPU alone is no advice here
        return "; ".join(refusal.explain_no_build(barred, subject.table))
    is_kept = free.pick.build.torch == release
    of_all = near._replace(limits=(*wish.limits, *bound), companions=companions)
    wishes: tuple[Wish, ...] = (of_all, of_all._replace(companions={}), near._replace(companions=companions))
    if is_kept:
        is_own = backend is not None and backend in (wish.backends or (backend,))
        wishes = (near._replace(torch=f"=={release}", backends=(str(backend),)),) if is_own else ()
    answers = ((of, free if of == near else ask(of)) for of in wishes)
    taken, answer = next(((of, answer) for of, answer in answers if answer.ok), (near, free))
    build, verdict = answer.pick.build, answer.pick.verdicts[0]
    there = {name: "" for name in companions if build.companions.get(name)}
    lost = [f"{name} (none is known for torch {build.torch})" for name in companions if name not in there]
    unmet = ((package, demand) for package, demand in demands if not depends.admits(demand, build.torch))
    lost += [f"{package.label} (it requires {demand.text})" for package, demand in unmet]
    # Where no version was there to keep, none needs to be named if the plain request has the same answer.
    is_plain = not release and free.pick.version == answer.pick.version
    barring: tuple[Limit, ...] = ()
    if wish.limits:
        unbound = ask(taken._replace(limits=tuple(limit for limit in taken.limits if limit not in wish.limits)))
        barring = remarks.excluding(wish.limits, unbound.pick.build.pins)
    beside = wish._replace(companions=there)
    return Remedy(
        verdict,
        ("torch" if is_plain else f"torch=={build.torch}", *there),
        is_kept,
        tuple(lost),
        narrowed=is_kept and answer.pick.version != free.pick.version,
        bound_by=tuple(limit.text for limit in barring),
        pick=remarks.made(machine, subject.table, beside, verdict, answer.pick.considered),
    )


def for_drivers(subject: EnvironmentUnderTest, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where the driver is only assumed: the command for each range of drivers that has its own, as lines to read."""

    def take(machine: Machine) -> Remedy | None:
        older = copy.copy(subject)
        older.machine = machine
        driver = machine.driver and machine.driver.version
        older.run = subject.run.with_request(subject.run.request._replace(driver=driver))
        remedy = of(older, findings)
        return None if isinstance(remedy, str) else remedy

    # What an older driver runs the newer ones of its CUDA major do too.
    spans = driver_spans(subject.machine, subject.table.drivers, take, _release_and_major)
    above = ["or newer", *(f"to {number - 1}" for _, number in spans)]
    return tuple(
        f"with driver {number} {end}: `{shell.line(remedy.command, subject.run.shell)}`, which is {remedy.version}"
        for (remedy, number), end in zip(spans, above, strict=False)
    )


def _release_and_major(remedy: Remedy) -> tuple[str, str]:
    build = remedy.verdict.build
    return build.torch, (build.cuda or "").partition(".")[0]


def _there(request: Request) -> Request:
    """The request as it is made on the machine itself: `install` takes no other platform or Python than its own."""
    if version_of(request.python) is not None:
        request = request._replace(python=None)
    return request if request.platform is None else request._replace(platform=None, glibc=None, macos=None)


def _is_recorded(remedy: Remedy, here: Environment) -> bool:
    """Whether the metadata of torch or a companion already says the very build, so that an installer is content."""
    packages = filter(None, map(here.find, ("torch", *COMPANIONS)))
    return any(
        package.version == remedy.version or package.version.endswith(f"+{remedy.backend}") for package in packages
    )


def brings(remedy: Remedy, finding: Finding) -> str:
    """What the command installs, and what it keeps."""
    lost = f"; it cannot keep {', '.join(remedy.lost)}" if remedy.lost else ""
    lost += f"; bound by {' and '.join(remedy.bound_by)}" if remedy.bound_by else ""
    if remedy.kept:
        how = ", which keeps the version"
    elif finding.ailment is Ailment.TORCH_MISSING:
        how = ", the best for this machine"
    else:
        how = f": torch {remedy.verdict.build.torch} is the nearest release that runs"
    return f"that is {remedy.version}{how}{lost}"


def by_installer(here: Environment, quoting: str, verb: str, *words: str) -> str:
    """A command of the environment's own pip, of uv where there is none, in the quoting of a shell."""
    if not has_pip(here):
        return shell.line(["uv", "pip", verb, "--python", here.program, *words], quoting)
    yes = ["-y"] if verb == "uninstall" else []
    return shell.line([here.program, "-m", "pip", verb, *yes, *words], quoting)


def put_back(here: Environment, quoting: str, package: Distribution) -> str:
    """The command that brings the files of an installed version back."""
    again = "--force-reinstall" if has_pip(here) else "--reinstall"
    return by_installer(here, quoting, "install", again, "--no-deps", f"{package.name}=={package.version}")


def has_pip(here: Environment) -> bool:
    return here.find("pip") is not None
