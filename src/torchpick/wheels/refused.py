"""Files of an index that are not the files they were: a released wheel never changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from torchpick.errors import TorchpickError, WheelError
from torchpick.model.build import Build, BuildKey
from torchpick.model.noun import Noun
from torchpick.wheels.live import ListedBuild


class FailedRead(Noun):
    """A build whose wheel could not be read, and why."""

    build: ListedBuild
    error: TorchpickError


class RefusedBuild(Noun):
    """A build whose file is not the one that was known: it as it was known, and what is said of it."""

    known: ListedBuild
    failed: FailedRead


def with_another_hash(
    listed: Iterable[ListedBuild], before: Iterable[ListedBuild], rows: Iterable[Build]
) -> dict[BuildKey, RefusedBuild]:
    """The builds whose sample has another sha256 than the same file had before: a released wheel never changes."""
    known = {file: digest for row in rows for file, mark, digest in [row.evidence.ref.partition(" sha256:")] if mark}
    known.update({each.sample.file: each.sample.sha256 for each in before if each.sample.sha256})
    found = {}
    for each in listed:
        link, digest = each.sample, known.get(each.sample.file)
        if digest is not None and link.sha256 is not None and link.sha256 != digest:
            error = WheelError(
                f"its sha256 is {link.sha256}, and was {digest}; a released wheel never changes, so it is refused",
                hint="ask the operator of the index; the known row stays",
            )
            found[each.key] = RefusedBuild(each._replace(sample=link._replace(sha256=digest)), FailedRead(each, error))
    return found
