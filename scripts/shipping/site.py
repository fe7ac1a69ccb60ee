"""What mkdocs does beyond its settings: README is the home page, and links out of docs/ lead to the repository.

The pages themselves are written for a forge and a checkout, where both kinds of link work as they stand.
"""

from __future__ import annotations

import re
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
    """Add the home page."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "index.md", content=home((ROOT / "README.md").read_text(encoding="utf-8"))))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    return outward(plain_fences(markdown))
