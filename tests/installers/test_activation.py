"""Scripts of a conda environment: what is set on entering is put back on leaving."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.installers import activation

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), max_size=20)


def shell(program: str, folder: Path, environ: dict[str, str], suffix: str) -> list[str]:
    """The variables before, inside and after, as that shell sees them."""
    show = 'printf "%s|%s\\n" "$UV_TORCH_BACKEND" "$UV_CONSTRAINT"'
    dot = "source" if suffix == "fish" else "."
    script = "\n".join([
        show,
        f"{dot} {folder}/activate.d/torchpick.{suffix}", show,
        f"{dot} {folder}/deactivate.d/torchpick.{suffix}", show,
        "env | grep -c _TORCHPICK_",
    ])  # fmt: skip
    done = subprocess.run(
        [program, "-c", script],
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.process
@pytest.mark.parametrize(("program", "suffix"), [("sh", "sh"), ("bash", "sh"), ("zsh", "sh"), ("fish", "fish")])
@pytest.mark.parametrize(
    ("environ", "before", "inside"),
    [
        ({}, "|", "cu126|file:///e%20x/c.txt"),
        (
            {"UV_TORCH_BACKEND": "cpu", "UV_CONSTRAINT": "mine.txt"},
            "cpu|mine.txt",
            "cu126|file:///e%20x/c.txt mine.txt",
        ),
    ],
)
def test_a_real_shell_enters_and_leaves(
    program: str, suffix: str, environ: dict[str, str], before: str, inside: str, tmp_path: Path
) -> None:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"no {program}")
    found = activation.scripts({"UV_TORCH_BACKEND": "cu126", "UV_CONSTRAINT": "file:///e%20x/c.txt"}, ["UV_CONSTRAINT"])
    for name, text in found.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    assert shell(path, tmp_path, environ, suffix) == [before, inside, before, "0"]


@given(VALUES)
def test_no_value_breaks_a_line(value: str) -> None:
    for name, text in activation.scripts({"UV_INDEX": value}).items():
        assert len(text.splitlines()) <= 4 or not value.isprintable(), name


def test_every_shell_that_conda_knows_has_both() -> None:
    found = activation.scripts({"A": "1"}, ["A"])

    assert {name.partition("/")[0] for name in found} == {"activate.d", "deactivate.d"}
    assert {name.rpartition(".")[2] for name in found} == {"sh", "fish", "ps1", "bat"}
    assert found["activate.d/torchpick.bat"].endswith('@if defined A (set "A=1 %A%") else (set "A=1")\r\n')
    assert (
        '$env:A = \'1\' + $(if ($env:_TORCHPICK_A) { " $env:_TORCHPICK_A" } else { "" })'
        in found["activate.d/torchpick.ps1"]
    )
