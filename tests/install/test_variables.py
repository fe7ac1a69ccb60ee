from __future__ import annotations

import shlex

import pytest

from torchpick.environment import shell


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("fish", ["set -e B", r"set -gx A 'it\'s \\n'"]),
        ("powershell", ["Remove-Item -ErrorAction Ignore Env:B", r"$env:A = 'it''s \n'"]),
        ("github", ["B=", r"A=it's \n"]),
        ("dockerfile", ["ENV B=", 'ENV A="it\'s \\\\n"']),
    ],
)
def test_each_shell_has_its_own_words(name: str, lines: list[str]) -> None:
    assert shell.variables(name, {"A": r"it's \n"}, ("B",), {}).splitlines() == lines


def test_a_command_line_with_its_environment() -> None:
    line = shell.command(["uv", "a b"], {"X": "1 2"}, ["Y"], "sh")

    assert shlex.split(line) == ["env", "-u", "Y", "X=1 2", "uv", "a b"]
    assert shell.command(["uv"], {}, (), "sh") == "uv"
