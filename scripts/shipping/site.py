"""The site: README, docs/ and the pages that are made from the table, in one look, with nothing from other hosts.

    scripts/build-site --url https://OWNER.github.io/torchpick/

The documents are written for a forge and a checkout, where their links work as they stand; here they become the site's.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape, unescape
from pathlib import Path

from scripts.shipping import data, frame, linkpicture, pages
from scripts.shipping.frame import Page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOME = "https://github.com/example/torchpick/blob/main/"
MENU = {
    "Begin": {"about": "torchpick", "tutorial": "Tutorial", "users": "For users", "faq": "Questions",
              "glossary": "Glossary"},
    "Use it": {
        "windows": "Windows", "notebooks": "Notebooks", "docker-ci": "Docker and CI",
        "comfyui-vllm": "ComfyUI and vLLM", "clusters": "Clusters", "mirrors": "Mirrors",
    },
    "Reference": {
        "judgement": "Judgement", "doctor": "Doctor", "codes": "Codes", "detection": "Detection",
        "install": "Installing",
        "pinned": "Pinned environments", "inspect": "Inspecting wheels", "variants": "Wheel variants",
        "tested": "What was tested", "table": "Add to the table",
    },
    "Programs": {
        "library": "The library", "library-authors": "Library authors", "tools": "Tool authors", "design": "Design",
        "testing": "Tests",
    },
}  # fmt: skip


def outward(text: str) -> str:
    """Links to what lies beside docs/ as addresses."""
    return re.sub(r"\]\(\.\./([^)\s]+)\)", lambda match: f"]({HOME}{match[1]})", text)


def home(text: str) -> str:
    """README as a page of docs/."""
    beside = re.sub(r"\]\((?!docs/|https:|#)", f"]({HOME}", text)
    return beside.replace("](docs/", "](")


def sources() -> Iterator[tuple[str, str]]:
    """Each document by its name, README among them, with the links of docs/."""
    yield "about", home((ROOT / "README.md").read_text("utf-8"))
    yield from ((path.stem, outward(path.read_text("utf-8"))) for path in sorted(DOCS.glob("*.md")))


def inward(html: str) -> str:
    """Links among the documents, each of which is a folder of the site."""
    html = re.sub(r'(href|src)="(?!https?:|#)([^"#]+)', r'\1="../\2', html)
    return re.sub(r'href="\.\./([\w-]+)\.md', r'href="../\1/index.html', html)


@cache
def document(name: str, text: str) -> Page:
    import markdown

    # Words behind a fence's language are for the tests.
    text = re.sub(r"^(```\w+) .*$", r"\1", text, flags=re.MULTILINE)
    html = inward(markdown.markdown(text, extensions=["tables", "toc", "fenced_code", "sane_lists"]))
    html = html.replace("<table>", '<table tabindex="0">')
    title = next(entry for entries in MENU.values() for key, entry in entries.items() if key == name)
    about = _words(next(iter(re.findall(r"<p>(?!<img)(.+?)</p>", html, re.DOTALL)), title))[:300]
    return Page(f"{name}/", title, about, f'<div class="docs">{_menu(name)}<article>{html}</article></div>')


def search_index() -> str:
    """For the search of site.js every section of the documents: where it stands, its page, its heading, its words."""
    rows = []
    for name, text in sources():
        page = document(name, text)
        parts = re.split(r'<h[1-4] id="([^"]+)">(.*?)</h[1-4]>', page.body, flags=re.DOTALL)
        for anchor, *texts in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            plain = (_words(part) for part in texts)
            rows.append((f"{name}/index.html#{anchor}", page.title, *plain))
    return f"found({json.dumps(rows, ensure_ascii=False)});\n"


def _words(html: str) -> str:
    inline = re.sub(r"</?(?:a|code|em|strong)\b[^>]*>", "", html)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", inline)).split())


def _menu(current: str) -> str:
    parts = []
    for section, entries in MENU.items():
        parts.append(f"<b>{section}</b>")
        for name, title in entries.items():
            here = ' aria-current="page"' if name == current else ""
            parts.append(f'<a href="../{name}/index.html"{here}>{escape(title)}</a>')
    return f'<aside><nav aria-label="Documents">{"".join(parts)}</nav></aside>'


def documents(base: str) -> Iterator[tuple[str, str]]:
    for name, text in sources():
        yield f"{name}/index.html", frame.framed(document(name, text), base, heading=False)


def write(folder: Path, base: str) -> int:
    """The whole site; how many pages it has."""
    shutil.copytree(DOCS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.md"))
    html = {**dict(documents(base)), **dict(pages.every(base))}
    addresses = [name.removesuffix("index.html") for name in html]
    files = {**html, "sitemap.xml": frame.sitemap(addresses, base), "search.js": search_index()}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    for name, facts in pages.pictures().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(linkpicture.png(facts))
    data.write(folder / "api" / "v1")
    return len(html)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: scripts/build-site -o dist/site")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist" / "site", help="the folder to write it into")
    parser.add_argument("--url", default="", help="where it will lie, for what must be a whole address")
    args = parser.parse_args(words)
    base = f"{args.url.rstrip('/')}/" if args.url else ""
    print(f"{args.output}: {write(args.output, base)} pages")
    return 0
