"""The files of a project as its pages list them: which of them a Python would take, and what is kept of them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from torchpick.environment import rewrite
from torchpick.errors import WheelError
from torchpick.index import pages, wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.wheelnames import parsed_version
from torchpick.model.address import holds_secret, redacted
from torchpick.model.build import python_name
from torchpick.model.machine import Platform
from torchpick.model.metadata import Metadata, parse_metadata
from torchpick.model.versions import admits, grouped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from packaging.version import Version


class IndexTarget(NamedTuple):
    """What wheels are for: the Python's tag, its version as far as it is known, and the platform."""

    tag: str
    platform: Platform
    version: str | None = None

    def __str__(self) -> str:
        return f"{python_name(self.tag)} on {self.platform.name}"

    @property
    def full_version(self) -> str:
        """For Requires-Python; a Python of unknown patch level is taken for a late one."""
        major, minor = wheelnames.version_of(self.tag)
        return self.version or f"{major}.{minor}.99"


def file_at(address: str) -> ProjectFile:
    """The wheel or sdist that an address or a path leads to, which may end in `#sha256=…`."""
    is_path = "://" not in address and not address.startswith("file:")
    if is_path and holds_secret(address):
        hint = "an address begins with its scheme, such as https://"
        raise WheelError(f"{redacted(address)} is neither an address nor a path", hint=hint)
    url = Path(address).absolute().as_uri() if is_path else address
    file = pages.locate(url, url if url.startswith("file:") else "")
    if file is None:
        name = redacted(unquote(address)).partition("#")[0]
        hint = "give the address or the path of a file that ends in .whl, .tar.gz or .zip, named as installers expect"
        raise WheelError(f"{name} is neither a wheel nor an sdist by its name", hint=hint)
    return file


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


class FileRules(NamedTuple):
    """What the user says of files; `uploaded_before` is a day or a moment in UTC as ISO 8601 has it.

    Pre-releases stay in: it takes a specifier to judge them.
    """

    only_binary: bool = False
    no_binary: bool = False
    uploaded_before: str | None = None


_NO_RULES = FileRules()
Candidates = tuple[tuple[ProjectFile, ...], tuple[LeftOutVersion, ...]]


def candidates(files: Iterable[ProjectFile], target: IndexTarget, rules: FileRules = _NO_RULES) -> Candidates:
    """The file of each version that this Python would take, and the versions of which it takes none; newest first."""
    by_version = grouped((parsed_version(file.version), file) for file in files)
    choices = [_choice(by_version[version], target, rules) for version in sorted(by_version, reverse=True)]
    return (
        tuple(choice for choice in choices if isinstance(choice, ProjectFile)),
        tuple(choice for choice in choices if isinstance(choice, LeftOutVersion)),
    )


def of_use(files: Sequence[ProjectFile], target: IndexTarget) -> tuple[ProjectFile, ...]:
    """The few files of a project that decide, in their order: whatever the rules, their candidates are those of all.

    That is what this Python could take; and of a version's wheels or sdists that it could not, one that shows why.
    """
    unfit: dict[tuple[Version, bool], dict[LeftOutReason, int]] = {}
    fit: set[tuple[Version, bool]] = set()
    decisive: set[int] = set()
    for number, file in enumerate(files):
        kind = parsed_version(file.version), not file.name.is_wheel
        preference = _preference(file, target, _NO_RULES)
        if isinstance(preference, LeftOutReason):
            unfit.setdefault(kind, {}).setdefault(preference, number)
        else:
            fit.add(kind)
            decisive.add(number)
    for kind in unfit.keys() - fit:
        decisive.add(next(unfit[kind][reason] for reason in LeftOutReason if reason in unfit[kind]))
    return tuple(file for number, file in enumerate(files) if number in decisive)


_Preference = tuple[bool, int, tuple[int, str]]


def _choice(files: list[ProjectFile], target: IndexTarget, rules: FileRules) -> ProjectFile | LeftOutVersion:
    reasons = dict[LeftOutReason, str]()
    best: tuple[_Preference, ProjectFile] | None = None
    before = None if rules.uploaded_before is None else _moment(rules.uploaded_before)
    for file in files:
        preference = _preference(file, target, rules)
        if isinstance(preference, LeftOutReason):
            reasons.setdefault(preference, file.requires_python or "")
        elif before is not None and (file.uploaded is None or _moment(file.uploaded) >= before):
            when = f"on {file.uploaded[:10]}" if file.uploaded else "on an unknown day"
            reasons[LeftOutReason.TOO_NEW] = min(when, reasons.get(LeftOutReason.TOO_NEW, when))
        elif best is None or preference > best[0]:  # of equals the first: the user's order of indexes
            best = preference, file
    file_ = best and best[1]
    if file_ is not None:
        if file_.yanked is None:
            return file_
        reasons = {LeftOutReason.YANKED: file_.yanked or "no reason is given"}
    reason = next(reason for reason in LeftOutReason if reason in reasons)
    return LeftOutVersion(files[0].version, reason, reason.value.format(target=target, detail=reasons[reason]), file_)


def _preference(file: ProjectFile, target: IndexTarget, rules: FileRules) -> _Preference | LeftOutReason:
    """The higher the better: what is not yanked, wheels by their tags, then by their build numbers, then sdists."""
    if not file.name.is_wheel:
        if rules.only_binary:
            return LeftOutReason.ONLY_SOURCE
        rank, build = _LAST, (0, "")
    else:
        rank_ = None if rules.no_binary else wheelnames.rank(file.name, target.tag, target.platform)
        if rank_ is None:
            return LeftOutReason.NO_FILE
        rank, build = rank_, _build_of(file.file)
    if not suits_python(file.requires_python, target):
        return LeftOutReason.PYTHON
    return file.yanked is None, -rank, build


