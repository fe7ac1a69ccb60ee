"""The completion scripts in the shells themselves, where those are installed."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from torchpick.cli.completion import SHELLS, completions
from torchpick.knowledge import locations

pytestmark = pytest.mark.process

NAMES = ("a b.json", "abc.json")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for name in NAMES:
        (tmp_path / name).touch()
    for shell in SHELLS:
        (tmp_path / f"script.{shell}").write_text(
            locations.text_of_ours("cli", "shells", f"completion.{shell}"), "utf-8"
        )
    return tmp_path


def _needs(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def _bash(here: Path, *words: str) -> list[str]:
    _needs("bash")
    listed = " ".join(f"'{word}'" for word in ("torchpick", *words))
    asked = f"COMP_WORDS=({listed}); COMP_CWORD={len(words)}"
    code = f". ./script.bash; {asked}; _torchpick torchpick; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    shown = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=here, capture_output=True, text=True, check=True, timeout=20
    )
    assert shown.stderr == ""
    return [line for line in shown.stdout.splitlines() if line]


def _fish(here: Path, line: str, *, about: bool = False) -> list[str]:
    _needs("fish")
    environ = {**os.environ, "HOME": str(here), "XDG_CONFIG_HOME": str(here / "config")}
    code = f"source script.fish; complete -C '{line}'"
    shown = subprocess.run(
        ["fish", "--no-config", "-c", code], cwd=here, env=environ, capture_output=True, text=True, check=True,
        timeout=20,
    )  # fmt: skip
    return [offered if about else offered.split("\t")[0] for offered in shown.stdout.splitlines()]


def _typed(here: Path, shell: list[str], setup: str, *lines: str) -> list[str]:
    """What a shell in a terminal shows for each of the lines."""
    _needs(shell[0])
    main, sub = os.openpty()
    environ = {"PATH": os.environ["PATH"], "HOME": str(here), "TERM": "dumb", "COLUMNS": "200"}
    process = subprocess.Popen(shell, cwd=here, env=environ, stdin=sub, stdout=sub, stderr=sub)
    try:
        os.write(main, f"PS1=; {setup}; echo rea''dy\n".encode())
        _until(main, "ready")
        shown = []
        for line in lines:
            os.write(main, f"\x15{line}".encode())
            shown.append(_until(main, None))
        return shown
    finally:
        process.kill()
        process.wait()
        os.close(main)
        os.close(sub)


def _until(main: int, word: str | None) -> str:
    """What is printed until the word came, or until nothing came for a second."""
    seen = b""
    end = time.monotonic() + 15
    while time.monotonic() < end and (word is None or word.encode() not in seen):
        if not select.select([main], [], [], 1.5 if word is None else 0.5)[0]:
            if word is None:
                break
            continue
        seen += os.read(main, 65536)
    return seen.decode(errors="replace")


def test_bash_offers_what_a_flag_takes(here: Path) -> None:
    assert _bash(here, "list", "--channel", "=") == ["stable", "nightly", "test"]
    assert _bash(here, "list", "--channel", "=", "ni") == ["nightly"]
    assert _bash(here, "--gpu", "sm_61", "--dr") == ["--driver"]
    assert _bash(here, "dete") == ["detect"]


def test_bash_offers_files_where_there_is_nothing_else(here: Path) -> None:
    assert _bash(here, "inspect", "a") == []
    code = ". ./script.bash; complete -p torchpick"
    shown = subprocess.run(["bash", "--norc", "-c", code], cwd=here, capture_output=True, text=True, check=True)
    assert "-o default" in shown.stdout


def test_bash_offers_no_file_for_a_value_that_is_none(here: Path) -> None:
    """By the keys of a terminal: readline itself completes."""
    channels, files = _typed(
        here, ["bash", "--norc", "-i"], ". ./script.bash", "torchpick --channel a\t\t", "torchpick list --machine ab\t"
    )

    assert "abc.json" not in channels
    assert "abc.json" in files


def test_commands_and_flags_say_what_they_do() -> None:
    assert dict(completions([]))["lock"].startswith("Write a lock: the pick and its dependencies")
    assert all(about for name, about in completions(["list"]))


def test_bash_offers_the_version_of_the_bare_command_alone(here: Path) -> None:
    assert _bash(here, "--vers") == ["--version"]
    assert _bash(here, "list", "--vers") == []


def test_fish_offers_what_a_flag_takes(here: Path) -> None:
    assert "nightly" in _fish(here, "torchpick list --channel ")
    assert "--driver" in _fish(here, "torchpick --gpu sm_61 --dr")
    assert "--version" in _fish(here, "torchpick --vers")
    assert "--version" not in _fish(here, "torchpick list --vers")
    assert set(NAMES) <= set(_fish(here, "torchpick list --machine "))
    assert "list" in _fish(here, "torchpick li")
    assert "zsh" in _fish(here, "torchpick completion ")
    assert any(line.startswith("--driver\tNVIDIA driver") for line in _fish(here, "torchpick --dr", about=True))


def test_zsh_offers_what_a_flag_takes(here: Path) -> None:
    """What it makes of each line when TAB is pressed behind it."""
    offered = {
        "torchpick list --channel nigh": "nightly",
        "torchpick --gpu sm_61 --dri": "--driver",
        "torchpick inspect ab": "abc.json",
        "torchpick --vers": "--version",
        "torchpick dete": "detect",
        "torchpick list --": "-- which torchvision",
    }
    unbracketed = "unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u -D; . ./script.zsh"

    shown = _typed(here, ["zsh", "-f", "-i"], unbracketed, *(f"{line}\t" for line in offered))

    assert [line for line, words in zip(offered, shown, strict=True) if offered[line] not in words] == [], shown
