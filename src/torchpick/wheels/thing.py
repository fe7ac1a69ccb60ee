"""What a user names (a file, a URL, a requirement, a distribution, a folder) → a Reading."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from torchpick.errors import RangesUnsupportedError, TorchpickError, UsageError, WheelError
from torchpick.wheels import image, installed, names, wheel
from torchpick.wheels.archive import Archive
from torchpick.wheels.locate import Located, Wanted
from torchpick.wheels.reading import FLAGS, WHOLE, Reading
from torchpick.wheels.source import FileSource, Source, Tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from httpx import Client  # loaded only where something is on the web

_LOCAL = (".whl", ".so", ".dll", ".pyd", ".cubin", ".fatbin", ".zip")


class How(NamedTuple):
    """How deep, for which interpreter, and what is allowed."""

    depth: str | None = None
    wanted: Wanted = Wanted()
    offline: bool = False
    allow_full: int | None = None  # bytes
    tell: Tell | None = None
    talk: Callable[[str], None] | None = None  # a sentence for the user


def read(thing: str, how: How) -> Reading:
    """Read what is named; raises a TorchpickError that names it."""
    if not thing or "\0" in thing:
        raise UsageError("an empty name cannot be inspected", hint="name a wheel, a package or a library")
    if "://" in thing:
        return _url(thing, how)
    path = Path(thing)
    try:
        exists = path.exists()
    except OSError:  # longer than a path can be
        exists = False
    if exists:
        return _path(path, thing, how)
    if os.sep in thing or (os.altsep and os.altsep in thing) or thing.lower().endswith(_LOCAL):
        raise WheelError(f"there is no file {thing}", hint="check the path", code="NOT_FOUND")
    return _package(thing, how)


def _package(thing: str, how: How) -> Reading:
    """A bare name is what is installed, else what the index has; with a version, the index's."""
    told = how.wanted.platform is not None or how.wanted.version is not None
    if names.normal(thing).replace("-", "").isalnum() and not told:
        here = installed.find(thing, installed.folders(how.wanted.python))
        if here is not None:
            return installed.read_distribution(here, thing, how.depth)
        if how.talk is not None:
            how.talk(f"{thing} is not installed: asking the index")
    from torchpick.wheels import locate

    locate.check(thing)
    if how.offline:
        raise UsageError(f"`{thing}` must be looked up in an index", hint="leave out `--offline`, or name a wheel file")
    found = locate.locate(thing, how.wanted)
    if how.talk is not None:
        how.talk(f"{found.by} would take {found.file}")
    return _url(found.url, how, target=thing, located=found)


def _url(url: str, how: How, target: str | None = None, located: Located | None = None) -> Reading:
    from torchpick.wheels import web

    try:
        parts = urlsplit(url)
        path = unquote(parts.path)
    except ValueError as error:
        raise UsageError(f"`{web.redacted(url)}` is no URL", hint="check its spelling") from error
    shown = target or web.redacted(url)
    file = path.rpartition("/")[2]
    wheel.check_is_wheel(file)
    if parts.scheme == "file":
        return _path(Path(url2pathname(parts.path)), shown, how)
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"`{shown}`: only http, https and file addresses can be read", hint="download it yourself")
    if how.offline:
        raise UsageError(f"`{shown}` is on the web", hint="leave out `--offline`, or name a file")
    sha256 = located.sha256 if located is not None else _fragment(parts.fragment)
    with ExitStack() as stack:
        client = stack.enter_context(closing(web.client()))
        source = stack.enter_context(closing(_remote(url, sha256, client, how, stack)))
        reading = _named(shown, lambda: wheel.read(Archive(source), wheel.Facts(shown, file, sha256), how.depth))
        # A file that was downloaded whole cost the download, not what was then read of it.
        return reading._replace(bytes_read=source.size, requests=2) if isinstance(source, FileSource) else reading


def _remote(url: str, sha256: str | None, client: Client, how: How, stack: ExitStack) -> Source:
    from torchpick.wheels.remote import RemoteSource

    try:
        return RemoteSource(url, client, how.tell)
    except RangesUnsupportedError:
        if how.allow_full is None:
            raise
        from torchpick.wheels.download import Allowed, download

        return FileSource(download(url, client, stack, Allowed(how.allow_full, sha256), how.tell))


def _fragment(text: str) -> str | None:
    """The hash that an index puts behind a file's address."""
    kind, _, digest = text.partition("=")
    return digest.lower() if kind == "sha256" and len(digest) == 64 and digest.isalnum() else None


def _path(path: Path, shown: str, how: How) -> Reading:
    if path.is_dir():
        return _named(shown, lambda: installed.read_folder(path, shown, how.depth))
    if not path.is_file():
        raise WheelError(f"{shown} is neither a file nor a folder", hint="name a wheel or a library")
    wheel.check_is_wheel(path.name)
    source = FileSource(path, how.tell)
    try:
        head = source.read(0, min(64, source.size))
        source.bytes_read = 0
        if head[:2] == b"PK":
            facts = wheel.Facts(shown, path.name, remote=False)
            return _named(shown, lambda: wheel.read(Archive(source), facts, how.depth))
    finally:
        source.close()
    return _named(shown, lambda: _library(path, head, shown, how.depth))


def _library(path: Path, head: bytes, shown: str, depth: str | None) -> Reading:
    if depth == FLAGS:
        raise UsageError(f"{shown} is one library, `--flags` reads a torch", hint="leave out `--flags`")
    known = image.form(head) is not None or head[:4] == b"\x50\xed\x55\xba"
    one = installed.read_library(path, path.name) if known else None
    if one is None:
        raise WheelError(f"{shown} is neither a wheel nor a library", hint="name a .whl, .so, .dll, .pyd or .cubin")
    return Reading(shown, WHOLE, one.complete, one.size, one.size, 0, file=path.name, libraries=(one,))


def _named(shown: str, work: Callable[[], Reading]) -> Reading:
    """Do the work; an error about its bytes says whose they are."""
    try:
        return work()
    except WheelError as error:
        if shown in error.message:
            raise
        kind = type(error)
        raise kind(f"{shown}: {error.message}", hint=error.hint, code=error.code) from error
    except TorchpickError:
        raise
    except RecursionError as error:
        raise WheelError(f"{shown} cannot be read", hint="fetch it anew") from error
