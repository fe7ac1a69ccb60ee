"""What a command takes is what its help lists, read as other programs' flags are read."""

from __future__ import annotations

import pytest

from torchpick.cli import COMMANDS, main
from torchpick.cli.arguments import Arguments, Parser
from torchpick.errors import UsageError


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


def test_flags_and_words_stand_in_any_order() -> None:
    args = Parser("pick").read(
        ["--gpu", "sm_61", "torch<2.12", "--gpu=8.6", "--driver", "580", "torchvision", "--json"]
    )

    assert (args.gpu, args.words, args.driver) == (["sm_61", "8.6"], ["torch<2.12", "torchvision"], "580")
    assert args.json
    assert not args.quiet
    assert (args.backend, args.channel, args.python) == ([], "stable", None)


def test_letters_may_be_written_together() -> None:
    args = vars(Parser("install").read(["-Ur", "a.txt", "-rb.txt", "--", "-x"]))

    assert (args["upgrade"], args["requirement"], args["words"]) == (True, ["a.txt", "b.txt"], ["-x"])


@pytest.mark.parametrize(("command", "words", "message"), [
        ("url", ["--gpu"], "`--gpu` needs a value"), ("url", ["--gpu", "--json"], "`--gpu` needs a value"),
        ("url", ["--json=1"], "`--json` takes no value"), ("url", ["--channel", "pink"], "`--channel pink` is unknown"),
        ("url", ["-x"], "`-x` is not an option of `torchpick url`"),
        ("url", ["--jso"], "`--jso` is not an option of `torchpick url`"),
        ("matrix", ["--html", ""], "`--html` needs a value"),
        ("arch", ["torch"], "`torch` is too much for `torchpick arch`"),
])  # fmt: skip
def test_what_is_not_taken_is_refused(command: str, words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Parser(command).read(words)

    assert error.value.message == message


@pytest.mark.parametrize(("words", "hint"), [
        (["url", "--jsn"], "did you mean `--json`?"), (["url", "--zzz"], "run `torchpick url --help`"),
        (["install", "--zzz"], "`torchpick install … -- --zzz`"),
])  # fmt: skip
def test_an_unknown_flag_has_a_hint(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert hint in capsys.readouterr().err
