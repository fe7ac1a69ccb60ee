"""The cache: whole files or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment import rewrite
from torchpick.errors import TorchpickError


@pytest.mark.parametrize("text", ["", "{", "\0", "[" * 100_000])
def test_what_is_not_ours_is_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text, "utf-8")
    assert rewrite.read_json(file) is None
    assert rewrite.read_json(tmp_path / "none.json") is None


def test_a_folder_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(TorchpickError) as caught:
        rewrite.write_json(tmp_path / "file" / "x.json", {})
    assert "TORCHPICK_CACHE_DIR" in str(caught.value.hint)


def test_of_more_records_than_are_kept_the_oldest_go(tmp_path: Path) -> None:
    records = rewrite.Records(tmp_path, 1, 4, 100)
    for name in ("a.txt", ".torchpick-0"):
        (tmp_path / name).touch()
    os.utime(tmp_path / ".torchpick-0", (0, 0))
    for age, key in enumerate("cadbe"):
        records.write(key, {"is": key})
        os.utime(next(file for file in tmp_path.glob("*.json") if f'"{key}"' in file.read_text("utf-8")), (age, age))

    assert [records.read(key).get("is") for key in "cadbe"] == [None, "a", "d", "b", "e"]
    assert [file.name for file in tmp_path.iterdir() if file.suffix != ".json"] == ["a.txt"]


def test_what_is_too_large_or_of_another_schema_is_no_record_and_it_is_its_owners_alone(tmp_path: Path) -> None:
    for most, key in ((22, "x"), (23, "y")):
        rewrite.Records(tmp_path, 1, 9, most).write(key, {"a": "123"})
    assert [rewrite.Records(tmp_path, 1, 9, 9).read(key) for key in "xy"] == [{}, {"schema": 1, "a": "123"}]
    assert rewrite.Records(tmp_path, 2, 9, 9).read("y") == {}
    if os.name != "nt":
        (file,) = tmp_path.iterdir()
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o646)
        assert rewrite.Records(tmp_path, 1, 9, 9).read("y") == {}
