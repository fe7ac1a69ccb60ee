"""In a project of uv's: what its next sync does to an installed torch, and the command that keeps that."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.install.job import find_undone

PROJECT = '[project]\nname = "app"\nversion = "0"\nrequires-python = ">=3.10"\ndependencies = ["torch>=2.9"]\n'
# As uv's documentation has it.
HEAD = 'version = 1\nrevision = 3\nrequires-python = ">=3.10"\n'
CONFLICTS = 'conflicts = [[\n    { package = "app", extra = "cpu" },\n    { package = "app", extra = "cu126" },\n]]\n'
CARD = ["--gpu", "sm_61", "--driver", "580.95.05"]


def lock(*versions: str, head: str = HEAD) -> str:
    packages = (f'\n[[package]]\nname = "torch"\nversion = "{version}"\n' for version in versions)
    return head + '\n[[package]]\nname = "torchvision"\nversion = "0.29.1+cu126"\n' + "".join(packages)


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose environment holds torch 2.14.1+cu126, and whose lock has 2.15.0+cu130."""
    folder = tmp_path / "app"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    site = folder / ".venv" / ("Lib/site-packages" if os.name == "nt" else f"lib/python{version}/site-packages")
    (site / "torch").mkdir(parents=True)
    info = site / "torch-2.14.1+cu126.dist-info"
    info.mkdir()
    files = {"torch/__init__.py": "", "torch/version.py": "__version__ = '2.14.1+cu126'\ncuda = '12.6'\n"}
    files[f"{info.name}/METADATA"] = "Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1+cu126\n"
    for name, text in files.items():
        (site / name).write_text(text, "utf-8")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files), "utf-8")
    (folder / ".venv" / "bin").mkdir()
    (folder / ".venv" / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    cfg = f"home = {os.path.dirname(os.path.realpath(sys.executable))}\nuv = 0.13.9\nversion_info = {version}.1\n"
    (folder / ".venv" / "pyvenv.cfg").write_text(cfg, "utf-8")
    (folder / "pyproject.toml").write_text(PROJECT, "utf-8")
    (folder / "uv.lock").write_text(lock("2.15.0+cu130"), "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return folder


def undone(app: Path, version: str = "2.14.1+cu126", **environ: str) -> str | None:
    found = find_undone(str(app / ".venv"), version, environ)
    return None if found is None else f"{found[0]}: {found[1]}".replace(str(app), "$APP")


def test_another_torch_of_the_lock_comes_back_and_pin_keeps_this_one(app: Path) -> None:
    assert undone(app) == (
        "$APP/uv.lock has torch 2.15.0+cu130, which the next `uv sync` or `uv run` brings back: "
        "`torchpick pin` and then `uv sync` keep 2.14.1+cu126"
    )
    assert undone(app, "2.15.0+cu130") is None


def test_a_lock_without_torch_takes_it_out(app: Path) -> None:
    for head in (HEAD, HEAD + CONFLICTS):
        (app / "uv.lock").write_text(lock(head=head), "utf-8")

        assert undone(app) == (
            "$APP/uv.lock has no torch, and the next `uv sync` takes 2.14.1+cu126 out: "
            "`torchpick pin` and then `uv add torch` keep 2.14.1+cu126"
        )


def test_of_the_torches_of_extras_plain_uv_takes_the_one_that_none_names(app: Path) -> None:
    (app / "uv.lock").write_text(lock("2.14.1+cpu", "2.14.1+cu126", head=HEAD + CONFLICTS), "utf-8")

    assert undone(app) == (
        "$APP/uv.lock has torch 2.14.1+cpu, 2.14.1+cu126: plain `uv run` and `uv sync` take the one that no extra "
        "names: `torchpick run uv run …` and `torchpick run uv sync` take this machine's"
    )
    # One for each system is no choice.
    (app / "uv.lock").write_text(lock("2.14.1", "2.14.1+cu126"), "utf-8")
    assert undone(app) is None


def test_uv_keeps_the_environment_of_a_project_with_a_lock_alone(app: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (app / ".venv").rename(elsewhere)
    assert find_undone(str(elsewhere), "2.14.1+cu126", {}) is None
    assert find_undone(str(elsewhere), "2.14.1+cu126", {"UV_PROJECT_ENVIRONMENT": "../elsewhere"}) is not None
    elsewhere.rename(app / ".venv")
    (app / "uv.lock").unlink()
    assert undone(app) is undone(app, UV_PROJECT_ENVIRONMENT=".venv") is None


def test_doctor_finds_it(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *CARD]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "result 1 warning warning LOCK_UNDOES" in out
    assert "do `torchpick pin` and then `uv sync` keep 2.14.1+cu126" in out

    (app / "uv.lock").write_text(lock("2.14.1+cu126"), "utf-8")
    assert main(["doctor", *CARD]) == 0
    assert "nothing wrong" in capsys.readouterr().out


def test_install_says_it(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["install", "torch==2.13.0", "--dry-run", "--offline", "--installer", "uv", *CARD]
    assert main(words) == 0
    err = " ".join(capsys.readouterr().err.split())
    assert "uv.lock has torch 2.15.0+cu130, which the next `uv sync` or `uv run` brings back" in err
    assert "`torchpick pin` and then `uv sync` keep 2.13.0+cu126" in err
    assert app.is_dir()


def test_with_uv_a_pin_to_another_torch_is_named_before_uv_fails_on_it(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pinned = (
        "[tool.uv]\nconstraint-dependencies = [\"torch==2.14.1+cu126 ; sys_platform == 'linux'\"] # torchpick pin\n"
    )
    (app / "pyproject.toml").write_text(f"{PROJECT}\n{pinned}", "utf-8")
    words = ["install", "--dry-run", "--offline", "--installer", "uv", *CARD]

    assert main([*words, "torch==2.13.0"]) == 1
    err = capsys.readouterr().err
    assert "is pinned to torch 2.14.1+cu126, which uv obeys, and 2.13.0+cu126 runs here" in " ".join(err.split())
    assert main([*words, "torch==2.14.1"]) == 0
