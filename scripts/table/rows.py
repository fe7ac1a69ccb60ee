"""The readable files of compat/ → builds. They are trusted: `scripts/check-compat` holds them to their format. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchpick.knowledge.indexes import arches_of
from torchpick.model.build import COMPANIONS, Build, Evidence, VendorIndex
from torchpick.model.versions import release_key

Row = Mapping[str, Any]


class Pairing(NamedTuple):
    """The companions of one build with their labels, None where there is none, how each is known, and its Pythons."""

    versions: dict[str, str | None]
    bases: dict[str, str]
    pythons: dict[str, tuple[str, ...]]


class Companions:
    """Which torchvision and torchaudio go with a torch, as companions.json says."""

    def __init__(self, file: Row) -> None:
        self._pairs = {row["torch"]: row for row in file["pairs"]}
        self._exceptions = {(row["torch"], row["backend"]): row for row in file["exceptions"]}
        self._open: list[Row] = file["open"]
        self._pythons = {(row["name"], row["version"]): row["pythons"] for row in file["files"]}
        self._seen = {row["platform"]: row["files"] for row in file["seen"]}
        self._unlabelled: list[Row] = file["unlabelled"]

    def of_build(self, torch: str, backend: str, platform: str, label: str, cuda: str | None) -> Pairing:
        """The companions of a build by its torch, torch's label among it."""
        pair = self._pairs.get(torch, {"basis": "inferred"})
        versions: dict[str, str | None] = {name: pair[name] for name in COMPANIONS if name in pair}
        bases: dict[str, str] = dict.fromkeys([*COMPANIONS], str(pair["basis"]))
        for row in self._open:
            held = row["held"].get(platform, {})
            # Torchaudio refuses any other CUDA major.minor than torch's own when it loads (`_check_cuda_version`).
            fits = backend in held and held[backend] == cuda and release_key(torch) >= release_key(row["from"])
            if fits and versions.get(row["name"]) is None:
                versions[row["name"]], bases[row["name"]] = row["version"], "inferred"
        exception = self._exceptions.get((torch, backend), {})
        versions |= {name: exception[name] for name in COMPANIONS if name in exception}
        found = Pairing(dict.fromkeys(versions), {}, {})
        for name, version in versions.items():
            if version is not None:
                self._add(found, name, version, platform, label, bases[name])
        return found

    def _add(self, found: Pairing, name: str, version: str, platform: str, label: str, basis: str) -> None:
        """Add a companion's release with the label and the Pythons of its file on this platform, where it has one."""
        if platform in self._seen:  # by the one file name that was seen of it, whose label may be another than torch's
            files = self._seen[platform].get(name, {})
            full = next((full for full in files if full.partition("+")[0] == version), None)
            if full is not None:
                found.versions[name], found.bases[name], found.pythons[name] = full, basis, tuple(files[full])
            return
        found.versions[name] = version if self._is_unlabelled(name, version, platform) else version + label
        pythons = self._pythons.get((name, version))
        # Where none of its files was seen on the platform it is inferred to be there.
        found.bases[name] = basis if pythons is None or platform in pythons else "inferred"
        if pythons is not None:
            found.pythons[name] = tuple(pythons.get(platform, pythons["*"]))

    def _is_unlabelled(self, name: str, version: str, platform: str) -> bool:
        return any(
            row["name"] == name
            and row["platform"] in ("*", platform)
            and release_key(version) < release_key(row["before"])
            for row in self._unlabelled
        )


def of_release(file: Row, companions: Companions) -> Iterator[Build]:
    """The builds of one release."""
    for row in file["builds"]:
        _, plus, label = row["version"].partition("+")
        paired = companions.of_build(file["torch"], row["backend"], row["platform"], plus + label, row["cuda"])
        evidence = row["evidence"]
        yield Build(
            torch=file["torch"],
            **_as_listed(row),
            platform=row["platform"],
            arches=None if row["arches"] is None else arches_of(row["arches"]),
            glibc=row["glibc"],
            libraries=row["libraries"],
            lacks={library: arches_of(arches) for library, arches in row["lacks"].items()},
            published=row["published"],
            yanked=row["yanked"],
            companions=paired.versions,
            companion_basis=paired.bases,
            companion_pythons=paired.pythons,
            evidence=Evidence(evidence["kind"], evidence["ref"], evidence["twin"]),
        )


def of_vendors(file: Row) -> Iterator[Build]:
    """What vendors publish on indexes of their own, beside the wheel host: each build on each of its platforms."""
    indexes = {row["name"]: _vendor_index(row) for row in file["indexes"]}
    for row in file["builds"]:
        index = indexes[row["index"]]
        for platform in row["platforms"]:
            yield Build(
                torch=row["torch"],
                **_as_listed(row),
                platform=platform,
                arches=arches_of(row["arches"]),
                glibc=None,
                libraries={},
                lacks={},
                published=True,
                yanked=False,
                companions=row["companions"],
                companion_basis={
                    name: "inferred" if name in index.inferred else "declared" for name in row["companions"]
                },
                evidence=Evidence("declared", row["ref"]),
                vendor=index._replace(needs=tuple(row.get("needs", ()))),
            )


def _as_listed(row: Row) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("backend", "version", "cuda")},
        **{name: tuple(row[name]) for name in ("pythons", "tags")},
    }


def _vendor_index(row: Row) -> VendorIndex:
    texts = (row["vendor"], row["url"], row["option"])
    return VendorIndex(
        *texts, tuple(row["projects"]), arches_of(row["documented"]), row["alone"], tuple(row["inferred"])
    )