_LAST = 1 << 20


def _build_of(file: str) -> tuple[int, str]:
    """`pkg-1.0-2a-py3-none-any.whl` → (2, "a"), by which pip sorts wheels that suit equally well."""
    parts = file.split("-")
    match = re.match(r"(\d{1,18})(.*)", parts[2]) if len(parts) == 6 else None
    return (int(match[1]), match[2]) if match else (0, "")


def _moment(utc: str) -> str:
    """A text that sorts as the moments do."""
    return utc.removesuffix("Z").removesuffix("+00:00")


def suits_python(requires_python: str | None, target: IndexTarget) -> bool:
    """Whether a Requires-Python allows it; one that cannot be read does not bind, as with pip."""
    try:
        return not requires_python or admits(requires_python, prereleases=True)(target.full_version)
    except ValueError:
        return True


_WHEELS_ALONE = FileRules(only_binary=True)


def best_wheels(files: Iterable[ProjectFile], specifier: str, target: IndexTarget) -> list[ProjectFile]:
    """The wheel that this Python would take of each version that the specifier admits, the newest version first."""
    from packaging.specifiers import SpecifierSet  # what is inspected here does without

    admitted = SpecifierSet(specifier)
    exact = any(part.operator in ("==", "===") and not part.version.endswith(".*") for part in admitted)
    taken, left_out = candidates(files, target, _WHEELS_ALONE)
    yanked = (left.file for left in left_out if exact and left.file is not None)
    by_version = {parsed_version(file.version): file for file in (*taken, *yanked)}
    # Pre-releases count where the specifier names one or there is nothing else (PEP 440).
    return [by_version[version] for version in sorted(admitted.filter(by_version), reverse=True)]


# What was read of the user's indexes, in the cache: pages as rows for an hour, METADATA by the hash of its file.
# Raised where a record holds more or other things than before: older ones are then read anew.
_SCHEMA = 4
_MOST_BYTES = 48 << 20
_MOST_PAGES, _MOST_METADATA = 2048, 16384
_DAMAGED = (AttributeError, KeyError, TypeError, ValueError)
_ETAG = re.compile(r"[!-~]{1,256}")


PageFiles = tuple[ProjectFile, ...] | None  # None where there is no such page
# A page as it was at that time, seconds since the epoch, with its ETag.
KeptPage = tuple[float, str, PageFiles]


class ProjectCache:
    """A folder with a private file for each page and each METADATA. A damaged one counts as none.

    `age` is for how many seconds that counts which may change.
    """

    def __init__(self, cache: str, age: float) -> None:
        folder, self._age = Path(cache, "projects"), age
        self._pages = rewrite.Records(folder / "pages", _SCHEMA, _MOST_PAGES, _MOST_BYTES)
        self._metadata = rewrite.Records(folder / "metadata", _SCHEMA, _MOST_METADATA, _MOST_BYTES)

    def page(self, url: str, index: str, target: IndexTarget | None = None) -> KeptPage | None:
        """What is kept of a page: for each target what is of use to it."""
        record = self._pages.read(_page_key(url, target))
        with suppress(*_DAMAGED):
            etag = record["etag"] if _ETAG.fullmatch(record["etag"]) else ""
            if record["files"] is None:
                return float(record["time"]), etag, None
            rows = [_in_row(row, index) for row in record["files"]]
            files = tuple(file for file in rows if file is not None)
            return (float(record["time"]), etag, files) if len(files) == len(rows) else None
        return None

    def keep_page(self, url: str, page: KeptPage, target: IndexTarget | None = None) -> PageFiles:
        """Keep a page that was read, or has not changed; what comes back is what of it is of use."""
        read_at, etag, files = page
        if target is not None and files is not None:
            files = of_use(files, target)
        rows = None if files is None else [_row_of(file) for file in files]
        self._pages.write(_page_key(url, target), {"time": read_at, "etag": etag, "files": rows})
        return files

    def is_fresh(self, written: float) -> bool:
        return 0 <= time.time() - written < self._age

    def metadata(self, file: ProjectFile) -> Metadata | str | None:
        """What is kept of a file; a text is the reason why nothing can be read of it."""
        record = self._metadata.read(_key(file))
        with suppress(*_DAMAGED):
            if file.sha256 is None and not self.is_fresh(float(record["time"])):
                return None
            if record["text"] == "":
                return str(record["reason"])[:500]
            return parse_metadata(record["text"])._replace(guessed=record["guessed"] is True)
        return None

    def keep_metadata(self, file: ProjectFile, metadata: Metadata | str) -> None:
        if isinstance(metadata, str):
            value: dict[str, object] = {"text": "", "reason": metadata}
        else:
            value = {"text": metadata.text, "guessed": metadata.guessed}
        self._metadata.write(_key(file), {"time": time.time(), **value})


def _row_of(file: ProjectFile) -> tuple[object, ...]:
    """What a page says of a file: its hash, and then the rest as `pages.locate` takes it."""
    return (file.hash, file.url, file.file, file.size, file.requires_python, file.yanked, file.metadata, file.uploaded)


def _in_row(row: list[Any], index: str) -> ProjectFile | None:
    hash_, url, *facts = row
    return pages.locate(url, "", *facts, hashes=(hash_.split("="),) if hash_ else (), index_url=index)


def _page_key(url: str, target: IndexTarget | None) -> str:
    """A whole page's is its address."""
    return url if target is None else f"{url}\0{target!r}"


def _key(file: ProjectFile) -> str:
    """The address is part of it: a hash is the index's word, and one index must not speak for another's files."""
    url = re.sub(r"//[^/@]*@", "//", file.url)
    return "\0".join((url, file.sha256 or f"{file.size} {file.uploaded}"))
