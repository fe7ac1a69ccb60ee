"""Projects that uv does not lock get one build in their own form, or the lines to write by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.environment import toml
from torchpick.environment.rewrite import read_file
from torchpick.projects.othertools import tool_of

PROJECT = '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.11,<3.14"\ndependencies = ["torch>=2.5"]\n'
POETRY = f'{PROJECT}[tool.poetry.dependencies]\ntorch = "^2.5" # mine\n'


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(file: str, text: str, *words: str) -> int:
    Path(file).write_text(text, "utf-8")
    return main(["extras", "--write", file, "--offline", "--quiet", *words])


def test_poetry_gets_an_explicit_source_with_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    text = POETRY.replace('"torch>=2.5"', '"torch>=2.5", "torchvision"')
    assert run("pyproject.toml", text, "--backend", "cu126") == 0
    assert capsys.readouterr().out == "pyproject.toml\n"

    written = Path("pyproject.toml").read_text("utf-8")
    poetry = toml.loads(written)["tool"]["poetry"]
    where = "sys_platform == 'linux' or sys_platform == 'win32'"
    assert poetry["dependencies"]["torch"] == [
        {"version": "2.14.1+cu126", "source": "pytorch-cu126", "markers": where},
        {"version": ">=2.5", "markers": "sys_platform != 'linux' and sys_platform != 'win32'"},
    ]
    assert [row["version"] for row in poetry["dependencies"]["torchvision"]] == ["0.29.1+cu126", "*"]
    assert [source["priority"] for source in poetry["source"]] == ["explicit"]
    assert "uv" not in toml.loads(written)["tool"]
    assert main(["extras", "--write", "pyproject.toml", "--offline", "--quiet", "--backend", "cu126"]) == 0
    assert (Path("pyproject.toml").read_text("utf-8"), capsys.readouterr().out) == (written, "")


@pytest.mark.parametrize("file", ["requirements.in", "requirements.txt"])
def test_pip_tools_gets_a_file_of_its_own_without_a_path_of_this_machine(
    capsys: pytest.CaptureFixture[str], file: str
) -> None:
    text = "torch>=2.5\ntorchvision\n./lib\n"
    assert run(file, text, "--backend", "cu126", "--dry-run") == 0
    assert "torch==2.14.1+cu126 ;" in capsys.readouterr().out
    assert not Path("requirements-cu126.in").exists()
    assert run(file, text, "--backend", "cu126") == 0

    assert capsys.readouterr().out == "requirements-cu126.in\n"
    assert Path(file).read_text("utf-8") == text
    marker = "sys_platform == 'linux' or sys_platform == 'win32'"
    assert Path("requirements-cu126.in").read_text("utf-8").splitlines()[1:] == [
        f"-r {file}", "--find-links https://download.pytorch.org/whl/cu126/torch/",
        "--find-links https://download.pytorch.org/whl/cu126/torchvision/", f"torch==2.14.1+cu126 ; {marker}",
        f"torchvision==0.29.1+cu126 ; {marker}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("file", "text", "beside", "tool"),
    [
        ("pyproject.toml", f"{PROJECT}[tool.poetry]\npackage-mode = false\n", "x", "uv"),
        ("pyproject.toml", POETRY, "x", "poetry"), ("pyproject.toml", POETRY, "uv.lock", "uv"),
        ("pyproject.toml", f"{POETRY}[tool.uv]\n", "poetry.lock", "uv"), ("pyproject.toml", PROJECT, "pdm.lock", "pdm"),
        ("pixi.toml", "", "x", "pixi"), ("environment.yaml", "", "x", "conda"), ("environment.yml", "", "x", "conda"),
        ("dev.in", "", "x", "pip-tools"), ("dev.txt", "", "x", "pip-tools"), ("pyproject.toml", PROJECT, "x", "uv"),
    ],
)  # fmt: skip
def test_whose_a_project_is(file: str, text: str, beside: str, tool: str) -> None:
    Path(file).write_text(text, "utf-8")
    Path(beside).touch()

    assert tool_of(read_file(file)) == tool


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("pixi.toml", "[workspace]\n", 'torch = { version = "==2.14.1+cu126", index = "https://'),
        ("environment.yml", "name: app\n", "- torch==2.14.1+cu126"),
        ("pyproject.toml", f"{PROJECT.replace('>=2.5', '<2.14')}[tool.pdm]\nx = 1\n", '["torch==2.13.0+cu126"]'),
        ("pyproject.toml", f"{PROJECT}[tool.pixi.workspace]\nplatforms = []\n", 'index = "https://'),
    ],
)
def test_what_has_no_form_of_ours_is_left_with_the_lines_to_write(
    capsys: pytest.CaptureFixture[str], file: str, text: str, line: str
) -> None:
    assert run(file, text, "--backend", "cu126") == 1

    assert line in capsys.readouterr().err
    assert Path(file).read_text("utf-8") == text


def test_they_lock_one_torch(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("pyproject.toml", POETRY) == 2
    assert "is for one backend" in capsys.readouterr().err
