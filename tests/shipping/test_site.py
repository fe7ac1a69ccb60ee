"""The site: every page is in its menu, and what links out of docs/ leads to the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.shipping import site

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_menu_and_no_other() -> None:
    menu = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]

    assert set(re.findall(r": ([\w-]+\.md)$", menu, re.MULTILINE)) == {
        "index.md",
        "about.md",
        *(page.name for page in (ROOT / "docs").glob("*.md")),
    }


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: str(page.name))
def test_no_link_leaves_the_site_by_a_path(page: Path) -> None:
    assert "](../" not in site.outward(page.read_text("utf-8"))


def test_links_beside_the_pages_lead_to_the_repository() -> None:
    assert site.outward("[a](../compat/README.md#x) [b](faq.md)") == f"[a]({site.HOME}compat/README.md#x) [b](faq.md)"


def test_readme_is_a_page_with_the_others_beside_it() -> None:
    home = site.home((ROOT / "README.md").read_text("utf-8"))

    assert "](pictures/terminal.svg)" in home
    assert "](windows.md)" in home
    assert f"]({site.HOME}CONTRIBUTING.md)" in home


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_every_fence_is_one_to_the_site(page: Path) -> None:
    """It reads a word behind the language as a text that begins with three ticks."""
    fences = [line for line in site.plain_fences(page.read_text("utf-8")).splitlines() if line.startswith("```")]

    assert all(re.fullmatch(r"```\w*", line) for line in fences)
