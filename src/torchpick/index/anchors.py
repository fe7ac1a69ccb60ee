"""The anchors of a page in HTML. Pure; a module of its own, so that pages in JSON are read without a reader of HTML."""

from __future__ import annotations

from html.parser import HTMLParser


class Anchors(HTMLParser):
    """The attributes of those with an href, and what the first `<base href>` says."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.tags: list[dict[str, str | None]] = []

    def parse_marked_section(self, i: int, report: bool = True) -> int:  # noqa: ARG002 # as it is there
        """Such as `<![if]>`, which is a comment in HTML; Python's own raises where no name that it knows follows."""
        return self.parse_bogus_comment(i)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(reversed(attrs))  # the first of a name counts
        href = attributes.get("href")
        if href is None:
            return
        if tag == "a":
            self.tags.append(attributes)
        elif tag == "base" and self.base is None:
            self.base = href
