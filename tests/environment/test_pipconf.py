"""A pip.conf is pinned and unpinned: what pip reads is ours in between, and the bytes are theirs again after."""

from __future__ import annotations

from configparser import RawConfigParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from torchpick.environment import marks
from torchpick.errors import TorchpickError

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
    lambda lines: st.sampled_from(["\n".join(lines), "".join(f"{line}\n" for line in lines)])
)


def parsed(text: str) -> dict[str, dict[str, str]]:
    parser = RawConfigParser()
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


@settings(max_examples=300)
@given(texts)
@example("[install]\ntimeout = 60")
@example("[install]\n  timeout = 60\n[list]\n  timeout = 60\n")
@example("[global]\ntimeout = 60\n")
@example("")
def test_pip_reads_our_options_and_all_else_as_before_or_the_file_is_refused(text: str) -> None:
    try:
        pinned = marks.pinned_conf(text, OPTIONS)
    except TorchpickError:
        return

    before, after = parsed(text), parsed(pinned)
    install = after.pop("install")
    assert install.pop("find-links").split() == list(OPTIONS["find-links"])
    assert install.pop("constraint").split() == list(OPTIONS["constraint"])
    assert install == before.pop("install", {})
    assert after == before
    assert marks.unpinned_conf(pinned).removesuffix("\n") == text.removesuffix("\n")
    assert marks.pinned_conf(pinned, OPTIONS) == pinned


@pytest.mark.parametrize("option", ["constraint", "find_links", "--find-links"])
def test_an_option_of_the_users_is_a_clash(option: str) -> None:
    with pytest.raises(TorchpickError, match=f"sets install.{option}"):
        marks.pinned_conf(f"[install]\n{option} = own\n", OPTIONS)


def test_what_is_added_since_stays() -> None:
    text = "[install]\ntimeout = 60\n"
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
