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
    for age, name in enumerate("cadbe"):
        (tmp_path / f"{name}.json").touch()
        os.utime(tmp_path / f"{name}.json", (age, age))
    (tmp_path / "a.txt").touch()

    rewrite.prune_json(tmp_path, 5)
    assert len([*tmp_path.iterdir()]) == 6
    rewrite.prune_json(tmp_path, 4)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.txt", "b.json", "d.json", "e.json"]


def test_what_is_too_large_is_not_kept_and_a_record_is_its_owners_alone(tmp_path: Path) -> None:
    rewrite.write_json(tmp_path / "x.json", "1234", 6)
    assert not (tmp_path / "x.json").exists()
    rewrite.write_json(tmp_path / "x.json", "1234", 7)
    rewrite.write_json(tmp_path / "y.json", {"a": 1}, record=True)
    assert [rewrite.read_json(tmp_path / name) for name in ("x.json", "y.json")] == ["1234", {"a": 1}]
    if os.name != "nt":
        assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("x.json", "y.json")] == [0o600, 0o600]
        (tmp_path / "x.json").chmod(0o646)
        assert rewrite.read_json(tmp_path / "x.json") is None
