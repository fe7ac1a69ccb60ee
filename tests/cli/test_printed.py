"""Every command that torchpick prints is one that it takes, and is read as it was meant by the shell it is for."""

from __future__ import annotations

import ast
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchpick
from tests import printed
from torchpick.cli import COMMANDS, main
from torchpick.cli.arguments import Parser
from torchpick.environment import shell


@pytest.mark.parametrize("command", ["install", "url", "lock"])
def test_an_option_of_an_installer_that_would_contradict_the_pick_is_said_in_our_own_words(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "torch", "--index-url", "https://mirror.example/simple"]) == 2
    assert "`--index-base URL` takes a mirror" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["version", "--json"], ["--version", "--json"]])
def test_the_version_is_json_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["command"] == "version"


@pytest.mark.parametrize("command", COMMANDS)
def test_quiet_and_json_are_taken_where_the_help_lists_them(command: str) -> None:
    parser = Parser(command)
    flags = {name for flag in parser.flags for name in flag.names} & {"-q", "--quiet", "--json"}

    quiet = set() if command == "completion" else {"-q", "--quiet"}
    assert flags == (quiet if command in ("run", "completion") else {*quiet, "--json"})
    assert parser.read(sorted(flags)).quiet == bool(quiet)


@pytest.mark.parametrize(("name", "line"), [
        ("sh", """'/opt/my tools/python' install 'torch<2.12' a,b 'it'"'"'s' 'C:\\x'"""),
        ("fish", r"""'/opt/my tools/python' install 'torch<2.12' 'a,b' 'it\'s' 'C:\\x'"""),
        ("cmd", r'''"/opt/my tools/python" install "torch<2.12" "a,b" "it's" "C:\x"'''),
        ("powershell", r"""& '/opt/my tools/python' install 'torch<2.12' 'a,b' 'it''s' 'C:\x'"""),
])  # fmt: skip
def test_a_command_is_quoted_for_the_shell_that_is_asked_for(name: str, line: str) -> None:
    assert shell.line(["/opt/my tools/python", "install", "torch<2.12", "a,b", "it's", "C:\\x"], name) == line


@pytest.mark.parametrize(("environ", "system", "expected"), [
        ({"SHELL": "/usr/bin/fish"}, "posix", "fish"), ({"SHELL": "/bin/zsh"}, "posix", "sh"), ({}, "posix", "sh"),
        ({"PSModulePath": "a;b"}, "nt", "cmd"), ({"PSModulePath": "a;b;c"}, "nt", "powershell"),
        ({"PSModulePath": r"a;b;C:\Program Files\PowerShell\7\Modules"}, "nt", "pwsh"),
        ({"TORCHPICK_SHELL": "pwsh"}, "posix", "pwsh"),
        ({"TORCHPICK_SHELL": "github", "SHELL": "/usr/bin/fish"}, "posix", "fish"),
])  # fmt: skip
def test_the_shell_in_use_is_told_by_its_variables(
    environ: dict[str, str], system: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "name", system)

    assert shell.current(environ) == expected


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("bash", "torchpick install 'torch<2.15' --gpu 'GTX 1080 Ti'"),
        ("cmd", 'torchpick install "torch<2.15" --gpu "GTX 1080 Ti"'),
    ],
)
def test_the_command_of_an_answer_is_quoted_so(name: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["torch<2.15", "--gpu", "GTX 1080 Ti", "--shell", name]) == 0

    assert f"run            {line}\n" in capsys.readouterr().out


def test_windows_shells_set_variables_before_the_command() -> None:
    assert shell.command(["pip", "install", "torch"], {"A": "b c"}, ["D"], "cmd").splitlines() == [
        'set "D="', 'set "A=b c"', "pip install torch",
    ]  # fmt: skip
    assert shell.then("a", "b", "powershell") == "a; if ($?) { b }"
    assert shell.command(["pip", "x"], {"A": "b"}, [], "powershell") == "$env:A = 'b'\npip x"
    assert shell.command(["pip", "x y"], {"A": "b c"}, ["D"], "sh") == "env -u D 'A=b c' pip 'x y'"
    assert shell.then("a", "b", "sh") == "a && b"


def test_the_commands_of_an_answer_are_words_that_torchpick_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["torch<2.15", "torchvision", "--gpu", "a100", "--driver", "535", "--backend", "cu126"]) == 0

    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("run ")]
    words = shlex.split(line)[1:]
    assert words[:2] == ["torchpick", "install"]
    assert Parser("install").read(words[2:]).words == ["torch<2.15", "torchvision"]


# What stands for what a hint leaves to its moment.
MOMENT = {"command": "plan", "reader": "plan", "channel": "nightly"}


def sentences() -> Iterator[str]:
    """Every text in the source, with an example for what is filled in."""
    for path in sorted(Path(torchpick.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            texts = [MOMENT.get(ast.unparse(part.value), "x") if isinstance(part, ast.FormattedValue) else part.value
                     for part in parts if isinstance(part, ast.FormattedValue | ast.Constant)]  # fmt: skip
            yield "".join(text for text in texts if isinstance(text, str))


def test_every_command_that_a_hint_can_name_is_taken() -> None:
    named = {
        command
        for sentence in sentences()
        for command in printed.commands(sentence)
        if command.startswith("torchpick ") and not {*command} & {*"^{|"}
    }

    assert len(named) > 60
    for command in named:
        printed.accept(shlex.split(command)[1:])
