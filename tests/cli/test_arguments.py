"""Words are read by the flags that a help lists, and a slip is named with what was probably meant."""

from __future__ import annotations

import pytest

from torchpick.cli import arguments
from torchpick.cli.arguments import Flag, Parser
from torchpick.errors import UsageError


def refused(command: str, *words: str) -> tuple[str, str | None]:
    with pytest.raises(UsageError) as caught:
        Parser(command).read(words)
    return caught.value.message, caught.value.hint


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  -q, --quiet  says less", (["-q", "--quiet"], "quiet", "", False, [], False)),
        ("  --from FILE  a list", (["--from"], "from_", "FILE", False, [], None)),
        ("  -r, --requirement FILE …  a file", (["-r", "--requirement"], "requirement", "FILE", True, [], [])),
        ("  --no-deps  x", (["--no-deps"], "no_deps", "", False, [], False)),
        (
            "  --gpus all|visible  which [default: all]",
            (["--gpus"], "gpus", "all|visible", False, ["all", "visible"], "all"),
        ),
        ("  --jobs N|M  x", (["--jobs"], "jobs", "N|M", False, [], None)),
    ],
)
def test_a_line_of_a_help_is_a_flag(line: str, expected: tuple[object, ...]) -> None:
    flag = Flag(line)

    assert (flag.names, flag.dest, flag.metavar, flag.repeats, flag.choices, flag.default) == expected


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


@pytest.mark.parametrize(
    ("command", "words", "message", "hint"),
    [
        ("pick", ["--jsn"], "`--jsn` is not an option of `torchpick`", "did you mean `--json`?"),
        ("list", ["--zzz"], "`--zzz` is not an option of `torchpick list`", "run `torchpick list --help`"),
        ("list", ["--hlp"], "`--hlp` is not an option of `torchpick list`", "did you mean `--help`?"),
        ("pick", ["--json=1"], "`--json` takes no value", "leave out `=1`"),
        ("detect", ["torch"], "`torch` is too much for `torchpick detect`", "run `torchpick detect --help`"),
        ("install", ["--zzz"], "`--zzz` is not an option of `torchpick install`",
         "what is for another program goes after `--`: `torchpick install … -- --zzz`"),
        ("pick", ["--gpus", "some"], "`--gpus some` is unknown", "one of all, visible; `--gpu` names a GPU"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_the_way_on(command: str, words: list[str], message: str, hint: str) -> None:
    assert refused(command, *words) == (message, hint)


@pytest.mark.parametrize("words", [["--gpu"], ["--gpu", "--json"], ["--gpu", "-q"], ["-o", ""], ["-o="[:2]]])
def test_a_flag_without_its_value_is_named(words: list[str]) -> None:
    message, hint = refused("lock", *words)

    assert message == f"`{words[0]}` needs a value"
    assert str(hint).startswith(f"`{words[0]} ")


def test_what_another_program_gets_begins_behind_our_flags_or_behind_two_dashes() -> None:
    assert Parser("run").split(["--gpu", "x", "-q", "python", "--gpu", "y"]) == (
        ["--gpu", "x", "-q"],
        ["python", "--gpu", "y"],
    )
    assert Parser("run").split(["-q", "--", "-x"]) == (["-q"], ["-x"])
    assert Parser("run").split(["--gpu=x", "-", "y"]) == (["--gpu=x"], ["-", "y"])
    assert Parser("run").split(["--gpu"]) == (["--gpu"], [])
    assert Parser("install").split(["torch", "--", "--no-cache"]) == (["torch"], ["--no-cache"])
    assert Parser("list").split(["torch", "--", "x"]) == (["torch", "--", "x"], [])


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("64", 64), ("07", 7)])
def test_a_number_within_its_bounds(text: str, number: int) -> None:
    assert arguments.number("--jobs", text, 64) == number


@pytest.mark.parametrize("text", ["0", "65", "007", "-1", "1.0", "", "²", "١"])
def test_what_is_no_number_within_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a number from 1 to 64") as caught:
        arguments.number("--jobs", text, 64)
    assert caught.value.hint == "such as `--jobs 2`"


def test_flags_and_words_become_a_request() -> None:
    words = ["torch<3", "--gpu", "a100", "--gpu", "sm_61", "--gpus", "visible", "--backend", "cu126", "--allow-cpu"]
    request = arguments.request_of(_with_command(Parser("pick").read([*words, "--driver", "580"])))

    assert (request.requirements, request.gpus, request.visible_only) == (("torch<3",), ("a100", "sm_61"), True)
    assert (request.backends, request.allow_cpu, request.cpu, request.driver) == (("cu126",), True, False, "580")
    bare = arguments.request_of(_with_command(Parser("pick").read([])))
    assert (bare.gpus, bare.machine, bare.visible_only, bare.backends) == (None, None, False, ())


def _with_command(args: arguments.Arguments) -> arguments.Arguments:
    args.command = "pick"
    return args
