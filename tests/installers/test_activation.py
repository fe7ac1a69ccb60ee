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


# What each shell is given, word for word: most computers have one or two of them.
WRITTEN = {
    "activate.d/torchpick.sh": """\
# torchpick pin; `torchpick unpin` removes this file
if [ -n "${UV_TORCH_BACKEND+x}" ]; then export _TORCHPICK_UV_TORCH_BACKEND="$UV_TORCH_BACKEND"; fi
export UV_TORCH_BACKEND=cu126
if [ -n "${UV_CONSTRAINT+x}" ]; then export _TORCHPICK_UV_CONSTRAINT="$UV_CONSTRAINT"; fi
export UV_CONSTRAINT='it'"'"'s 5%'"${UV_CONSTRAINT:+ $UV_CONSTRAINT}"
""",
    "deactivate.d/torchpick.sh": """\
# torchpick pin; `torchpick unpin` removes this file
if [ -n "${_TORCHPICK_UV_TORCH_BACKEND+x}" ]; then export UV_TORCH_BACKEND="$_TORCHPICK_UV_TORCH_BACKEND"; unset \
_TORCHPICK_UV_TORCH_BACKEND; else unset UV_TORCH_BACKEND; fi
if [ -n "${_TORCHPICK_UV_CONSTRAINT+x}" ]; then export UV_CONSTRAINT="$_TORCHPICK_UV_CONSTRAINT"; unset \
_TORCHPICK_UV_CONSTRAINT; else unset UV_CONSTRAINT; fi
""",
    "activate.d/torchpick.fish": """\
# torchpick pin; `torchpick unpin` removes this file
set -q UV_TORCH_BACKEND; and set -gx _TORCHPICK_UV_TORCH_BACKEND $UV_TORCH_BACKEND
set -gx UV_TORCH_BACKEND 'cu126'
set -q UV_CONSTRAINT; and set -gx _TORCHPICK_UV_CONSTRAINT $UV_CONSTRAINT; and set -gx UV_CONSTRAINT \
'it\\'s 5%'" $UV_CONSTRAINT"; or set -gx UV_CONSTRAINT 'it\\'s 5%'
""",
    "deactivate.d/torchpick.fish": """\
# torchpick pin; `torchpick unpin` removes this file
set -q _TORCHPICK_UV_TORCH_BACKEND; and set -gx UV_TORCH_BACKEND $_TORCHPICK_UV_TORCH_BACKEND; and set -e \
_TORCHPICK_UV_TORCH_BACKEND; or set -e UV_TORCH_BACKEND
set -q _TORCHPICK_UV_CONSTRAINT; and set -gx UV_CONSTRAINT $_TORCHPICK_UV_CONSTRAINT; and set -e \
_TORCHPICK_UV_CONSTRAINT; or set -e UV_CONSTRAINT
""",
    "activate.d/torchpick.ps1": """\
# torchpick pin; `torchpick unpin` removes this file
$env:_TORCHPICK_UV_TORCH_BACKEND = $env:UV_TORCH_BACKEND
$env:UV_TORCH_BACKEND = 'cu126'
$env:_TORCHPICK_UV_CONSTRAINT = $env:UV_CONSTRAINT
$env:UV_CONSTRAINT = 'it''s 5%' + $(if ($env:_TORCHPICK_UV_CONSTRAINT) { " $env:_TORCHPICK_UV_CONSTRAINT" } else { "" })
""",
    "deactivate.d/torchpick.ps1": """\
# torchpick pin; `torchpick unpin` removes this file
$env:UV_TORCH_BACKEND = $env:_TORCHPICK_UV_TORCH_BACKEND
Remove-Item -ErrorAction Ignore Env:_TORCHPICK_UV_TORCH_BACKEND
$env:UV_CONSTRAINT = $env:_TORCHPICK_UV_CONSTRAINT
Remove-Item -ErrorAction Ignore Env:_TORCHPICK_UV_CONSTRAINT
""",
    "activate.d/torchpick.bat": """\
@rem torchpick pin; `torchpick unpin` removes this file\r
@if defined UV_TORCH_BACKEND set "_TORCHPICK_UV_TORCH_BACKEND=%UV_TORCH_BACKEND%"\r
@set "UV_TORCH_BACKEND=cu126"\r
@if defined UV_CONSTRAINT set "_TORCHPICK_UV_CONSTRAINT=%UV_CONSTRAINT%"\r
@if defined UV_CONSTRAINT (set "UV_CONSTRAINT=it's 5%% %UV_CONSTRAINT%") else (set "UV_CONSTRAINT=it's 5%%")\r
""",
    "deactivate.d/torchpick.bat": """\
@rem torchpick pin; `torchpick unpin` removes this file\r
@set "UV_TORCH_BACKEND="\r
@if defined _TORCHPICK_UV_TORCH_BACKEND set "UV_TORCH_BACKEND=%_TORCHPICK_UV_TORCH_BACKEND%"\r
@set "_TORCHPICK_UV_TORCH_BACKEND="\r
@set "UV_CONSTRAINT="\r
@if defined _TORCHPICK_UV_CONSTRAINT set "UV_CONSTRAINT=%_TORCHPICK_UV_CONSTRAINT%"\r
@set "_TORCHPICK_UV_CONSTRAINT="\r
""",
}


def test_every_shell_that_conda_knows_has_both() -> None:
    found = activation.scripts({"UV_TORCH_BACKEND": "cu126", "UV_CONSTRAINT": "it's 5%"}, ["UV_CONSTRAINT"])

    for name in (*WRITTEN, *found):
        assert found.get(name) == WRITTEN.get(name), name
