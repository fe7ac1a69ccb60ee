"""The command that fixes an environment: the nearest build that runs, with what it keeps; else a package put back.

Here, and nowhere else in this room, builds are weighed and commands are written. Whatever can be kept is: the release,
the companions, what others require of torch.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from torchpick.decide import remarks, resolve
from torchpick.doctor import depends, installedtorch
from torchpick.doctor.depends import Demand
from torchpick.doctor.subject import DescribedEnvironment, EnvironmentUnderTest
from torchpick.environment import shell
from torchpick.environment.distributions import Distribution, Environment
from torchpick.install.question import read_wish
from torchpick.model.build import COMPANIONS, TRIO, Reason, Verdict
from torchpick.model.finding import Ailment, Finding
from torchpick.model.machine import version_of
from torchpick.model.pick import Pick, Request
from torchpick.model.versions import release_key

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
        """What is to be installed."""
        return (*self.requirements, *self.needs)

    @property
    def command(self) -> tuple[str, ...]:
        """What does the same, to be typed."""
        again = ("--", "--force-reinstall") if self.reinstalled else ()
        alone = ("--no-deps",) if self.alone else ()
        return ("torchpick", "install", *self.words, *self.flags, *alone, *again)


class RankedBuilds(NamedTuple):
    """The builds as they are judged for an environment.

    `flags` are what the command has to say beyond the request, and `request` says it all: what would else be looked up
    again, and differ.
    """

    pick: Pick
    request: Request
    flags: tuple[str, ...] = ()


def weigh(subject: EnvironmentUnderTest) -> RankedBuilds | None:
    """The builds that may fix this environment; None where neither a GPU nor a backend is known to go by.

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
    verdicts = tuple(resolve.judge(machine, subject.table, wish))
    wish = wish._replace(allow_cpu=True)  # a build for the CPU alone is no advice here
    return RankedBuilds(Pick((machine,), wish, (), verdicts, changes=remarks.changes(verdicts)), request, flags)


def of(subject: EnvironmentUnderTest, findings: Sequence[Finding], weighed: RankedBuilds) -> Remedy | None:
    """`torchpick install …` for what is wrong with torch, with the machine and the Python as they were given here."""
    here, torch = subject.environment, subject.torch
    recorded = here.find("torch")
    version = torch.release if torch is not None else recorded.version if recorded is not None else ""
    release = version.partition("+")[0] or None
    ailments = {finding.ailment for finding in findings if finding.by_torch}
    backend = None if ailments & BY_HARDWARE else installedtorch.backend_of(torch, here)
    companions = [name for name in COMPANIONS if here.find(name) is not None]
    demands = [demand for demand in depends.on(here, "torch") if demand.by.name not in TRIO]
    verdicts = weighed.pick.considered
    remedy = nearest(release, companions, demands, verdicts, backend)
    if remedy is None:
        return None
    freed = nearest(release, companions, demands, map(_freed, verdicts), backend)
    if freed is not None and freed.version != remedy.version:
        own = next(verdict for verdict in verdicts if verdict.build == freed.verdict.build)
        remedy = remedy._replace(bound_by=tuple(str(objection.facts["limit"]) for objection in own.objections))
    request = weighed.request._replace(backends=(remedy.backend,)) if remedy.narrowed else weighed.request
    narrowed = ("--backend", remedy.backend) if remedy.narrowed else ()
    flags = (*_there(subject.run.request).flags, *weighed.flags, *narrowed)
    needs = tuple(dict.fromkeys(finding.needs for finding in findings if finding.needs and remedy.kept))
    # Nothing less brings the files of a recorded build back. Both installers would take the newest of every
    # dependency along, numpy too, so that is for where a dependency is missing.
    again = bool(ailments & {Ailment.TORCH_BROKEN, Ailment.FILES_MISSING}) and _is_recorded(remedy, here)
    alone = again and not needs and not ailments & {Ailment.REQUIREMENT_MISSING, Ailment.MISSING_LIBRARY}
    pick = _pick(remedy, subject, weighed.pick)
    return remedy._replace(request=request, flags=flags, pick=pick, needs=needs, reinstalled=again, alone=alone)


