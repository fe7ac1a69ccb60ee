"""Find, read and merge the compat files and the refreshed cache.

A decision reads one compact index, the one of its platform, and two small tables; `scripts/build-index` makes the
indexes from the readable files, and a test proves that the two agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from torchpick.errors import CompatError, TorchpickError
from torchpick.model import rows
from torchpick.model.build import Build
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.table import Table
from torchpick.places import cache_dir, compat_dir

T = TypeVar("T")

# The largest file of ours is under a tenth of this.
MOST_BYTES = 16 << 20


def load(platforms: Iterable[str], environ: Mapping[str, str], channel: str = "stable") -> Table:
    """The table for these platforms, the refreshed cache merged over what was shipped."""
    compat, cache = compat_dir(environ), cache_dir(environ)
    builds = {}
    for platform in sorted(set(platforms)):
        shipped = _builds(compat, platform) if channel == "stable" else ()
        builds[platform] = _merged(shipped, _refreshed(cache, channel, platform))
    if channel != "stable" and not any(builds.values()):
        raise TorchpickError(
            f"nothing is known of the {channel} channel yet", hint=f"run `torchpick refresh --channel {channel}`"
        )
    drivers = read(os.path.join(compat, "drivers.json"), rows.drivers)
    return Table(builds, drivers, read(os.path.join(compat, "libraries.json"), rows.floors))


def read(file: str, parse: Callable[[Fields], T]) -> T:
    """Read one JSON file of the table and parse it; every fault becomes a CompatError that names file and path."""
    hint = "install torchpick-cli again, or unset TORCHPICK_COMPAT_DIR"
    try:
        if os.path.getsize(file) > MOST_BYTES:
            raise CompatError(f"is larger than {MOST_BYTES >> 20} MiB", file=file, path="", hint=hint)
        with open(file, "rb") as stream:
            value = loads(stream.read(MOST_BYTES))
        fields = Fields(value)
        if fields.number("schema") != 1:
            raise fields.fail("schema", f"must be 1, is {fields.number('schema')}")
        return parse(fields)
    except OSError as error:
        raise CompatError(f"cannot be read: {error.strerror}", file=file, path="", hint=hint) from error
    except ShapeError as error:
        raise CompatError(error.message, file=file, path=error.path, hint=hint) from error


def _builds(compat: str, platform: str) -> tuple[Build, ...]:
    index = os.path.join(compat, "index", f"{platform}.json")
    if os.path.isfile(index):
        return read(index, rows.index_builds)
    return tuple(build for build in readable(compat) if build.platform == platform and build.backend != "default")


def readable(compat: str) -> tuple[Build, ...]:
    """Every build of the readable files, the default index's own included."""
    companions = read(os.path.join(compat, "companions.json"), rows.companions)
    found: list[Build] = []
    for name in sorted(os.listdir(compat)):
        if name.startswith("torch-") and name.endswith(".json"):
            found += read(os.path.join(compat, name), lambda fields: rows.readable_builds(fields, companions))
    return tuple(found)


def _refreshed(cache: str, channel: str, platform: str) -> tuple[Build, ...]:
    file = os.path.join(cache, "table", f"{channel}-{platform}.json")
    if not os.path.isfile(file):
        return ()
    try:
        return read(file, rows.index_builds)
    except CompatError as error:
        hint = "remove that file, or run `torchpick refresh` to write it anew"
        raise CompatError("is not a refreshed table", file=error.file, path=error.path, hint=hint) from error


def _merged(shipped: tuple[Build, ...], refreshed: tuple[Build, ...]) -> tuple[Build, ...]:
    """The refreshed rows over the shipped ones; a declared row never replaces a measured one."""
    if not refreshed:
        return shipped
    found = {(build.version, build.backend): build for build in shipped}
    for build in refreshed:
        known = found.get((build.version, build.backend))
        if known is None or known.evidence.kind != "measured" or build.evidence.kind == "measured":
            found[build.version, build.backend] = build
    return tuple(found.values())
