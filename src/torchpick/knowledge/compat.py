"""Find, read and merge the compat files and the refreshed cache.

A decision reads one compact index, the one of its platform, and two small tables. The indexes are made from the
readable files when a package is built or installed (hatch_build.py).
"""

from __future__ import annotations

import os
from itertools import chain

from torchpick.environment.world import is_yours
from torchpick.errors import CompatError, TorchpickError, UsageError
from torchpick.knowledge import indexes, locations
from torchpick.model.address import WHEEL_HOST, is_sha256
from torchpick.model.arch import Arch, spoken_capability
from torchpick.model.build import DEFAULT_INDEX, FAMILIES, Build, backend_order
from torchpick.model.fields import Fields, ShapeError, kind, loads
from torchpick.model.machine import PLATFORMS, TABLE_PLATFORMS, GpuProduct, Note
from torchpick.model.table import NO_BUILDS, BuildsByRelease, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from torchpick.knowledge.gpuindex import Names
    from torchpick.knowledge.gpunames import OtherNames
    from torchpick.model.pick import Wish
    from torchpick.model.table import Read

    T = TypeVar("T")
    PlatformBuilds = tuple[BuildsByRelease, str | None, str | None]

# The platform that PyTorch's own ROCm builds are made for.
_ROCM = "linux-x86_64"
# What this process has read, by the folder of the table: it does not change while a process runs.
READ: dict[str, dict[object, Any]] = {}


