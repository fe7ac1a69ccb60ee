"""What is nested or repeated without end is refused in a sentence, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.cli import main

DEEP = "(" * 3000
GPU = ("--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12")


@pytest.mark.parametrize("command", [(), ("url",), ("plan",), ("label", "--among", "cpu,cu126")])
def test_a_marker_of_brackets_alone_is_not_a_valid_requirement(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, f"torch ; {DEEP}", *GPU]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.usefixtures("on_linux")
def test_a_requirements_file_of_brackets_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.txt"
    file.write_text(f"numpy\ntorch ; {DEEP}\n", "utf-8")

    assert main(["install", "-r", str(file), "--dry-run", *GPU]) == 2
    assert "r.txt" in capsys.readouterr().err.partition("\n")[0]
