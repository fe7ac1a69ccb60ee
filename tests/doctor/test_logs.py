"""A line of a log is its message, whatever wrote something before it, and in whatever encoding it comes."""

from __future__ import annotations

import codecs

import pytest

from torchpick.doctor import posts, texts
from torchpick.knowledge.compat import Knowledge


@pytest.mark.parametrize("end", ["", "\r"])
@pytest.mark.parametrize(
    "line",
    [
        "INFORMATION", "12 GPUs", "-x", "[__init__.py]", "(no pid here)", "Nov 22", "12:", "rank", "2026-11-22",
        "ERROR", "WARNING:", "-",
    ],
)  # fmt: skip
def test_what_only_begins_like_it_stays_whatever_ends_the_lines(line: str, end: str) -> None:
    assert posts.message((line + end).encode()) == line.encode()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\N{LEFT SINGLE QUOTATION MARK}a\N{RIGHT SINGLE QUOTATION MARK}", "'a'"),
        ("\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK}", '"a"'),
        ("\N{BOX DRAWINGS LIGHT VERTICAL} a \N{BOX DRAWINGS LIGHT VERTICAL} ", "a"), ("a\x1b[0m b\r", "a b"),
        ("a\r", "a"), ("a\rb", "a b"), (r"a.\r\nb", "a. b"), (r"on:\nb 'c\r\n'", "on: b 'c '"),
        (r"C:\new\nodes", r"C:\new\nodes"), ("NVRM:" * 8 + "a", "a"), ("NVRM:" * 9 + "a", "NVRM:a"), (" \t", ""),
    ],
)  # fmt: skip
def test_quotation_marks_frames_and_colours_are_plain(line: str, message: str) -> None:
    assert posts.message(line.encode()) == message.encode()


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"plain", b" \xff\xfe text"], [b"plain", b" \xff\xfe text"]),
        ([b"plain", codecs.BOM_UTF16_LE], [b"plain", codecs.BOM_UTF16_LE]),
        ([b"plain", b"", codecs.BOM_UTF16_LE], [b"plain", b"", codecs.BOM_UTF16_LE]), ([], [b""]),
        ([codecs.BOM_UTF16_BE + "ä".encode("utf-16-be")], ["ä".encode()]),
        ([codecs.BOM_UTF16_LE + b"a", b"\0b\0"], [b"ab"]),
        ([codecs.BOM_UTF16_LE + b"\x00\xdca\0"], ["\N{REPLACEMENT CHARACTER}a".encode()]), ([b"\xffx"], [b"\xffx"]),
    ],
)  # fmt: skip
def test_what_windows_writes_is_told_by_how_the_text_begins(chunks: list[bytes], expected: list[bytes]) -> None:
    assert list(posts.decoded(chunks)) == expected


FORM = """torch sees no GPU
<!-- e.g.
CUDA error: no kernel image is available -->
- [x] I searched for `No module named 'triton'`
_No response_
```python
x = 1  # torch is not installed
```
"""


def test_what_a_form_or_source_code_says_is_not_its_authors() -> None:
    lines = posts.without_forms(FORM.encode() + b"<!-- open").decode().split("\n")

    assert [line for line in lines if line] == ["torch sees no GPU", *FORM.split("\n")[5:8], "<!-- open"]
    assert lines.index("```python") == 5
    assert posts.complaint(FORM[:17] + "\n" + FORM[FORM.index("```") :] + "which one?").split() == (
        ["torch", "sees", "no", "GPU", "which", "one?"]
    )
    assert posts.complaint("a\n" * 400 + "log\n" * 400 + "z\n" * 100).count("log") == 25


def test_a_comment_is_none_of_the_text_wherever_the_text_is_cut() -> None:
    known = Knowledge({}).file("errors.json", texts.read_signatures)
    comment = b"<!-- CUDA error: no kernel image is available\n" + b"form\n" * 2500 + b"-->\n"
    text = b"x\n" * 31_000 + comment + b"x\n" * 40_000
    for size in (1 << 16, 30_000, 4096):
        search = texts.Search(known)
        for at in range(0, len(text), size):
            search.feed(text[at : at + size])

        assert search.matches() == ()
