"""Words are read by the flags that a help lists, and a slip is named with what was probably meant."""

from __future__ import annotations

import pytest

from torchpick.cli import arguments
from torchpick.cli.arguments import Parser
from torchpick.errors import UsageError


def refused(command: str, *words: str) -> tuple[str, str | None]:
    with pytest.raises(UsageError) as caught:
        Parser(command).read(words)
    return caught.value.message, caught.value.hint


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


@pytest.mark.parametrize(("command", "words", "message", "hint"), [
        ("pick", ["--jsn"], "`--jsn` is not an option of `torchpick`", "did you mean `--json`?"),
        ("list", ["--zzz"], "`--zzz` is not an option of `torchpick list`", "run `torchpick list --help`"),
        ("list", ["--hlp"], "`--hlp` is not an option of `torchpick list`", "did you mean `--help`?"),
        ("pick", ["--json=1"], "`--json` takes no value", "leave out `=1`"),
        ("detect", ["torch"], "`torch` is too much for `torchpick detect`", "run `torchpick detect --help`"),
        ("install", ["--zzz"], "`--zzz` is not an option of `torchpick install`",
         "what is for another program goes after `--`: `torchpick install … -- --zzz`"),
        ("pick", ["--gpus", "some"], "`--gpus some` is unknown", "one of all, visible; `--gpu` names a GPU"),
])  # fmt: skip
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
    assert caught.value.hint == "such as `--jobs 2`"
