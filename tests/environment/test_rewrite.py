"""A user's file, read and replaced."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment import rewrite
from torchpick.errors import TorchpickError


@given(content=st.text(st.sampled_from("ab \n\r\té"), max_size=40))
def test_what_is_read_and_written_back_is_byte_for_byte_the_same(
    content: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("rewrite") / "file"
    file.write_bytes(content.encode())

    there = rewrite.read(str(file))
    rewrite.write(there, there.text)

    assert file.read_bytes() == content.encode()
    assert [each.name for each in file.parent.iterdir()] == ["file"]


def test_a_file_that_is_not_there_is_empty_and_can_be_made(tmp_path: Path) -> None:
    there = rewrite.read(str(tmp_path / "new"))
    assert (there.text, there.exists) == ("", False)

    rewrite.write(there, "x\n")

    assert (tmp_path / "new").read_text() == "x\n"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    there = rewrite.read(str(tmp_path / "no" / "file"))

    with pytest.raises(TorchpickError, match="cannot write"):
        rewrite.write(there, "x")


def test_a_link_stays_a_link_and_the_mode_what_it_was(tmp_path: Path) -> None:
    file, link = tmp_path / "real" / "pip.conf", tmp_path / "pip.conf"
    file.parent.mkdir()
    file.write_text("a")
    file.chmod(0o640)
    link.symlink_to("real/pip.conf")

    rewrite.write(rewrite.read(str(link)), "b")

    assert link.is_symlink()
    assert file.read_text() == "b"
    assert file.stat().st_mode & 0o7777 == 0o640


def test_a_new_file_gets_the_mode_that_the_user_gives_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        rewrite.replace(str(tmp_path / "new"), b"x")
        rewrite.replace(str(tmp_path / "private"), b"x", 0o600)
    finally:
        os.umask(before)

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "private")] == [0o640, 0o600]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may give files away")
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("a")
    file.chmod(0o604)
    os.chown(file, 1234, 4321)

    rewrite.write(rewrite.read(str(file)), "b")

    known = file.stat()
    assert (known.st_uid, known.st_gid, known.st_mode & 0o7777) == (1234, 4321, 0o604)


def test_an_owner_that_cannot_be_kept_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("a")
    known = file.stat()

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(rewrite, "owners", lambda known: (known.st_uid + known.st_ino, known.st_gid))

    with pytest.raises(TorchpickError, match=f"belongs to user {known.st_uid}"):
        rewrite.write(rewrite.read(str(file)), "b")
    assert file.read_text() == "a"
    assert [each.name for each in tmp_path.iterdir()] == ["pip.conf"]


def test_nothing_is_left_behind_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(TorchpickError, match="No space left"):
        rewrite.write(rewrite.read(str(tmp_path / "new")), "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="no named pipes in folders")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    reader.start()

    rewrite.replace(str(pipe), b"x")
    reader.join(10)

    assert heard == [b"x"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_a_pipe_is_refused_as_nobody_may_ever_write_into_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pip.conf")

    with pytest.raises(TorchpickError, match="is a pipe"):
        rewrite.read(str(tmp_path / "pip.conf"))
