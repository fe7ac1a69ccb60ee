"""The wheels that an index lists → builds, what of them the table does not know, and files that changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from torchpick.errors import TorchpickError, WheelError
from torchpick.index import wheelnames
from torchpick.index.listing import Link
from torchpick.model.arch import Arch
from torchpick.model.build import DEFAULT_INDEX, Build, BuildKey, Evidence
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers, release_key

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
    """One build as the index has it: every wheel of one release, backend and platform, and one of them to read."""

    torch: str
    backend: str
    platform: str
    version: str
    pythons: tuple[str, ...]
    tags: tuple[str, ...]
    glibc: str | None
    yanked: bool
    sample: Link

    @property
    def key(self) -> BuildKey:
        return self.platform, self.version, self.backend


def builds(links: Iterable[Link], channel: str = "stable") -> tuple[ListedBuild, ...]:
    """The builds behind the links, newest first; what is not torch for a known backend and platform is left out.

    On the channel `default`, the user's own index, they are the wheels without a local label.
    """
    groups: dict[tuple[str, str, str, str], list[Link]] = {}
    for link in links:
        key = _key(link, channel)
        if key is not None and release_key(key[0]) >= release_key(FIRST):
            groups.setdefault(key, []).append(link)
    found = [_found(key, group) for key, group in groups.items()]
    found.sort(key=lambda each: (release_key(each.torch), each.backend, each.platform), reverse=True)
    return tuple(_newest(found)) if channel in DATED else tuple(found)


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


def _found(key: tuple[str, str, str, str], links: list[Link]) -> ListedBuild:
    torch, backend, platform, version = key
    pythons = {name for link in links if (name := _python(link)) is not None}
    tags = sorted({link.wheel.platform for link in links})
    floors = [floor for tag in tags if (floor := wheelnames.glibc_of(tag)) is not None]
    # All its wheels were built alike: the newest Python's is read, a free-threaded one last.
    sample = max(links, key=lambda link: (not link.wheel.abi.endswith("t"), _digits(link.wheel.python), link.file))
    return ListedBuild(
        torch,
        backend,
        platform,
        version,
        tuple(sorted(pythons, key=lambda name: (_digits(name), name))),
        tuple(tags),
        # The one that every wheel keeps to; none where one of them promises nothing.
        max(floors, key=numbers) if len(floors) == len(tags) and floors else None,
        yanked=all(link.yanked is not None for link in links),
        sample=sample,
    )


def _python(link: Link) -> str | None:
    if not _PYTHON.fullmatch(link.wheel.python):
        return None
    return link.wheel.python + ("t" if link.wheel.abi == f"{link.wheel.python}t" else "")


def _digits(text: str) -> int:
    return int("".join(char for char in text if char.isdigit()) or 0)


def _newest(found: list[ListedBuild]) -> list[ListedBuild]:
    """Of each backend and platform the newest build; the list is newest first."""
    kept: dict[tuple[str, str], ListedBuild] = {}
    for each in found:
        kept.setdefault((each.backend, each.platform), each)
    return list(kept.values())


class News(Noun):
    """What the index has that the table has not, and what they do not agree on."""

    unread: tuple[ListedBuild, ...]  # builds whose architectures are not known
    changed: tuple[Build, ...]  # rows of the table with what the index says of their wheels


def compare(found: Iterable[ListedBuild], known: Mapping[BuildKey, Build]) -> News:
    """Compare the index with the table."""
    unread, changed = [], []
    for each in found:
        row = known.get(each.key)
        # What the shipped table says that nobody knows (ROCm before 6.0) is read only when it is asked for.
        if arches_of(each) is None and (row is None or (row.arches is None and row.evidence.ref == LISTED)):
            unread.append(each)
        now = declared(each) if row is None else _updated(row, each)
        if now != row:
            changed.append(now)
    return News(tuple(unread), tuple(changed))


def arches_of(found: ListedBuild) -> tuple[Arch, ...] | None:
    """What needs no reading: a build without CUDA or ROCm has no code for either."""
    return () if found.backend in ("cpu", "xpu") else None


def cuda_of(backend: str) -> str | None:
    """`cu126` → `12.6`; None if it is not CUDA."""
    digits = backend.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}" if backend.startswith("cu") and digits.isdigit() else None


def declared(found: ListedBuild) -> Build:
    """A row for a build that was listed and not read: its architectures are unknown, so it is never picked."""
    facts = found._asdict()
    del facts["sample"]
    return Build(
        **facts,
        cuda=cuda_of(found.backend),
        arches=arches_of(found),
        libraries={},
        lacks={},
        published=True,
        companions={},
        companion_basis={},
        evidence=Evidence("declared", LISTED),
    )


def _updated(row: Build, found: ListedBuild) -> Build:
    """The row with what the index itself says of its wheels; another order of them is no change."""
    same = set(row.pythons) == set(found.pythons), set(row.tags) == set(found.tags)
    return row._replace(
        published=True,
        yanked=found.yanked,
        pythons=row.pythons if same[0] or not found.pythons else found.pythons,
        tags=row.tags if same[1] else found.tags,
        glibc=row.glibc if same[1] else found.glibc,
    )


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
            found[each.key] = FailedRead(each, error)
    return found
