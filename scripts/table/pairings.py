"""Which companions go with a torch: companions.json as a question. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scripts.table.strict_rows import paired_with, released
from torchpick.model.build import COMPANIONS
from torchpick.model.fields import Fields
from torchpick.model.noun import Noun
from torchpick.model.versions import release_key


class Pairing(Noun):
    """The companions of one build with their labels, None where there is none, how each is known, and its Pythons."""

    versions: Mapping[str, str | None]
    bases: Mapping[str, str]
    pythons: Mapping[str, tuple[str, ...]]


class Lying(Noun):
    """A companion on a platform: its whole version, its Pythons if they are known, and whether those are inferred."""

    version: str
    pythons: tuple[str, ...] | None
    inferred: bool


class OpenCompanion(Noun):
    """One that belongs to every torch from a release on, on each index that holds it: platform → backend → CUDA."""

    name: str
    version: str
    since: str
    held: Mapping[str, Mapping[str, str | None]]

    def fits(self, torch: str, backend: str, platform: str, cuda: str | None) -> bool:
        """Torchaudio refuses any other CUDA major.minor than torch's own when it loads (`_check_cuda_version`)."""
        held = self.held.get(platform, {})
        return backend in held and held[backend] == cuda and release_key(torch) >= release_key(self.since)


# (torch, backend, platform, local label, CUDA) → its companions
Companions = Callable[[str, str, str, str, "str | None"], Pairing]


def companions(fields: Fields) -> Companions:
    """Which torchvision and torchaudio go with a torch: companions.json as a question."""
    pairs = {}
    for pair in fields.objects("pairs"):
        pairs[pair.text("torch")] = paired_with(pair, COMPANIONS), pair.text("basis")
    exceptions = {}
    for row in fields.objects("exceptions"):
        changed = paired_with(row, [name for name in COMPANIONS if row.has(name)])
        exceptions[row.text("torch"), row.text("backend")] = changed
    open_ended = [_open(row) for row in fields.objects("open")]
    lying = _lying(fields)

    def paired(torch: str, backend: str, platform: str, label: str, cuda: str | None) -> Pairing:
        base, basis = pairs.get(torch, ({}, "inferred"))
        plain, bases = dict(base), dict.fromkeys(base, basis)
        for one in open_ended:
            if plain.get(one.name) is None and one.fits(torch, backend, platform, cuda):
                plain[one.name], bases[one.name] = one.version, "inferred"
        plain.update(exceptions.get((torch, backend), {}))
        there = {name: lying(name, version, platform, label) for name, version in plain.items() if version is not None}
        known = {name: lies for name, lies in there.items() if lies is not None}
        return Pairing(
            {name: known[name].version if name in known else None for name in plain},
            {name: "inferred" if lies.inferred else bases.get(name, basis) for name, lies in known.items()},
            {name: lies.pythons for name, lies in known.items() if lies.pythons is not None},
        )

    return paired


def _lying(fields: Fields) -> Callable[[str, str, str, str], Lying | None]:
    """Where a companion's release lies, by its name, version, platform and torch's label; None where none is known."""
    files = {(row.text("name"), row.text("version")): row.object("pythons") for row in fields.objects("files")}
    seen = {row.text("platform"): row.object("files") for row in fields.maybe_objects("seen")}
    unlabelled = [(row.text("platform"), row.text("name"), row.text("before")) for row in fields.objects("unlabelled")]
    for place, (_, _, before) in enumerate(unlabelled):
        released(before, fields.at(f"unlabelled[{place}].before"))

    def labelled(name: str, version: str, platform: str) -> bool:
        return not any(
            name == each and where in ("*", platform) and release_key(version) < release_key(before)
            for where, each, before in unlabelled
        )

    def lying(name: str, version: str, platform: str, label: str) -> Lying | None:
        if platform in seen:
            return _seen(seen[platform], name, version)
        full = version + label if labelled(name, version, platform) else version
        row = files.get((name, version))
        if row is None:
            return Lying(full, None, inferred=False)
        return Lying(full, row.texts(platform if row.has(platform) else "*"), inferred=not row.has(platform))

    return lying


def _seen(files: Fields, name: str, release: str) -> Lying | None:
    """A release by the one file name that was seen of it, whose label may be another than torch's."""
    versions = files.object(name) if files.has(name) else Fields({})
    found = next((version for version in versions.names() if version.partition("+")[0] == release), None)
    return None if found is None else Lying(found, versions.texts(found), inferred=False)


def _open(row: Fields) -> OpenCompanion:
    released(row.text("version"), row.at("version"))
    released(row.text("from"), row.at("from"))
    held = row.object("held")
    places = {
        platform: {backend: held.object(platform).maybe_text(backend) for backend in held.object(platform).names()}
        for platform in held.names()
    }
    return OpenCompanion(row.text("name"), row.text("version"), row.text("from"), places)
