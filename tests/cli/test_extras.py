"""`torchpick extras` as a command line."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from tests.skips import bound_by_modes
from torchpick.cli import main

LIBRARY = """\
# mine
[build-system]
requires = ["hatchling"]

[project]
name = "mylib"
requires-python = ">=3.10"
dependencies = ["torch>=2.5"] # hand-made
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["extras", *words])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return status, out, err


def test_writing_twice_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("pyproject.toml")
    file.write_text(LIBRARY, "utf-8")

    first, out, _ = run(capsys, "--write", "pyproject.toml")
    written = file.read_text("utf-8")
    second, again, err = run(capsys, "--write", "pyproject.toml")

    assert (first, second) == (0, 0)
    assert (out, again) == ("pyproject.toml\n", "")
    assert "up to date" in err
    assert file.read_text("utf-8") == written
    assert written.startswith(LIBRARY)


def test_a_clash_is_shown_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    text = LIBRARY + '\n[project.optional-dependencies]\nnvidia-old = ["torch<2.7"]\n'
    Path("pyproject.toml").write_text(text, "utf-8")

    status, out, err = run(capsys, "--write", "pyproject.toml")

    assert (status, out) == (1, "")
    assert 'project.optional-dependencies.nvidia-old is ["torch<2.7"] and would be' in err
    assert Path("pyproject.toml").read_text("utf-8") == text


@pytest.mark.parametrize("more", [[], ["--groups"]])
def test_an_app_is_told_how_to_go_on_and_its_backends_stay(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(
        '[project]\nname = "app"\nrequires-python = ">=3.11"\n[tool.uv]\npackage = false\n', "utf-8"
    )

    status, _, err = run(capsys, "--write", "pyproject.toml", "--backend", "cu126", "--backend", "cpu", *more)

    assert status == 0
    assert "torchpick run uv sync" in err
    written = Path("pyproject.toml").read_text("utf-8")
    assert run(capsys, "--write", "pyproject.toml")[0] == 0
    assert Path("pyproject.toml").read_text("utf-8") == written


def test_an_extra_beside_the_authors_holds_what_theirs_do(capsys: pytest.CaptureFixture[str]) -> None:
    table = 'cpu = ["torch>=2.7", "torchvision"]\ncu128 = ["torch>=2.7", "torchvision<1"]\n'
    table += '[tool.uv]\nconflicts = [[{ extra = "cpu" }, { extra = "cu128" }]]\n'
    text = f'[project]\nname = "app"\nrequires-python = ">=3.11"\n[project.optional-dependencies]\n{table}'
    Path("pyproject.toml").write_text(text, "utf-8")

    status, out, err = run(capsys, "--for", "app", "--backend", "cu126", "--dry-run", "--offline")

    assert (status, err) == (0, "")
    assert '+cu126 = ["torch==2.14.1+cu126 ;' in out
    assert '"torchvision==0.29.1+cu126 ;' in out


CHOOSES = "[tool.uv.sources]\ntorch = { index = 'a', extra = 'cpu' }\n"


@pytest.mark.parametrize(
    ("more", "words", "kind"),
    [
        ("", [], "library"), (CHOOSES, [], "app"), ("[tool.poetry]\nname = 'x'\n", ["--for", "library"], "library"),
        ("", ["--for", "app", "--backend", "cpu"], "app"),
    ],
)  # fmt: skip
def test_what_names_an_index_is_an_app(
    more: str, words: list[str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pyproject.toml").write_text(f"{LIBRARY}{more}", "utf-8")

    assert json.loads(run(capsys, "--json", *words)[1])["for"] == kind


def test_line_ends_mode_and_links_survive(capsys: pytest.CaptureFixture[str]) -> None:
    real = Path("real.toml")
    real.write_bytes(LIBRARY.replace("\n", "\r\n").encode())
    real.chmod(0o640)
    Path("pyproject.toml").symlink_to(real)

    status, _, _ = run(capsys, "--write", "pyproject.toml")

    content = real.read_bytes()
    assert status == 0
    assert content.count(b"\n") == content.count(b"\r\n") > 10
    assert Path("pyproject.toml").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@pytest.mark.parametrize("content", [b"\xff\xfe[\0p\0", b"[project\n", b"x = " + b"[" * 9999, b"#" * (4 << 20) + b"##"])
def test_a_broken_file_is_told_and_left(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_bytes(content)

    status, _, err = run(capsys, "--write", "pyproject.toml")

    assert status == 1
    assert "\nhint: " in err
    assert Path("pyproject.toml").read_bytes() == content


@bound_by_modes
def test_a_read_only_folder_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    Path("pyproject.toml").write_text(LIBRARY, "utf-8")
    tmp_path.chmod(0o500)
    try:
        status, _, err = run(capsys, "--write", "pyproject.toml")
    finally:
        tmp_path.chmod(0o700)

    assert status == 1
    assert "cannot write" in err


def test_a_file_in_poetrys_old_format_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    text = '[tool.poetry]\nname = "app"\n\n[tool.poetry.dependencies]\npython = "^3.11"\ntorch = "^2.5"\n'
    Path("pyproject.toml").write_text(text, "utf-8")

    status, _, err = run(capsys, "--for", "app", "--write", "pyproject.toml")

    assert (status, Path("pyproject.toml").read_text("utf-8")) == (1, text)
    assert "no [project] table\n\nhint: Poetry 2 reads [project]: move name" in err
