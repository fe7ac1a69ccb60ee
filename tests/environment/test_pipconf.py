"""A pip.conf is pinned and unpinned: what pip reads is ours in between, and the bytes are theirs again after."""

from __future__ import annotations

import io
from configparser import Error, RawConfigParser

from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

from torchpick.environment import projectfile

STORE = "file:///e/share/torchpick"
OPTIONS = {"find-links": (f"{STORE}/links.html", "/opt/wheels"), "constraint": (f"{STORE}/limits.txt",)}

LINES = [
    "[global]", "[install]", "[ install ]", "[freeze]", "  [list]", "index-url = https://own.example/simple",
    "find-links = /opt/wheels", "find_links=", "--find-links: /a /b", "    /continued", "\thttps://tab.example",
    "constraint = c.txt", "  CONSTRAINT = d.txt", "# a comment = with an equals sign", "; another",
    "   # an indented one", "", "   ", "no-index", "timeout = 60", "name = [install]", "ümlaut = ä",
]  # fmt: skip
texts = st.lists(st.sampled_from(LINES), max_size=12).flatmap(
    lambda lines: st.builds(
        lambda end, last: end.join(lines) + (end if last and lines else ""),
        st.sampled_from(["\n", "\r\n"]),
        st.booleans(),
    )
)


def parsed(text: str) -> dict[str, dict[str, str]]:
    parser = RawConfigParser()
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


@given(texts)
def test_unpinned_is_byte_for_byte_what_was_pinned(text: str) -> None:
    assert projectfile.unpin_conf(projectfile.pin_conf(text, OPTIONS)) == text


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_whatever_the_file_holds(text: str) -> None:
    assume("torchpick" not in text)

    assert projectfile.unpin_conf(projectfile.pin_conf(text, OPTIONS)) == text


@settings(max_examples=40)
@given(texts)
@example("[install]\n  constraint = d.txt\n  [list]\n  timeout = 60\n")
@example("[install]\n  find-links = /a\n    /b\n\n    /c\n  index-url = https://own.example/simple\n")
def test_pip_reads_our_options_and_all_else_as_before(text: str) -> None:
    try:
        before = parsed(text)
    except Error:
        reject()

    after = parsed(projectfile.pin_conf(text, OPTIONS))

    assert {name: tuple(value.split()) for name, value in after.pop(":env:").items()} == OPTIONS
    assert after == before


@given(texts)
def test_pinning_again_is_pinning_once(text: str) -> None:
    once = projectfile.pin_conf(text, {"constraint": (f"{STORE}/old",)})

    assert projectfile.pin_conf(once, OPTIONS) == projectfile.pin_conf(text, OPTIONS)


def test_what_is_added_since_stays() -> None:
    text = "[install]\nfind-links = /opt/wheels\n"
    pinned = projectfile.pin_conf(text, OPTIONS) + "\n[global]\ntimeout = 60\n"

    assert projectfile.unpin_conf(pinned) == text + "\n[global]\ntimeout = 60\n"


def test_ours_are_found_where_pips_own_editor_has_dropped_the_comments() -> None:
    text = "[install]\nfind-links = /opt/wheels\n"
    theirs = parsed(text + "[global]\ntimeout = 60\n")
    editor = RawConfigParser()
    editor.read_string(projectfile.pin_conf(text, OPTIONS))
    editor.read_dict({"global": {"timeout": "60"}})
    written = io.StringIO()
    editor.write(written)

    assert "torchpick pin" not in written.getvalue()
    assert parsed(projectfile.unpin_conf(written.getvalue())) == theirs


def test_somebodys_own_section_of_that_name_is_left() -> None:
    text = "[:env:]\nconstraint = c.txt\n"

    assert projectfile.unpin_conf(text) == text
