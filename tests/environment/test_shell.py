"""What is printed for a shell is read by it as it was meant, whatever stands in it, or it is refused."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.fakes import windowshells
from torchpick.environment import shell
from torchpick.errors import UsageError

HOSTILE = [
    "it's", '"$HOME" `id` \\', "a  b\tc", "*?[x]", "-n", "", 'x" & calc & "', "x&calc", "%PATH%", "%PATH:~0,1%",
    "^%PATH^%", "!PATH!", "a^b", "C:\\my tools\\", 'C:\\"', "\u2019; calc; '", "$(calc)", '" --index-url "http://evil',
    'torch; python_version < "3.12"', "file:///C:/A%20B%20C.txt", "J%C3%B6%20rg", "-I./x", "--x=a.b", ">x", "a;b",
    "\u2018\u201a\u201b",
]  # fmt: skip
BROKEN = ["a\nb", "a\rB=c", "a\0b", "\x1b[2J", "x\x1a", "\x7f"]
# What cmd would fill in, were it read as the name of a variable.
VARIABLES = {"PATH": 'evil" & calc & "', "x": "evil", "CD": "C:\\evil"}

texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]) | st.sampled_from("\"'%!^&|\\ "), max_size=20
)


@pytest.mark.parametrize("name", ["sh", "bash", "fish", "powershell", "pwsh", "cmd", "github", "dockerfile"])
@pytest.mark.parametrize("value", BROKEN, ids=repr)
def test_what_no_line_keeps_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(UsageError, match="X holds a line break"):
        shell.variables(name, {"X": value}, ())


@given(texts)
def test_a_posix_shell_reads_back_every_value(value: str) -> None:
    assert shlex.split(shell.variables("sh", {"X": value}, ())) == ["export", f"X={value}"]
    assert shlex.split(shell.line(["a", value], "sh")) == ["a", value]


@pytest.mark.parametrize("name", ["sh", "bash", "zsh", "fish"])
@pytest.mark.process
def test_a_real_shell_reads_hostile_values_and_words_back(name: str, tmp_path: Path) -> None:
    if (program := shutil.which(name)) is None:
        pytest.skip(f"no {name}")
    values = {f"X{number}": value for number, value in enumerate(HOSTILE)}
    lines = [
        shell.variables(name, values, ("GONE",)),
        shell.line(["printf", "%s\\n", *HOSTILE], shell.current({}, name)),
        "env -0",
    ]

    ran = subprocess.run(
        [program, "-c", "\n".join(lines)], capture_output=True, text=True, check=True,
        env={"GONE": "1", "PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )  # fmt: skip

    printed = "".join(f"{word}\n" for word in HOSTILE)
    assert ran.stdout.startswith(printed), ran.stderr
    entries = (entry.partition("=") for entry in ran.stdout[len(printed) :].split("\0"))
    variables = {variable: value for variable, _, value in entries}
    assert {name: variables[name] for name in values} == values
    assert "GONE" not in variables


@given(texts)
def test_powershell_reads_back_every_value(value: str) -> None:
    front, _, quoted = shell.variables("powershell", {"X": value}, ()).partition(" = ")

    assert (front, windowshells.powershell_words(quoted)) == ("$env:X", [value])


@given(st.lists(texts, max_size=4))
@example(HOSTILE)
def test_both_powershells_pass_every_word_on(words: list[str]) -> None:
    for name in ("powershell", "pwsh"):
        read = windowshells.powershell_words(shell.line(["python", *words], name))

        assert windowshells.passed_on(read, windows=name == "powershell") == ["python", *words]


def test_powershell_parts_no_word_with_a_dash() -> None:
    assert shell.line(["python", "-I./x", "--x=a.b", "--a-b"], "pwsh") == "python '-I./x' '--x=a.b' --a-b"
    assert [shell.line(["a b", "c"], name) for name in ("powershell", "pwsh", "sh")] == ["& 'a b' c"] * 2 + ["'a b' c"]


@given(st.lists(texts, max_size=4))
@example(HOSTILE)
def test_cmds_prompt_passes_every_word_on_and_starts_nothing_else(words: list[str]) -> None:
    (command,) = windowshells.cmd_prompt(shell.line(["python", *words], "cmd"), VARIABLES)

    assert windowshells.c_runtime(command) == ["python", *words]


@given(texts)
@example("C:/A%20B%20C")
@example("J%C3%B6%20rg%CD%B0")
def test_cmd_sets_every_value_that_is_not_refused_by_for_and_at_its_prompt(value: str) -> None:
    try:
        line = shell.variables("cmd", {"X": value}, ())
    except UsageError:
        assume(False)

    assert windowshells.cmd_set(line) == ("X", value)
    for is_delayed in (False, True):
        (command,) = windowshells.cmd_prompt(line, VARIABLES, delayed=is_delayed)
        assert windowshells.cmd_set(command) == ("X", value)


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
def test_cmd_refuses_what_its_quotes_do_not_keep_and_nothing_else(value: str) -> None:
    line = f'set "X={value}"'
    read = [windowshells.cmd_prompt(line, VARIABLES, delayed=is_delayed) for is_delayed in (False, True)]
    if read == [[line], [line]] and '"' not in value and not value.startswith("^%"):
        assert shell.variables("cmd", {"X": value}, ()) == line
    else:
        with pytest.raises(UsageError, match="X holds a quote, `%NAME%`"):
            shell.variables("cmd", {"X": value}, ())


def test_a_line_of_cmd_ends_with_its_last_word() -> None:
    with pytest.raises(UsageError, match="cannot hold a line break"):
        shell.line(["python", "a\ncalc"], "cmd")
