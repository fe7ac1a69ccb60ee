"""The build that mends an environment and keeps what it can: the version, the companions, what others ask of torch.

Pure: the verdicts on every build are handed in, as resolve gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchpick.model.build import toolkit_order
from torchpick.model.noun import Noun
from torchpick.model.verdict import Reason, Verdict
from torchpick.model.versions import release_key


class Ask(Noun):
    """What an installed package asks of torch."""

    package: str
    requirement: str
    admits: Callable[[str], bool]


class Cure(Noun):
    """The build to install, the requirements that say so, and what could not be kept."""

    verdict: Verdict
    requirements: tuple[str, ...]
    kept: bool
    lost: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        return self.verdict.build.version


def find(
    release: str | None, companions: Sequence[str], asks: Iterable[Ask], verdicts: Iterable[Verdict]
) -> Cure | None:
    """The nearest build that runs: of the same release if there is one; without a release the best of all.

    `companions` are those installed, torchvision and torchaudio. Nearness is counted in releases.
    """
    running = [verdict for verdict in verdicts if verdict.ok]
    if not running:
        return None
    asks = tuple(asks)
    same = [verdict for verdict in running if verdict.build.torch == release]
    if same:
        return _cure(max(same, key=lambda each: each.rank), companions, asks, kept=True)
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


def _cure(verdict: Verdict, companions: Sequence[str], asks: Iterable[Ask], *, kept: bool, pinned: bool = True) -> Cure:
    build = verdict.build
    there = [name for name in companions if build.companions.get(name)]
    lost = [f"{name} (none was published for torch {build.torch})" for name in companions if name not in there]
    lost += [f"{ask.package} (it requires {ask.requirement})" for ask in asks if not ask.admits(build.torch)]
    # Where no version was there to keep, none needs to be named: the plain request has the same answer.
    torch = f"torch=={build.torch}" if pinned else "torch"
    return Cure(verdict, (torch, *there), kept, tuple(lost))


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
