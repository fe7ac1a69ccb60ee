"""Find, read and merge the compat files and the refreshed cache.

A decision reads one compact index, the one of its platform, and two small tables; `scripts/build-index` makes the
indexes from the readable files, and a test proves that the two agree.
"""

from __future__ import annotations

import os

from torchpick.decide.freshness import is_day
from torchpick.errors import CompatError, TorchpickError
from torchpick.knowledge import locations, rows
from torchpick.knowledge import rules as rules_
from torchpick.knowledge.locations import cache_dir, compat_dir, table_file
from torchpick.model.arch import Arch, spoken_capability
from torchpick.model.build import DEFAULT_INDEX, Build
from torchpick.model.fields import Fields, ShapeError, loads
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.table import NO_BUILDS, Shelf, Table
from torchpick.model.wheelhost import WHEEL_HOST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from torchpick.knowledge.gpunames import Names
    from torchpick.knowledge.othernames import OtherNames, PciIds
    from torchpick.model.table import Read

    T = TypeVar("T")

# The largest file of ours is under a tenth of this.
MOST_BYTES = 16 << 20
# The only platform that ROCm builds of torch are made for.
_ROCM = "linux-x86_64"


class Knowledge:
    """What is known in one run: each file of the table and of the cache is read once, when it is first asked for."""

    __slots__ = ("_read", "environ")

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._read: dict[object, object] = {}

    def _once(self, what: object, look: Callable[[], T]) -> T:
        if what not in self._read:
            self._read[what] = look()
        return self._read[what]  # type: ignore[return-value]  # kept under the name of its own reader

    @property
    def rules(self) -> Table:
        """What is the same for every platform, without builds."""
        return self._once("rules", lambda: rules(self.environ))

    @property
    def family(self) -> tuple[str, ...]:
        """The names that belong to the wheel host."""
        return self._once("family", lambda: self.file("family.json", _family))

    def table(
        self,
        platforms: Iterable[str],
        channel: str = "stable",
        *,
        base: str = WHEEL_HOST,
        default_index: bool = False,
        user_base: str | None = None,
    ) -> Table:
        """The rules with the builds of these platforms; what was refreshed from this base lies over what was shipped.

        `default_index` adds the default package index's own wheels, which most questions do not concern; over them lies
        what was refreshed from the user's own index, `user_base`.
        """
        found = {platform: self._read_builds(channel, platform, base) for platform in sorted(set(platforms))}
        default = (lambda platform: self._read_builds(DEFAULT_INDEX, platform, user_base)) if default_index else None
        return _table(self.rules, channel, found, default)

    def _read_builds(self, channel: str, platform: str, base: str | None) -> PlatformBuilds:
        return self._once((channel, platform, base), lambda: _read_builds(self.environ, channel, platform, base))

    @property
    def readable(self) -> tuple[Build, ...]:
        """Every build of the readable files, the default index's own included."""
        return self._once("readable", lambda: readable(compat_dir(self.environ)))

    @property
    def gpu_names(self) -> Names:
        """The names of products and their architectures."""
        from torchpick.knowledge.gpunames import Names

        return self._once("names", lambda: self.file(os.path.join("index", "gpus.json"), Names.from_json))

    @property
    def other_names(self) -> OtherNames:
        """The names and PCI ids of AMD's, Intel's and Apple's GPUs."""
        from torchpick.knowledge.othernames import OtherNames

        return self._once("others", lambda: self.file(os.path.join("index", "others.json"), OtherNames.from_json))

    def plain_arch(self, spec: str) -> Arch | None:
        """The architecture of a capability (`sm_61`, `6.1`) that any GPU has; it needs no table of names."""
        spoken = spoken_capability(spec.strip().lower())
        if spoken is None or spoken not in self.rules.capabilities:
            return None
        major, minor = spoken.split(".")
        return Arch.of_capability(int(major), int(minor))

    def never_published(self, backend: str, platforms: Iterable[str]) -> str:
        """What is known of a backend that was never published, as the end of a sentence; empty where nothing is."""
        asked, rows = set(platforms), self.file("never.json", _never)
        return next((f": {reason}" for never, where, reason in rows if never == backend and asked <= where), "")

    def pci_capability(self, device: int) -> Arch | None:
        """The architecture of an NVIDIA PCI device id; None where only the driver knows."""
        return self._pci_ids.arch(device)

    @property
    def _pci_ids(self) -> PciIds:
        from torchpick.knowledge.othernames import PciIds

        return self._once("pci", lambda: self.file(os.path.join("index", "gpus.json"), PciIds.from_json))

    def dropped_by(self, version: str, arch: Arch) -> int | None:
        """The last driver branch that supports the architecture, where this driver is of a later one."""
        return self.rules.drivers.dropped_by(version, arch)

    def supports_amd(self, arch: Arch) -> bool:
        """Whether any build was made for this AMD target."""
        shelf = self._read_builds("stable", _ROCM, WHEEL_HOST).shelf
        return any(build.family == "rocm" and arch in (build.arches or ()) for build in shelf)

    def file(self, name: str, parse: Callable[[Fields], T]) -> T:
        """Another file of the table, by its name in the folder; the caller asks once."""
        return read(os.path.join(compat_dir(self.environ), name), parse)


