"""Words are read by the flags that a help lists, and a slip is named with what was probably meant."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.cli import COMMANDS, arguments, main
from torchpick.cli.arguments import Arguments, Parser
from torchpick.errors import UsageError

CASES = json.loads(Path(__file__).with_name("slips.json").read_text("utf-8"))


def refused(command: str, *words: str) -> tuple[str, str | None]:
    with pytest.raises(UsageError) as caught:
        Parser(command).read(words)
    return caught.value.message, caught.value.hint


def test_a_flag_that_does_not_exist_is_refused_by_the_type_checker() -> None:
    """It calls the comment unused where it takes the flag."""
    with pytest.raises(AttributeError):
        Arguments().no_such_flag  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize("command", COMMANDS)
def test_a_help_names_its_command_first_and_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", command]) == 0

    said = capsys.readouterr().out
    assert said.startswith(f"usage: torchpick {command} ")
    assert "\nexamples:\n" in said


def test_flags_take_their_values_in_every_form() -> None:
    args = Parser("lock").read(
        ["torch", "-r", "a", "-rb", "--requirement=c", "-o", "-", "--json", "--no-deps", "--", "--x", "-y"]
    )

    assert (args.words, args.json, args.quiet) == (["torch", "--x", "-y"], True, False)
    values = vars(args)
    assert (values["requirement"], values["output"], values["no_deps"]) == (["a", "b", "c"], "-", True)
    assert Parser("lock").read([]).__dict__["requirement"] == []
    assert (Parser("pick").read(["-qv", "-"]).quiet, Parser("pick").read(["-qv", "-"]).verbose) == (True, True)
    assert Parser("pick").read(["-"]).words == ["-"]
    args = Parser("install").read(["a", "-Ur", "b", "c", "--gpu=-1", "--gpu", "x", "--driver", "5", "--driver=5", "--"])
    assert (args.words, args.upgrade, args.requirement, args.gpu) == (["a", "c"], True, ["b"], ["-1", "x"])
    assert Parser("run").split(["--gpu", "x", "--driver=5", "-q", "make", "--", "y"])[1] == ["make", "--", "y"]
    assert Parser("run").split(["-", "x"])[1] == ["-", "x"]


@pytest.mark.parametrize(("command", "words", "message", "hint"), CASES["a_slip_is_named_with_the_way_on"])
def test_a_slip_is_named_with_the_way_on(command: str, words: list[str], message: str, hint: str) -> None:
    assert refused(command, *words) == (message, hint)


@pytest.mark.parametrize("words", [["--gpu"], ["--gpu", "--json"], ["--gpu", "-q"], ["-o", ""], ["-o="[:2]]])
def test_a_flag_without_its_value_is_named(words: list[str]) -> None:
    message, hint = refused("lock", *words)

    assert message == f"`{words[0]}` needs a value"
    assert str(hint).startswith(f"`{words[0]} ")


@pytest.mark.parametrize("text", ["0", "65", "007", "-1", "1.0", "", "²", "١"])
def test_what_is_no_number_within_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a number from 1 to 64") as caught:
        arguments.number("--jobs", text, 64)
    assert [arguments.number("--jobs", str(number), 64) for number in (1, 64)] == [1, 64]
    assert caught.value.hint == "such as `--jobs 2`"
