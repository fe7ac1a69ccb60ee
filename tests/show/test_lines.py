"""Lines, tables and labelled blocks in a width: what is wrapped where, and what stays as it is."""

from __future__ import annotations

import pytest

from torchpick.cli import COMMANDS, text
from torchpick.cli.arguments import Parser
from torchpick.errors import TorchpickError

ROWS = [("name", "n", "why"), ("a", "12", "one two three four five six seven"), ("long name", "3", "x")]


def test_a_table_has_its_first_row_in_bold() -> None:
    assert text.headed(ROWS[::2], None, text.ansi) == "\x1b[1mname       n  why\x1b[0m\nlong name  3  x"


def test_each_label_stands_once_and_a_command_stays_on_one_line() -> None:
    labelled = [("pick", "torch"), ("pick", "with vision"), ("run", "pip install " + "x" * 30), ("", "one two " * 5)]

    assert text.block(labelled, 41, indent=6) == "\n".join(
        [
            "pick  torch", "      with vision", f"run   pip install {'x' * 30}",
            "      one two one two one two one two one", "        two",
        ]
    )  # fmt: skip
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


@pytest.mark.parametrize("command", ["pick", *COMMANDS])
def test_a_help_has_80_columns(command: str) -> None:
    parser = Parser(command)

    assert [line for line in parser.lines if len(line) > 80] == []
    assert all(flag.about for flag in parser.flags)


def test_the_help_shows_all_commands_on_one_screen() -> None:
    shown = Parser("pick").short

    words = {word for line in shown if line.startswith("  ") for word in line.split()}
    assert words >= set(COMMANDS)
    assert len(shown) <= 24
