"""The wheels that an index lists → builds, what of them the table does not know, and the companions of a build."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from torchpick.decide.demands import is_backend
from torchpick.errors import TorchpickError, WheelError
from torchpick.index import wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import ProjectReader
from torchpick.model.build import (
    COMPANIONS,
    DEFAULT_INDEX,
    Build,
    BuildKey,
    Evidence,
    family_of,
    python_number,
    toolkit_order,
)
from torchpick.model.versions import admits, grouped, is_release, named, numbers, parsed, release_key

_BACKEND = re.compile(r"cpu|xpu|cu\d{2,3}|rocm\d{1,2}(?:\.\d{1,2}){1,2}")
# The Pythons that torch was ever built for as CPython; `cp27mu` and its like are older than the table.
_PYTHON = re.compile(r"cp3\d{1,2}")
# The basis of a row that was listed and not read.
LISTED = "listed on the live index, not read"
# Below this release nothing is looked at: the table begins there.
FIRST = "1.7.0"
# Channels of dated builds keep some sixty days of them; only the newest of each backend is useful.
DATED = ("nightly", "test")


# One build as the index has it, of which nothing was read, and one of its wheels to read.
ListedBuild = tuple[Build, ProjectFile]


def list_builds(links: Iterable[ProjectFile], channel: str = "stable") -> tuple[ListedBuild, ...]:
    """The builds behind torch's links, newest first; what is not for a known backend and platform is left out.

    On the channel `default`, the user's own index, they are the wheels without a local label.
    """
    keys = ((_key(link, channel), link) for link in links)
    groups = grouped((key, link) for key, link in keys if key and release_key(key[0]) >= release_key(FIRST))
    oldest_first = sorted(groups, key=lambda key: (release_key(key[0]), key[1:3]))
    if channel in DATED:
        oldest_first = list({key[1:3]: key for key in oldest_first}.values())
    return tuple(_listed(*key, groups[key]) for key in reversed(oldest_first))


def _key(link: ProjectFile, channel: str) -> tuple[str, str, str, str] | None:
    """Release, backend, platform and version of a wheel of torch; None for another."""
    platform = wheelnames.platform_of(link.name.platform)
    if platform is None:
        return None
    torch, _, local = link.name.version.partition("+")
    if not is_release(torch) or release_key(torch)[1] > 0:
        return None  # torch has had no post-release since 0.4.1, and the table has no place for one
    if channel == DEFAULT_INDEX:
        return None if local else (torch, DEFAULT_INDEX, platform, link.name.version)
    backend = local if _BACKEND.fullmatch(local) else None
    if backend is None and not local:
        # No label: macOS, some aarch64 and cu102 wheels. The folder of the index says it.
        folder = urlsplit(link.url).path.rpartition("/")[0].rpartition("/")[2]
        backend = folder if _BACKEND.fullmatch(folder) else "cpu" if platform.startswith("macos") else None
    return None if backend is None else (torch, backend, platform, link.name.version)


def _listed(torch: str, backend: str, platform: str, version: str, links: list[ProjectFile]) -> ListedBuild:
    """A row for a build that was listed and not read: its architectures are unknown, so it is never picked."""
    pythons = (name for link in links if (name := python_of(link)) is not None)
    tags = sorted({link.name.platform for link in links})
    floors = [floor for tag in tags if (floor := wheelnames.glibc_of(tag)) is not None]
    build = Build(
        torch,
        backend,
        platform,
        version,
        ".".join(map(str, toolkit_order(backend))) if family_of(backend) == "cuda" else None,
        arches=() if backend in ("cpu", "xpu") else None,  # without CUDA or ROCm there is no code for either
        pythons=order_pythons(pythons),
        tags=tuple(tags),
        # The one that every wheel keeps to; none where one of them promises nothing.
        glibc=max(floors, key=numbers) if len(floors) == len(tags) and floors else None,
        yanked=all(link.yanked is not None for link in links),
        evidence=Evidence("declared", LISTED),
    )
    # All its wheels were built alike: the newest Python's is read, a free-threaded one last.
    sample = max(links, key=lambda link: (not link.name.abi.endswith("t"), python_number(link.name.python), link.file))
    return build, sample


def list_vendor(links: Iterable[ProjectFile], rows: Collection[Build]) -> Iterator[ListedBuild]:
    """What a vendor's page lists for the platforms of these rows, known or newer than all of them.

    A new one is as the newest known: on the index's own CUDA where no label says another, and with the same code where
    that is in packages beside it (AMD's).
    """
    newest = max(rows, key=lambda row: release_key(row.torch))
    versions = {(row.version, row.platform): row for row in rows}
    platforms = {row.platform for row in rows}
    wheels = (link for link in links if link.name.project == "torch" and is_release(_plain(link)))
    by_build = grouped(((link.name.version, wheelnames.platform_of(link.name.platform)), link) for link in wheels)
    for (version, platform), files in by_build.items():
        torch, _, label = version.partition("+")
        known = versions.get((version, platform or ""))
        is_newer = release_key(torch) > release_key(newest.torch) and release_key(torch)[1] == 0
        if platform not in platforms or (known is None and not is_newer):
            continue
        own = ".".join(label.split(".")[:2]) if _BACKEND.fullmatch(label) else newest.backend
        backend = own if known is None else known.backend
        build, sample = _listed(torch, backend, platform, version, files)
        like = newest if known is None else known
        arches = None if like.family == "cuda" else like.arches
        yield build._replace(vendor=like.vendor, arches=arches, tags=like.tags, glibc=None), sample


def python_of(link: ProjectFile) -> str | None:
    """`cp312`, `cp314t`; None for a wheel that is not for one CPython."""
    if not _PYTHON.fullmatch(link.name.python):
        return None
    return link.name.python + ("t" if link.name.abi == f"{link.name.python}t" else "")


def order_pythons(pythons: Iterable[str]) -> tuple[str, ...]:
    """Each Python once, the oldest first."""
    return tuple(sorted(set(pythons), key=lambda name: (python_number(name), name)))


def compare_builds(
    builds: Iterable[ListedBuild], table: Mapping[BuildKey, Build]
) -> tuple[tuple[ListedBuild, ...], tuple[Build, ...]]:
    """What the index has and was not read yet, and the rows of the table with what the index says otherwise."""
    unread, changed = [], []
    for now, sample in builds:
        row = table.get(now.key)
        # What the shipped table says that nobody knows (ROCm before 6.0) is read only when it is asked for.
        if now.arches is None and (row is None or (row.arches is None and row.evidence.ref == LISTED)):
            unread.append((now, sample))
        updated = now if row is None else _updated(row, now)
        if updated != row:
            changed.append(updated)
    return tuple(unread), tuple(changed)


def _updated(row: Build, now: Build) -> Build:
    """The row with what the index itself says of its wheels; another order of them is no change."""
    if now.pythons and set(row.pythons) != set(now.pythons):
        row = row._replace(pythons=now.pythons)
    if set(row.tags) != set(now.tags):
        row = row._replace(tags=now.tags, glibc=now.glibc)
    return row._replace(published=True, yanked=now.yanked)


# A build whose wheel could not be read, and why.
FailedRead = tuple[ListedBuild, TorchpickError]


def with_another_hash(builds: Iterable[ListedBuild], rows: Iterable[Build]) -> dict[BuildKey, FailedRead]:
    """The builds whose file has another sha256 than when it was read: a released wheel never changes."""
    digests = {file: digest for row in rows for file, mark, digest in [row.evidence.ref.partition(" sha256:")] if mark}
    failures: dict[BuildKey, FailedRead] = {}
    for build, sample in builds:
        digest = digests.get(sample.file)
        if digest is not None and sample.sha256 not in (None, digest):
            text = f"its sha256 is {sample.sha256}, and was {digest}; a released wheel never changes"
            error = WheelError(f"{text}, so it is refused", hint="ask the operator of the index; the known row stays")
            failures[build.key] = (build, sample), error
    return failures


# How many of the newest releases are read: a companion comes out within days of its torch.
_DEEP = 4
# Built against torch's stable ABI: names no torch, works with every later one (docs.pytorch.org/audio/2.11.0).
_STABLE_ABI = {"torchaudio": "2.11.0"}


# The files of one release of a companion, and what it asks of torch: None where it does not name it.
_Release = tuple[list[ProjectFile], str | None]


class CompanionPages:
    """The companions' own pages, each read when it is first asked for."""

    def __init__(self, index: ProjectReader) -> None:
        self._index = index
        self._releases: dict[str, list[_Release]] = {}

    def paired(self, row: Build) -> Build:
        """The row with the companions that have a file for its backend and platform and are built for its torch.

        Of each the one whose metadata pins this torch; else the newest that allows it.
        """
        versions, bases, pythons = dict[str, str | None](), dict[str, str](), dict[str, tuple[str, ...]]()
        for name in COMPANIONS:
            releases = [
                (files, asks)
                for links, asks in self._candidates(name)
                if _fits(name, links, asks, row) and (files := _files(links, row))
            ]
            pinned = [(files, asks) for files, asks in releases if _pins(asks, row)]
            for files, asks in (pinned or releases)[:1]:
                versions[name] = files[0].name.version
                bases[name] = "metadata" if _pins(asks, row) else "inferred"
                tags = [tag for tag in map(python_of, files) if tag is not None]
                if len(tags) == len(files):  # none is for every Python
                    pythons[name] = order_pythons(tags)
        return row._replace(companions=versions, companion_basis=bases, companion_pythons=pythons)

    def _candidates(self, name: str) -> list[_Release]:
        """The newest releases of a companion, the newest first; none where its page cannot be read."""
        if name not in self._releases:
            self._releases[name] = []
            with suppress(TorchpickError):
                self._releases[name] += self._read(self._index.wheels(name) or ())
        return self._releases[name]

    def _read(self, links: Iterable[ProjectFile]) -> Iterator[_Release]:
        groups = grouped((_plain(link), link) for link in links if is_release(_plain(link)))
        for version in sorted(groups, key=release_key, reverse=True)[:_DEEP]:
            with suppress(TorchpickError, ValueError):  # one whose METADATA nobody can read is passed over
                yield groups[version], demand_on_torch(groups[version][0], self._index)


def demand_on_torch(wheel: ProjectFile, index: ProjectReader) -> str | None:
    """What a wheel asks of torch; None where it does not name torch."""
    metadata = index.metadata([wheel])[wheel]
    if isinstance(metadata, TorchpickError):
        raise metadata
    demands = (parsed(line).specifier for line in metadata.requires if named(line) == "torch")
    # Of a label only the index says which it is.
    return next((re.sub(r"\+[\w.]+", "", str(demand)) for demand in demands), None)


def _fits(name: str, links: list[ProjectFile], asks: str | None, row: Build) -> bool:
    """Whether it is built for this torch: it pins it, its lower bound allows it, or it uses the stable ABI alone."""
    if not asks:
        stable = _STABLE_ABI.get(name)
        if stable is None or row.backend == DEFAULT_INDEX:
            # It loads beside its own CUDA alone, and without a label no name says which that is.
            return False
        return release_key(stable) <= min(release_key(_plain(links[0])), release_key(row.torch))
    try:
        return bool(admits(asks, prereleases=True)(row.torch))
    except ValueError:
        return False


def _pins(asks: str | None, row: Build) -> bool:
    return asks == f"=={row.torch}"


def _files(links: list[ProjectFile], row: Build) -> list[ProjectFile]:
    """Those for this backend and platform; some carry no label, or a commit for one, where torch's own has it."""
    labels = [
        (link.name.version.partition("+")[2], link)
        for link in links
        if wheelnames.platform_of(link.name.platform) == row.platform
    ]
    labelled = [link for label, link in labels if label == row.version.partition("+")[2]]
    return labelled or [link for label, link in labels if not is_backend(label) and f"/{row.backend}/" in link.url]


def _plain(link: ProjectFile) -> str:
    return link.name.version.partition("+")[0]
