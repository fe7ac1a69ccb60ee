"""What a wheel or an sdist says of its requirements: beside it, at a wheel's end, or from an sdist's beginning.

An sdist is read until it has said that; no more is downloaded or kept. tarfile is not used: it reads headers of any
size into memory. Of an archive of members three kinds are looked at.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from torchpick.environment import toml
from torchpick.errors import BrokenOffError, RangesUnsupportedError, WheelError, WheelLayoutError
from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.index.ranges import MOST_METADATA, Archive, metadata_of, open_source
from torchpick.index.wheelnames import parsed_version
from torchpick.model import metadata
from torchpick.model.address import redacted
from torchpick.model.metadata import Metadata
from torchpick.model.versions import normal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.index.client import Client

# From a server without ranges: sixteen archives of this size may be in memory at once, and one that is larger.
_SMALL = 4 << 20
_large = threading.Lock()
# Packed and unpacked: where an sdist has said nothing until then, what is left is not read.
MOST_PACKED = 32 << 20
MOST_UNPACKED = 256 << 20
_BLOCK = 512
_DAMAGED = "the archive is damaged or no sdist: download it again"


def read_metadata(file: ProjectFile, client: Callable[[], Client]) -> Metadata | str:
    """What a file requires; a text says why nobody can read that. `client` is called before each request."""
    try:
        metadata_ = _of_wheel(file, client) if file.name.is_wheel else _of_sdist(file, client)
    except ValueError as error:
        raise WheelError(f"its metadata is not valid: {error}", hint="request another version of it") from error
    if metadata_ is None:
        return "its source does not say what it requires"
    if metadata_.name != file.project or parsed_version(metadata_.version) != parsed_version(file.version):
        text = f"its metadata is that of {metadata_.name} {metadata_.version}"
        raise WheelError(text, hint="request another version of it")
    return metadata_._replace(version=file.version)  # which may be spelled with a zero less


def _of_wheel(file: ProjectFile, client: Callable[[], Client]) -> Metadata:
    if file.metadata is not None and not file.url.startswith("file:"):
        document = client().get(f"{file.url}.metadata", absent=True)
        if document.status == 200:
            text = pages.sidecar(document.body, file.metadata, file.url)
            return metadata.parse_metadata(text)
    headers = _headers(file, client)
    if headers is None:
        raise WheelError("it has no METADATA", hint="request another version of it")
    return metadata.parse_metadata(headers)


def _headers(file: ProjectFile, client: Callable[[], Client]) -> str | None:
    try:
        with open_source(file.url, client, whole=_SMALL) as source:
            return metadata_of(Archive(source))
    except RangesUnsupportedError:
        with _large, open_source(file.url, client) as source:
            return metadata_of(Archive(source))


def _of_sdist(file: ProjectFile, client: Callable[[], Client]) -> Metadata | None:
    if file.file.endswith(".zip"):  # as sdists were before PEP 625
        return None
    if file.url.startswith("file:"):
        with open_source(file.url, client) as source:
            return read_tar(source.stream(0, source.size), file.project, file.version)
    try:
        return _of_tar(file, client)
    except BrokenOffError:
        return _of_tar(file, client)


def _of_tar(file: ProjectFile, client: Callable[[], Client]) -> Metadata | None:
    reply = client().open(file.url)
    try:
        if reply.status != 200:
            raise reply.refusal(redacted(file.url))
        return read_tar(reply.chunks, file.project, file.version)
    finally:
        reply.close()


def read_tar(packed: Iterable[bytes], project: str, version: str) -> Metadata | None:
    """What a .tar.gz says that is final, else what may be guessed; None where a build decides it.

    It may raise ValueError.
    """
    parts: dict[str, Metadata | None] = {}
    has_egg = False
    with suppress(_NothingSaidError):
        for path, read in _in_tar(packed, project):
            *folders, name = path.removeprefix("./").split("/")
            is_egg = len(folders) in (2, 3) and folders[-1].endswith(_EGG)
            if is_egg and normal(folders[-1].removesuffix(_EGG)) == project:
                has_egg = True
                if name == _REQUIRES:
                    parts[name] = metadata.of_requires_txt(read().decode("utf-8", "replace"), project, version)
            elif len(folders) == 1 and name == _PKG_INFO:
                text = read().decode("utf-8", "replace")
                parts[name] = metadata.parse_metadata(text)
                if metadata.requirements_are_final(text):
                    return parts[name]
            elif len(folders) == 1 and name == _PYPROJECT:
                parts[name] = _static(read(), project, version)
                if parts[name] is not None:
                    return parts[name]
            if len(parts) == 3:  # the kinds of files with requirements
                break
    return _guess(parts.get(_REQUIRES), parts.get(_PKG_INFO), has_egg=has_egg)


def _guess(requires: Metadata | None, pkg_info: Metadata | None, *, has_egg: bool) -> Metadata | None:
    """What an earlier build left in it, which the next may change."""
    if requires is not None:
        return requires._replace(requires_python="" if pkg_info is None else pkg_info.requires_python)
    if pkg_info is None or not (pkg_info.requires or has_egg):  # an egg without requires.txt requires nothing
        return None
    return pkg_info._replace(guessed=True)


def _static(pyproject: bytes, project: str, version: str) -> Metadata | None:
    with suppress(ValueError):  # the build will say what is wrong with it
        return metadata.of_pyproject(toml.loads(pyproject.decode("utf-8", "replace")), project, version)
    return None


_PKG_INFO, _PYPROJECT, _REQUIRES, _EGG = "PKG-INFO", "pyproject.toml", "requires.txt", ".egg-info"


class _NothingSaidError(Exception):
    """As much of an sdist was read as may be."""


def _beginning(chunks: Iterable[bytes]) -> Iterator[bytes]:
    left = MOST_PACKED
    for chunk in chunks:
        left -= len(chunk)
        if left < 0:
            raise _NothingSaidError
        yield chunk


class _Stream:
    """Bytes that come in chunks, of which no more than one is kept."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks, self._rest = iter(chunks), memoryview(b"")
        self._left = MOST_UNPACKED
        self.position = 0

    def _pieces(self, count: int) -> Iterator[memoryview]:
        while count > 0:
            if not self._rest:
                self._rest = memoryview(next(self._chunks, b""))
                self._left -= len(self._rest)
                if self._left < 0:
                    raise _NothingSaidError
                if not self._rest:
                    return
            piece, self._rest = self._rest[:count], self._rest[count:]
            count -= len(piece)
            self.position += len(piece)
            yield piece

    def read(self, count: int) -> bytes:
        """So many bytes, or what is left of them."""
        return b"".join(self._pieces(count))

    def skip(self, count: int) -> bool:
        """Whether so many bytes were there."""
        return sum(map(len, self._pieces(count))) == count


