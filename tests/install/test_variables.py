from __future__ import annotations

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
