"""The table as it ships, and what becomes of a broken one."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import torchpick
from torchpick.cli import main
from torchpick.errors import CompatError
from torchpick.knowledge import compat, locations, refreshed
from torchpick.knowledge.locations import cache_dir, compat_dir
from torchpick.model.address import WHEEL_HOST
from torchpick.model.machine import TABLE_PLATFORMS

COMPAT = Path(compat_dir({}))
URL = ["url", "--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]


EMPTY = b'{"schema": 1, "platform": "p", "arch_sets": [], "python_sets": [], "refs": [], "bases": [], "builds": []}'


def test_what_is_shipped_would_pass_as_a_cache() -> None:
    for platform in TABLE_PLATFORMS:
        value = json.loads((COMPAT / "index" / f"{platform}.json").read_text("utf-8"))
        assert refreshed.index(platform, refreshed.read(value)[0]) == value

    assert len(compat.Knowledge({}).every_build) > 500


def test_a_process_reads_the_table_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files: list[str] = []
    really_read = locations.read

    def read(path: str) -> bytes:
        files.append(path)
        return really_read(path)

    compat.READ.clear()
    monkeypatch.setattr(locations, "read", read)
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))

    first = torchpick.pick(gpus=["GTX 1080 Ti"], driver="580.95.05", platform="linux-x86_64")
    table = len(files)
    assert table == len(set(files)) > 1

    assert torchpick.pick(gpus=["GTX 1080 Ti"], driver="580.95.05", platform="linux-x86_64") == first
    assert len(files) == table
    compat.READ.clear()
    torchpick.pick(gpus=["GTX 1080 Ti"], driver="580.95.05", platform="linux-x86_64")
    assert len(files) == 2 * table


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(COMPAT, tmp_path / "compat")
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(tmp_path / "compat"))
    return tmp_path / "compat" / "index" / "linux-x86_64.json"


@pytest.mark.parametrize(("content", "words"), [
        (b"", "is not JSON"), (b"{", "is not JSON"), (b"[]", "must be an object, not a list"),
        (b"\xff\xfe\x00", "is not JSON"), (b"{}", "schema: "), (b'{"schema": 2}', "schema: must be 1, is 2"),
        (b'{"schema": 1}', "is damaged"), (EMPTY.replace(b'"builds": []', b'"builds": [7]'), "is damaged"),
        (EMPTY.replace(b'"arch_sets": []', b'"arch_sets": [["x"]]'), "is damaged"),
])  # fmt: skip
def test_a_broken_index_is_told_by_file_and_path(
    broken: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    broken.write_bytes(content)

    status = main(URL)
    out, err = capsys.readouterr()

    assert (status, out) == (1, "--no-index torch==0+see.the.error\n")
    assert "linux-x86_64.json" in err
    assert words in err
    assert "hint: " in err


@pytest.mark.parametrize(
    ("gpu", "key", "value"),
    [
        ("MIG 1g.10gb", "mig", {"1g10gb": [{}]}), ("GTX 1080 Ti", "full", {"gtx1080ti": 5}),
        ("GTX 1080 Ti", "core", {"1080ti": "gx"}), ("no gpu", "products", [5]), ("T4", "arm_only", [None]),
    ],
)  # fmt: skip
def test_a_damaged_name_of_a_gpu_is_told_by_its_file(
    gpu: str, key: str, value: object, broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = broken.with_name("gpus.json")
    names.write_text(json.dumps({**json.loads(names.read_text("utf-8")), key: value}), "utf-8")

    assert main(["url", "--gpu", gpu, "--driver", "580", "--platform", "linux-x86_64"]) == 1
    assert f"error: {names}: " in capsys.readouterr().err


def test_a_huge_file_is_refused_before_it_is_read(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with broken.open("wb") as stream:
        stream.truncate(1 << 30)

    assert main(URL) == 1
    assert "is larger than" in capsys.readouterr().err


def test_a_missing_folder_is_told() -> None:
    with pytest.raises(CompatError, match="there is no such folder"):
        compat_dir({"TORCHPICK_COMPAT_DIR": "/nonexistent/compat"})


@pytest.mark.parametrize(("environ", "platform", "expected"), [
        ({"TORCHPICK_CACHE_DIR": "/here"}, "linux", "/here"),
        ({"XDG_CACHE_HOME": "/cache"}, "linux", "/cache/torchpick"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/torchpick/Cache"),
])  # fmt: skip
def test_the_cache_lies_in_the_platforms_cache_folder(environ: dict[str, str], platform: str, expected: str) -> None:
    assert cache_dir(environ, platform) == expected
    assert cache_dir({}, "win32") == str(Path.home() / "AppData/Local/torchpick/Cache")
    assert cache_dir({}, "darwin") == str(Path.home() / "Library" / "Caches" / "torchpick")
    assert cache_dir({"TORCHPICK_CACHE_DIR": "here"}, platform) == os.path.abspath("here")
    assert cache_dir({"XDG_CACHE_HOME": "not/absolute"}, "linux") == str(Path.home() / ".cache" / "torchpick")


def write_cache(folder: Path, value: object) -> Path:
    file = folder / "table" / "stable-linux-x86_64.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(value), "utf-8")
    return file


@pytest.mark.parametrize(("column", "value"), [
        (0, 5), (0, "newest"), (2, "2.9.9"), (3, 12.6), (3, "twelve"), (4, 5000), (6, [7]), (8, {"cudnn": []}),
        (8, {"cudnn": "nine"}), (9, {"cublas": ["sm61"]}), (12, {"torchvision": []}), (12, {"torchvision": "new"}),
        (16, ["a"]),
        (10, "yes"), (11, 1), (8, {"nccl": "two"}), (15, 7), (17, ["a", 5]),
        (1, "cu126 #x"), (2, "2.15.0+cu134 #x"), (6, ["manylinux_2_28_x86_64.whl #x"]),
        (8, {"triton": "==3 ; x"}), (12, {"torchvision": "0.30.0\n--extra-index-url http://evil.example"}),
])  # fmt: skip
def test_a_wrong_value_in_the_cache_is_ignored(
    column: int, value: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    whole = json.loads((COMPAT / "index" / "linux-x86_64.json").read_text("utf-8"))
    whole["builds"][0][column] = value
    write_cache(tmp_path, whole)
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))

    assert main(URL) == 0
    out, err = capsys.readouterr()
    assert "torch==2.14.1+cu126" in out
    assert "builds: " in err


@pytest.mark.parametrize("digest", ["0" * 63, f"{'0' * 64} #x", f"{'0' * 64}\n--pre", "${NAME}"])
def test_a_hash_of_a_file_that_is_not_one_is_told_by_its_file(digest: str, tmp_path: Path) -> None:
    (tmp_path / "files.json").write_text(
        json.dumps({"schema": 1, "files": {"": {"a.whl": "1" * 64, "b.whl": digest}}}), "utf-8"
    )

    with pytest.raises(CompatError, match=r"files\.json: files: has a sha256 that is not one"):
        compat.Knowledge({"TORCHPICK_COMPAT_DIR": str(tmp_path)}).hashes_in_public_locks("cu126")


@pytest.mark.parametrize("text", ['{"schema": 1', '{"schema": 9}', "[]", '{"schema": 1, "platform": "x"}', ""])
def test_a_broken_cache_is_ignored_with_a_note(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "stable-linux-x86_64.json").write_text(text, "utf-8")
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))

    assert main(URL) == 0
    out, err = capsys.readouterr()
    assert "torch==2.14.1+cu126" in out
    assert "note: the cache is ignored because " in err
    (tmp_path / "table" / "stable-windows-x86_64.json").write_text(text, "utf-8")
    both = compat.Knowledge(os.environ).table(["linux-x86_64", "windows-x86_64"])
    assert [note.code for note in both.notes] == ["CACHE_IGNORED"]  # once
    assert "run `torchpick refresh` to rewrite it" in err


@pytest.mark.skipif(os.name == "nt", reason="the lists of Windows are not judged")
def test_what_others_may_write_is_no_refresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path))
    file = Path(locations.table_file(str(tmp_path), WHEEL_HOST, "stable", "linux-x86_64"))
    file.parent.mkdir()
    file.write_bytes((COMPAT / "index" / "linux-x86_64.json").read_bytes())
    file.chmod(0o666)

    assert main(URL) == 0
    assert f"{file} is ignored: others may write it" in capsys.readouterr().err
