from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import requirementfiles
from torchpick.environment.requirementfiles import RequirementLine, parse
from torchpick.errors import UsageError

CASES = json.loads(Path(__file__).with_name("options.json").read_text("utf-8"))


def entries(text: str, **environ: str) -> list[RequirementLine]:
    return list(parse(text, environ))


def test_a_hash_mark_inside_a_url_is_no_comment() -> None:
    assert entries("x @ https://example.org/x.whl#sha256=00")[0].value == "x @ https://example.org/x.whl#sha256=00"


def test_continued_lines_are_one_with_their_hashes() -> None:
    (found,) = entries("torch==2.9.1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n")

    assert found == RequirementLine("", "torch==2.9.1", 1, hashed=True)
    assert entries("\ntorch --ha=x")[0] == RequirementLine("", "torch", 2, hashed=True)
    assert not entries("torch --config-settings=x")[0].hashed
    lines = entries("-i a\n--extra-index-url b\n-f c\n-r d\ne")
    assert [line.place for line in lines] == ["a", "b", "c", "", ""]


@pytest.mark.parametrize(("text", "expected"), CASES["options_as_pip_takes_them"])
def test_options_as_pip_takes_them(text: str, expected: list[str]) -> None:
    found = entries(text, MORE="--extra-index-url https://a", EMPTY="")

    assert [f"{each.option} {each.value}" for each in found] == expected


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


@pytest.mark.parametrize(
    ("path", "other", "beside"),
    [
        ("/x/a.txt", "b.txt", "/x/b.txt"), ("/x/a.txt", "/b.txt", "/b.txt"),
        ("/x/a.txt", "https://e.org/b.txt", "https://e.org/b.txt"), ("/x/a.txt", "FILE:///b.txt", "FILE:///b.txt"),
        ("https://e.org/x/a.txt", "../b.txt", "https://e.org/b.txt"), ("/x/a.txt", "File:b.txt", "File:b.txt"),
    ],
)  # fmt: skip
def test_what_a_file_names_lies_beside_it(path: str, other: str, beside: str) -> None:
    assert requirementfiles.beside(path, other) == beside


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"torch\xe4", r"is not a text file \(invalid continuation byte|unexpected end of data at byte 5"),
        (b"torch\0", "it contains zero bytes"),
        (b"\xff\xfe\0", "truncated data at byte 2"),
        ("torch\n# \u2028--pre".encode(), "line 2 has a separator in it"),
        (b"torch\r\n\r\nnumpy\x0c--extra-index-url http://x", "line 3 has a separator in it"),
        *((f"torch{mark}--pre".encode(), "line 1 has a separator in it") for mark in "\v\x1c\x1d\x1e\u2029"),
        ("torch @ http://x\x85#y".encode(), "line 1 has a separator in it"),
    ],
)
def test_what_pip_and_uv_read_otherwise_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=rf"^r\.txt: .*({words})"):
        requirementfiles.decoded(data, "r.txt", "-r")


def test_a_form_feed_between_lines_ends_none() -> None:
    assert requirementfiles.decoded(b"\x0ctorch", "r.txt", "-r") == "\x0ctorch"
    assert requirementfiles.decoded(b"torch\n\x0c\nnumpy\x0c\r\n", "r.txt", "-r") == "torch\n\x0c\nnumpy\x0c\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-16-le"])
def test_a_text_is_read_in_the_encodings_that_its_first_bytes_name(encoding: str) -> None:
    mark = "\ufeff" if encoding.endswith(("be", "le")) else ""

    assert requirementfiles.decoded(f"{mark}torch # é".encode(encoding), "r.txt", "-r") == "torch # é"


GROUPS = """
[dependency-groups]
Test_All = ["pytest", { include-group = "lint" }, { include-group = "TYPES" }]
lint = ["ruff"]
types = ["mypy>=1"]
circle = [{ include-group = "circle" }]
round = ["ruff", { include-group = "about" }]
about = [{ include-group = "Round" }]
odd = [3]
none = 3
"""


def test_a_dependency_group_has_those_it_includes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for file in ("pyproject.toml", "sub/pyproject.toml"):
        (tmp_path / file).write_text(GROUPS, "utf-8")

    assert requirementfiles.read_group("test-all") == [
        (text, "pyproject.toml group test-all") for text in ("pytest", "ruff", "mypy>=1")
    ]
    for word in ("sub:lint", "sub/pyproject.toml:lint"):
        assert requirementfiles.read_group(word) == [("ruff", "sub/pyproject.toml group lint")]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("gone", "'gone' not found"), ("none", "'none' is not a sequence"), ("circle", "circle includes itself"),
        ("round", "includes itself"), ("odd", "Invalid dependency group item: 3"), ("nowhere:lint", "cannot be read"),
    ],
)  # fmt: skip
def test_a_group_that_is_none_is_refused(
    word: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(GROUPS, "utf-8")

    with pytest.raises(UsageError, match=words) as caught:
        requirementfiles.read_group(word)
    assert caught.value.hint


def test_a_group_that_is_included_along_a_billion_ways_counts_once(tmp_path: Path) -> None:
    lines = [f"g{n} = [{{include-group = 'g{n + 1}'}}, {{include-group = 'g{n + 1}'}}]" for n in range(2000)]
    file = tmp_path / "pyproject.toml"
    file.write_text("\n".join(["[dependency-groups]", *lines, "g2000 = ['ruff']"]), "utf-8")

    assert [text for text, _ in requirementfiles.read_group(f"{file}:g0")] == ["ruff"]
    with pytest.raises(UsageError) as caught:
        requirementfiles.read_group(f"{file}:gone")
    assert len(str(caught.value.hint)) < 200


@pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX")
def test_a_file_url_leads_to_a_name_that_is_no_utf8() -> None:
    for scheme in ("file", "FILE"):
        assert requirementfiles.located(f"{scheme}:///a%ff/b") == os.fsdecode(b"/a\xff/b")


def test_groups_of_what_is_no_toml_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("= =", "utf-8")

    with pytest.raises(UsageError, match=r"^pyproject\.toml: "):
        requirementfiles.read_group("lint")