def for_drivers(subject: EnvironmentUnderTest, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Where the driver is only assumed: the command for each range of drivers that has its own, as lines to read."""
    driver, table = subject.machine.driver, subject.table.drivers
    if driver is None or driver.source != "assumed":
        return ()
    spans: list[tuple[Remedy, int]] = []  # each with the oldest driver that takes it
    newest = table.branch_number(driver)
    for number in reversed([branch.number for branch in table.branches if branch.number <= newest]):
        older = copy.copy(subject)
        older.machine = resolve.with_driver(subject.machine, str(number), table)
        older.run = subject.run.with_request(subject.run.request._replace(driver=str(number)))
        weighed = weigh(older)
        remedy = of(older, findings, weighed) if weighed is not None else None
        if remedy is None:
            break
        # What an older driver runs the newer ones of its CUDA major do too.
        if spans and _release_and_major(remedy) == _release_and_major(spans[-1][0]):
            spans.pop()
        spans.append((remedy, number))
    above = ["or newer", *(f"to {number - 1}" for _, number in spans)]
    return tuple(
        f"with driver {number} {end}: `{shell.line(remedy.command, subject.run.shell)}`, which is {remedy.version}"
        for (remedy, number), end in zip(spans, above, strict=False)
    )


def _release_and_major(remedy: Remedy) -> tuple[str, str]:
    build = remedy.verdict.build
    return build.torch, (build.cuda or "").partition(".")[0]


def _pick(remedy: Remedy, subject: EnvironmentUnderTest, weighed: Pick) -> Pick:
    """The build as the pick for this machine, with the companions that stay beside it."""
    wish = weighed.wish._replace(companions={name: "" for name in remedy.requirements if name in COMPANIONS})
    return remarks.made(weighed.machine, subject.table, wish, remedy.verdict, weighed.considered)


def _there(request: Request) -> Request:
    """The request as it is made on the machine itself: `install` takes no other platform or Python than its own."""
    if version_of(request.python) is not None:
        request = request._replace(python=None)
    return request if request.platform is None else request._replace(platform=None, glibc=None, macos=None)


def _freed(verdict: Verdict) -> Verdict:
    """The verdict as if nothing but the question bound it."""
    others = tuple(objection for objection in verdict.objections if objection.reason is not Reason.CONSTRAINED)
    return verdict if len(others) == len(verdict.objections) else verdict._replace(objections=others)


def _is_recorded(remedy: Remedy, here: Environment) -> bool:
    """Whether the metadata of torch or a companion already says the very build, so that an installer is content."""
    packages = filter(None, map(here.find, ("torch", *COMPANIONS)))
    return any(
        package.version == remedy.version or package.version.endswith(f"+{remedy.backend}") for package in packages
    )


def nearest(
    release: str | None,
    companions: Sequence[str],
    demands: Sequence[Demand],
    verdicts: Iterable[Verdict],
    backend: str | None = None,
) -> Remedy | None:
    """The nearest build that runs: of the same release if there is one; without a release the best of all.

    `companions` are those installed, torchvision and torchaudio. Nearness is counted in releases. `backend` is the one
    to stay with where it runs: that of a torch with which nothing is wrong.
    """
    running = [verdict for verdict in verdicts if verdict.ok]
    if not running:
        return None
    same = [verdict for verdict in running if verdict.build.torch == release]
    if same:
        best = max(same, key=lambda verdict: verdict.rank)
        own = next((verdict for verdict in same if verdict.build.backend == backend), best)
        return _keeping(own, companions, demands, kept=True)._replace(narrowed=own is not best)
    admitted = [demand.admits for demand in demands]
    pleased = [verdict for verdict in running if all(admits(verdict.build.torch) for admits in admitted)] or running
    whole = [verdict for verdict in pleased if all(verdict.build.companions.get(name) for name in companions)]
    candidates = whole or pleased
    if release is None:
        best = max(candidates, key=lambda verdict: verdict.rank)
        # Where no version was there to keep, none needs to be named: the plain request has the same answer.
        pinned = best is not max(running, key=lambda verdict: verdict.rank)
        return _keeping(best, companions, demands, kept=False, pinned=pinned)
    steps = _steps(release, running)
    best = max(candidates, key=lambda verdict: (-steps[verdict.build.torch], verdict.rank))
    return _keeping(best, companions, demands, kept=False)


def _steps(release: str, running: Iterable[Verdict]) -> dict[str, int]:
    """How many releases away each one is from the installed; one that cannot be read counts as the oldest."""
    try:
        here = release_key(release)
    except ValueError:
        here = release_key("0")
    releases = sorted({verdict.build.torch for verdict in running}, key=release_key)
    older = sum(1 for torch in releases if release_key(torch) < here)
    return {torch: older - index if index < older else index - older + 1 for index, torch in enumerate(releases)}


def _keeping(
    verdict: Verdict, companions: Sequence[str], demands: Iterable[Demand], *, kept: bool, pinned: bool = True
) -> Remedy:
    build = verdict.build
    there = [name for name in companions if build.companions.get(name)]
    lost = [f"{name} (none is known for torch {build.torch})" for name in companions if name not in there]
    lost += [f"{demand.by.label} (it requires {demand.text})" for demand in demands if not demand.admits(build.torch)]
    return Remedy(verdict, (f"torch=={build.torch}" if pinned else "torch", *there), kept, tuple(lost))


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
