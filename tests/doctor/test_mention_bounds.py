"""How much of a text is searched for what it says of its machine, by words of a test's own."""

from __future__ import annotations

import pytest

from torchpick.doctor import texts
from torchpick.doctor.texts import Mentions, Words
from torchpick.model.fields import Fields

WORDS = Words(
    {"(?im)colour": "color"},
    {
        "wanted": "needs",
        "package": r"(\w+)==([\d.]+)",
        "beside": r"and (\w+)",
        "demand": r"(\w+) wants ([\d=]+)",
        "name": r"gpu (\w+)|card(?: (\w+))?",
        "torch": r"torch ([\d.]+)",
        "unknown": "x",
    },
    {"whole": "a fact", "part": r"the (\w+) fact"},
)
LINE = 1 << 16
TEXT = 4 << 20


def of_text(text: str) -> Mentions:
    return texts.of_text(text.encode(), WORDS)


def test_what_is_kept_is_the_first_that_is_not_merely_asked_for() -> None:
    said = of_text("it needs torch 9\ntorch 2.8\ntorch 2.9\ngpu a and b and a and c\npkg==1 Two_Parts==2 pkg==3")

    assert said == Mentions(name="a", others=("b", "c"), torch="2.8", packages={"pkg": "1", "two-parts": "2"})
    assert of_text("card b").name == "b"
    assert of_text("card ").name == "card"
    assert of_text("the colour fact").facts == {"part": "color"}
    assert of_text("here is a fact").facts == {"whole": "a fact"}
    assert texts.of_text(b"gpu \xff torch 2.9", WORDS).torch == "2.9"


@pytest.mark.parametrize(("before", "torch"), [("needs", None), ("needs" + " x" * 90, None), ("needs\n", "2.9")])
def test_what_is_asked_for_is_said_before_it_in_its_line(before: str, torch: str | None) -> None:
    assert of_text(f"{before} torch 2.9").torch == torch


@pytest.mark.parametrize(("between", "torch"), [(195, None), (196, "2.9")])
def test_what_stands_far_before_it_says_nothing(between: int, torch: str | None) -> None:
    assert of_text(f"needs{'~' * (between - 1)} torch 2.9").torch == torch


@pytest.mark.parametrize(("length", "torch"), [(LINE, "2.9"), (LINE + 1, None)])
def test_a_line_that_is_too_long_is_passed_over(length: int, torch: str | None) -> None:
    assert of_text("torch 2.9 ".ljust(length, "~") + "\n").torch == torch


@pytest.mark.parametrize(("size", "torch"), [(TEXT, "2.9"), (TEXT + 1, "2.")])
def test_the_start_of_a_text_is_searched(size: int, torch: str) -> None:
    lines = ("~" * 1023 + "\n") * (TEXT // 1024 - 1)
    assert of_text(lines + "torch 2.9".rjust(size - len(lines))).torch == torch


def test_so_many_matches_are_looked_at() -> None:
    found = of_text(" ".join(f"p{place}==1" for place in range(60))).packages
    assert [*found] == [f"p{place}" for place in range(50)]
    assert of_text("needs torch 1\n" * 49 + "torch 2").torch == "2"
    assert of_text("needs torch 1\n" * 50 + "torch 2").torch is None


@pytest.mark.parametrize(
    ("before", "behind", "is_found"),
    [
        (LINE - 6, 4 * LINE, True),
        (LINE - 5, 4 * LINE, False),
        (4 * LINE, LINE - 6, True),
        (4 * LINE, LINE - 5, False),
        (LINE - 3, LINE - 4, True),  # of a text that is no longer than both ends
    ],
)
def test_facts_are_looked_for_at_both_ends(before: int, behind: int, is_found: bool) -> None:
    fill = "~" * 63 + "\n"
    text = (fill * (before // 64 + 1))[-before:] + "a fact" + (fill * (behind // 64 + 1))[:behind]
    assert bool(of_text(text).facts) is is_found


def test_a_file_of_words_is_read_with_its_packages() -> None:
    rows = {
        "rewritten": {"a": "b"},
        "packages": ["x", "y"],
        "mentions": {"package": ["{package}=1", "{package}=2"]},
        "words": {"fact": ["c {package}", "d"]},
    }

    assert texts.read_words(Fields(rows)) == Words(
        {"(?im)a": "b"}, {"package": "(?ima)(?:x|y)=1|(?:x|y)=2"}, {"fact": "(?im)c (?:x|y)|d"}
    )


@pytest.mark.parametrize(
    ("facts", "platform"),
    [
        ("", None),
        ("linux", "linux-x86_64"),
        ("aarch64", "linux-aarch64"),
        ("linux aarch64", "linux-aarch64"),
        ("windows", "windows-x86_64"),
        ("windows aarch64 linux", "windows-arm64"),
        ("macos linux windows", "macos-arm64"),
        ("macos intel", "macos-x86_64"),
        ("intel", None),
    ],
)
def test_the_platform_of_the_facts(facts: str, platform: str | None) -> None:
    assert Mentions(facts=dict.fromkeys(facts.split(), "")).platform == platform
