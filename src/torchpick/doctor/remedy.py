"""The command that fixes an environment: the nearest build that runs, with what it keeps; else a package put back.

Here, and nowhere else in this room, builds are weighed and commands are written. Whatever can be kept is: the release,
the companions, what others require of torch.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from torchpick.decide import remarks, resolve
from torchpick.doctor import depends, installedtorch
from torchpick.doctor.depends import Demand
from torchpick.doctor.subject import Subject
from torchpick.environment.distributions import Distribution, Environment
from torchpick.model.arch import Fit
from torchpick.model.build import COMPANIONS, toolkit_order
from torchpick.model.finding import Ailment, Finding
from torchpick.model.noun import Noun
from torchpick.model.verdict import Reason, Verdict
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
_WITHOUT_CODE = frozenset({Reason.NO_KERNELS, Reason.LIBRARY_DROPPED_GPU, Reason.UNKNOWN_ARCHES})
_UNKNOWN = "neither the backend it had nor a GPU is known: name what to fix it for by `--gpu`, `--backend` or `--cpu`"


class Remedy(Noun):
    """The build to install, the requirements that say so, what could not be kept, and the command.

    `narrowed`: the requirements alone would pick another backend, so it has to be named. `bound_by` are the constraints
    without which it would be another build.
    """

    verdict: Verdict
    requirements: tuple[str, ...]
    kept: bool
    lost: tuple[str, ...] = ()
    narrowed: bool = False
    bound_by: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def backend(self) -> str:
        return self.verdict.build.backend

    @property
    def version(self) -> str:
        return self.verdict.build.version

    @property
    def text(self) -> str:
        """The command as a shell takes it."""
        return shlex.join(self.command)


class Weighed(Noun):
    """The builds as they are judged for an environment, best first.

    `flags` are what the command has to say beyond the request: what would else be looked up again, and differ.
    """

    verdicts: tuple[Verdict, ...] = ()
    flags: tuple[str, ...] = ()


def weigh(subject: Subject) -> Weighed | None:
    """The builds that may fix this environment; None where neither a GPU nor a backend is known to go by.

    An environment without a GPU to judge by is judged by its own backend: nothing is turned into a CPU build.
    """
    machine, wish = subject.machine, subject.session.wish
    flags: tuple[str, ...] = ()
    own = installedtorch.backend_of(subject.torch, subject.environment)
    if machine.trouble is not None:
        machine, flags = machine._replace(gpus=(), trouble=None), ("--gpu", "none")
    if not machine.counted and not wish.backends:
        if own is not None:
            wish, flags = wish._replace(backends=(own,)), (*flags, "--backend", own)
        elif flags or subject.environment.find("torch") is not None:
            return None  # there is something to keep, and it is not known
    return Weighed(tuple(resolve.judge(machine, subject.table, wish)), flags)


def of(subject: Subject, findings: Sequence[Finding], weighed: Weighed) -> Remedy | None:
    """`torchpick install …` for what is wrong with torch, with the machine and the Python as they were given here."""
    here, torch = subject.environment, subject.torch
    recorded = here.find("torch")
    release = torch.release if torch is not None else None
    if release is None and recorded is not None:
        release = recorded.version.partition("+")[0] or None
    ailments = {finding.ailment for finding in findings if finding.by_torch}
    backend = None if ailments & BY_HARDWARE else installedtorch.backend_of(torch, here)
    companions = [name for name in COMPANIONS if here.find(name) is not None]
    demands = [demand for demand in depends.on(here, "torch") if demand.by.name not in ("torch", *COMPANIONS)]
    remedy = nearest(release, companions, demands, weighed.verdicts, backend)
    if remedy is None:
        return None
    freed = nearest(release, companions, demands, map(_freed, weighed.verdicts), backend)
    if freed is not None and freed.version != remedy.version:
        own = next(verdict for verdict in weighed.verdicts if verdict.build == freed.verdict.build)
        remedy = remedy._replace(bound_by=tuple(str(each.facts["limit"]) for each in own.objections))
    flags = (
        *subject.session.request.flags,
        *weighed.flags,
        *(("--backend", remedy.backend) if remedy.narrowed else ()),
    )
    needs = dict.fromkeys(finding.needs for finding in findings if finding.needs and remedy.kept)
    words = ("torchpick", "install", *remedy.requirements, *needs, *flags)
    if ailments & {Ailment.TORCH_BROKEN, Ailment.FILES_MISSING} and _is_recorded(remedy, here):
        # Nothing less brings the files of a recorded build back. Both installers would take the newest of every
        # dependency along, numpy too, so that is for where a dependency is missing.
        alone = not needs and not ailments & {Ailment.REQUIREMENT_MISSING, Ailment.MISSING_LIBRARY}
        words = (*words, *(("--no-deps",) if alone else ()), "--", "--force-reinstall")
    return remedy._replace(command=words)


def _freed(verdict: Verdict) -> Verdict:
    """The verdict as if nothing but the question bound it."""
    kept = tuple(objection for objection in verdict.objections if objection.reason is not Reason.CONSTRAINED)
    return verdict if len(kept) == len(verdict.objections) else verdict._replace(objections=kept)


def _is_recorded(remedy: Remedy, here: Environment) -> bool:
    """Whether the metadata of torch or a companion already says the very build, so that an installer is content."""
    packages = filter(None, map(here.find, ("torch", *COMPANIONS)))
    return any(each.version == remedy.version or each.version.endswith(f"+{remedy.backend}") for each in packages)


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
    return {torch: older - place if place < older else place - older + 1 for place, torch in enumerate(releases)}


def _keeping(
    verdict: Verdict, companions: Sequence[str], demands: Iterable[Demand], *, kept: bool, pinned: bool = True
) -> Remedy:
    build = verdict.build
    there = [name for name in companions if build.companions.get(name)]
    lost = [f"{name} (none was published for torch {build.torch})" for name in companions if name not in there]
    lost += [f"{demand.by.label} (it requires {demand.text})" for demand in demands if not demand.admits(build.torch)]
    return Remedy(verdict, (f"torch=={build.torch}" if pinned else "torch", *there), kept, tuple(lost))


def brings(remedy: Remedy, finding: Finding) -> str:
    """What the command installs, and what it keeps."""
    lost = f"; it cannot keep {', '.join(remedy.lost)}" if remedy.lost else ""
    lost += f"; bound by {' and '.join(remedy.bound_by)}" if remedy.bound_by else ""
    if remedy.kept:
        kept = ", which keeps the version"
    elif finding.ailment is Ailment.TORCH_MISSING:
        kept = ", the best for this machine"
    else:
        kept = f": torch {remedy.verdict.build.torch} is the nearest release that runs"
    return f"that is {remedy.version}{kept}{lost}"


def changes(weighed: Weighed | None) -> tuple[str, ...]:
    """What would have to change where no build fixes it."""
    return (_UNKNOWN,) if weighed is None else tuple(change.text for change in remarks.changes(weighed.verdicts))


def unsupported(verdicts: Sequence[Verdict], gpus: str) -> str | None:
    """What is left for GPUs that no known build runs on, whatever the driver and the Python; None where one may."""
    of_gpus = [verdict for verdict in verdicts if verdict.build.family in ("cuda", "rocm") and verdict.fits]
    if not of_gpus or any(not verdict.reasons & _WITHOUT_CODE for verdict in of_gpus):
        return None
    with_code = [verdict.build for verdict in of_gpus if all(fit.fit is not Fit.NONE for fit in verdict.fits)]
    if with_code:
        last = max(with_code, key=lambda build: (release_key(build.torch), toolkit_order(build.backend)))
        return (
            f"no published build supports {gpus} as a whole; the last release with code for it is torch {last.version}"
        )
    oldest = min((verdict.build.torch for verdict in of_gpus), key=release_key)
    return (
        f"no published build from torch {oldest} on has code for {gpus}: only an older release, or torch built "
        "from source, runs on it"
    )


def auto_fails(verdicts: Iterable[Verdict]) -> bool:
    """Whether the newest CUDA that this driver carries has no build that runs here: what uv's `auto` would choose."""
    left_out = {Reason.DRIVER_TOO_OLD, Reason.UNCONFIRMED, Reason.NOT_REQUESTED}
    runs: dict[tuple[int, ...], bool] = {}
    for verdict in verdicts:
        if verdict.build.family == "cuda" and not left_out & verdict.reasons:
            toolkit = toolkit_order(verdict.build.backend)
            runs[toolkit] = runs.get(toolkit, False) or verdict.ok
    return bool(runs) and not runs[max(runs)]


def by_installer(here: Environment, verb: str, *words: str) -> str:
    """A command of the environment's own pip; of uv where there is none."""
    if not has_pip(here):
        return shlex.join(["uv", "pip", verb, "--python", here.program, *words])
    yes = ["-y"] if verb == "uninstall" else []
    return shlex.join([here.program, "-m", "pip", verb, *yes, *words])


def put_back(here: Environment, package: Distribution) -> str:
    """The command that brings the files of an installed version back."""
    again = "--force-reinstall" if has_pip(here) else "--reinstall"
    return by_installer(here, "install", again, "--no-deps", f"{package.name}=={package.version}")


def has_pip(here: Environment) -> bool:
    return here.find("pip") is not None
