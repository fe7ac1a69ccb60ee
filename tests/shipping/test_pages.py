"""The pages of the site that are made from the table: each answers as torchpick does, and leads to what is there."""

from __future__ import annotations

import html
import re

import pytest

from scripts.shipping import pages
from tests import printed
from torchpick.cli import main

MADE = dict(pages.every("https://torchpick.example/"))
NAMES = [gpu for names in pages.GPUS.values() for gpu in names]
BESIDE = ("about/index.html", "users/index.html")


def test_there_is_home_and_a_page_for_each_gpu_and_release() -> None:
    assert len(NAMES) >= 60
    assert {f"gpu/{pages.slug(gpu)}/index.html" for gpu in NAMES} < MADE.keys()
    assert {f"release/{torch}/index.html" for torch in pages.builds()} < MADE.keys()
    assert len(MADE) == len({*NAMES}) + len(pages.builds()) + 2


@pytest.mark.parametrize("name", MADE)
def test_a_page_has_a_name_a_text_and_a_picture_and_asks_nobody(name: str) -> None:
    page = MADE[name]

    (title,) = re.findall(r"<title>(.+?)</title>", page)
    assert page.count("<h1") == 1
    told = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]+)">', page))
    assert told["title"] == title
    assert {"type", "description"} <= told.keys()
    assert told["image"] == "https://torchpick.example/pictures/link.png"
    assert re.findall(r"(?:src|href)=.?https?:[^ >]+|@import|url\(", page) == []
    for link in re.findall(r'href="([^"#]+)', page):
        parts = [*name.split("/")[:-1], *link.split("/")]
        while ".." in parts:
            at = parts.index("..")
            del parts[at - 1 : at + 1]
        assert "/".join(parts) in {*MADE, *BESIDE}, link
    for line in re.findall(r"<pre><code>(.+?)</code></pre>", page):
        printed.check(f"`{html.unescape(line)}`")


def test_the_titles_differ() -> None:
    titles = [re.findall(r"<title>(.+?)</title>", page)[0] for page in MADE.values()]

    assert len({*titles}) == len(titles)


@pytest.mark.parametrize("gpu", ["GTX 1080 Ti", "RTX 4090", "RTX 5090", "RX 7900 XTX", "Tesla K80"])
def test_a_gpus_page_says_what_the_command_says(gpu: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--gpu", gpu, "--platform", "linux-x86_64", "--python", "3.12"]) == 0
    said = capsys.readouterr().out

    page = html.unescape(MADE[f"gpu/{pages.slug(gpu)}/index.html"])
    (line,) = re.findall(r"^(?:or|run) +(pip install .+)$", said, re.MULTILINE)
    assert f"<pre><code>{line}</code></pre>" in page
    for span in re.findall(r"(\d+ to \d+: torch \S+)", said):
        assert f"<li>driver {span}</li>" in page


def test_home_is_a_table_where_no_script_runs() -> None:
    style, table = re.findall(r"<noscript>(.*?)</noscript>", MADE["index.html"], re.DOTALL)

    assert "#filters, #columns" in style
    assert table.count('<th scope="row">') == len(NAMES)
    assert "torch 2.14.1+cu126" in table
