"""What the last refresh saw of an index: the tags of its pages, and the builds on them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from torchpick.index import wheelnames
from torchpick.index.listing import Link
from torchpick.index.pages import Page
from torchpick.knowledge.locations import base_key
from torchpick.model.fields import Fields, ShapeError, read, written
from torchpick.model.noun import Noun
from torchpick.wheels import shelf
from torchpick.wheels.live import ListedBuild

_SCHEMA = 1
_LOGIN = re.compile(r"//[^/@ ]*@")


class Memory(Noun):
    tags: dict[str, str]
    found: tuple[ListedBuild, ...]


NOTHING = Memory({}, ())


def _file(cache: Path, channel: str, base: str) -> Path:
    return cache / "pages" / f"{base_key(base)}{channel}.json"


def _open(urls: str) -> str:
    """The addresses without names and passwords."""
    return _LOGIN.sub("//", urls)


def save(cache: Path, channel: str, base: str, pages: Iterable[Page], found: Iterable[ListedBuild]) -> None:
    """Remember the pages, if each of them can be asked for by its tag; a password is not remembered, so none then."""
    tags = {page.url: page.tag for page in pages}
    if None in tags.values() or any(_open(url) != url for url in tags):
        tags = {}
    rows = [_row(build) for build in found]
    shelf.write(_file(cache, channel, base), {"schema": _SCHEMA, "base": _open(base), "tags": tags, "found": rows})


def load(cache: Path, channel: str, base: str) -> Memory:
    """What was saved for this index; nothing if it is of another one or cannot be read any more."""
    try:
        fields = Fields(shelf.read(_file(cache, channel, base)))
        if fields.number("schema") != _SCHEMA or fields.text("base") != _open(base):
            return NOTHING
        tags = fields.object("tags")
        return Memory({url: tags.text(url) for url in tags.names()}, tuple(map(_found, fields.objects("found"))))
    except ShapeError:
        return NOTHING


def _row(build: ListedBuild) -> dict[str, object]:
    """The build, with the wheel to read beside its other facts."""
    facts, sample = written(build), build.sample
    del facts["sample"]
    wheel = {"file": sample.file, "url": _open(sample.url), "sha256": sample.sha256, "uploaded": sample.uploaded}
    return {**facts, **wheel}


def _found(row: Fields) -> ListedBuild:
    file = row.text("file")
    wheel = wheelnames.parse(file)
    if wheel is None:
        raise row.fail("file", "is not a wheel")
    link = Link(file, row.text("url"), wheel, row.maybe_text("sha256"), uploaded=row.maybe_text("uploaded"))
    return read(ListedBuild, row, sample=link)