def _family(fields: Fields) -> tuple[str, ...]:
    found = fields.texts("names")
    if "torch" not in found:
        raise fields.fail("names", "lacks torch itself")
    return found


def rules(environ: Mapping[str, str]) -> Table:
    """What is the same for every platform: driver rules and library floors, and no builds yet."""
    ignored = locations.data_ignored(environ)
    table = _rules(compat_dir(environ))
    return table if ignored is None else table._replace(notes=(Note("DATA_IGNORED", ignored),))


def _rules(compat: str) -> Table:
    index = os.path.join(compat, "index", "rules.json")
    if locations.is_file(index):
        return read(index, lambda fields: rules_.rules(*[fields] * 6))
    names = ("drivers.json", "libraries.json", "index/gpus.json", "amd.json", "apple.json", "date.json")
    files = [read(os.path.join(compat, *name.split("/")), lambda fields: fields) for name in names]
    return checked(compat, lambda: rules_.rules(*files))


class PlatformBuilds(Noun):
    """The builds of one platform, the day of the last refresh, and why what it left was ignored."""

    shelf: Shelf
    date: str | None = None
    ignored: str | None = None


def _table(
    rules: Table,
    channel: str,
    found: Mapping[str, PlatformBuilds],
    default_index: Callable[[str], PlatformBuilds] | None,
) -> Table:
    builds = {platform: one.shelf for platform, one in found.items()}
    _check_known(channel, builds.values())
    read_ = list(found.values())
    if default_index is not None and channel == "stable":
        for platform, shelf in builds.items():
            read_.append(one := default_index(platform))
            builds[platform] = Shelf.of((*shelf, *one.shelf))
    days = [one.date for one in read_ if one.date is not None]
    text = next((one.ignored for one in read_ if one.ignored is not None), None)
    notes = rules.notes if text is None else (*rules.notes, Note("CACHE_IGNORED", text))
    return rules._replace(builds=builds, date=max([*days, rules.date or ""]) or None, notes=notes)


def _read_builds(environ: Mapping[str, str], channel: str, platform: str, base: str | None) -> PlatformBuilds:
    """What was shipped, and over it what was refreshed from this base; the default index's own wheels are a channel."""
    known = channel in ("stable", DEFAULT_INDEX)
    shipped = _shipped(compat_dir(environ), platform, default=channel == DEFAULT_INDEX) if known else NO_BUILDS
    if base is None:
        return PlatformBuilds(shipped)
    refreshed = _refreshed(table_file(cache_dir(environ), base, channel, platform))
    return refreshed._replace(shelf=_merged(shipped, refreshed.shelf))


