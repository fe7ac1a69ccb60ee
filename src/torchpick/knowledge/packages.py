"""What the table knows of packages: CUDA packages, torch's companions, what torch requires, who overwrites whom."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torchpick.knowledge.compat import Knowledge, read
from torchpick.knowledge.indexes import arches_of
from torchpick.knowledge.locations import compat_dir
from torchpick.model.address import check_characters
from torchpick.model.build import COMPANIONS, Build, Evidence
from torchpick.model.fields import Fields, noun_of
from torchpick.model.package import Catalog, LibraryCode, OtherIndex, Package, PackageFacts, WheelRule
from torchpick.model.versions import admits, release_key, remembered

# The wheels whose code was read; on another platform the code of the same version is another.
READ_PLATFORM, WINDOWS = "linux-x86_64", "windows-x86_64"


class KnownPackages(Mapping[str, PackageFacts]):
    """The packages of the table on one platform, each file read when its package is first asked for.

    A plan asks for some five of sixty, and a shared file system counts every one that is opened.
    """

    def __init__(self, environ: Mapping[str, str], platform: str) -> None:
        folder = os.path.join(compat_dir(environ), "packages")
        files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        self._files = {file.removesuffix(".json"): os.path.join(folder, file) for file in files}
        self._facts: Callable[[str], PackageFacts] = remembered(lambda name: facts_of(self._files[name], platform))

    def __getitem__(self, name: str) -> PackageFacts:
        return self._facts(name)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def catalog_of(knowledge: Knowledge, platform: str) -> Catalog:
    """All that the table knows of packages on a platform."""

    def torch_requirements(release: str) -> tuple[str, ...]:
        return knowledge.file("requires.json", torch_requirements_by_release).get(release, ())

    def files_in_both(project: str, other: str) -> int:
        return knowledge.file("shared-files.json", shared_files).get(frozenset((project, other)), 0)

    def read_catalog() -> Catalog:
        return Catalog(KnownPackages(knowledge.environ, platform), torch_requirements, files_in_both)

    return knowledge.remember(("packages", platform), read_catalog)


def torch_requirements_by_release(fields: Fields) -> Mapping[str, tuple[str, ...]]:
    """What every build of each release of torch requires."""
    releases = fields.object("releases")
    return {release: releases.object(release).texts("plain") for release in releases.names()}


def shared_files(fields: Fields) -> Mapping[frozenset[str], int]:
    """How many files the wheels of two projects both write, by those versions that share most."""
    rows = sorted(fields.objects("pairs"), key=lambda row: row.number("files"))
    return {frozenset(row.texts("names")): files for row in rows if (files := row.number("files"))}


def facts_of(file: str, platform: str) -> PackageFacts:
    return read(file, lambda row: parse(row, platform))


def parse(row: Mapping[str, Any], platform: str) -> PackageFacts:
    """One file's content, which is trusted: `scripts/check-compat` and a test hold it against its format."""
    indexes = tuple(noun_of(OtherIndex, index) for index in row.get("elsewhere", ()))
    for index in indexes:
        check_characters(index.url + "".join(path for wheel in index.wheels for path in wheel[5:6]))
    listed = [package_of(row["name"], version, platform) for version in row["versions"]]
    source = next((package for package in listed if package.file is None), Package(row["name"], "", code=None))
    wheels = [wheel for index in indexes for wheel in _wheels(index, source, platform)]
    versions = (*wheels, *listed)
    if wheels and source.version == "":  # else what is built from the source is newer, and comes last
        versions = tuple(sorted(versions, key=lambda package: release_key(package.version), reverse=True))
    # A page may have wheels where the index has but the sources, or another project of the name.
    elsewhere = tuple(index for index in indexes if index.url)
    rule = noun_of(WheelRule, row.get("rule", {}))
    return noun_of(PackageFacts, row, versions=versions, elsewhere=elsewhere, rule=rule)


def _wheels(index: OtherIndex, source: Package, platform: str) -> Iterator[Package]:
    """The wheels that were seen at a place, each as what is built there from the source."""
    for version, system, requires, backends, pythons, *more in index.wheels:
        path, arches = (*more, "", "")[:2]
        built_for = _code({"code": [{"path": source.name, "arches": arches}]}) if arches else source.code
        for backend in backends.split() or [""] if system == platform else ():
            digits = backend.removeprefix("cu")
            yield source._replace(
                version=version,
                requires=(*source.requires, *requires.split()),
                pythons=tuple(pythons.split()),
                platforms=(system,),
                cuda=f"{digits[:2]}.{digits[2:]}".rstrip(".") or None,
                links_torch=True,
                code=built_for if backend else (),
                place=index.url + path,
                # What was read of it is that of another file of the release, or of the same kernels.
                file=path.rpartition("/")[2].partition("#")[0] if arches else source.file,
            )


# What a wheel for every platform is, where others have one of their own.
_PURE: dict[str, object] = {"code": [], "cuda": None, "links_torch": False, "needs": []}


def package_of(name: str, row: Mapping[str, Any], platform: str = READ_PLATFORM) -> Package:
    """One version's row, with what differs on the platform; of one whose wheel was not read the code is not known."""
    if platform == WINDOWS and "windows" in row:
        row = {**row, **row["windows"]}
    elif platform != READ_PLATFORM and row["file"] is not None:
        # No wheel for macOS is for CUDA, whatever that for Linux links.
        pure = platform.startswith("macos") or ("any" in row["platforms"] and platform not in row["platforms"])
        row = {**row, **(_PURE if pure else {"code": row["code"] and None})}
    return noun_of(Package, row, name=name, code=_code(row), evidence=Evidence(**row["evidence"]))


def _code(row: Mapping[str, Any]) -> tuple[LibraryCode, ...] | None:
    if row["code"] is None:
        return None
    return tuple(noun_of(LibraryCode, library, arches=arches_of(library["arches"].split())) for library in row["code"])


def other_companions(fields: Fields) -> list[Fields]:
    """The `others` of companions.json, which are not pinned with torch, the newest of each first."""
    return sorted(fields.objects("others"), key=lambda row: release_key(row.text("version")), reverse=True)


def companions_of(build: Build, others: Iterable[Fields]) -> dict[str, dict[str, str]]:
    """What goes with a build and how that is known: the pinned ones, the others by their newest fitting release."""
    pinned = {name: version for name in COMPANIONS if (version := build.companions.get(name)) is not None}
    bases = {name: build.companion_basis.get(name, "inferred") for name in pinned}
    companions = {name: {"version": version, "basis": bases[name]} for name, version in pinned.items()}
    if build.family in ("cuda", "cpu"):  # what is known of the others was read of these wheels alone
        for row in others:
            # What links one CUDA does not work with another.
            fits = admits(row.text("torch"))(build.torch) and row.maybe_number("cuda_major") in (None, build.cuda_major)
            if fits and row.text("name") not in companions:
                companions[row.text("name")] = {name: row.text(name) for name in ("version", "basis")}
    return companions
