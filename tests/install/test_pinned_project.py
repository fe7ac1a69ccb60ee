"""Which project `torchpick pin` writes into: never torchpick's own."""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.commands import begun
from torchpick.cli import main
from torchpick.errors import TorchpickError, UsageError
from torchpick.install.pin import project_of, unpin


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """An environment in a folder with a project."""
    tmp_path.joinpath("pyproject.toml").write_text("", "utf-8")
    return str(tmp_path / ".venv")


def test_torchpicks_own_project_is_left_alone(prefix: str, tmp_path: Path) -> None:
    file = str(tmp_path / "pyproject.toml")
    assert project_of(prefix, None) == project_of(prefix, file) == file

    (tmp_path / "src" / "torchpick").mkdir(parents=True)
    (tmp_path / "src" / "torchpick" / "__init__.py").touch()

    assert project_of(prefix, None) is None
    with pytest.raises(UsageError, match="is torchpick's own project"):
        project_of(prefix, file)


def test_a_project_that_is_named_must_be_there(prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert project_of(prefix, "pyproject.toml") == str(tmp_path / "pyproject.toml")
    os.unlink("pyproject.toml")

    assert project_of(prefix, None) is None
    with pytest.raises(TorchpickError, match=r"there is no pyproject\.toml"):
        project_of(prefix, "pyproject.toml")


PROJECT = '[project]\nname = "app"\nversion = "0"\ndependencies = ["torch>=2.9", "vllm==0.19.1"]\n'
OLD, NEW = ["--gpu", "sm_61", "--driver", "580.95.05"], ["--gpu", "sm_120", "--driver", "615.36"]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the current folder; beside it an environment."""
    marks = begun({"target": {"uv": "0.13.9"}}, tmp_path, monkeypatch)
    file = Path(marks["$HERE"], "pyproject.toml")
    file.write_text(PROJECT.replace(', "vllm==0.19.1"', ""), "utf-8")
    monkeypatch.setenv("VIRTUAL_ENV", marks["$TARGET"])
    return file


def pinned(file: Path, card: list[str]) -> str:
    assert main(["pin", "--project", str(file), "--offline", *card]) == 0
    return file.read_text("utf-8")


def test_what_the_project_requires_binds_the_pin(app: Path) -> None:
    """The newest that an A100 behind driver 535 can have is 2.14.1+cu126, which this vllm does not admit."""
    app.write_text(PROJECT, "utf-8")

    text = pinned(app, ["--gpu", "a100", "--driver", "535.183.01"])

    assert '"torch==2.10.0+cu128 ; ' in text


def test_a_project_that_cannot_be_read_is_pinned_by_what_it_says_of_torch(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.write_text(PROJECT.replace("vllm==0.19.1", "no-such-project-of-anybody").replace(">=2.9", "<2.12"), "utf-8")

    text = pinned(app, OLD)

    assert '"torch==2.11.0+cu126 ; ' in text
    assert "requires beside torch is not known" in " ".join(capsys.readouterr().err.split())


def test_a_pin_holds_where_the_very_build_is_published_and_keeps_what_runs(app: Path) -> None:
    a100, linux = ["--gpu", "a100", "--driver", "535.183.01"], "sys_platform == 'linux'"
    for words, where in (
        (["torch==2.10.0", *a100], f"{linux} and platform_machine == 'x86_64'"),  # its torchaudio is another elsewhere
        (["--backend", "default", *NEW], linux), (OLD, f"{linux} or sys_platform == 'win32'"),
    ):  # fmt: skip
        assert f' ; {where}"' in pinned(app, words)

    (site,) = Path(os.environ["VIRTUAL_ENV"]).glob("lib/*/site-packages")
    (site / "torch-2.13.0+cu126.dist-info").mkdir()
    assert ['"torch==2.13.0' in pinned(app, [*words, *OLD]) for words in ([], ["torch<2.15"])] == [True, False]


def test_a_clone_with_another_gpu_is_pinned_anew(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What torchpick wrote is nobody's will."""
    pinned(app, OLD)
    capsys.readouterr()

    assert main(["url", *NEW]) == 0
    assert "torch==2.15.0+cu1" in capsys.readouterr().out
    text = pinned(app, NEW)

    assert "cu126" not in text
    assert text.count("# torchpick pin") == pinned(app, NEW).count("# torchpick pin")


def test_what_speaks_against_a_pin_leaves_the_last_one_as_it_is(app: Path) -> None:
    app.write_text(f"{app.read_text('utf-8')}\n[tool.uv]\npackage = false\n", "utf-8")
    text = pinned(app, OLD)
    assert text.count("package = false") == 1
    app.write_text(text.replace("package = false", 'override-dependencies = ["torch==2.9.0"]'), "utf-8")
    before = {file: file.read_bytes() for file in (app, Path(os.environ["VIRTUAL_ENV"], "pip.conf"))}

    assert main(["pin", "--project", str(app), "--offline", *NEW]) == 1
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.parametrize("call", ["replace", "fsync", "mkdir"])
def test_what_the_system_refuses_leaves_every_file_as_it_was(
    app: Path, call: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The project, pip.conf and what this names: all of them, by the first pin, by the next one, and by unpin."""
    env, really, calls = Path(os.environ["VIRTUAL_ENV"]), getattr(os, call), Counter[str]()

    def refused_once(*words: Any, **options: Any) -> Any:  # whatever the real one takes
        calls["left"] -= 1
        if calls["left"] == 0:
            raise OSError(errno.EROFS, "Read-only file system", words[0])
        return really(*words, **options)

    def files() -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in (app, *env.rglob("*")) if file.is_file()}

    monkeypatch.setattr(os, call, refused_once)
    status = 1
    for words in (["pin", *OLD, "--offline"], ["pin", *NEW, "--offline"], ["unpin"]):
        for number in range(1, 40):
            calls["left"], before = number, files()
            status = main([*words, "--project", str(app)])
            if calls["left"] > 0:
                break
            is_said = "\n\nhint: " in capsys.readouterr().err
            assert status == 0 or (is_said and files() == before), (words, number)
        assert status == 0


def test_env_in_a_pinned_environment_is_of_one_mind(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pinned(app, OLD)
    capsys.readouterr()

    assert main(["env", "--json", "--offline", *NEW]) == 0

    answer = json.loads(capsys.readouterr().out)
    variables = answer["environ"]["set"]
    assert len(variables["PIP_CONSTRAINT"].split()) == 1
    assert "cu126" not in variables.get("PIP_FIND_LINKS", "")  # the pages of the pin
    assert "WHEEL_INDEX" not in {note["code"] for note in answer["notes"]}
    assert os.environ["VIRTUAL_ENV"] not in json.dumps(variables)


def test_the_authors_own_source_of_the_same_index_is_left_as_it_is(app: Path) -> None:
    own = """
[tool.uv.sources]
torch = [{ index = "pytorch-cu126", marker = "sys_platform == 'linux' or sys_platform == 'win32'" }]

[[tool.uv.index]]
name = "pytorch-cu126"
url = "https://download.pytorch.org/whl/cu126"
explicit = true
"""
    before = app.read_text("utf-8") + own
    app.write_text(before, "utf-8")

    text = pinned(app, OLD)

    assert text.count("torch = [{") == 1
    assert "torch==2.14.1+cu126" in text
    assert unpin(os.environ["VIRTUAL_ENV"], str(app))
    assert app.read_text("utf-8") == before
