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
def test_a_help_names_its_command_first_and_has_examples(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    assert main(["help", command]) == 0

    said = capsys.readouterr().out
    assert said.startswith(f"usage: torchpick {command} ")
    assert "\nexamples:\n" in said
    before, _, rest = f"{said}\n".partition("\nexamples:\n")
    prose = before + rest[rest.index("\n\n") :]  # an example is copied, so it is never broken
    assert all(len(line) <= 60 or " " not in line.strip() for line in prose.splitlines())


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


@pytest.mark.parametrize(
    ("command", "words", "message"),
    [
        ("url", ["--gpu"], "`--gpu` needs a value"),
        ("url", ["--gpu", "--json"], "`--gpu` needs a value"),
        ("url", ["--json=1"], "`--json` takes no value"),
        ("url", ["--channel", "pink"], "`--channel pink` is unknown"),
        ("url", ["-x"], "`-x` is not an option of `torchpick url`"),
        ("url", ["--jso"], "`--jso` is not an option of `torchpick url`"),
        ("matrix", ["--html", ""], "`--html` needs a value"),
        ("arch", ["torch"], "`torch` is too much for `torchpick arch`"),
    ],
)
def test_what_is_not_taken_is_refused(command: str, words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Parser(command).read(words)

    assert error.value.message == message


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["url", "--jsn"], "did you mean `--json`?"),
        (["url", "--zzz"], "run `torchpick url --help`"),
        (["install", "--zzz"], "`torchpick install … -- --zzz`"),
    ],
)
def test_an_unknown_flag_has_a_hint(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "range_"),
    [
        (["fleet", "x", "--timeout", "0"], "`--timeout 0` is not a number from 1 to 86400"),
        (["fleet", "x", "--timeout", "nan"], "`--timeout nan` is not a number from 1 to 86400"),
        (["fleet", "x", "--max-environments", "0"], "`--max-environments 0` is not a number from 1 to 999"),
        (["inspect", "x", "--jobs", "17"], "`--jobs 17` is not a number from 1 to 16"),
    ],
)
def test_a_number_outside_its_range_is_refused_with_the_range(
    words: list[str], range_: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"error: {range_}\n")


def test_list_all_has_what_this_machine_could_never_take(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["list", "--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]

    assert main([*words, "--all"]) == 0

    out, err = capsys.readouterr()
    for text in ("windows-x86_64", "NO_WHEEL_FOR_PLATFORM", "default", "rocm7.2", "xpu"):
        assert text in out
    assert "left out" not in err


def test_a_list_for_an_old_gpu_is_a_page(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs stands first; hundreds of builds that do not are a line a reason."""
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["list", "--gpu", "GTX 1080 Ti", "--driver", "580", "--platform", "linux-x86_64"]) == 0

    rows, _, rejected = capsys.readouterr().out.partition("\n\npassed over\n")
    assert all(" runs " in row for row in rows.splitlines()[1:])
    assert " (cu128, cu129, cu130, cu132): NO_KERNELS, " in rejected
    assert len((rows + rejected).splitlines()) < 60
