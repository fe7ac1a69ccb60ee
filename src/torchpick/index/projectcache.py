"""What was read of the user's indexes, in the cache: pages as rows for an hour, METADATA by the hash of its file."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from torchpick.environment import rewrite
from torchpick.errors import TorchpickError
from torchpick.index import pages, projectfiles
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import IndexTarget
from torchpick.model.metadata import Metadata, MetadataSource, parse_metadata

# Raised where a record holds more or other things than before: older ones are then read anew.
_SCHEMA = 2
_MOST_BYTES = 48 << 20
MOST_RECORDS = {"pages": 2048, "metadata": 16384}
_DAMAGED = (AttributeError, KeyError, TypeError, ValueError)
_ETAG = re.compile(r"[!-~]{1,256}")


class KeptPage(NamedTuple):
    """A page as it was at that time, seconds since the epoch; `files` is None where there was no such page."""

    time: float
    etag: str
    files: tuple[ProjectFile, ...] | None


class ProjectCache:
    """A folder with a private file for each page and each METADATA. A damaged one counts as none.

    `age` is for how many seconds that counts which may change.
    """

    def __init__(self, cache: str, age: float) -> None:
        self._folder, self._age = Path(cache) / "projects", age
        self._written: set[str] = set()

    def page(self, url: str, index: str, target: IndexTarget | None = None) -> KeptPage | None:
        """What is kept of a page; for a target only what is of use to it, which has a record of its own."""
        key = _page_key(url, target)
        if target is None or self._written_at("pages", key) >= self._written_at("pages", url):
            record = self._page(key, index)
            if record is not None or target is None:
                return record
        whole = self._page(url, index)
        return None if whole is None else self.renew_page(url, _of_use(whole, target), target)

    def keep_page(self, url: str, page: KeptPage, target: IndexTarget | None = None) -> KeptPage:
        """Keep a page that was read; what comes back is what of it is of use."""
        self.renew_page(url, page)
        return page if target is None else self.renew_page(url, _of_use(page, target), target)

    def renew_page(self, url: str, page: KeptPage, target: IndexTarget | None = None) -> KeptPage:
        """Keep what is of use to a target, once more where the page has not changed."""
        rows = None if page.files is None else [_row(file) for file in page.files]
        etag = page.etag if _ETAG.fullmatch(page.etag) else ""
        self._write("pages", _page_key(url, target), {"time": page.time, "etag": etag, "files": rows})
        return page

    def _page(self, key: str, index: str) -> KeptPage | None:
        record = self._read("pages", key)
        with suppress(*_DAMAGED):
            etag = record["etag"] if _ETAG.fullmatch(record["etag"]) else ""
            if record["files"] is None:
                return KeptPage(float(record["time"]), etag, None)
            files = (pages.locate(href, "", *facts, index_url=index) for href, *facts in record["files"])
            return KeptPage(float(record["time"]), etag, tuple(file for file in files if file is not None))
        return None

    def is_fresh(self, written: float) -> bool:
        return 0 <= time.time() - written < self._age

    def metadata(self, file: ProjectFile) -> Metadata | str | None:
        """What is kept of a file; a text is the reason why nothing can be read of it."""
        record = self._read("metadata", _key(file))
        with suppress(*_DAMAGED):
            if file.sha256 is None and not self.is_fresh(float(record["time"])):
                return None
            if record["text"] == "":
                return str(record["reason"])[:500]
            metadata = parse_metadata(record["text"], MetadataSource(record["source"]))
            return metadata if (metadata.name, metadata.version) == (file.project, file.version) else None
        return None

    def keep_metadata(self, file: ProjectFile, metadata: Metadata | str) -> None:
        if isinstance(metadata, str):
            value = {"text": "", "reason": metadata}
        else:
            value = {"text": metadata.text, "source": metadata.source.value}
        self._write("metadata", _key(file), {"time": time.time(), **value})

    def prune(self) -> None:
        """Where new records were written, let go what killed runs left, and the oldest where there are too many."""
        for kind in self._written:
            rewrite.clear(str(self._folder / kind))
            rewrite.prune_json(self._folder / kind, MOST_RECORDS[kind])

    def _written_at(self, kind: str, key: str) -> int:
        """In nanoseconds; 0 where there is no such record."""
        with suppress(OSError):
            return self._path(kind, key).stat().st_mtime_ns
        return 0

    def _read(self, kind: str, key: str) -> dict[str, Any]:
        record = rewrite.read_json(self._path(kind, key))
        return record if isinstance(record, dict) and record.get("schema") == _SCHEMA else {}

    def _write(self, kind: str, key: str, value: dict[str, object]) -> None:
        """A cache that cannot be written is no error."""
        with suppress(TorchpickError, OSError):
            rewrite.write_json(self._path(kind, key), {"schema": _SCHEMA, **value}, _MOST_BYTES, record=True)
            self._written.add(kind)

    def _path(self, kind: str, key: str) -> Path:
        return self._folder / kind / f"{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}.json"


def _of_use(page: KeptPage, target: IndexTarget) -> KeptPage:
    return page if page.files is None else page._replace(files=projectfiles.of_use(page.files, target))


def _row(file: ProjectFile) -> tuple[object, ...]:
    """What a page says of it, its hash behind its address."""
    return file.with_hash, file.file, *file[4:9]


def _page_key(url: str, target: IndexTarget | None) -> str:
    """A whole page's is its address."""
    return url if target is None else f"{url}\0{target!r}"


def _key(file: ProjectFile) -> str:
    """The address is part of it: a hash is the index's word, and one index must not speak for another's files."""
    url = re.sub(r"//[^/@]*@", "//", file.url)
    return "\0".join((url, file.sha256 or f"{file.size} {file.uploaded}"))
