"""The wheels that an index lists → builds, what of them the table does not know, and files that changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from torchpick.errors import TorchpickError, WheelError
from torchpick.index import wheelnames
from torchpick.index.listing import Link
from torchpick.model.build import DEFAULT_INDEX, Build, BuildKey, Evidence, family_of, toolkit_order
from torchpick.model.noun import Noun
from torchpick.model.versions import grouped, numbers, release_key

_BACKEND = re.compile(r"cpu|xpu|cu\d{2,3}|rocm\d{1,2}(?:\.\d{1,2}){1,2}")
# The Pythons that torch was ever built for as CPython; `cp27mu` and its like are older than the table.
_PYTHON = re.compile(r"cp3\d{1,2}")
# The basis of a row that was listed and not read.
LISTED = "listed on the live index, not read"
# Below this release nothing is looked at: the table begins there.
FIRST = "1.7.0"
# Channels of dated builds keep some sixty days of them; only the newest of each backend is useful.
DATED = ("nightly", "test")


class ListedBuild(Noun):
    """One build as the index has it, of which nothing was read, and one of its wheels to read."""

    build: Build
    sample: Link


def builds(links: Iterable[Link], channel: str = "stable") -> tuple[ListedBuild, ...]:
    """The builds behind the links, newest first; what is not torch for a known backend and platform is left out.

    On the channel `default`, the user's own index, they are the wheels without a local label.
    """
    keys = ((_key(link, channel), link) for link in links)
    groups = grouped((key, link) for key, link in keys if key and release_key(key[0]) >= release_key(FIRST))
    oldest_first = sorted(groups, key=lambda key: (release_key(key[0]), key[1:3]))
    if channel in DATED:
        oldest_first = list({key[1:3]: key for key in oldest_first}.values())
    return tuple(_listed(*key, groups[key]) for key in reversed(oldest_first))


def _key(link: Link, channel: str) -> tuple[str, str, str, str] | None:
    """Release, backend, platform and version of a wheel of torch; None for another."""
    platform = wheelnames.platform_of(link.wheel.platform)
    if link.wheel.project != "torch" or platform is None:
        return None
    torch, _, local = link.wheel.version.partition("+")
    try:
        _, phase, _ = release_key(torch)
    except ValueError:
        return None
    if phase > 0:
        return None  # torch has had no post-release since 0.4.1, and the table has no place for one
    if channel == DEFAULT_INDEX:
        return None if local else (torch, DEFAULT_INDEX, platform, link.wheel.version)
    backend = local if _BACKEND.fullmatch(local) else None
    if backend is None and not local:
        # No label: macOS, some aarch64 and cu102 wheels. The folder of the index says it.
        folder = urlsplit(link.url).path.rpartition("/")[0].rpartition("/")[2]
        backend = folder if _BACKEND.fullmatch(folder) else "cpu" if platform.startswith("macos") else None
    return None if backend is None else (torch, backend, platform, link.wheel.version)


def _listed(torch: str, backend: str, platform: str, version: str, links: list[Link]) -> ListedBuild:
    """A row for a build that was listed and not read: its architectures are unknown, so it is never picked."""
    pythons = (name for link in links if (name := python_of(link)) is not None)
    tags = sorted({link.wheel.platform for link in links})
    floors = [floor for tag in tags if (floor := wheelnames.glibc_of(tag)) is not None]
    build = Build(
        torch,
        backend,
        platform,
        version,
        ".".join(map(str, toolkit_order(backend))) if family_of(backend) == "cuda" else None,
        arches=() if backend in ("cpu", "xpu") else None,  # without CUDA or ROCm there is no code for either
        pythons=in_order(pythons),
        tags=tuple(tags),
        # The one that every wheel keeps to; none where one of them promises nothing.
        glibc=max(floors, key=numbers) if len(floors) == len(tags) and floors else None,
        libraries={},
        lacks={},
        published=True,
        yanked=all(link.yanked is not None for link in links),
        companions={},
        companion_basis={},
        evidence=Evidence("declared", LISTED),
    )
    # All its wheels were built alike: the newest Python's is read, a free-threaded one last.
    sample = max(links, key=lambda link: (not link.wheel.abi.endswith("t"), _digits(link.wheel.python), link.file))
    return ListedBuild(build, sample)


def python_of(link: Link) -> str | None:
    """`cp312`, `cp314t`; None for a wheel that is not for one CPython."""
    if not _PYTHON.fullmatch(link.wheel.python):
        return None
    return link.wheel.python + ("t" if link.wheel.abi == f"{link.wheel.python}t" else "")


def in_order(pythons: Iterable[str]) -> tuple[str, ...]:
    """Each Python once, the oldest first."""
    return tuple(sorted(set(pythons), key=lambda name: (_digits(name), name)))


def _digits(text: str) -> int:
    return int("".join(char for char in text if char.isdigit()) or 0)


class News(Noun):
    """What the index has that the table has not, and what they do not agree on."""

    unread: tuple[ListedBuild, ...]  # builds whose architectures are not known
    changed: tuple[Build, ...]  # rows of the table with what the index says of their wheels


def compare(found: Iterable[ListedBuild], known: Mapping[BuildKey, Build]) -> News:
    """Compare the index with the table."""
    unread, changed = [], []
    for each in found:
        now, row = each.build, known.get(each.build.key)
        # What the shipped table says that nobody knows (ROCm before 6.0) is read only when it is asked for.
        if now.arches is None and (row is None or (row.arches is None and row.evidence.ref == LISTED)):
            unread.append(each)
        if row is not None:
            now = _updated(row, now)
        if now != row:
            changed.append(now)
    return News(tuple(unread), tuple(changed))


def _updated(row: Build, now: Build) -> Build:
    """The row with what the index itself says of its wheels; another order of them is no change."""
    if now.pythons and set(row.pythons) != set(now.pythons):
        row = row._replace(pythons=now.pythons)
    if set(row.tags) != set(now.tags):
        row = row._replace(tags=now.tags, glibc=now.glibc)
    return row._replace(published=True, yanked=now.yanked)


class FailedRead(Noun):
    """A build whose wheel could not be read, and why."""

    build: ListedBuild
    error: TorchpickError


def with_another_hash(listed: Iterable[ListedBuild], rows: Iterable[Build]) -> dict[BuildKey, FailedRead]:
    """The builds whose file has another sha256 than when it was read: a released wheel never changes."""
    known = {file: digest for row in rows for file, mark, digest in [row.evidence.ref.partition(" sha256:")] if mark}
    found = {}
    for each in listed:
        digest = known.get(each.sample.file)
        if digest is not None and each.sample.sha256 not in (None, digest):
            text = f"its sha256 is {each.sample.sha256}, and was {digest}; a released wheel never changes"
            error = WheelError(f"{text}, so it is refused", hint="ask the operator of the index; the known row stays")
            found[each.build.key] = FailedRead(each, error)
    return found
