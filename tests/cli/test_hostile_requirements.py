"""A requirement that packaging stumbles over late is refused by every command that takes one."""

from __future__ import annotations

import sys

import pytest

from torchpick.cli import COMMANDS, main
from torchpick.cli.arguments import Parser

# More digits than Python reads as a number.
LONG = "1" * 5000
NEEDED = {"label": ("--among", "cpu,cu126"), "pin": ("--python", sys.executable)}
TAKERS = [name for name in ("pick", *COMMANDS) if Parser(name).usage.partition(" [-- ")[0].endswith("] [REQ …]")]


@pytest.mark.parametrize("command", TAKERS)
@pytest.mark.parametrize("requirement", [f"torch<{LONG}", f"torch>=2,!={LONG}.*", f"torch=={LONG}a1"])
def test_a_number_of_5000_digits(command: str, requirement: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {name for flag in Parser(command).flags for name in flag.names}
    about = [word for words in (("--gpu", "a100"), ("--offline",)) if words[0] in flags for word in words]
    words = [*([] if command == "pick" else [command]), requirement, *NEEDED.get(command, ()), *about]

    status = main(words)

    assert status == 2
    assert "more than 1000 digits" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["plan", f"vllm<{LONG}"], ["install", f"x; python_version < '{LONG}'"]])
def test_nor_elsewhere_in_one(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--gpu", "a100"]) == 2
    assert "more than 1000 digits" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["inspect", f"vllm<{LONG}"], ["survey", f"vllm<{LONG}"]])
def test_what_reads_wheels_says_that_it_is_too_long(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) in (1, 2)
    assert "Traceback" not in capsys.readouterr().err
