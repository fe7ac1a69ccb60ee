"""Find, read and merge the compat files and the refreshed cache.

A decision reads one compact index, the one of its platform, and two small tables; `scripts/build-index` makes the
indexes from the readable files, and a test proves that the two agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from torchpick.errors import CompatError, TorchpickError
from torchpick.model import pairings, rows
from torchpick.model import rules as rules_
from torchpick.model.build import Build
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.table import NO_BUILDS, Shelf, Table
from torchpick.places import cache_dir, compat_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

# The largest file of ours is under a tenth of this.
MOST_BYTES = 16 << 20


def rules(environ: Mapping[str, str]) -> Table:
    """What is the same for every platform: driver rules and library floors, and no builds yet."""
    compat = compat_dir(environ)
    index = os.path.join(compat, "index", "rules.json")
    if os.path.isfile(index):
        return read(index, lambda fields: rules_.rules(fields, fields, fields))
    drivers, libraries, gpus = (
        read(os.path.join(compat, name), lambda fields: fields)
        for name in ("drivers.json", "libraries.json", os.path.join("index", "gpus.json"))
    )
    return checked(compat, lambda: rules_.rules(drivers, libraries, gpus))


def with_builds(table: Table, platforms: Iterable[str], environ: Mapping[str, str], channel: str = "stable") -> Table:
    """The table with the builds of these platforms, the refreshed cache merged over what was shipped."""
    compat, cache = compat_dir(environ), cache_dir(environ)
    builds = {}
    for platform in sorted(set(platforms)):
        shipped = _shipped(compat, platform) if channel == "stable" else NO_BUILDS
        builds[platform] = _merged(shipped, _refreshed(cache, channel, platform))
    if channel != "stable" and not any(shelf.releases() for shelf in builds.values()):
        raise TorchpickError(
            f"nothing is known of the {channel} channel yet", hint=f"run `torchpick refresh --channel {channel}`"
        )
    return table._replace(builds=builds)


def as_shipped(platforms: Iterable[str], environ: Mapping[str, str]) -> tuple[Build, ...]:
    """The builds of these platforms without what was refreshed."""
    compat = compat_dir(environ)
    return tuple(build for platform in platforms for build in _shipped(compat, platform))


def family(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names that belong to the wheel host."""
    return read(os.path.join(compat_dir(environ), "family.json"), lambda fields: fields.texts("names"))


def never_published(backend: str, platforms: Iterable[str], environ: Mapping[str, str]) -> str:
    """What is known of a backend that was never published, as the end of a sentence; empty where nothing is."""
    asked = set(platforms)
    for never, where, reason in read(os.path.join(compat_dir(environ), "never.json"), _never):
        if never == backend and asked <= where:
            return f": {reason}"
    return ""


def _never(fields: Fields) -> list[tuple[str, set[str], str]]:
    """The backends that no release was ever published for: each with its platforms and the reason."""
    read_ = [
        (row.text("torch"), row.text("backend"), set(row.texts("platforms")), row.text("reason"))
        for row in fields.objects("rows")
    ]
    return [(backend, platforms, reason) for torch, backend, platforms, reason in read_ if torch == "*"]


def read(file: str, parse: Callable[[Fields], T]) -> T:
    """Read one JSON file of the table and parse it; every fault becomes a CompatError that names file and path."""
    return checked(file, lambda: parse(_fields(file)))


def checked(file: str, work: Callable[[], T]) -> T:
    """Do the work on a file of the table, every fault told by file and path."""
    hint = "install torchpick-cli again, or unset TORCHPICK_COMPAT_DIR"
    try:
        return work()
    except OSError as error:
        raise CompatError(f"cannot be read: {error.strerror}", file=file, path="", hint=hint) from error
    except ShapeError as error:
        raise CompatError(error.message, file=file, path=error.path, hint=hint) from error


def _fields(file: str) -> Fields:
    if os.path.getsize(file) > MOST_BYTES:
        raise ShapeError("", f"is larger than {MOST_BYTES >> 20} MiB")
    with open(file, "rb") as stream:
        fields = Fields(loads(stream.read(MOST_BYTES)))
    if fields.number("schema") != 1:
        raise fields.fail("schema", f"must be 1, is {fields.number('schema')}")
    return fields


def _index(file: str) -> Shelf:
    """One compact index, its releases read as they are asked for."""
    unread = read(file, rows.index_shelf)
    return Shelf({torch: partial(checked, file, builds) for torch, builds in unread.items()})


def _shipped(compat: str, platform: str) -> Shelf:
    index = os.path.join(compat, "index", f"{platform}.json")
    if os.path.isfile(index):
        return _index(index)
    return Shelf.of(build for build in readable(compat) if build.platform == platform and build.backend != "default")


def readable(compat: str) -> tuple[Build, ...]:
    """Every build of the readable files, the default index's own included."""
    companions = read(os.path.join(compat, "companions.json"), pairings.companions)
    found: list[Build] = []
    for name in sorted(os.listdir(compat)):
        if name.startswith("torch-") and name.endswith(".json"):
            found += read(os.path.join(compat, name), lambda fields: rows.readable_builds(fields, companions))
    return tuple(found)


def _refreshed(cache: str, channel: str, platform: str) -> Shelf:
    file = os.path.join(cache, "table", f"{channel}-{platform}.json")
    if not os.path.isfile(file):
        return NO_BUILDS
    try:
        return Shelf.of(_index(file))
    except CompatError as error:
        hint = "remove that file, or run `torchpick refresh` to write it anew"
        raise CompatError("is not a refreshed table", file=error.file, path=error.path, hint=hint) from error


def _merged(shipped: Shelf, refreshed: Shelf) -> Shelf:
    """The refreshed rows over the shipped ones; a declared row never replaces a measured one."""
    if not refreshed.releases():
        return shipped
    found = {(build.version, build.backend): build for build in shipped}
    for build in refreshed:
        known = found.get((build.version, build.backend))
        if known is None or known.evidence.kind != "measured" or build.evidence.kind == "measured":
            found[build.version, build.backend] = build
    return Shelf.of(found.values())