def _check_known(channel: str, shelves: Iterable[Shelf]) -> None:
    if channel != "stable" and not any(shelf.releases() for shelf in shelves):
        raise TorchpickError(
            f"nothing is known of the {channel} channel yet", hint=f"run `torchpick refresh --channel {channel}`"
        )


def as_shipped(
    platforms: Iterable[str], environ: Mapping[str, str], *, default_index: bool = False
) -> tuple[Build, ...]:
    """The builds of these platforms without what was refreshed: the wheel host's, or the default index's own."""
    compat = compat_dir(environ)
    return tuple(build for platform in platforms for build in _shipped(compat, platform, default=default_index))


def _never(fields: Fields) -> list[tuple[str, set[str], str]]:
    """The backends that no release was ever published for: each with its platforms and the reason."""
    return [
        (row.text("backend"), set(row.texts("platforms")), row.text("reason"))
        for row in fields.objects("rows")
        if row.text("torch") == "*"
    ]


def read(file: str, parse: Callable[[Fields], T]) -> T:
    """Read one JSON file of the table and parse it; every fault becomes a CompatError that names file and path."""
    return checked(file, lambda: parse(_fields(file)))


def checked(file: str, work: Callable[[], T]) -> T:
    """Do the work on a file of the table, every error names the file and the path."""
    hint = "reinstall torchpick-cli (and torchpick-data), or unset TORCHPICK_COMPAT_DIR"
    try:
        return work()
    except OSError as error:
        raise CompatError(f"cannot be read: {error.strerror}", file=file, path="", hint=hint) from error
    except ShapeError as error:
        raise CompatError(error.message, file=file, path=error.path, hint=hint) from error


def _fields(file: str) -> Fields:
    data = locations.read(file, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ShapeError("", f"is larger than {MOST_BYTES >> 20} MiB")
    fields = Fields(loads(data))
    if fields.number("schema") != 1:
        raise fields.fail("schema", f"must be 1, is {fields.number('schema')}")
    return fields


def _shipped(compat: str, platform: str, *, default: bool = False) -> Shelf:
    """One compact index, its releases read as they are asked for; without it the readable files."""
    index = os.path.join(compat, "index", f"{'default-' if default else ''}{platform}.json")
    if locations.is_file(index):
        return Shelf({torch: _checked_later(index, builds) for torch, builds in read(index, rows.index_shelf).items()})
    found = (build for build in readable(compat) if build.platform == platform)
    return Shelf.of(build for build in found if (build.backend == DEFAULT_INDEX) == default)


def _checked_later(file: str, builds: Read) -> Read:
    return lambda: checked(file, builds)


def readable(compat: str) -> tuple[Build, ...]:
    """Every build of the readable files, the default index's own included."""
    from torchpick.knowledge import pairings, readable

    companions = read(os.path.join(compat, "companions.json"), pairings.companions)
    found: list[Build] = []
    for name in locations.names(compat):
        if name.startswith("torch-") and name.endswith(".json"):
            found += read(os.path.join(compat, name), lambda fields: readable.builds(fields, companions))
    return tuple(found)


def _refreshed(file: str) -> PlatformBuilds:
    """What an earlier refresh wrote; a file that is damaged or of another schema is ignored."""
    if not os.path.isfile(file):
        return PlatformBuilds(NO_BUILDS)
    try:
        fields = read(file, lambda fields: fields)
        shelf = checked(file, lambda: Shelf.of(build for read in rows.index_shelf(fields).values() for build in read()))
        date = fields.maybe_text("date")
    except (CompatError, ShapeError) as error:
        text = f"the cache is ignored because {file} is damaged ({error}); run `torchpick refresh` to rewrite it"
        return PlatformBuilds(NO_BUILDS, ignored=text)
    return PlatformBuilds(shelf, date if date is not None and is_day(date) else None)


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
