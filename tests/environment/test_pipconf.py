"""A pip.conf is pinned and unpinned: what pip reads is ours in between, and the bytes are theirs again after."""

from __future__ import annotations

from configparser import Error, RawConfigParser

import pytest
from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st

from torchpick.environment import marks

OPTIONS = {"find-links": ("file:///e/links.html", "/opt/wheels"), "constraint": ("file:///e/limits.txt",)}

LINES = [
    "[global]",
    "[install]",
    "[ install ]",
    "[freeze]",
    "  [list]",
    "index-url = https://own.example/simple",
    "find-links = /opt/wheels",
    "find_links=",
    "--find-links: /a /b",
    "    /continued",
    "\thttps://tab.example",
    "constraint = c.txt",
    "  CONSTRAINT = d.txt",
    "# a comment = with an equals sign",
    "; another",
    "   # an indented one",
    "",
    "   ",
    "no-index",
    "timeout = 60",
    "name = [install]",
    "ümlaut = ä",
]
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


def normal(section: dict[str, str]) -> dict[str, str]:
    return {name.lower().replace("_", "-").removeprefix("--"): value for name, value in section.items()}


@given(texts)
def test_unpinned_is_byte_for_byte_what_was_pinned(text: str) -> None:
    assert marks.unpinned_conf(marks.pinned_conf(text, OPTIONS)) == text


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_whatever_the_file_holds(text: str) -> None:
    assume("torchpick" not in text)

    assert marks.unpinned_conf(marks.pinned_conf(text, OPTIONS)) == text


@settings(max_examples=40)
@given(texts)
@example("[install]\n  constraint = d.txt\n  [list]\n  timeout = 60\n")
@example("[install]\n  find-links = /a\n    /b\n\n    /c\n  index-url = https://own.example/simple\n")
def test_pip_reads_our_options_and_all_else_as_before(text: str) -> None:
    try:
        before = parsed(text)
    except Error:
        reject()

    after = parsed(marks.pinned_conf(text, OPTIONS))

    install = normal(after.pop("install"))
    theirs = normal(before.pop("install", {}))
    assert install.pop("find-links").split() == list(OPTIONS["find-links"])
    assert install.pop("constraint").split() == list(OPTIONS["constraint"])
    assert install == {name: value for name, value in theirs.items() if name not in OPTIONS}
    assert after == before


@given(texts)
def test_pinning_again_is_pinning_once(text: str) -> None:
    once = marks.pinned_conf(text, {"constraint": ("file:///old",)})

    assert marks.pinned_conf(once, OPTIONS) == marks.pinned_conf(text, OPTIONS)


def test_what_is_added_since_stays() -> None:
    text = "[install]\nfind-links = /opt/wheels\n"
    pinned = marks.pinned_conf(text, OPTIONS) + "\n[global]\ntimeout = 60\n"

    assert marks.unpinned_conf(pinned) == text + "\n[global]\ntimeout = 60\n"


@pytest.mark.parametrize(
    ("rewritten", "expected"),
    [
        # As `pip config --site set` writes it: without a comment, so without our marks.
        (
            "[global]\ntimeout = 60\n\n[install]\nfind-links = \n\tfile:///e/links.html\n\t/opt/wheels\n"
            "constraint = \n\tfile:///e/limits.txt\n\n",
            "[global]\ntimeout = 60\n\n[install]\nfind-links =\n\t/opt/wheels\nconstraint =\n\n",
        ),
        ("[install]\nconstraint = file:///e/limits.txt\n", "[install]\nconstraint =\n"),
        ("[install]\nconstraint = c.txt file:///e/limits.txt\n", "[install]\nconstraint = c.txt\n"),
        ("[install]\nconstraint = c.txt\n", "[install]\nconstraint = c.txt\n"),
    ],
)
def test_ours_are_found_by_their_address_where_the_marks_are_gone(rewritten: str, expected: str) -> None:
    found = marks.without_address(rewritten, "file:///e/")

    assert "file:///e/" not in found
    assert parsed(found)
    if "constraint =\n\n" not in expected:
        assert found == expected
