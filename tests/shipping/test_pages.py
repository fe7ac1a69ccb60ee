"""The pages of the site that are made from the table: each answers as torchpick does, and leads to what is there."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import chain

import pytest

from scripts.shipping import pages
from tests import printed
from torchpick.cli import main
from torchpick.model.pythons import python_name

NAMES = [gpu for names in pages.GPUS.values() for gpu in names]
# Most pages are of the same shape: `--long` makes all of them.
SHOWN = ("GTX 1080 Ti", "RTX 4090", "RTX 5090", "RX 7900 XTX", "Tesla K80")
FEW = {
    generation: tuple(gpu for gpu in names if gpu in (*SHOWN, "GB10", "Arc A770"))
    for generation, names in pages.GPUS.items()
}
BASE = "https://torchpick.example/"
BESIDE = ("about/index.html", "users/index.html")


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "GPUS", FEW)
        yield dict(pages.every(BASE))


def test_there_is_home_and_a_page_for_each_gpu_and_release(made: dict[str, str]) -> None:
    gpus = list(chain(*FEW.values()))

    assert len(NAMES) >= 60
    assert {f"gpu/{pages.slug(gpu)}/index.html" for gpu in gpus} < made.keys()
    assert {f"release/{torch}/index.html" for torch in pages.builds()} < made.keys()
    assert len(made) == len({*gpus}) + len(pages.builds()) + 2
    check(made)


@pytest.mark.long
def test_so_has_every_gpu() -> None:
    made = dict(pages.every(BASE))

    assert {f"gpu/{pages.slug(gpu)}/index.html" for gpu in NAMES} < made.keys()
    check(made)


def check(made: dict[str, str]) -> None:
    """A page has a name that no other has, a text and a picture, and asks nobody; its links and commands are right."""
    titles = []
    for name, page in made.items():
        (title,) = re.findall(r"<title>(.+?)</title>", page)
        titles.append(title)
        assert page.count("<h1") == 1, name
        told = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]+)">', page))
        assert told["title"] == title
        assert {"type", "description"} <= told.keys()
        assert told["image"] == f"{BASE}pictures/link.png"
        assert re.findall(r"(?:src|href)=.?https?:[^ >]+|@import|url\(", page) == []
        for link in re.findall(r'href="([^"#]+)', page):
            parts = [*name.split("/")[:-1], *link.split("/")]
            while ".." in parts:
                at = parts.index("..")
                del parts[at - 1 : at + 1]
            assert "/".join(parts) in {*made, *BESIDE}, (name, link)
        for line in re.findall(r"<pre><code>(.+?)</code></pre>", page):
            printed.check(f"`{html.unescape(line)}`")
    assert len({*titles}) == len(titles)


def test_a_gpus_page_says_what_the_command_says(made: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for gpu in SHOWN:
        assert main(["--gpu", gpu, "--platform", "linux-x86_64", "--python", "3.12"]) == 0
        said = capsys.readouterr().out

        page = html.unescape(made[f"gpu/{pages.slug(gpu)}/index.html"])
        (line,) = re.findall(r"^(?:or|run) +(pip install .+)$", said, re.MULTILINE)
        assert f"<pre><code>{line}</code></pre>" in page
        for span in re.findall(r"(\d+ to \d+: torch \S+)", said):
            assert f"<li>driver {span}</li>" in page


def test_a_release_page_offers_what_the_command_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the newest releases, which the index may not have whole yet: for a GPU that the build has code for."""
    builds = [build for torch in [*pages.builds()][:2] for build in pages.builds()[torch]]

    assert len(builds) > 6
    for build in builds:
        words = ["url", f"torch=={build.torch}", "--backend", build.backend, "--platform", build.platform]
        words += ["--python", python_name(build.pythons[0]).split()[-1]]
        assert any(main([*words, "--gpu", str(arch)]) == 0 for arch in (build.arches or ())[::-1]), build.key
        assert f"torch=={build.version}" in capsys.readouterr().out


def test_home_is_a_table_where_no_script_runs(made: dict[str, str]) -> None:
    style, table = re.findall(r"<noscript>(.*?)</noscript>", made["index.html"], re.DOTALL)

    assert "#filters, #columns" in style
    assert table.count('<th scope="row">') == len(list(chain(*FEW.values())))
    assert "torch 2.14.1+cu126" in table
