"""The pages of the site that are made from the table: each answers as torchpick does, and leads to what is there."""

from __future__ import annotations

import html
import json
import os
import re
from itertools import chain
from pathlib import Path

import pytest

from scripts.shipping import pages, site
from tests import printed
from torchpick.cli import main
from torchpick.knowledge.compat import Knowledge
from torchpick.model.build import python_name

NAMES = [gpu for names in pages.GPUS.values() for gpu in names]
# Most pages are of the same shape: `--long` makes all of them.
SHOWN = ("GTX 1080 Ti", "RTX 4090", "RTX 5090", "RX 7900 XTX", "Tesla K80")
FEW = {
    generation: tuple(gpu for gpu in names if gpu in (*SHOWN, "GB10", "Arc A770"))
    for generation, names in pages.GPUS.items()
}
BASE = "https://torchpick.example/"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "GPUS", FEW)
        return {**dict(pages.every(BASE)), **documents()}


def documents() -> dict[str, str]:
    pytest.importorskip("markdown")
    return dict(site.documents(BASE))


def test_there_is_home_and_a_page_for_each_gpu_and_release(made: dict[str, str]) -> None:
    gpus = list(chain(*FEW.values()))

    assert len(NAMES) >= 60
    assert {f"gpu/{pages.slug(gpu)}/index.html" for gpu in gpus} < made.keys()
    assert {f"release/{torch}/index.html" for torch in pages.builds()} < made.keys()
    assert len(made) == len({*gpus}) + len(pages.builds()) + 2 + sum(map(len, site.MENU.values()))
    check(made)


@pytest.mark.long
def test_so_has_every_gpu() -> None:
    made = {**dict(pages.every(BASE)), **documents()}

    assert {f"gpu/{pages.slug(gpu)}/index.html" for gpu in NAMES} < made.keys()
    check(made)


def check(made: dict[str, str]) -> None:
    """A page has a name that no other has, a text and a picture, and asks nobody; its links and commands are right."""
    titles = []
    beside = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*") if path.suffix != ".md" and path.is_file()}
    anchors = {name: {"", *re.findall(r' id="([^"]+)"', page)} for name, page in made.items()}
    for name, page in made.items():
        (title,) = re.findall(r"<title>(.+?)</title>", page)
        titles.append(title)
        assert page.count("<h1") == 1, name
        assert len(re.findall(r'<meta name="description" content="[^"]+">', page)) == 1, name
        told = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]+)">', page))
        assert told["title"] == title
        assert {"type", "description"} <= told.keys()
        assert told["image"].startswith(BASE)
        assert f'<link rel="canonical" href="{BASE}{name.removesuffix("index.html")}">' in page
        (facts,) = re.findall(r'<script type="application/ld\+json">(.+?)</script>', page)
        assert json.loads(facts)["url"] == BASE + name.removesuffix("index.html")
        assert re.findall(r"<(?:img|script|link rel=.stylesheet)[^>]+(?:src|href)=.?https?:|@import|url\(", page) == []
        for link in re.findall(r'(?:href|src)="(?!https?:|data:)([^"]*)"', page):
            path, _, anchor = html.unescape(link).partition("#")
            parts = [*name.split("/")[:-1], *path.split("/")] if path else name.split("/")
            while ".." in parts:
                at = parts.index("..")
                del parts[at - 1 : at + 1]
            target = "/".join(parts)
            assert target in {*made, *beside}, (name, link)
            assert target == "index.html" or anchor in anchors.get(target, {anchor}), (name, link)
        for line in (
            re.findall(r'<pre><code class="language-sh">(.+?)</code></pre>', page) if "/gpu/" in f"/{name}" else ()
        ):
            printed.check(f"`{html.unescape(line)}`")
    assert len({*titles}) == len(titles)


def test_each_gpus_link_to_home_names_it_as_the_page_knows_it() -> None:
    """names.js is held to the command for every name: tests/show/test_webpage.py."""
    knowledge = Knowledge(dict(os.environ))
    for gpu in NAMES:
        assert knowledge.gpu(gpu), gpu


def test_a_gpus_page_says_what_the_command_says(made: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for gpu in SHOWN:
        assert main(["--gpu", gpu, "--platform", "linux-x86_64", "--python", "3.12"]) == 0
        said = capsys.readouterr().out

        page = html.unescape(made[f"gpu/{pages.slug(gpu)}/index.html"])
        (line,) = re.findall(r"^(?:or|run) +(pip install .+)$", said, re.MULTILINE)
        assert f'<pre><code class="language-sh">{line}' in page
        assert all(
            f"Why not newer?</b> {why}." in page for why in re.findall(r"^why not newer +(.+)$", said, re.MULTILINE)
        )
        for span in re.findall(r"(\d+ to \d+: torch \S+)", said):
            assert f"<li>driver {span}</li>" in page


def test_a_release_page_offers_what_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the newest releases, which the index may not have whole yet: for a GPU that the build has code for."""
    builds = pages.builds.__wrapped__()  # of this table, whichever one another test had them of
    for build in [*chain.from_iterable(builds.values())][:20]:
        words = ["url", f"torch=={build.torch}", "--backend", build.backend, "--platform", build.platform]
        words += ["--python", python_name(build.pythons[0]).split()[-1]]
        assert any(main([*words, "--gpu", str(arch)]) == 0 for arch in (build.arches or ())[::-1]), build.key
        assert f"torch=={build.version}" in capsys.readouterr().out


def test_home_is_a_table_where_no_script_runs(made: dict[str, str]) -> None:
    style, table = re.findall(r"<noscript>(.*?)</noscript>", made["index.html"], re.DOTALL)

    assert "#filters, #answer" in style
    assert table.count('<th scope="row">') == len(list(chain(*FEW.values())))
    assert "<td>2.14.1<wbr>+cu126</td>" in table