class Knowledge:
    """What is known: each file is read once in a process, when it is first asked for."""

    __slots__ = ("_folder", "environ")

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self._folder: str | None = None

    @property
    def folder(self) -> str:
        if self._folder is None:
            self._folder = locations.compat_dir(self.environ)
        return self._folder

    def remember(self, what: object, look: Callable[[], T]) -> T:
        """What follows from the table, and from the cache as `what` says it is."""
        values = READ.setdefault(self.folder, {})
        if what not in values:
            values[what] = look()
        return values[what]  # type: ignore[no-any-return]  # kept under the name of its own reader

    @property
    def rules(self) -> Table:
        """What is the same for every platform, without builds."""
        return self.remember("rules", lambda: read(self._path("index/rules.json"), indexes.rules))

    @property
    def family(self) -> tuple[str, ...]:
        """The names that belong to the wheel host."""
        return self.file("family.json", _names)

    def hashes_in_public_locks(self, backend: str) -> Mapping[str, str]:
        """The sha256 of the host's files for a backend that public locks of several owners agree on, by file name."""
        files = self.file("files.json", _files)
        return {**files.get("", {}), **files.get(backend, {})}

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
        channels: list[tuple[str, str | None]] = [(channel, base)]
        channels += [(DEFAULT_INDEX, user_base)] if default_index and channel == "stable" else []
        builds: dict[str, BuildsByRelease] = {}
        days, ignored = [self.rules.date or ""], list[str]()
        for platform in sorted(set(platforms)):
            shelves, dates, faults = zip(
                *(self._read_builds(name, where, platform) for name, where in channels), strict=True
            )
            builds[platform] = shelves[0] if len(shelves) == 1 else BuildsByRelease.of(chain(*shelves))
            days += filter(None, dates)
            ignored += filter(None, faults)
        if channel != "stable" and not any(shelf.releases() for shelf in builds.values()):
            hint = f"run `torchpick refresh --channel {channel}`"
            raise TorchpickError(f"nothing is known of the {channel} channel yet", hint=hint)
        notes = (*self.rules.notes, *(Note("CACHE_IGNORED", text) for text in ignored[:1]))
        return self.rules._replace(builds=builds, date=max(days) or None, notes=notes)

    def _read_builds(self, channel: str, base: str | None, platform: str) -> PlatformBuilds:
        """What was shipped, and over it what was refreshed; the default index's own wheels are a channel.

        With the day of that refresh, and why what it left was ignored.
        """
        is_shipped = channel in ("stable", DEFAULT_INDEX)
        shipped = self._shipped(platform, default=channel == DEFAULT_INDEX) if is_shipped else NO_BUILDS
        if base is None:
            return shipped, None, None
        file = locations.table_file(locations.cache_dir(self.environ), base, channel, platform)
        try:
            stat = os.stat(file)
        except OSError:
            return shipped, None, None
        if not is_yours(file):
            return shipped, None, f"{file} is ignored: others may write it; `torchpick refresh` anew"
        return self.remember((file, stat.st_mtime_ns, stat.st_size), lambda: _refreshed_over(shipped, file))

    def _shipped(self, platform: str, *, default: bool = False) -> BuildsByRelease:
        """One compact index, its releases read as they are asked for."""
        name = f"default-{platform}" if default else platform
        return self.remember(name, lambda: _shelf(self._path(f"index/{name}.json")))

    @property
    def every_build(self) -> tuple[Build, ...]:
        return (*self.shipped(default_index=False), *self.shipped(default_index=True))

    def shipped(self, *, default_index: bool) -> tuple[Build, ...]:
        """Every build without what was refreshed: the wheel host's, or the default index's own."""
        return tuple(build for platform in TABLE_PLATFORMS for build in self._shipped(platform, default=default_index))

    @property
    def gpu_names(self) -> Names:
        from torchpick.knowledge.gpuindex import Names

        return self.file("index/gpus.json", Names.from_json)

    @property
    def other_names(self) -> OtherNames:
        """The names and PCI ids of AMD's, Intel's and Apple's GPUs."""
        from torchpick.knowledge.gpunames import OtherNames

        return self.file("index/others.json", OtherNames.from_json)

    def gpu(self, spec: str, *, mac: bool = True) -> GpuProduct:
        """`--gpu SPEC`: a capability, which needs no table of names, an AMD target, or a product's name of any maker.

        Without `mac` an `M4` is the Tesla of that name. UsageError where it is not known.
        """
        return checked(self._path("index/gpus.json"), lambda: self._gpu(spec.strip(), mac=mac))

    def _gpu(self, text: str, *, mac: bool) -> GpuProduct:
        spoken = spoken_capability(text.lower())
        if spoken is not None and spoken in self.rules.capabilities:
            major, minor = spoken.split(".")
            return GpuProduct.nvidia(None, Arch.of_capability(int(major), int(minor)))
        if (gpu := self.gpu_names.written(text)) is not None:
            return gpu
        from torchpick.knowledge import gpunames

        return gpunames.parse(text, self.gpu_names, self.other_names, mac=mac)

    def check_backends(self, wish: Wish, table: Table) -> None:
        """Refuse a backend that no build of these platforms has."""
        if not wish.backends:
            return
        backends = {build.backend for shelf in table.builds.values() for build in shelf}
        unknown = [backend for backend in wish.backends if backend not in (*backends, *FAMILIES)]
        if not unknown:
            return
        # A team may share one list of names: a backend of another platform is not an error if another one is left.
        others = self.table(PLATFORMS, wish.channel, base=wish.index_base, default_index=True)
        elsewhere = {build.backend for shelf in others.builds.values() for build in shelf}
        for backend in unknown:
            if backend not in elsewhere or len(unknown) == len(wish.backends):
                names = ", ".join(sorted(backends, key=backend_order))
                hint = f"known there: {names}; run `torchpick refresh` to read the live index"
                raise UsageError(f"no build for `{backend}` is known on {' or '.join(table.builds)}", hint=hint)

    def pci_capability(self, device: int) -> Arch | None:
        """The architecture of an NVIDIA PCI device id; None where only the driver knows."""
        from torchpick.knowledge.gpuindex import pci_arches

        return checked(self._path("index/gpus.json"), lambda: self.file("index/gpus.json", pci_arches)(device))

    def supports_amd(self, arch: Arch) -> bool:
        """Whether any build was made for this AMD target; of AMD's own index what AMD lists counts."""
        shelf, _, _ = self._read_builds("stable", WHEEL_HOST, _ROCM)
        arch_lists = (build.arches if build.vendor is None else build.vendor.documented for build in shelf)
        return arch.kind == "gfx" and any(arch in (arches or ()) for arches in arch_lists)

    def file(self, name: str, parse: Callable[[Fields], T]) -> T:
        """Another file of the table, by its name in the folder, parsed once."""
        return self.remember((name, parse), lambda: read(self._path(name), lambda value: parse(Fields(value))))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, *name.split("/"))


