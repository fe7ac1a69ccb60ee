"""What another user may write: neither run, nor believed."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.install.test_store import folder_of
from tests.skips import needs_root
from torchpick.cli import main
from torchpick.environment import interpreter
from torchpick.environment.world import World
from torchpick.errors import InstallerError, TorchpickError
from torchpick.index import index_places
from torchpick.install.command import store_folder, store_notes

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lists of Windows are not judged")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def venv(folder: Path) -> Path:
    """An environment whose interpreter leaves a mark when it is started."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {VERSION}.4\n", "utf-8")
    program = folder / ".venv" / "bin" / "python"
    program.write_text(f'#!/bin/sh\ntouch "{folder}/started"\nexec "{sys.executable}" "$@"\n', "utf-8")
    program.chmod(0o755)
    return folder / ".venv"


def is_others(folder: Path, **environ: str) -> bool:
    place = interpreter.find_environment(World("/", environ, str(folder), sys.platform))
    assert place is not None
    return place.is_others


@pytest.mark.parametrize("place", ["", "bin", "pyvenv.cfg"])
def test_an_environment_that_others_may_write_is_read_as_data(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (venv(tmp_path) / place).chmod(0o777)
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")

    found = interpreter.choose(None, World.here(), 0.0).python
    statuses = {
        words: main([*words.split(), "--gpu", "none"])
        for words in ("url", "install torch --dry-run", "lock torch", "pin", "doctor")
    }

    assert (found.version, found.executable) == (VERSION, None)
    assert "in which nothing is run, as others may write there" in found.source
    assert statuses == {"url": 0, "install torch --dry-run": 2, "lock torch": 2, "pin": 2, "doctor": 3}
    assert "--python" in capsys.readouterr().err
    assert not (tmp_path / "started").exists()


@pytest.mark.process
def test_ones_own_environment_is_taken_also_in_a_folder_of_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv(tmp_path)
    tmp_path.chmod(0o775)
    monkeypatch.chdir(tmp_path)

    assert interpreter.choose(None, World.here(), 0.0).python.executable == str(tmp_path / ".venv/bin/python")


# What is only asked; what acts on an environment starts its Python where it has to.
QUESTIONS = (
    "url", "list", "plan torch --offline", "label --among cpu,cu126", "matrix", "detect", "env", "doctor",
    "inspect odd", "--json",
    "explain 'no kernel image is available'",
)  # fmt: skip


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_reads_the_environment_of_a_folder_and_runs_nothing_in_it(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have come with a repository that was cloned."""
    folder = venv(tmp_path)
    with (folder / "pyvenv.cfg").open("a", encoding="utf-8") as config:
        config.write("include-system-site-packages = true\n")
    monkeypatch.chdir(tmp_path)
    with suppress(TorchpickError):
        index_places.default(str(folder / "bin" / "python"))

    main(shlex.split(f"{question} --gpu sm_86 --driver 580.95.05"))

    assert not (tmp_path / "started").exists()


@needs_root
def test_another_users_is_not_ours_and_a_link_of_theirs_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(venv(tmp_path / "a"), 4242, 4242)
    venv(tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / ".venv").symlink_to(tmp_path / "b" / ".venv")
    os.lchown(tmp_path / "c" / ".venv", 4242, 4242)

    others = {name: is_others(tmp_path / name) for name in "abc"}

    assert others == {"a": True, "b": False, "c": True}
    assert not is_others(tmp_path, VIRTUAL_ENV=str(tmp_path / "a" / ".venv"))
    monkeypatch.setattr(os, "geteuid", lambda: 4242)  # root's are everybody's own
    assert [is_others(tmp_path / name) for name in "abc"] == [False, False, False]


@pytest.mark.parametrize("place", ["", "install"])
def test_a_cache_that_others_may_write_is_passed_over(place: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "install").mkdir(parents=True)
    assert folder_of(str(cache), str(tmp_path)) == str(cache / "install")
    (cache / place).chmod(0o777)

    found = folder_of(str(cache), str(tmp_path))

    assert found.startswith(str(tmp_path / "torchpick-"))
    assert [note.code for note in store_notes(str(cache), found)] == ["CACHE_IGNORED"]
    with pytest.raises(InstallerError, match="others may write to") as caught:
        store_folder(str(cache), lasting=True)
    assert "TORCHPICK_CACHE_DIR" in str(caught.value.hint)


def test_env_and_run_ask_for_a_cache_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))

    for words in (["env"], ["run", "--quiet"]):
        status = main([*words, "--gpu", "none", "--offline", *(["true"] if words[0] == "run" else [])])
        assert status == 1, words
        assert "TORCHPICK_CACHE_DIR" in capsys.readouterr().err


def test_doctor_reads_an_environment_that_others_may_write_and_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site = venv(tmp_path) / "lib" / f"python{VERSION}" / "site-packages"
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "version.py").write_text("__version__ = '2.14.1+cu126'\ncuda = '12.6'\n", "utf-8")
    (site / "torch-2.14.1.dist-info").mkdir()
    (site / "torch-2.14.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.14.1\n", "utf-8"
    )
    (tmp_path / ".venv").chmod(0o777)
    monkeypatch.chdir(tmp_path)

    status = main(["doctor", "--gpu", "RTX 5090", "--driver", "580.95.05", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert status == 3
    assert found["torch"]["version"] == "2.14.1+cu126"
    assert "NO_KERNELS" in {finding["code"] for finding in found["findings"]}
    assert "in which nothing is run, as others may write there" in found["environment"]["source"]
    assert main(["doctor", "--gpu", "RTX 5090", "--driver", "580.95.05", "--fix"]) == 2
    assert not (tmp_path / "started").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_at_an_environments_settings_is_named_and_its_python_not_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prefix = venv(tmp_path)
    (prefix / "pyvenv.cfg").unlink()
    os.mkfifo(prefix / "pyvenv.cfg")

    for words in (["url"], ["doctor"], ["install", "torch", "--dry-run"], ["pin"]):
        assert main([*words, "--gpu", "none", "--python", str(prefix)]) in (1, 2)
        said = capsys.readouterr().err
        assert f"has {prefix}/pyvenv.cfg, which is not a file" in said
        assert "specify one with" in said
    assert not (tmp_path / "started").exists()


def test_a_folder_here_does_not_stand_for_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does a program that lies here, where a bare name is said."""
    venv(tmp_path).rename(tmp_path / "python3")
    (tmp_path / "mine").write_text((tmp_path / "python3" / "bin" / "python").read_text("utf-8"), "utf-8")
    (tmp_path / "mine").chmod(0o755)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    monkeypatch.chdir(tmp_path)

    for words in (["url"], ["doctor"]):
        assert main([*words, "--gpu", "none", "--python", "mine"]) == 2
        main([*words, "--gpu", "none", "--python", "python3"])
    assert not (tmp_path / "started").exists()
