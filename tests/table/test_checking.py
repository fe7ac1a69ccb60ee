"""A compat file that is not of its format is refused with the file and the place of the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.table import checking
from torchpick.errors import CompatError


def fault_of(tmp_path: Path, name: str, content: bytes) -> CompatError:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    with pytest.raises(CompatError) as caught:
        checking.check_file(path, name)
    assert caught.value.file == name
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(("content", "says"), [
        (b"", "is not JSON"), (b"\xff\xfe{}", "is not JSON"), (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not of type 'object'"), (b"null", "is not of type 'object'"), (b"{}", "is a required property"),
        (b" " * (checking.MOST_BYTES + 1), "is larger than"),
])  # fmt: skip
def test_what_is_no_file_of_ours_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    assert says in fault_of(tmp_path, "torch-2.14.1.json", content).message


@pytest.mark.parametrize(("name", "there", "changed", "path"), [
    ("errors.json", '"do": "', '"do": "<of no fact> ', ".do[0]"),
    ("words.json", '"podman"', '"gpus|dock"', "words.container[2]"),
    ("words.json", '"podman"', '"docker[\\\\s\\\\S]{0,3000}x"', "words.container[2]"),
])  # fmt: skip
def test_what_a_text_was_not_asked_for_and_words_that_are_too_short_or_too_far_apart_are_refused(
    tmp_path: Path, name: str, there: str, changed: str, path: str
) -> None:
    content = (checking.COMPAT / name).read_text("utf-8")
    assert there in content
    assert fault_of(tmp_path, name, content.replace(there, changed, 1).encode()).path.endswith(path)


@pytest.mark.parametrize("day", ["", "2026-13-01", "2026-1-01", "20261122", "2026-11-2x", "2026-11-00"])
def test_the_date_is_a_day_of_the_calendar(day: str) -> None:
    assert [where for where, _ in checking.schema_faults("date.json", {"schema": 1, "date": day})] == ["date"]