def _names(fields: Fields) -> tuple[str, ...]:
    return fields.texts("names")


def _files(fields: Fields) -> Mapping[str, Mapping[str, str]]:
    """By backend and file; a digest goes into a line for pip and uv."""
    files: Mapping[str, Mapping[str, str]] = fields.mapping("files")
    if not all(is_sha256(digest) for digests in files.values() for digest in digests.values()):
        raise ShapeError("files", "has a sha256 that is not one")
    return files


def read(file: str, parse: Callable[[Mapping[str, Any]], T]) -> T:
    """Read one JSON file of the table and parse it; every fault becomes a CompatError that names file and path."""
    return checked(file, lambda: parse(content(file)))


def checked(file: str, work: Callable[[], T]) -> T:
    """Do the work on a file of the table, every error names the file."""
    hint = "reinstall torchpick-cli, or unset TORCHPICK_COMPAT_DIR"
    try:
        return work()
    except OSError as error:
        raise CompatError(f"cannot be read: {error.strerror}", file=file, path="", hint=hint) from error
    except ShapeError as error:
        raise CompatError(error.message, file=file, path=error.path, hint=hint) from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # it is trusted, so nothing looked first
        raise CompatError(f"is damaged ({error!r})", file=file, path="", hint=hint) from error


def content(file: str) -> Mapping[str, Any]:
    value = loads(locations.read(file))
    if not isinstance(value, dict):
        raise ShapeError("", f"must be an object, not {kind(value)}")
    if value.get("schema") != 1:
        raise ShapeError("schema", f"must be 1, is {value.get('schema')}")
    return value


def _shelf(file: str) -> BuildsByRelease:
    def checked_later(builds: Read) -> Read:
        return lambda: checked(file, builds)

    by_release = read(file, indexes.index_shelf)
    return BuildsByRelease({torch: checked_later(builds) for torch, builds in by_release.items()})


def _refreshed_over(shipped: BuildsByRelease, file: str) -> PlatformBuilds:
    """What was shipped, and over it what a refresh wrote; a file that is damaged or of another schema is ignored."""
    from torchpick.knowledge import refreshed

    try:
        refreshes, date, listed = read(file, refreshed.read)
    except CompatError as error:
        text = f"the cache is ignored because {file} is damaged ({error}); run `torchpick refresh` to rewrite it"
        return shipped, None, text
    return _merged((build for build in shipped if _is_offered(build, listed)), refreshes), date, None


def _is_offered(build: Build, listed: frozenset[str] | None) -> bool:
    """Whether the server that was refreshed from has it; what was never seen published stays what it is."""
    is_kept = build.vendor is not None or not build.published
    return listed is None or is_kept or f"{build.version} {build.backend}" in listed


def _merged(shipped: Iterable[Build], refreshed: BuildsByRelease) -> BuildsByRelease:
    """The refreshed rows over the shipped ones; a declared row never replaces a measured one."""
    builds = {(build.version, build.backend): build for build in shipped}
    for build in refreshed:
        row = builds.get((build.version, build.backend))
        if row is None or row.evidence.kind != "measured" or build.evidence.kind == "measured":
            builds[build.version, build.backend] = build
    return BuildsByRelease.of(builds.values())
