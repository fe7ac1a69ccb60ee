"""What stands against a state of the search, in words. Pure."""

from __future__ import annotations

from typing import NamedTuple

from torchpick.decide.demands import PackageDemand, are_compatible, concerns, meets
from torchpick.decide.solution import constrained
from torchpick.model.build import COMPANIONS
from torchpick.model.package import Package, PackageFacts
from torchpick.model.verdict import Objection, Verdict
from torchpick.model.versions import release_key, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torchpick.decide.searchfacts import SearchFacts


def no_known(facts: PackageFacts, demands: list[PackageDemand]) -> str:
    """That no known version meets these demands, and from which to which they are known."""
    text = ", ".join(dict.fromkeys(demand.text for demand in demands))
    known = span([package.version for package in reversed(facts.versions)] or ["none"])
    return f"no version within `{text}` is known; known: {known}"


def unread_fault(
    versions: Sequence[Package], number: str, refusal: Callable[[Package], Objection | None]
) -> str | None:
    """What is against a version that has not been read: neither the known one before it nor the one after it runs."""
    beside = [*versions[:1], *versions[-1:]]
    try:
        wanted = release_key(number.removesuffix(".*"))
        older = [package for package in versions if release_key(package.version) <= wanted]
        newer = [package for package in versions if release_key(package.version) >= wanted]
        beside = older[:1] + newer[-1:]
    except ValueError:
        pass  # where a range is asked for, or a number of no such order, the ends stand for it
    refused = [f"{package.version}: {objection.text}" for package in beside if (objection := refusal(package))]
    return f"has not been read; {refused[0]}" if refused and len(refused) == len(beside) else None


class LastChoice(NamedTuple):
    """What was chosen last (None: what is asked itself), the demands that came with it, and those of its own."""

    package: Package | None
    demands: list[PackageDemand]
    own: tuple[PackageDemand, ...]


def no_torch(
    search: SearchFacts, level: int, builds: Iterable[Verdict], every: list[PackageDemand], last: LastChoice
) -> Objection:
    """Why no torch build is left with these demands: the nearest one's own fault, or what contradicts them."""
    package, demands, own = last
    if package is not None:
        for verdict in search.ordered(builds, packages=True):
            objection = search.situation.mismatch(package, verdict.build, own, level)
            if objection and all(meets(verdict.build, demand) for demand in demands):
                return objection
    family = [demand for demand in every if concerns(demand.name) and demand.specifier]
    nobody = ("", package and package.who)  # who asks is said of others alone
    texts = (demand.text if demand.by in nobody else f"{demand.text} (by {demand.by})" for demand in family)
    asks = " and ".join(dict.fromkeys(texts))
    meeting = search.meeting(every)
    if not search.builds and package is not None:  # whatever release it asks for
        meeting, asks = search.verdicts, "a torch that runs here"
    if not meeting:
        beside = " with ".join(
            [
                "known for this platform",
                *dict.fromkeys(demand.name for demand in every if demand.name in COMPANIONS),
            ]
        )
        return constrained(f"no torch build is {asks or beside}{_beyond_table(search, family)}")
    for verdict in meeting:
        if verdict.ok and (why := search.torch_conflict(verdict.build, every)) is not None:
            return constrained(why)
    unfit = [verdict for verdict in meeting if verdict.rank.suits >= 2]
    if not unfit or any(verdict.ok for verdict in meeting):
        return constrained(f"asks for {asks or 'a torch of one CUDA with the rest'}, and no such build is left")
    nearest = min(unfit, key=lambda verdict: len(verdict.reasons))
    why = f"asks for {asks or 'torch'}; the nearest is {nearest.build.version}: {nearest.objections[0].text}"
    return constrained(why)


def _beyond_table(search: SearchFacts, demands: list[PackageDemand]) -> str:
    """That a newer torch than the table has may be what is asked for."""
    newest = max((verdict.build.torch for verdict in search.verdicts), key=release_key, default=None)
    wanted = [demand for demand in demands if demand.name == "torch"]
    if newest is None or not wanted or not are_compatible([*wanted, PackageDemand("torch", f">{newest}")]):
        return ""
    return f": the table ends at {newest}, and `torchpick refresh` looks for newer ones"
