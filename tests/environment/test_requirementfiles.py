from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment.requirementfiles import RequirementLine, parse


def entries(text: str, **environ: str) -> list[RequirementLine]:
    return list(parse(text, environ))


def test_requirements_comments_and_blank_lines() -> None:
    found = entries("# a comment\n\n  torch>=2  # why\nnumpy\n")

    assert found == [RequirementLine("", "torch>=2", 3, "torch>=2"), RequirementLine("", "numpy", 4, "numpy")]


def test_a_hash_mark_inside_a_url_is_no_comment() -> None:
    assert entries("x @ https://example.org/x.whl#sha256=00")[0].value == "x @ https://example.org/x.whl#sha256=00"


def test_continued_lines_are_one_with_their_hashes() -> None:
    (found,) = entries("torch==2.9.1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n")

    text = "torch==2.9.1     --hash=sha256:00     --hash=sha256:11"
    assert found == RequirementLine("", "torch==2.9.1", 1, text, hashed=True)


def test_options_in_all_their_spellings() -> None:
    text = "-r a.txt\n-rb.txt\n--requirement=c.txt\n--requirement 'd e.txt'\n-c f\n-e ./g\n-i https://h\n-f i\n--pre\n"

    assert [(each.option, each.value) for each in entries(text)] == [
        ("--requirement", "a.txt"),
        ("--requirement", "b.txt"),
        ("--requirement", "c.txt"),
        ("--requirement", "d e.txt"),
        ("--constraint", "f"),
        ("--editable", "./g"),
        ("--index-url", "https://h"),
        ("--find-links", "i"),
        ("--pre", ""),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--extra-index https://a", ["--extra-index-url https://a"]),
        ("--ind=https://a", ["--index-url https://a"]),
        ("--pypi https://a", ["--index-url https://a"]),
        ("--find 'a b'", ["--find-links a b"]),
        ("--index-url https://a --extra-index-url=https://b -fc --pre", [
            "--index-url https://a", "--extra-index-url https://b", "--find-links c", "--pre ",
        ]),
        ("--extra-index\\\n-url https://a\\\nb", ["--extra-index-url https://ab"]),
        ("--pre ${MORE}", ["--pre ", "--extra-index-url https://a"]),
        ("   -i https://a # b", ["--index-url https://a"]),
        ("--pre x -- --index-url https://a", ["--pre "]),
        ("-e ./x --index-url https://a", ["--editable ./x"]),
        ("${EMPTY}x", [" ${EMPTY}x"]),
    ],
)  # fmt: skip
def test_options_as_pip_takes_them(text: str, expected: list[str]) -> None:
    found = entries(text, MORE="--extra-index-url https://a", EMPTY="")

    assert [f"{each.option} {each.value}" for each in found] == expected


def test_an_option_with_equals_in_its_url() -> None:
    (found,) = entries("--extra-index-url https://example.org/simple?a=b")

    assert (found.option, found.value) == ("--extra-index-url", "https://example.org/simple?a=b")


def test_variables_are_filled_in_where_they_are_set() -> None:
    assert entries("${NAME}==1 ${OTHER}", NAME="torch")[0].value == "torch==1 ${OTHER}"


def test_a_last_line_may_end_in_a_backslash() -> None:
    assert [each.value for each in entries("torch \\")] == ["torch"]


@given(st.text())
def test_any_text_is_read_and_every_entry_has_its_place(text: str) -> None:
    count = len(text.splitlines())
    last = 0
    for each in entries(text):
        assert last <= each.first <= count
        last = each.first
