"""Putting somebody's files back, whatever happened to them meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import journal
from torchpick.errors import TorchpickError


def without_mark(_: str, text: str) -> str:
    return text.replace("OURS\n", "")


def changed(tmp_path: Path, before: str | None, after: str) -> tuple[Path, journal.JournalEntry]:
    file = tmp_path / "file"
    if before is not None:
        file.write_bytes(before.encode())
    journal.write(str(tmp_path / "journal"), [journal.FileChange(str(file), before, after)])
    file.write_bytes(after.encode())
    (entry,) = journal.read(str(tmp_path / "journal"))
    return file, entry


@pytest.mark.parametrize("before", ["", "a", "a\n", "a\nb\n\n"])
def test_an_untouched_file_is_byte_for_byte_what_it_was(before: str, tmp_path: Path) -> None:
    file, entry = changed(tmp_path, before, before + "OURS\n")

    assert journal.put_back(entry, without_mark)

    assert file.read_bytes() == before.encode()


def test_a_file_that_was_made_goes(tmp_path: Path) -> None:
    file, entry = changed(tmp_path, None, "OURS\n")

    assert journal.put_back(entry, without_mark)

    assert not file.exists()


def test_a_file_that_was_made_and_then_used_stays_without_ours(tmp_path: Path) -> None:
    file, entry = changed(tmp_path, None, "OURS\n")
    file.write_text("theirs\nOURS\n")

    assert journal.put_back(entry, without_mark)

    assert file.read_text() == "theirs\n"


def test_a_change_since_stays(tmp_path: Path) -> None:
    file, entry = changed(tmp_path, "a\n", "a\nOURS\n")
    file.write_text("a\nOURS\nb\n")

    assert journal.put_back(entry, without_mark)

    assert file.read_text() == "a\nb\n"


@pytest.mark.parametrize("now", [None, "a\n", "something else\n"])
def test_what_holds_nothing_of_ours_is_left(now: str | None, tmp_path: Path) -> None:
    file, entry = changed(tmp_path, "a\n", "a\nOURS\n")
    file.unlink()
    if now is not None:
        file.write_text(now)

    assert not journal.put_back(entry, without_mark)

    assert (file.read_text() if file.exists() else None) == now


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": 3}', '{"files": [{"file": 1}]}', '{"files": [3]}'])
def test_a_broken_journal_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "journal").write_text(text)

    with pytest.raises(TorchpickError) as caught:
        journal.read(str(tmp_path / "journal"))

    assert caught.value.hint


def test_no_journal_is_no_entry(tmp_path: Path) -> None:
    assert journal.read(str(tmp_path / "journal")) == ()


def test_a_journal_that_was_copied_with_its_environment_touches_nothing_of_the_other(tmp_path: Path) -> None:
    changed(tmp_path, "a\n", "a\nOURS\n")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "journal").write_bytes((tmp_path / "journal").read_bytes())

    assert journal.read(str(copy / "journal")) == ()


def test_a_journal_is_no_more_readable_than_what_it_quotes(tmp_path: Path) -> None:
    secret = tmp_path / "pip.conf"
    secret.touch(mode=0o600)

    journal.write(str(tmp_path / "journal"), [journal.FileChange(str(secret), "password", "x")])

    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


def test_a_link_to_a_file_that_was_not_there_stays(tmp_path: Path) -> None:
    link, target = tmp_path / "pip.conf", tmp_path / "shared.conf"
    link.symlink_to(target)
    place = str(tmp_path / "pin.json")
    journal.write(place, [journal.FileChange(str(link), None, "ours\n")])
    target.write_text("ours\n")

    (entry,) = journal.read(place)

    assert journal.put_back(entry, lambda _file, text: text)
    assert link.is_symlink()
    assert not target.exists()
