"""The site: every page is in its menu, and what links out of docs/ leads to the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.shipping import frame, site

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_menu_and_no_other() -> None:
    listed = {name for entries in site.MENU.values() for name in entries}

    assert listed == {"about", *(path.stem for path in (ROOT / "docs").glob("*.md"))}


def test_a_document_becomes_a_page_whose_links_stay_on_the_site() -> None:
    pytest.importorskip("markdown")
    block = "```console exit=3\n$ torchpick url\nno\n```"
    text = f"# Questions\n\nSee [users](users.md#x) and ![it](pictures/a.svg).\n\n{block}\n"

    page = site.document("faq", text)

    assert 'href="../users/index.html#x"' in page.body
    assert 'src="../pictures/a.svg"' in page.body
    assert '<code class="language-console">$ torchpick url' in page.body
    assert (page.title, page.about) == ("Questions", "See users and .")


def test_the_map_of_the_site_has_whole_addresses() -> None:
    assert "<loc>https://x.example/gpu/a10/</loc>" in frame.sitemap(["", "gpu/a10/"], "https://x.example/")


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
