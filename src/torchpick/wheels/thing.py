"""What a user names (a file, a URL, a requirement, a distribution) → a Reading."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

from torchpick.environment import distributions
from torchpick.environment.requirementfiles import located
from torchpick.errors import UsageError, WheelError, silent
from torchpick.index.archive import Archive
from torchpick.index.listing import WheelTarget
from torchpick.index.ranges import FileSource, RemoteSource
from torchpick.model.address import is_sha256
from torchpick.model.noun import Noun
from torchpick.model.redaction import redacted
from torchpick.model.versions import normal
from torchpick.wheels import inplace, wheel
from torchpick.wheels.readings import Allowance, Reading, Readings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from torchpick.errors import Report
    from torchpick.index.client import Client
_LOCAL = (".whl", ".so", ".dll", ".pyd", ".cubin", ".fatbin", ".zip")


class ReadOptions(Noun):
    """How deep, for which interpreter, and what is allowed."""

    depth: str | None = None
    wanted: WheelTarget = WheelTarget()
    offline: bool = False
    allowance: Allowance | None = None  # of one wheel on the web
    report: Report = silent
    readings: Readings | None = None  # what was read before
    client: Callable[[], Client] | None = None  # where many are read, the one of the thread
    elsewhere: Callable[[str, ReadOptions], Reading] | None = None  # how another computer reads an address


def read(thing: str, how: ReadOptions) -> Reading:
    """Read the THING; raises a TorchpickError that names it."""
    if not thing or "\0" in thing:
        raise UsageError("an empty name cannot be inspected", hint="give a wheel, a package or a library")
    if "://" in thing:
        return _url(thing, how)
    path = Path(thing)
    try:
        exists = path.is_file()
    except OSError:  # longer than a path can be
        exists = False
    if exists:
        return _path(path, thing, how)
    if os.sep in thing or (os.altsep and os.altsep in thing) or thing.lower().endswith(_LOCAL):
        raise WheelError(
            f"no such file: {thing}", hint="check the path; `--from FOLDER` reads a folder's wheels", code="NOT_FOUND"
        )
    return _package(thing, how)


def _package(thing: str, how: ReadOptions) -> Reading:
    """A bare name is what is installed, else what the index has; with a version, the index's."""
    elsewhere = how.wanted.platform is not None or how.wanted.python != how.wanted.program
    if normal(thing).replace("-", "").isalnum() and not elsewhere:
        here = distributions.read(how.wanted.program or sys.executable, os.environ, metadata=False).find(normal(thing))
        if here is not None:
            return inplace.read_distribution(here, thing)
        how.report(f"{thing} is not installed: looking it up on the index")
    from torchpick.index import user_index

    user_index.check(thing)
    if how.offline:
        raise UsageError(f"`{thing}` must be looked up on an index", hint="remove `--offline`, or give a wheel file")
    found = user_index.locate(thing, how.wanted, client=None if how.client is None else how.client())
    how.report(f"the newest wheel that fits is {redacted(found.url)}")
    return _url(found.with_hash, how, thing)


def _url(url: str, how: ReadOptions, target: str | None = None) -> Reading:
    try:
        parts = urlsplit(url)
        path = unquote(parts.path)
    except ValueError as error:
        raise UsageError(f"`{redacted(url)}` is not a valid URL", hint="check its spelling") from error
    shown = target or redacted(url.partition("#")[0])
    file = path.rpartition("/")[2]
    wheel.check_is_wheel(file)
    if parts.scheme == "file":
        return _path(Path(located(url)), shown, how)
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"`{shown}`: only http, https and file addresses can be read", hint="download it yourself")
    if how.offline:
        raise UsageError(f"`{shown}` is on the web", hint="remove `--offline`, or give a file")
    sha256 = sha256_of(parts.fragment)
    if how.readings is not None and (before := how.readings.find(url, sha256, how.depth, how.allowance)) is not None:
        return before._replace(target=shown, bytes_read=0, requests=0)  # it costs nothing now
    if how.elsewhere is not None:
        reading = how.elsewhere(url, how)._replace(target=shown)
    else:
        from torchpick.index.client import Client

        facts = wheel.WheelFacts(shown, file, sha256)
        with ExitStack() as stack:
            client = how.client() if how.client is not None else stack.enter_context(Client())
            source = stack.enter_context(closing(RemoteSource(url, client, how.report)))
            reading = _named(shown, lambda: wheel.read(Archive(source), facts, how.depth, how.allowance))
    if how.readings is not None:
        how.readings.keep(url, reading)
    return reading


def sha256_of(text: str) -> str | None:
    """The hash that an index puts behind a file's address."""
    kind, _, digest = text.partition("=")
    return digest.lower() if kind == "sha256" and is_sha256(digest) else None


def _path(path: Path, shown: str, how: ReadOptions) -> Reading:
    if not path.is_file():
        raise WheelError(f"{shown} is not a file", hint="give a wheel or a library; `--from FOLDER` reads its wheels")
    wheel.check_is_wheel(path.name)
    with closing(FileSource(path, how.report)) as source:
        zipped = source.read(0, min(2, source.size)) == b"PK"
        source.bytes_read = 0
        if zipped:
            facts = wheel.WheelFacts(shown, path.name, remote=False)
            return _named(shown, lambda: wheel.read(Archive(source), facts, how.depth))
    return _named(shown, lambda: inplace.read_file(str(path), shown))


def _named(shown: str, work: Callable[[], Reading]) -> Reading:
    """Do the work; an error about its bytes names the file."""
    try:
        return work()
    except WheelError as error:
        if shown in error.message:
            raise
        raise type(error)(f"{shown}: {error.message}", hint=error.hint, code=error.code) from error
