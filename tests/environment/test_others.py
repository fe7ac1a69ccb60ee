"""What another user may write: neither run, nor believed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.environment import interpreter, world
from torchpick.environment.world import World
from torchpick.errors import InstallerError
from torchpick.installers import store

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the lists of Windows are not judged")
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def venv(folder: Path) -> Path:
    """An environment whose interpreter leaves a mark when it is started."""
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {VERSION}.4\n")
    program = folder / ".venv" / "bin" / "python"
    program.write_text(f'#!/bin/sh\ntouch "{folder}/started"\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return folder / ".venv"


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
    assert statuses == {"url": 0, "install torch --dry-run": 2, "lock torch": 2, "pin": 2, "doctor": 2}
    assert "--python" in capsys.readouterr().err
    assert not (tmp_path / "started").exists()


@pytest.mark.process
def test_ones_own_environment_is_taken_also_in_a_folder_of_a_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv(tmp_path)
    tmp_path.chmod(0o775)
    monkeypatch.chdir(tmp_path)

    assert main(["url", "--gpu", "none", "--quiet"]) == 0
    assert (tmp_path / "started").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
def test_another_users_is_not_ours_and_a_link_of_theirs_neither(tmp_path: Path) -> None:
    os.chown(venv(tmp_path / "a"), 4242, 4242)
    venv(tmp_path / "b")
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / ".venv").symlink_to(tmp_path / "b" / ".venv")
    os.lchown(tmp_path / "c" / ".venv", 4242, 4242)

    others = {name: interpreter.is_others(str(tmp_path / name / ".venv"), interpreter.FOUND) for name in "abc"}

    assert others == {"a": True, "b": False, "c": True}
    assert not interpreter.is_others(str(tmp_path / "a" / ".venv"), "the active virtual environment")


def test_a_group_may_write_where_it_is_the_owners_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o770)
    for private in (True, False):
        monkeypatch.setattr(world, "_is_private_group", lambda *_, answer=private: answer)
        assert world.is_yours(str(tmp_path)) is private
    tmp_path.chmod(0o700)
    assert world.is_yours(str(tmp_path))
    assert not world.is_yours(str(tmp_path / "gone"))


@pytest.mark.parametrize("place", ["", "install"])
def test_a_cache_that_others_may_write_is_passed_over(place: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "install").mkdir(parents=True)
    assert store.folder(str(cache), str(tmp_path)) == str(cache / "install")
    (cache / place).chmod(0o777)

    found = store.folder(str(cache), str(tmp_path))

    assert found.startswith(str(tmp_path / "torchpick-"))
    assert [note.code for note in store.notes(str(cache), found)] == ["CACHE_IGNORED"]
    with pytest.raises(InstallerError, match="others may write to") as caught:
        store.check_private(str(cache))
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
