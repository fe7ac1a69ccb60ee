"""The build that fixes an environment and keeps what it can: the version, the companions, what others ask of torch.

Pure: the verdicts on every build are handed in, as resolve gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchpick.model.arch import Fit
from torchpick.model.build import toolkit_order
from torchpick.model.noun import Noun
from torchpick.model.verdict import Reason, Verdict
from torchpick.model.versions import release_key


class TorchRequirement(Noun):
    """What an installed package asks of torch."""

    package: str
    requirement: str
    admits: Callable[[str], bool]


class Cure(Noun):
    """The build to install, the requirements that say so, and what could not be kept.

    `narrowed`: the requirements alone would pick another backend, so it has to be named.
    """

    verdict: Verdict
    requirements: tuple[str, ...]
    kept: bool
    lost: tuple[str, ...] = ()
    narrowed: bool = False

    @property
    def backend(self) -> str:
        return self.verdict.build.backend

    @property
    def version(self) -> str:
        return self.verdict.build.version


def find(
    release: str | None,
    companions: Sequence[str],
    asks: Iterable[TorchRequirement],
    verdicts: Iterable[Verdict],
    backend: str | None = None,
) -> Cure | None:
    """The nearest build that runs: of the same release if there is one; without a release the best of all.

    `companions` are those installed, torchvision and torchaudio. Nearness is counted in releases. `backend` is the one
    to stay with where it runs: that of a torch with which nothing is wrong.
    """
    running = [verdict for verdict in verdicts if verdict.ok]
    if not running:
        return None
    asks = tuple(asks)
    same = [verdict for verdict in running if verdict.build.torch == release]
    if same:
        best = max(same, key=lambda each: each.rank)
        own = next((verdict for verdict in same if verdict.build.backend == backend), best)
        return _cure(own, companions, asks, kept=True)._replace(narrowed=own is not best)
    pleased = [verdict for verdict in running if all(ask.admits(verdict.build.torch) for ask in asks)] or running
    whole = [verdict for verdict in pleased if all(verdict.build.companions.get(name) for name in companions)]
    candidates = whole or pleased
    if release is None:
        best = max(candidates, key=lambda each: each.rank)
        newest = best is max(running, key=lambda each: each.rank)
        return _cure(best, companions, asks, kept=False, pinned=not newest)
    steps = _steps(release, running)
    nearest = min(steps[each.build.torch] for each in candidates)
    close = [each for each in candidates if steps[each.build.torch] == nearest]
    return _cure(max(close, key=lambda each: each.rank), companions, asks, kept=False)


def _steps(release: str, running: Iterable[Verdict]) -> dict[str, int]:
    """How many releases away each one is from the installed; one that cannot be read counts as the oldest."""
    try:
        here = release_key(release)
    except ValueError:
        here = release_key("0")
    releases = sorted({each.build.torch for each in running}, key=release_key)
    older = sum(1 for each in releases if release_key(each) < here)
    return {each: older - place if place < older else place - older + 1 for place, each in enumerate(releases)}


def _cure(
    verdict: Verdict, companions: Sequence[str], asks: Iterable[TorchRequirement], *, kept: bool, pinned: bool = True
) -> Cure:
    build = verdict.build
    there = [name for name in companions if build.companions.get(name)]
    lost = [f"{name} (none was published for torch {build.torch})" for name in companions if name not in there]
    lost += [f"{ask.package} (it requires {ask.requirement})" for ask in asks if not ask.admits(build.torch)]
    # Where no version was there to keep, none needs to be named: the plain request has the same answer.
    torch = f"torch=={build.torch}" if pinned else "torch"
    return Cure(verdict, (torch, *there), kept, tuple(lost))


def unsupported(verdicts: Sequence[Verdict], gpus: str) -> str | None:
    """What is left for GPUs that no known build runs on, whatever the driver and the Python; None where one may."""
    of_gpus = [verdict for verdict in verdicts if verdict.build.family in ("cuda", "rocm") and verdict.fits]
    if not of_gpus or any(not verdict.reasons & _WITHOUT_CODE for verdict in of_gpus):
        return None
    oldest = min((verdict.build for verdict in of_gpus), key=lambda build: release_key(build.torch))
    with_code = [verdict.build for verdict in of_gpus if all(fit.fit is not Fit.NONE for fit in verdict.fits)]
    if with_code:
        last = max(with_code, key=lambda build: (release_key(build.torch), toolkit_order(build.backend)))
        return (
            f"no published build supports {gpus} as a whole; the last release with code for it is torch {last.version}"
        )
    return (
        f"no published build from torch {oldest.torch} on has code for {gpus}: only an older release, or torch built "
        "from source, runs on it"
    )


_WITHOUT_CODE = frozenset({Reason.NO_KERNELS, Reason.LIBRARY_DROPPED_GPU, Reason.UNKNOWN_ARCHES})


def auto_fails(verdicts: Iterable[Verdict]) -> bool:
    """Whether the newest CUDA that this driver carries has no build that runs here: what uv's `auto` would choose."""
    carried = [
        verdict
        for verdict in verdicts
        if verdict.build.family == "cuda"
        and not {Reason.DRIVER_TOO_OLD, Reason.UNCONFIRMED, Reason.NOT_REQUESTED} & verdict.reasons
    ]
    if not carried:
        return False
    newest = max(toolkit_order(verdict.build.backend) for verdict in carried)
    return not any(verdict.ok for verdict in carried if toolkit_order(verdict.build.backend) == newest)
