"""The one writer of what pip and uv read: a line is one requirement, whatever it is made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import requirementfiles
from torchpick.environment.requirementfiles import (
    argument,
    checked,
    file_of,
    is_version,
    is_word,
    requirement,
)
from torchpick.errors import InstallerError
from torchpick.model.address import Address


def test_a_requirement_is_written_from_its_parts() -> None:
    url = Address("https://h.example/x.whl#sha256=0")

    assert requirement("torch", "==2.6.0+cu126") == "torch==2.6.0+cu126"
    assert requirement("torch", ">=2.6,<=2.7") == "torch>=2.6,<=2.7"
    assert requirement("torch", address=url) == f"torch @ {url}"
    assert requirement("a", "==1", extras=("b", "c"), marker="x == 'y'") == "a[b,c]==1 ; x == 'y'"
    assert file_of(["a==1", "b"], editables=["./c"]) == "-e ./c\na==1\nb\n"


@pytest.mark.parametrize(
    ("name", "specifier", "extras"),
    [
        ("torch ", "==1", ()), ("-r x", "", ()), ("", "==1", ()), ("-e", "", ()), ("a\nb", "", ()),
        ("a", "==1\n--pre", ()),
        ("a", "==1 #", ()), ("a", "==1 ; x", ()), ("a", "==${NAME}", ()), ("a", "==1\\", ()), ("a", "==1\u2028b", ()),
        ("a", "", ("b]",)), ("a", " @ http://x", ()), ("a", "", ("",)),
    ],
)  # fmt: skip
def test_a_name_or_a_version_that_is_not_one_is_refused(name: str, specifier: str, extras: tuple[str, ...]) -> None:
    with pytest.raises(InstallerError, match="is not a name with a version"):
        requirement(name, specifier, extras=extras)


@pytest.mark.parametrize("text", ["-1", ".1", "", "1 ", 1, None])
def test_what_a_report_has_for_a_name_or_a_version_may_be_neither(text: object) -> None:
    assert [is_word(text), is_version(text), is_word("a-1_b.c"), is_version("1!2.0a1+cu126.x")] == [
        False, False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ["", "-r x", "--pre", "#x", "torch #x", "torch\n", "torch\\", "a\x0cb", "a\u2028b", "a\x85b", "a\xa0b",
     "a @ x${NAME}", "torch --hash=sha256:0", "torch -r x"],
)  # fmt: skip
def test_words_that_say_more_in_a_file_are_refused(line: str) -> None:
    with pytest.raises(InstallerError):
        checked(line)
    with pytest.raises(InstallerError):
        file_of(["torch", line])


def test_as_an_argument_only_an_option_and_a_line_end_are_refused() -> None:
    assert argument("C:\\mine\\") == "C:\\mine\\"
    assert argument("./a -b #c/${x}") == "./a -b #c/${x}"
    for word in ("", "-r/x.whl", "--pre", "a\n", "a\u2028"):
        with pytest.raises(InstallerError):
            argument(word)


@given(st.lists(st.text("ab1.[]<=>;@ #\\-${}NAME'\"\n\x0c\u2028\xa0/:", min_size=1, max_size=20), max_size=4))
def test_a_file_has_as_many_entries_as_it_was_made_of(lines: list[str]) -> None:
    try:
        text = file_of(lines)
    except InstallerError:
        return
    entries = requirementfiles.parse(text, {"NAME": "secret"})

    assert [entry.value for entry in entries] == [line.strip() for line in lines if line.strip()]
    assert not any(entry.option for entry in entries)


def test_a_refusal_shows_no_password() -> None:
    with pytest.raises(InstallerError) as caught:
        checked("torch @ https://me:hunter22@h.example/x.whl #x")

    assert "hunter22" not in caught.value.message
