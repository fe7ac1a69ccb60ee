"""What notebooks show: small tables, and nothing in them is markup of somebody else's."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import torchpick
from torchpick.model.fields import html
from torchpick.model.machine import Gpu, Machine, Platform, Python


class Tags(HTMLParser):
    """The tags of a text and the words between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@given(st.dictionaries(st.text(), st.lists(st.text(), max_size=3), max_size=4))
def test_only_our_own_tags_are_in_it(value: dict[str, list[str]]) -> None:
    assert Tags(html(value)).tags <= {"table", "tr", "th", "td", "br"}


HOSTILE = "<script>alert(1)</script>"


def test_a_pick_shows_the_line_to_install_it() -> None:
    pick = torchpick.pick(gpus=["sm_61"], driver="580.95.05", python="3.12", platform="linux-x86_64", glibc="2.35")

    shown = Tags(pick._repr_html_())  # the name that notebooks call
    assert "pip install --index-url https://download.pytorch.org/whl/cu126 torch==2.14.1+cu126" in shown.words
    assert "0.29.1+cu126" in shown.words


@pytest.mark.parametrize(("arguments", "line"), [
        ({"backends": ["default"], "gpus": ["sm_86"], "driver": "610.43.02"}, "pip install torch==2.15.0"),
        ({"index_base": "flat+https://mirror.example/wheels/", "gpus": ["sm_61"], "driver": "580.95.05"},
         "pip install --no-index --find-links https://mirror.example/wheels/ torch==2.14.1+cu126"),
])  # fmt: skip
def test_the_line_is_the_one_that_url_prints(arguments: dict[str, Any], line: str) -> None:
    pick = torchpick.pick(python="3.12", platform="linux-x86_64", glibc="2.35", **arguments)

    assert line in Tags(pick._repr_html_()).words


def test_where_nothing_runs_the_pick_says_so() -> None:
    pick = torchpick.pick(gpus=["sm_120"], driver="560.28.03", python="3.12", platform="linux-x86_64")

    shown = Tags(pick._repr_html_())
    assert "no build runs here" in shown.words
    assert "DRIVER" in "".join(shown.words)


def test_the_password_of_a_mirror_is_not_shown() -> None:
    pick = torchpick.pick(
        gpus=["sm_61"], python="3.12", platform="linux-x86_64", index_base="https://me:secret@mirror.example/whl"
    )

    assert "secret" not in pick._repr_html_()


def test_a_machine_shows_its_facts() -> None:
    gpu = Gpu(0, "nvidia", HOSTILE, None)
    machine = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), None, (gpu,), name=HOSTILE)

    shown = Tags(machine._repr_html_())
    assert "table" in shown.tags
    assert "script" not in shown.tags
    assert {HOSTILE, "x86_64", "2.35"} <= set(shown.words)
