"""The reader of everyday words and argparse make the same of them, for every command."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.cli import COMMANDS, main
from torchpick.cli.arguments import Arguments, EverydayParser
from torchpick.errors import UsageError


class Strict(ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        raise UsageError(message, hint=None)


def parsers(command: str) -> tuple[EverydayParser, Strict]:
    flags, parser = EverydayParser(f"torchpick {command}"), Strict(allow_abbrev=False, add_help=False)
    module = import_module(f"torchpick.cli.{command}")
    module.add_arguments(flags)
    module.add_arguments(parser)
    return flags, parser


PARSERS = {command: parsers(command) for command in ("pick", *COMMANDS)}
FLAGS = sorted({name for _, parser in PARSERS.values() for name in parser._option_string_actions})
WORDS = st.one_of(
    st.sampled_from([*FLAGS, *(f"{flag}=sm_61" for flag in FLAGS)]),
    st.sampled_from(["torch", "torch<2.12", "-1", "--", "-", "", "sh", "all"]),
    st.text(max_size=6),
)


@given(st.sampled_from(sorted(PARSERS)), st.lists(WORDS, max_size=6))
def test_what_is_read_at_once_is_what_argparse_reads(command: str, words: list[str]) -> None:
    flags, parser = PARSERS[command]

    read = flags.read(words)

    if read is not None:
        assert read.__dict__ == parser.parse_intermixed_args(words, Arguments()).__dict__


EVERYDAY = ["--gpu", "sm_61", "--gpu=8.6", "torch<2.12", "--driver", "580", "torchvision", "--json"]


@pytest.mark.parametrize("command", ["pick", "url", "list", "install", "env", "pin"])
@pytest.mark.parametrize("words", [[], EVERYDAY])
def test_everyday_words_need_no_argparse(command: str, words: list[str]) -> None:
    assert PARSERS[command][0].read(words) is not None


@pytest.mark.parametrize(
    "words", [["--help"], ["--gpu"], ["--gpu", "--json"], ["--jso"], ["--json=1"], ["--color", "pink"], ["-x"], ["--"]]
)
def test_help_and_whatever_is_wrong_is_left_to_argparse(words: list[str]) -> None:
    assert PARSERS["url"][0].read(words) is None


@pytest.mark.parametrize(
    ("words", "range_"),
    [
        (["fleet", "x", "--timeout", "0"], "`0` is not a number from 1 to 86400"),
        (["fleet", "x", "--timeout", "nan"], "`nan` is not a number from 1 to 86400"),
        (["fleet", "x", "--timeout", "soon"], "`soon` is not a number from 1 to 86400"),
        (["fleet", "x", "--max-environments", "0"], "`0` is not a number from 1 to 999"),
    ],
)
def test_a_number_outside_its_range_is_refused_with_the_range(
    words: list[str], range_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: argument {words[-2]}: ")
    assert range_ in said
