"""What the last refresh saw of an index: the tags of its pages, and the builds on them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from torchpick.model.fields import Fields, ShapeError
from torchpick.wheels import names, shelf
from torchpick.wheels.listing import Link
from torchpick.wheels.live import Found
from torchpick.wheels.pages import Page

_SCHEMA = 1


class Memory(NamedTuple):
    tags: dict[str, str]
    found: tuple[Found, ...]


NOTHING = Memory({}, ())


def _file(cache: Path, channel: str) -> Path:
    return cache / "pages" / f"{channel}.json"


def save(cache: Path, channel: str, base: str, pages: Iterable[Page], found: Iterable[Found]) -> None:
    """Remember the pages, if each of them can be asked for by its tag."""
    tags = {page.url: page.tag for page in pages}
    if None in tags.values():
        tags = {}
    rows = [
        {
            "torch": each.torch,
            "backend": each.backend,
            "platform": each.platform,
            "version": each.version,
            "pythons": list(each.pythons),
            "tags": list(each.tags),
            "glibc": each.glibc,
            "yanked": each.yanked,
            "file": each.sample.file,
            "url": each.sample.url,
            "sha256": each.sample.sha256,
            "uploaded": each.sample.uploaded,
        }
        for each in found
    ]
    shelf.write(_file(cache, channel), {"schema": _SCHEMA, "base": base, "tags": tags, "found": rows if tags else []})


def load(cache: Path, channel: str, base: str) -> Memory:
    """What was saved for this index; nothing where it is of another one or no longer to be understood."""
    try:
        fields = Fields(shelf.read(_file(cache, channel)))
        if fields.number("schema") != _SCHEMA or fields.text("base") != base:
            return NOTHING
        tags = fields.object("tags")
        return Memory({url: tags.text(url) for url in tags.names()}, tuple(map(_found, fields.objects("found"))))
    except ShapeError:
        return NOTHING


def _found(row: Fields) -> Found:
    file = row.text("file")
    wheel = names.parse(file)
    if wheel is None:
        raise row.fail("file", "is no wheel")
    link = Link(file, row.text("url"), wheel, row.maybe_text("sha256"), uploaded=row.maybe_text("uploaded"))
    return Found(
        row.text("torch"),
        row.text("backend"),
        row.text("platform"),
        row.text("version"),
        row.texts("pythons"),
        row.texts("tags"),
        row.maybe_text("glibc"),
        row.flag("yanked"),
        link,
    )
