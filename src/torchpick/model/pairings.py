"""Which companions go with a torch: companions.json as a question. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchpick.model.build import COMPANIONS
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.versions import release_key

# (torch, backend, platform, local label) → companions with their labels, and the basis of that pairing
Companions = Callable[[str, str, str, str], tuple[dict[str, str | None], str]]


def companions(fields: Fields) -> Companions:
    """Which torchvision and torchaudio go with a torch: companions.json as a question."""
    pairs = {}
    for pair in fields.objects("pairs"):
        pairs[pair.text("torch")] = paired_with(pair, COMPANIONS), pair.text("basis")
    exceptions = {}
    for row in fields.objects("exceptions"):
        changed = paired_with(row, [name for name in COMPANIONS if row.has(name)])
        exceptions[row.text("torch"), row.text("backend")] = changed
    unlabelled = [(row.text("platform"), row.text("name"), row.text("before")) for row in fields.objects("unlabelled")]
    for place, (_, _, before) in enumerate(unlabelled):
        released(before, fields.at(f"unlabelled[{place}].before"))

    def labelled(name: str, version: str, platform: str) -> bool:
        return not any(
            name == each and where in ("*", platform) and release_key(version) < release_key(before)
            for where, each, before in unlabelled
        )

    def paired(torch: str, backend: str, platform: str, label: str) -> tuple[dict[str, str | None], str]:
        base, basis = pairs.get(torch, ({}, "inferred"))
        plain = {**base, **exceptions.get((torch, backend), {})}
        return {
            name: version + label if version is not None and labelled(name, version, platform) else version
            for name, version in plain.items()
        }, basis

    return paired


def paired_with(row: Fields, names: Iterable[str]) -> dict[str, str | None]:
    found = {name: row.maybe_text(name) for name in names}
    for name, version in found.items():
        if version is not None:
            released(version, row.at(name))
    return found


def released(text: str, path: str) -> None:
    try:
        release_key(text)
    except ValueError as error:
        raise ShapeError(path, f"must be a version, is {text!r}") from error
