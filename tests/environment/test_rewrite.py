"""A user's file, read and replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skips import needs_root
from torchpick.environment import rewrite
from torchpick.errors import TorchpickError


@given(content=st.text(st.sampled_from("ab \n\r\té"), max_size=40))
def test_what_is_read_and_written_back_is_byte_for_byte_the_same(
    content: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("rewrite") / "file"
    file.write_bytes(content.encode())

    there = rewrite.read_file(str(file))
    rewrite.write_file(there, there.text)

    assert file.read_bytes() == content.encode()
    assert [each.name for each in file.parent.iterdir()] == ["file"]


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    there = rewrite.read_file(str(tmp_path / "no" / "file"))

    with pytest.raises(TorchpickError, match="cannot write"):
        rewrite.write_file(there, "x")


def test_a_link_stays_a_link_and_the_mode_what_it_was(tmp_path: Path) -> None:
    file, link = tmp_path / "real" / "pip.conf", tmp_path / "pip.conf"
    file.parent.mkdir()
    file.write_text("a", "utf-8")
    file.chmod(0o640)
    link.symlink_to("real/pip.conf")

    rewrite.write_file(rewrite.read_file(str(link)), "b")

    assert link.is_symlink()
    assert file.read_text("utf-8") == "b"
    assert file.stat().st_mode & 0o7777 == 0o640


def test_a_new_file_gets_the_mode_that_the_user_gives_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        rewrite.replace(str(tmp_path / "new"), b"x")
        rewrite.replace(str(tmp_path / "private"), b"x", 0o600)
    finally:
        os.umask(before)

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "private")] == [0o640, 0o600]


@needs_root
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("a", "utf-8")
    file.chmod(0o604)
    os.chown(file, 1234, 4321)

    rewrite.write_file(rewrite.read_file(str(file)), "b")

    known = file.stat()
    assert (known.st_uid, known.st_gid, known.st_mode & 0o7777) == (1234, 4321, 0o604)


def test_an_owner_that_cannot_be_kept_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("a", "utf-8")
    known = file.stat()

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(rewrite, "owners", lambda known: (known.st_uid + known.st_ino, known.st_gid))

    with pytest.raises(TorchpickError, match=f"belongs to user {known.st_uid}"):
        rewrite.write_file(rewrite.read_file(str(file)), "b")
    assert file.read_text("utf-8") == "a"
    assert [each.name for each in tmp_path.iterdir()] == ["pip.conf"]


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
        rewrite.read_file(str(tmp_path / "pip.conf"))


def test_lines_keep_the_ends_that_all_of_them_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"a\r\nb\r\n")
    there = rewrite.read_file(str(file))
    assert (there.text, there.newline, there.exists) == ("a\nb\n", "\r\n", True)
    rewrite.write_file(there, "c\nd\n")
    assert file.read_bytes() == b"c\r\nd\r\n"

    file.write_bytes(b"a\r\nb\n")
    assert rewrite.read_file(str(file)).text == "a\r\nb\n"


def test_what_is_no_utf_8_is_named_with_its_byte(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"ab\xff")

    with pytest.raises(TorchpickError, match=r"file is not UTF-8: byte 2 cannot be read") as caught:
        rewrite.read_file(str(file))
    assert caught.value.hint


def test_a_link_is_replaced_where_it_is_not_followed(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("theirs", "utf-8")
    link.symlink_to(file)

    rewrite.put(str(link), "ours", 0o600, follow=False)

    assert not link.is_symlink()
    assert (link.read_text("utf-8"), link.stat().st_mode & 0o777) == ("ours", 0o600)
    assert file.read_text("utf-8") == "theirs"


def test_a_folder_is_made_with_those_above_it_and_refused_where_a_file_is(tmp_path: Path) -> None:
    for _ in range(2):
        rewrite.folder(str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()

    (tmp_path / "file").touch()
    with pytest.raises(TorchpickError, match=r"cannot write .*file") as caught:
        rewrite.folder(str(tmp_path / "file" / "x"), hint="elsewhere")
    assert caught.value.hint == "elsewhere"


def test_a_file_with_a_password_is_its_owners_alone_and_one_that_others_read_is_noted(tmp_path: Path) -> None:
    secret, plain, file = "https://me:secret@e.org/x\n", "https://e.org/x\n", tmp_path / "pip.conf"
    file.touch()

    def noted(before: str | None, after: str, mode: int) -> list[str]:
        file.chmod(mode)
        return [note.code for note in rewrite.note_password(rewrite.Text(str(file), before or ""), after)]

    for text in (secret, plain):
        rewrite.write_file(rewrite.read_file(str(tmp_path / str(len(text)))), text)
    assert [stat.S_IMODE((tmp_path / str(len(text))).stat().st_mode) & 0o044 for text in (secret, plain)] == [0, 0o044]
    assert noted(None, secret, 0o644) == noted(plain, secret, 0o604) == noted("", secret, 0o640) == ["PASSWORD_WRITTEN"]
    assert noted(None, secret, 0o600) == noted(secret, secret, 0o644) == noted(secret, plain, 0o644) == []


def test_what_cannot_be_put_back_is_named_and_keeps_nothing_else_from_it(tmp_path: Path) -> None:
    lost, other = tmp_path / "lost", tmp_path / "other"
    lost.write_text("1\n", "utf-8")
    other.write_text("1\n", "utf-8")
    before = rewrite.contents(map(str, (lost, other)))
    lost.unlink()
    lost.mkdir()
    other.write_text("2\n", "utf-8")

    with pytest.raises(TorchpickError, match=f"cannot put {lost} back"):
        rewrite.put_back(before)

    assert other.read_text("utf-8") == "1\n"