def _in_tar(packed: Iterable[bytes], name: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The path of each member, and what reads it."""
    from torchpick.index.client import gunzipped

    stream = _Stream(gunzipped(name, _beginning(packed)))
    while (member := _next_member(stream)) is not None:
        path, size = member
        end = stream.position + size + -size % _BLOCK
        if size <= MOST_METADATA:
            yield path, partial(stream.read, size)
        if not stream.skip(end - stream.position):
            return


def _next_member(stream: _Stream) -> tuple[str, int] | None:
    """The next member's path, empty for a folder or a link, and its size; None at the end."""
    block = stream.read(_BLOCK)
    if len(block) < _BLOCK or not block.strip(b"\0"):
        return None
    blank = block[:148] + b" " * 8 + block[156:]
    size, checksum = _number(block[124:136]), _number(block[148:156])
    if size is None or checksum != sum(blank):
        raise WheelLayoutError("has a member whose header is damaged", hint=_DAMAGED)
    name, prefix = (part.partition(b"\0")[0].decode("utf-8", "replace") for part in (block[:100], block[345:500]))
    path = f"{prefix}/{name}" if prefix and block[257:262] == b"ustar" else name
    is_file = block[156:157] in (b"0", b"\0")
    return path if is_file else "", size


def _number(field: bytes) -> int | None:
    """Octal digits, or of large files the number itself behind a bit."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if not digits.strip(b"01234567") else None
