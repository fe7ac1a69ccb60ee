"""The files of a project as its pages list them, wheels and sdists, and which of them a Python would take. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from packaging.specifiers import SpecifierSet

from torchpick.errors import WheelError
from torchpick.index import listing, wheelnames
from torchpick.index.listing import PageEntry
from torchpick.index.user_index import IndexTarget
from torchpick.index.wheelnames import WheelName, parsed_version
from torchpick.model.address import Address
from torchpick.model.pythons import python_name
from torchpick.model.redaction import redacted
from torchpick.model.versions import check_bounds, grouped, normal

_SDIST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.!+-]{0,240}\.(?:tar\.gz|zip)")
_MOST_ADDRESS = 4096
_UPLOADED = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|\+00:00)?)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MOST_TEXT = 512


class ProjectFile(NamedTuple):
    """A wheel or an sdist on an index; what its page does not say is None."""

    file: str
    url: Address
    version: str  # as PEP 440 spells it
    wheel: WheelName | None  # None: an sdist
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: str | None = None  # the reason, which may be empty
    metadata: str | None = None  # sha256 of the METADATA beside it, or empty where only its presence is told
    uploaded: str | None = None  # ISO 8601, in UTC
    index_url: str = ""  # which of the user's indexes and link pages it lies on

    @property
    def project(self) -> str:
        return self.wheel.project if self.wheel is not None else normal(_stem(self.file).rpartition("-")[0])


def of_entry(entry: PageEntry, index_url: str = "") -> ProjectFile | None:
    """The file that an entry leads to; None where it is neither a wheel nor an sdist, or its address is not valid.

    Every text of a page and of a record is checked here, and only here. What is of another type may raise any error.
    """
    try:
        place = listing.located(entry)
    except ValueError:
        return None
    if place is None or entry.wrong_hash:
        return None
    url, file, digest, _ = place
    wheel = wheelnames.parse(file)
    version = _version_of_sdist(file) if wheel is None else normal_version(wheel.version)
    if version is None or len(url) > _MOST_ADDRESS:
        return None
    return ProjectFile(
        file,
        url,
        version,
        wheel,
        digest if digest and _SHA256.fullmatch(digest) else None,
        entry.size if type(entry.size) is int and entry.size >= 0 else None,
        _plain(entry.requires_python),
        _plain(entry.yanked),
        entry.metadata if not entry.metadata or _SHA256.fullmatch(entry.metadata) else "",
        entry.uploaded if entry.uploaded and _UPLOADED.fullmatch(entry.uploaded) else None,
        index_url,
    )


def entry_of(file: ProjectFile) -> PageEntry:
    """As a page lists it that lies nowhere."""
    told = (file.requires_python, file.yanked, file.metadata, file.uploaded)
    return PageEntry(file.url, "", file.file, file.sha256, file.size, *told)


def _plain(text: str | None) -> str | None:
    """One text for all the files of a page that say the same."""
    return text and sys.intern(_CONTROL.sub(" ", text[:_MOST_TEXT]))


def _version_of_sdist(file: str) -> str | None:
    if not _SDIST.fullmatch(file):
        return None
    _, dash, version = _stem(file).rpartition("-")
    try:
        return normal_version(version) if dash else None
    except ValueError:
        return None


def _stem(sdist: str) -> str:
    return sdist.removesuffix(".tar.gz").removesuffix(".zip")


@lru_cache(maxsize=1 << 14)
def normal_version(text: str) -> str:
    """The version as PEP 440 spells it."""
    return str(parsed_version(text))


def file_at(place: str) -> ProjectFile:
    """The wheel or sdist that an address or a path leads to, which may end in `#sha256=…`."""
    url = place if "://" in place or place.startswith("file:") else Path(place).absolute().as_uri()
    found = of_entry(PageEntry(url, url if url.startswith("file:") else ""))
    if found is None:
        name = redacted(unquote(place.partition("#")[0]))
        hint = "give the address or the path of a file that ends in .whl, .tar.gz or .zip, named as installers expect"
        raise WheelError(f"{name} is neither a wheel nor an sdist by its name", hint=hint)
    return found


class LeftOutReason(Enum):
    """Why a version has no candidate, with what is said of it; the first that applies to any of its files counts."""

    YANKED = "withdrawn: {detail}"
    TOO_NEW = "uploaded {detail}"
    PYTHON = "requires Python {detail}"
    ONLY_SOURCE = "no wheel for {target}, only source"
    NO_FILE = "no file for {target}"


class LeftOutVersion(NamedTuple):
    """A version that is no candidate; its file, where it has one that `==` would take all the same (yanked ones)."""

    version: str
    reason: LeftOutReason
    text: str
    file: ProjectFile | None = None


class ProjectCandidates(NamedTuple):
    """The best file of each version, the newest version first, and the versions that have none."""

    files: tuple[ProjectFile, ...]
    left_out: tuple[LeftOutVersion, ...]


class FileRules(NamedTuple):
    """What the user says of files; `uploaded_before` is a day or a moment in UTC as ISO 8601 has it.

    Pre-releases stay in: it takes a specifier to judge them.
    """

    only_binary: bool = False
    no_binary: bool = False
    uploaded_before: str | None = None


def candidates(files: Iterable[ProjectFile], target: IndexTarget, rules: FileRules | None = None) -> ProjectCandidates:
    """Which file of each version this Python would take: its best wheel, else its sdist."""
    by_version = grouped((parsed_version(file.version), file) for file in files)
    newest_first = sorted(by_version, reverse=True)
    chosen = [_choice(by_version[version], target, rules or _NO_RULES) for version in newest_first]
    taken = tuple(file for file in chosen if isinstance(file, ProjectFile))
    return ProjectCandidates(taken, tuple(version for version in chosen if isinstance(version, LeftOutVersion)))


def of_use(files: Iterable[ProjectFile], target: IndexTarget) -> tuple[ProjectFile, ...]:
    """The few files of a project that decide, in their order: whatever the rules, their candidates are those of all.

    Of each version that is the best wheel and the best sdist; of those after them the ones that were uploaded earlier,
    for a cooldown; and where nothing suits, one that shows why.
    """
    kinds = grouped(
        ((parsed_version(file.version), file.wheel is None), (place, file)) for place, file in enumerate(files)
    )
    kept: dict[int, ProjectFile] = {}
    for kind in kinds.values():
        ranked: list[tuple[_Preference, int, ProjectFile]] = []
        lacking: dict[LeftOutReason, tuple[int, ProjectFile]] = {}
        for place, file in kind:
            preference = _preference(file, target, _NO_RULES)
            if isinstance(preference, LeftOutReason):
                lacking.setdefault(preference, (place, file))
            elif not suits_python(file.requires_python, target):
                lacking.setdefault(LeftOutReason.PYTHON, (place, file))
            else:
                ranked.append((preference, -place, file))
        if not ranked:
            place, file = next(lacking[reason] for reason in LeftOutReason if reason in lacking)
            kept[place] = file
        earliest: str | None = None
        for number, (_, place, file) in enumerate(sorted(ranked, reverse=True)):
            if number == 0 or (file.uploaded and (earliest is None or _is_before(file.uploaded, earliest))):
                kept[-place], earliest = file, file.uploaded
    return tuple(kept[place] for place in sorted(kept))


_NO_RULES = FileRules()
_Preference = tuple[bool, int, tuple[int, str]]


def _choice(files: list[ProjectFile], target: IndexTarget, rules: FileRules) -> ProjectFile | LeftOutVersion:
    version, reasons = files[0].version, dict[LeftOutReason, str]()
    best: tuple[_Preference, ProjectFile] | None = None
    for file in files:
        preference = _preference(file, target, rules)
        if isinstance(preference, LeftOutReason):
            reasons.setdefault(preference, "")
        elif not suits_python(file.requires_python, target):
            reasons.setdefault(LeftOutReason.PYTHON, file.requires_python or "")
        elif rules.uploaded_before is not None and not _is_before(file.uploaded, rules.uploaded_before):
            when = f"on {file.uploaded[:10]}" if file.uploaded else "at an unknown time"
            reasons[LeftOutReason.TOO_NEW] = min(when, reasons.get(LeftOutReason.TOO_NEW, when), key=_day)
        elif best is None or preference > best[0]:  # of equals the first: the user's order of indexes
            best = preference, file
    if best is not None and best[1].yanked is None:
        return best[1]
    if best is not None:
        reasons = {LeftOutReason.YANKED: best[1].yanked or "no reason is given"}
    reason = next(one for one in LeftOutReason if one in reasons)
    name = f"{python_name(target.tag)} on {target.platform.name}"
    return LeftOutVersion(version, reason, reason.value.format(target=name, detail=reasons[reason]), best and best[1])


def _preference(file: ProjectFile, target: IndexTarget, rules: FileRules) -> _Preference | LeftOutReason:
    """The higher the better: what is not yanked, wheels by their tags, then by their build numbers, then sdists."""
    if file.wheel is None:
        return LeftOutReason.ONLY_SOURCE if rules.only_binary else (file.yanked is None, -_LAST, (0, ""))
    rank = None if rules.no_binary else wheelnames.rank(file.wheel, target.tag, target.platform)
    return LeftOutReason.NO_FILE if rank is None else (file.yanked is None, -rank, _build_of(file.file))


_LAST = 1 << 20


def _day(when: str) -> tuple[bool, str]:
    """The earliest first, what is unknown last."""
    return (not when.startswith("on "), when)


def _build_of(file: str) -> tuple[int, str]:
    """`pkg-1.0-2a-py3-none-any.whl` → (2, "a"), by which pip sorts wheels that suit equally well."""
    parts = file.split("-")
    match = re.match(r"(\d{1,18})(.*)", parts[2]) if len(parts) == 6 else None
    return (int(match[1]), match[2]) if match else (0, "")


def _is_before(uploaded: str | None, moment: str) -> bool:
    """By their texts, which sort as the moments do once the sign of UTC is away."""
    return uploaded is not None and _bare(uploaded) < _bare(moment)


def _bare(moment: str) -> str:
    return moment.removesuffix("Z").removesuffix("+00:00")


def suits_python(requires_python: str | None, target: IndexTarget) -> bool:
    """Whether a Requires-Python allows it; one that cannot be read does not bind, as with pip."""
    return not requires_python or _admits(requires_python, target.full_version)


@lru_cache(maxsize=1 << 12)
def _admits(requires_python: str, version: str) -> bool:
    try:
        check_bounds(requires_python)
        return SpecifierSet(requires_python).contains(version, prereleases=True)
    except ValueError:
        return True
