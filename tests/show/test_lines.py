"""Lines, tables and labelled blocks in a width: what is wrapped where, and what stays as it is."""

from __future__ import annotations

import pytest

from torchpick.cli import text
from torchpick.errors import TorchpickError
from torchpick.model.arch import Arch, Fit

ROWS = [("name", "n", "why"), ("a", "12", "one two three four five six seven"), ("long name", "3", "x")]


def test_without_a_width_each_row_is_a_line() -> None:
    assert text.lines(ROWS, None) == [
        "name       n   why",
        "a          12  one two three four five six seven",
        "long name  3   x",
    ]
    assert text.lines([], 80) == []
    assert text.lines([("a", "")], 80) == ["a"]


def test_the_last_column_is_wrapped_beside_the_others_where_it_has_room() -> None:
    assert text.lines(ROWS, 39) == [
        "name       n   why",
        "a          12  one two three four five\n                 six seven",
        "long name  3   x",
    ]
    assert text.lines(ROWS[1:2], 39) == ["a  12  one two three four five six\n         seven"]


def test_the_last_column_goes_below_its_row_where_it_has_little_room() -> None:
    assert text.lines(ROWS, 38) == [
        "name       n   why",
        "a          12\n  one two three four five six seven",
        "long name  3   x",
    ]


def test_a_table_has_its_first_row_in_bold() -> None:
    assert text.headed(ROWS[::2], None, text.ansi) == "\x1b[1mname       n  why\x1b[0m\nlong name  3  x"


@pytest.mark.parametrize(
    ("words", "width", "expected"),
    [
        ("one two three", None, ["one two three"]),
        ("one two three", 13, ["one two three"]),
        ("one two three", 12, ["one two", "  three"]),
        ("one two three", 7, ["one two", "  three"]),
        ("one two three", 1, ["one", "  two", "  three"]),
        ("use `a b c` now", 11, ["use `a b c`", "  now"]),
        ("use `a b c d e f` now", 12, ["use `a b c d", "  e f` now"]),
        ("", 10, [""]),
    ],
)
def test_text_is_broken_at_blanks_and_hangs_by_two(words: str, width: int | None, expected: list[str]) -> None:
    assert text.wrap(words, width) == expected


def test_what_is_laid_out_keeps_its_indent() -> None:
    laid = "head\n    one two three four five six\n\nplain words that go on and on"

    assert text.paragraphs(laid, None) == laid
    assert text.paragraphs(laid, 26) == (
        "head\n    one two three four\n      five six\n\nplain words that go on\nand on"
    )


def test_each_label_stands_once_and_a_command_stays_on_one_line() -> None:
    labelled = [("pick", "torch"), ("pick", "with vision"), ("run", "pip install " + "x" * 30), ("", "one two " * 5)]

    assert text.block(labelled, 41, indent=6) == "\n".join(
        [
            "pick  torch",
            "      with vision",
            f"run   pip install {'x' * 30}",
            "      one two one two one two one two one",
            "        two",
        ]
    )
    assert text.block([("pick", "torch"), ("note", "x")], None, text.ansi, 6) == (
        "\x1b[1mpick  \x1b[0m\x1b[1;32mtorch\x1b[0m\n\x1b[1mnote  \x1b[0mx"
    )
    assert text.block([("machine", "x")], None) == "machine    x"


def test_secrets_and_control_letters_are_shown_by_nothing() -> None:
    assert text.note("see https://me:secret@e.org/x\x1b[1m") == "note: see https://me:****@e.org/x\\x1b[1m"
    assert text.note("x", "torchpick") == "torchpick: x"
    assert text.block([("run", "pip https://me:secret@e.org/\x07")], None) == (
        "run        pip https://me:****@e.org/\\x07"
    )


def test_an_error_is_its_message_and_its_hint() -> None:
    failure = TorchpickError("no build runs\nat https://me:secret@e.org/\n", hint="run `torchpick list` now")

    assert text.error(failure) == (
        "error: no build runs\n  at https://me:****@e.org/\n\n\nhint: run `torchpick list` now"
    )
    assert text.error(TorchpickError("one two three", hint=None), 14) == "error: one two\n  three"
    assert text.error(failure, colour=True).startswith("\x1b[1;31merror:\x1b[0m no build runs")
    assert text.error(failure, colour=True).endswith("hint: run \x1b[36m`torchpick list`\x1b[0m now")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (Fit.EXACT, "runs its own machine code, sm_86"), (Fit.BINARY, "runs the machine code of sm_86"),
        (Fit.JIT, "the driver compiles sm_86 for it"), (Fit.NONE, "holds no code for it"),
    ],
)  # fmt: skip
def test_how_a_gpu_is_supported(how: Fit, words: str) -> None:
    assert text.fit(how, Arch.parse("sm_86")) == words


def test_a_help_has_its_flags_beside_their_words_and_its_paragraphs_filled() -> None:
    page = [
        "usage: x",
        "",
        "A sentence that",
        "goes on.",
        "",
        "Flags:",
        "  -a, --all  takes all",
        "  --be N  a number of words",
    ]

    assert text.help_page(page, 30) == (
        "usage: x\n\nA sentence that goes on.\n\nFlags:\n  -a, --all  takes all\n  --be N     a number of words"
    )
