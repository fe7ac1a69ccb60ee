"""What every page of the site has: its look, the way to the others, what a link to it is shown as elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from torchpick.cli import webpage

_FOLDER = Path(__file__).parent
STYLE = webpage.part("page.css") + (_FOLDER / "site.css").read_text(encoding="utf-8")
SCRIPT = (_FOLDER / "site.js").read_text(encoding="utf-8")
_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; "
    "base-uri 'none'"
)


class Page(NamedTuple):
    """A page of the site: its folder (`gpu/gtx-1080-ti/`, empty for the root), what it is called and what it says."""

    url: str
    title: str
    about: str
    body: str
    picture: str = "pictures/link.png"
    kind: str = "TechArticle"


def head(page: Page, base: str) -> str:
    """What a link to the page is shown as elsewhere; `base` is where the site lies, for whole addresses."""
    values = {
        "type": "website" if not page.url else "article",
        "site_name": "torchpick",
        "title": page.title,
        "description": page.about,
        "url": base + page.url,
        "image": base + page.picture,
    }
    facts = {
        "@context": "https://schema.org",
        "@type": page.kind,
        "headline" if page.kind == "TechArticle" else "name": page.title,
        "description": page.about,
        "url": base + page.url,
        "image": base + page.picture,
    }
    lines = [f'<meta property="og:{name}" content="{escape(value)}">' for name, value in values.items()]
    lines += ['<meta name="twitter:card" content="summary_large_image">']
    lines += [f'<link rel="canonical" href="{escape(base + page.url)}">'] if base else []
    lines += [f'<script type="application/ld+json">{webpage.embedded(facts)}</script>']
    return "\n".join(lines)


def links(up: str) -> str:
    """What stands above each page."""
    pages = (
        ("index.html", "Which PyTorch?"),
        ("all.html", "All GPUs and releases"),
        ("about/index.html", "torchpick"),
        ("tutorial/index.html", "Tutorial"),
        ("users/index.html", "Documentation"),
    )
    anchors = "".join(f'<a href="{up}{to}">{name}</a>' for to, name in pages)
    return f'<nav aria-label="Site">{anchors}</nav>'


def framed(page: Page, base: str, *, heading: bool = True, foot: str = "") -> str:
    """The whole page."""
    up = "../" * page.url.count("/")
    title = f"<h1>{escape(page.title)}</h1>\n" if heading else ""
    style = re.sub(r"\n\s*", "\n", STYLE)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(page.title)}</title>
<link rel="icon" href="data:,">
<meta name="description" content="{escape(page.about)}">
{head(page, base)}
<style>
{style}</style>
</head>
<body>
<header>
{links(up)}
{title}</header>
<main>
{page.body}
</main>
<footer><p>{foot}</p></footer>
<script>{SCRIPT}</script>
</body>
</html>
"""


def sitemap(addresses: Sequence[str], base: str) -> str:
    """Every page by its whole address."""
    rows = "".join(f"<url><loc>{escape(base + address)}</loc></url>\n" for address in addresses)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{rows}</urlset>\n'
