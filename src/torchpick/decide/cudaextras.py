"""Extras that choose a CUDA: which of them an answer's torch asks for. Pure."""

from __future__ import annotations

from torchpick.model.machine import Note
from torchpick.model.package import cuda_of_extra

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torchpick.decide.answer import Answer
    from torchpick.model.package import Package, PackageFacts


def of(answer: Answer, packages: Mapping[str, PackageFacts]) -> dict[str, str]:
    """The extras by which packages of the table that are named are for torch's CUDA; who asks for one has chosen."""
    major, found = answer.pick.build.cuda_major, dict[str, str]()
    if major is None or answer.environment.version("torch") is None:
        return {}
    for demand in answer.question.wanted:
        facts, version = packages.get(demand.name), answer.judged.get(demand.name)
        row = next((row for row in facts.versions if row.version == version), None) if facts else None
        if facts is None or row is None or not facts.in_table:
            continue
        extra = _extra_for(row, major, facts)
        if extra is not None and all(cuda_of_extra(own, facts) is None for own in demand.extras):
            found[demand.name] = extra
    return found


def _extra_for(package: Package, major: int, facts: PackageFacts) -> str | None:
    """The extra for this CUDA major, where without one the package is for another or for none."""
    if package.major == major or package.per_cuda:
        return None
    own = [extra for extra, value in facts.rule.cuda_extras.items() if int(value) == major]
    return next((extra for extra in (f"cuda{major}", f"cu{major}", *own) if package.has_extra(extra)), None)


def notes(extras: Mapping[str, str]) -> Iterator[Note]:
    """What was taken unasked."""
    for name, extra in extras.items():
        yield Note("CUDA_EXTRA", f"{name}[{extra}] is taken: without an extra it is not for torch's CUDA")
