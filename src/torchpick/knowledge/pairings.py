"""Which companions go with a torch: companions.json as a question, and all that goes with a build. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from torchpick.decide.requested import named
from torchpick.knowledge.rows import paired_with, released
from torchpick.model.build import BUILD_NAMES, COMPANIONS, Build
from torchpick.model.fields import Fields, read, written
from torchpick.model.noun import Noun
from torchpick.model.versions import admits, release_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.model.versions import Admits


class Pairing(Noun):
    """The companions of one build with their labels, None where there is none, and how each is known."""

    versions: Mapping[str, str | None]
    bases: Mapping[str, str]


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
    unlabelled = [(row.text("platform"), row.text("name"), row.text("before")) for row in fields.objects("unlabelled")]
    for place, (_, _, before) in enumerate(unlabelled):
        released(before, fields.at(f"unlabelled[{place}].before"))

    def labelled(name: str, version: str, platform: str) -> bool:
        return not any(
            name == each and where in ("*", platform) and release_key(version) < release_key(before)
            for where, each, before in unlabelled
        )

    def paired(torch: str, backend: str, platform: str, label: str, cuda: str | None) -> Pairing:
        base, basis = pairs.get(torch, ({}, "inferred"))
        plain, bases = dict(base), dict.fromkeys(base, basis)
        for one in open_ended:
            if plain.get(one.name) is None and one.fits(torch, backend, platform, cuda):
                plain[one.name], bases[one.name] = one.version, "inferred"
        plain.update(exceptions.get((torch, backend), {}))
        versions = {
            name: version + label if version is not None and labelled(name, version, platform) else version
            for name, version in plain.items()
        }
        return Pairing(versions, {name: bases.get(name, basis) for name, version in plain.items() if version})

    return paired


def _open(row: Fields) -> OpenCompanion:
    released(row.text("version"), row.at("version"))
    released(row.text("from"), row.at("from"))
    held = row.object("held")
    places = {
        platform: {backend: held.object(platform).maybe_text(backend) for backend in held.object(platform).names()}
        for platform in held.names()
    }
    return OpenCompanion(row.text("name"), row.text("version"), row.text("from"), places)


class KnownCompanion(Noun):
    """A companion's version, and how it is known to belong to this torch."""

    version: str
    basis: str


class OtherCompanion(Noun):
    """One release of a companion that is not pinned with torch: which torch, and which CUDA major if it links one."""

    name: str
    version: str
    torch: Admits
    cuda_major: int | None
    basis: str

    def fits(self, build: Build) -> bool:
        """Whether it belongs to this build; what links one CUDA does not work with another."""
        return self.torch(build.torch) and self.cuda_major in (None, build.cuda_major)


class BuildCompanions(Noun):
    """A build and what goes with it by name."""

    build: Build
    companions: Mapping[str, KnownCompanion]

    def to_json(self) -> dict[str, object]:
        return {**written(self.build, *BUILD_NAMES), **written(self, "companions")}


def others(fields: Fields) -> tuple[OtherCompanion, ...]:
    """The `others` of companions.json, the newest of each first."""
    found = [read(OtherCompanion, row, torch=admits(row.text("torch"))) for row in fields.objects("others")]
    return tuple(sorted(found, key=lambda one: release_key(one.version), reverse=True))


def bounded(requirements: Iterable[str], build: Build, known: Iterable[OtherCompanion]) -> tuple[str, ...]:
    """The requirements, kept to the releases that belong to this build where any is known that does."""
    mine = [one for one in known if build.family in ("cuda", "cpu") and one.fits(build)]
    return tuple(_bounded(text, [one for one in mine if one.name == named(text)]) for text in requirements)


def _bounded(text: str, known: list[OtherCompanion]) -> str:
    wanted = text[len(named(text)) :]
    admitted = [one.version for one in known if admits(wanted)(one.version)]
    if not admitted:
        return text
    newest, oldest = admitted[0], admitted[-1]
    bounds = f"=={newest}" if newest == oldest else f">={oldest},<={newest}"
    return f"{text}{',' if wanted else ''}{bounds}"


def beside(build: Build, known: Iterable[OtherCompanion]) -> BuildCompanions:
    """What goes with a build: the pinned ones with their labels, the others by their newest fitting release."""
    found = {
        name: KnownCompanion(version, build.companion_basis.get(name, "inferred"))
        for name in COMPANIONS
        if (version := build.companions.get(name)) is not None
    }
    if build.family in ("cuda", "cpu"):  # what is known of the others was read of these wheels alone
        for one in known:
            if one.name not in found and one.fits(build):
                found[one.name] = KnownCompanion(one.version, one.basis)
    return BuildCompanions(build, found)
