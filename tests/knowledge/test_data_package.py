"""An installed torchpick-data: taken where it is newer, else ignored, with a note where somebody ought to know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.shipping import data
from torchpick.cli import main
from torchpick.knowledge import locations
from torchpick.knowledge.locations import CONTENTS, DataPackage

COMPAT = Path(__file__).parents[2] / "compat"
GIVEN = ["--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.31"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package as it lies in site-packages, its table of the far future and without torch 2.14.1."""
    folder = tmp_path / "site-packages" / "torchpick_data"
    data.lay_out(COMPAT, folder)
    redate(folder, "2031-02-03")
    index = folder / "compat" / "index" / "linux-x86_64.json"
    index.write_text(index.read_text().replace("2.14.1", "2.14.9"))  # as long as it was
    monkeypatch.setattr(locations, "data_package", DataPackage(str(folder)))
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TORCHPICK_COMPAT_DIR", raising=False)
    return folder


def redate(folder: Path, date: str) -> None:
    for file in (folder / CONTENTS, folder / "compat" / "date.json", folder / "compat" / "index" / "rules.json"):
        file.write_text(file.read_text().replace(data.date_of(COMPAT), date))


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*GIVEN, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["pick"]
    return found


def test_a_newer_one_answers(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pick = answer(capsys)

    assert pick["version"] == "2.14.9+cu126"
    assert "DATA_IGNORED" not in [note["code"] for note in pick["notes"]]
    assert locations.compat_dir({}) == str(package / "compat")


def older(folder: Path) -> None:
    file = folder / CONTENTS
    file.write_text(file.read_text().replace("2031-02-03", "2026-01-02"))


def lose(folder: Path) -> None:
    (folder / "compat" / "gpus.json").unlink()


def cut(folder: Path) -> None:
    file = folder / "compat" / "index" / "linux-x86_64.json"
    file.write_bytes(file.read_bytes()[:1000])


def garble(folder: Path) -> None:
    (folder / CONTENTS).write_text("{")


def other_schema(folder: Path) -> None:
    file = folder / CONTENTS
    file.write_text(file.read_text().replace('"schema": 1', '"schema": 2'))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (older, "torchpick-data of 2026-01-02 is ignored"),
        (lose, "as it is damaged (gpus.json: No such file or directory)"),
        (cut, "as it is damaged (files.index/linux-x86_64.json: has 1000 bytes instead of"),
        (garble, "as it is damaged ("),
        (lambda folder: (folder / CONTENTS).unlink(), "as it is damaged (contents.json: No such file"),
        (other_schema, "its schema is 2, not 1"),
    ],
    ids=["older", "lost", "cut", "garbled", "empty", "schema"],
)
def test_what_is_no_use_is_ignored_with_a_note(
    harm: Callable[[Path], None], words: str, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    harm(package)
    pick = answer(capsys)

    assert pick["version"] == "2.14.1+cu126"
    [text] = [note["text"] for note in pick["notes"] if note["code"] == "DATA_IGNORED"]
    assert words in text
    assert "install a newer one, or uninstall it" in text


def test_one_as_old_as_the_shipped_table_changes_nothing(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = package / CONTENTS
    file.write_text(file.read_text().replace("2031-02-03", data.date_of(COMPAT)))
    pick = answer(capsys)

    assert pick["version"] == "2.14.1+cu126"
    assert "DATA_IGNORED" not in [note["code"] for note in pick["notes"]]


def test_a_folder_that_is_named_is_taken_all_the_same(
    package: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert package.is_dir()
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(COMPAT))

    assert answer(capsys)["version"] == "2.14.1+cu126"
