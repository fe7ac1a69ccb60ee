"""The table as it ships, and what becomes of a broken one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.errors import CompatError
from torchpick.knowledge import compat
from torchpick.knowledge.locations import cache_dir, compat_dir
from torchpick.model.machine import PLATFORMS

COMPAT = Path(compat_dir({}))
URL = ["url", "--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]


EMPTY = b'{"schema": 1, "platform": "p", "arch_sets": [], "python_sets": [], "refs": [], "bases": [], "builds": []}'


def test_the_indexes_say_what_the_readable_files_say() -> None:
    table = compat.Knowledge({"TORCHPICK_CACHE_DIR": "/nonexistent"}).table(PLATFORMS)
    indexed = sorted((build for platform in PLATFORMS for build in table.of(platform)), key=lambda build: build.key)
    readable = sorted(
        (each for each in compat.readable(str(COMPAT)) if each.backend != "default" and each.platform in PLATFORMS),
        key=lambda build: build.key,
    )

    assert indexed == readable
    assert len(indexed) > 500


def test_the_rules_index_says_what_the_readable_files_say(tmp_path: Path) -> None:
    shutil.copytree(COMPAT, tmp_path / "compat")
    (tmp_path / "compat" / "index" / "rules.json").unlink()

    assert compat.rules({"TORCHPICK_COMPAT_DIR": str(tmp_path / "compat")}) == compat.rules({})


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(COMPAT, tmp_path / "compat")
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(tmp_path / "compat"))
    return tmp_path / "compat" / "index" / "linux-x86_64.json"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[]", "must be an object, not a list"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b'{"schema": 2}', "schema: must be 1, is 2"),
        (b'{"schema": 1}', "is missing"),
        (EMPTY.replace(b'"builds": []', b'"builds": [7]'), "builds[0]"),
        (EMPTY.replace(b'"arch_sets": []', b'"arch_sets": [["x"]]'), "arch_sets[0][0]"),
    ],
)
def test_a_broken_index_is_told_by_file_and_path(
    broken: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken.write_bytes(content)

    status = main(URL)
    out, err = capsys.readouterr()

    assert (status, out) == (1, "--no-index torch==0+no.build.runs.here\n")
    assert "linux-x86_64.json" in err
    assert words in err
    assert "hint: " in err


def test_a_wrong_column_is_told_by_its_name(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = json.loads(broken.read_text())
    index["builds"][0][3] = 12.6
    broken.write_text(json.dumps(index))

    assert main(URL) == 1
    assert "builds[0].cuda: must not be a number" in capsys.readouterr().err


def test_a_huge_file_is_refused_before_it_is_read(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with broken.open("wb") as stream:
        stream.truncate(1 << 30)

    assert main(URL) == 1
    assert "is larger than" in capsys.readouterr().err


def test_without_indexes_the_readable_files_answer(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken.unlink()

    assert main(URL) == 0
    assert "torch==2.14.1+cu126" in capsys.readouterr().out


def test_a_missing_folder_is_told() -> None:
    with pytest.raises(CompatError, match="there is no such folder"):
        compat_dir({"TORCHPICK_COMPAT_DIR": "/nonexistent/compat"})


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"TORCHPICK_CACHE_DIR": "/here"}, "linux", "/here"),
        ({"XDG_CACHE_HOME": "/cache"}, "linux", "/cache/torchpick"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/torchpick/Cache"),
    ],
)
def test_the_cache_lies_in_the_platforms_cache_folder(environ: dict[str, str], platform: str, expected: str) -> None:
    assert cache_dir(environ, platform) == expected


def test_refreshed_rows_lie_over_the_shipped_ones_and_measured_beats_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index = json.loads((COMPAT / "index" / "linux-x86_64.json").read_text())
    row = next(row for row in index["builds"] if row[2] == "2.14.1+cu126")
    newer = ["2.16.0", "cu126", "2.16.0+cu126", *row[3:]]
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "stable-linux-x86_64.json").write_text(json.dumps({**index, "builds": [newer]}))
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))

    assert main(URL) == 0
    assert "torch==2.16.0+cu126" in capsys.readouterr().out


@pytest.mark.parametrize("text", ['{"schema": 1', '{"schema": 9}', "[]", '{"schema": 1, "platform": "x"}', ""])
def test_a_broken_cache_is_ignored_with_a_note(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "stable-linux-x86_64.json").write_text(text)
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))

    assert main(URL) == 0
    out, err = capsys.readouterr()
    assert "torch==2.14.1+cu126" in out
    assert "note: the cache is ignored because " in err
    assert "run `torchpick refresh` to rewrite it" in err
