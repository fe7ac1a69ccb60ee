"""What mkdocs does beyond its settings: README is a page, home and others are made from the table, links out go out.

The pages themselves are written for a forge and a checkout, where both kinds of link work as they stand.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[2]
HOME = "https://github.com/example/torchpick/blob/main/"


def home(text: str) -> str:
    """README as a page of docs/."""
    beside = re.sub(r"\]\((?!docs/|https:|#)", f"]({HOME}", text)
    return beside.replace("](docs/", "](")


def outward(text: str) -> str:
    """Links to what lies beside docs/ as addresses."""
    return re.sub(r"\]\(\.\./([^)\s]+)\)", lambda match: f"]({HOME}{match[1]})", text)


def plain_fences(text: str) -> str:
    """Blocks without the words that only the tests read, which mkdocs would not take for a fence."""
    return re.sub(r"^(```\w+) .*$", r"\1", text, flags=re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add README, and a place for home, which is written when all else is."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "about.md", content=home((ROOT / "README.md").read_text(encoding="utf-8"))))
    files.append(File.generated(config, "index.md", content="# Which PyTorch runs on my GPU?\n"))
    return files


def on_post_build(config: MkDocsConfig) -> None:
    sys.path[:0] = [
        str(ROOT),
        str(ROOT / "src"),
    ]  # the program runs from its sources: mkdocs has an environment of its own
    from scripts.shipping import data, pages

    pages.write(config.site_dir, config.site_url or "")
    data.write(Path(config.site_dir, "api", "v1"))


def on_page_markdown(markdown: str, **_: object) -> str:
    return outward(plain_fences(markdown))
