"""The files of compat/packages → what is known of CUDA packages; every fault names its file and path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from torchpick.knowledge.compat import read
from torchpick.knowledge.locations import compat_dir
from torchpick.model.arch import Arch
from torchpick.model.build import Evidence
from torchpick.model.fields import Fields
from torchpick.model.fields import read as noun_of
from torchpick.model.package import LibraryCode, OtherIndex, Package, PackageFacts, WheelRule
from torchpick.model.versions import remembered

_arch = remembered(Arch.parse)  # a file names some thirty, again and again
# The wheels whose code was read; on another platform the code of the same version is another.
READ_PLATFORM = "linux-x86_64"


class KnownPackages(Mapping[str, PackageFacts]):
    """The packages of the table on one platform, each file read when its package is first asked for.

    A plan asks for some five of sixty, and a shared file system counts every one that is opened.
    """

    __slots__ = ("_folder", "_names", "_platform", "_read")

    def __init__(self, environ: Mapping[str, str], platform: str) -> None:
        self._folder, self._platform = os.path.join(compat_dir(environ), "packages"), platform
        files = sorted(os.listdir(self._folder)) if os.path.isdir(self._folder) else []
        self._names = {file.removesuffix(".json"): None for file in files if file.endswith(".json")}
        self._read: dict[str, PackageFacts] = {}

    def __getitem__(self, name: str) -> PackageFacts:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = facts_of(os.path.join(self._folder, f"{name}.json"), self._platform)
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def facts_of(file: str, platform: str) -> PackageFacts:
    """One file of compat/packages."""
    return read(file, lambda fields: parse(fields, platform))


def parse(fields: Fields, platform: str) -> PackageFacts:
    """One file's content; raises ShapeError."""
    fields.only("schema", *PackageFacts._fields)
    name = fields.text("name")
    return noun_of(
        PackageFacts,
        fields,
        most=None,
        versions=tuple(package_of(name, row, platform) for row in fields.objects("versions")),
        elsewhere=tuple(_place(row) for row in fields.maybe_objects("elsewhere")),
        rule=_rule(fields.object("rule")) if fields.has("rule") else WheelRule(),
    )


def _rule(row: Fields) -> WheelRule:
    row.only(*WheelRule._fields)
    return noun_of(WheelRule, row, most=None)


def package_of(name: str, row: Fields, platform: str = READ_PLATFORM) -> Package:
    """One version's row; raises ShapeError."""
    evidence = row.object("evidence")
    kind = evidence.text("kind")
    if kind not in ("measured", "declared"):
        raise evidence.fail("kind", f"must be measured or declared, is {kind!r}")
    row.maybe_dotted("glibc")
    row.maybe_dotted("cuda")
    rests_on = Evidence(kind, evidence.text("ref"))
    code = _code(row, platform)
    return noun_of(Package, row, most=None, strict=True, name=name, code=code, evidence=rests_on)


def _code(row: Fields, platform: str) -> tuple[LibraryCode, ...] | None:
    if row.raw("code") is None:
        return None
    libraries = tuple(_library(library) for library in row.objects("code"))
    # A variant per CUDA exists on every platform; whether it supports a GPU is known where it was read.
    known = platform == READ_PLATFORM or not libraries or row.maybe_text("file") is None
    return libraries if known else None


def _library(row: Fields) -> LibraryCode:
    try:
        arches = tuple(map(_arch, row.text("arches").split()))
    except ValueError as error:
        raise row.fail("arches", str(error)) from error
    whole = row.flag("whole", default=True)
    return LibraryCode(row.text("path"), arches, row.flag("main"), row.maybe_dotted("cuda"), whole)


def _place(row: Fields) -> OtherIndex:
    majors = tuple(int(str(value)) for value in row.items("cuda"))
    return noun_of(OtherIndex, row, most=None, strict=True, cuda=majors)
