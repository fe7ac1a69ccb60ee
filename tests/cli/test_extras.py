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


def test_without_a_file_the_flags_say_all(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "torch>=2.5", "--for", "library")

    assert status == 0
    assert out.startswith("[project.optional-dependencies] # torchpick\n# torchpick: Linux x86-64 gets torch")
    assert '\nnvidia-old = ["torch>=2.5,<2.8"] # torchpick\n' in out
    assert err == ""


def test_the_projects_own_range_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(LIBRARY.replace(">=2.5", ">=2.6"), "utf-8")

    _, out, _ = run(capsys)

    assert '"torch>=2.6,<2.8"' in out
    assert Path("pyproject.toml").read_text("utf-8") == LIBRARY.replace(">=2.5", ">=2.6")


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


def test_an_app_is_told_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(
        '[project]\nname = "app"\nrequires-python = ">=3.11"\n[tool.uv]\npackage = false\n', "utf-8"
    )

    status, _, err = run(capsys, "--write", "pyproject.toml", "--backend", "cu126", "--backend", "cpu")

    assert status == 0
    assert "torchpick run uv sync" in err


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


def test_json_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").write_text(LIBRARY, "utf-8")

    _, out, _ = run(capsys, "--json", "--for", "app", "--backend", "cu126")
    answer = json.loads(out)
    _, written, _ = run(capsys, "--json", "--write", "pyproject.toml")

    assert answer["extras"] == [
        {
            "name": "cu126",
            "requirements": ["torch==2.14.1+cu126 ; sys_platform == 'linux' or sys_platform == 'win32'"],
            "backend": "cu126",
            "serves": [
                "torch 2.14.1: Maxwell to Hopper (sm_50 to sm_90), driver 525.60.13 or newer",
                "Python 3.10 to 3.15, 3.14t, 3.15t on Linux x86-64, Linux aarch64, Windows x86-64",
            ],
        }
    ]
    assert answer["indexes"] == [{"name": "pytorch-cu126", "url": "https://download.pytorch.org/whl/cu126"}]
    assert json.loads(written)["changed"] is True


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--write", "missing.toml"], 1),
        (["torch two"], 2),
        (["torch>=99"], 2),
        (["--for", "library", "--groups"], 2),
        (["--for", "app", "--backend", "sm_61"], 2),
        (["--for", "app", "--backend", "cu999"], 2),
        (["--for", "app", "--backend", "no"], 2),
        (["--for", "app", "--index-base", "flat+https://x.example"], 2),
        (["numpy"], 2),
        (["torchcodec"], 2),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_hint(
    words: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, *words)

    assert (found, out) == (status, "")
    assert err.startswith("error: ")
    assert "\nhint: " in err


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


def test_a_folder_in_the_files_place_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pyproject.toml").mkdir()

    status, _, err = run(capsys, "--write", "pyproject.toml")

    assert status == 1
    assert "cannot read pyproject.toml" in err


def test_a_file_in_poetrys_old_format_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    text = '[tool.poetry]\nname = "app"\n\n[tool.poetry.dependencies]\npython = "^3.11"\ntorch = "^2.5"\n'
    Path("pyproject.toml").write_text(text, "utf-8")

    status, _, err = run(capsys, "--for", "app", "--write", "pyproject.toml")

    assert (status, Path("pyproject.toml").read_text("utf-8")) == (1, text)
    assert "no [project] table" in err
