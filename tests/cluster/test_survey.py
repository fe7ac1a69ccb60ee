"""`torchpick survey`: a line for each wheel, read once whatever dies, equal to `inspect`, and the table from them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests import usersettings
from tests.cluster.conftest import RayCluster
from tests.cluster.surveying import GpuIndex, asked
from tests.fakes.loopback import Loopback
from torchpick.cli import main

SOURCE = str(Path(torchpick.__file__).parents[1])


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    with GpuIndex(8).serve().running() as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        yield server


def names(count: int = 8) -> list[str]:
    return [f"gpu{place:02}" for place in range(count)]


def rows(folder: str, file: str = "readings.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(folder, file).read_text().splitlines()]


@pytest.mark.process
def test_each_wheel_is_a_line_and_a_row_of_the_table(index: Loopback) -> None:
    assert main(["survey", *names(), "--out", "s", "--jobs", "2", "--quiet"]) == 0

    assert sorted(row["project"] for row in rows("s")) == names()
    table = rows("s", "packages.jsonl")
    assert [row["project"] for row in table] == names()
    assert table[1]["code"] == [{"path": "gpu01/_C.so", "modules": 2, "sass": ["sm_75", "sm_80"], "ptx": []}]
    assert (table[1]["requires"], table[1]["requires_python"]) == (["torch>=2.10"], ">=3.10")
    assert (table[1]["pythons"], table[1]["platforms"], table[1]["glibc"]) == (["cp312"], ["linux-x86_64"], "2.28")
    assert len(asked(index)) == 8


@pytest.mark.process
@pytest.mark.parametrize("out", ["s", "elsewhere"])
def test_a_second_run_reads_nothing(index: Loopback, out: str) -> None:
    """Neither into the same folder, whose lines say it, nor into another, for which the cache does."""
    main(["survey", *names(), "--out", "s", "--quiet"])
    index.log.clear()

    assert main(["survey", *names(), "--out", out, "--quiet"]) == 0
    assert not asked(index)
    assert [row["project"] for row in rows(out, "packages.jsonl")] == names()


@pytest.mark.process
def test_inspect_and_survey_share_what_was_read(index: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--python", "3.12", "--platform", "linux-x86_64", "--gpu", "9.0", "--json"]
    main(["inspect", "gpu01==1.0", *words])
    first = json.loads(capsys.readouterr().out)["results"][0]
    once = asked(index)
    main(["inspect", "gpu01==1.0", *words])
    again = json.loads(capsys.readouterr().out)["results"][0]
    main(["survey", "gpu01"])
    [line] = [json.loads(text) for text in capsys.readouterr().out.splitlines()]

    assert asked(index) == once
    assert {**again, "bytes_read": 0, "requests": 0} == again
    costs = ("bytes_read", "requests")
    assert {key: value for key, value in first.items() if key not in costs} == {
        key: value for key, value in again.items() if key not in costs
    }
    assert [(each["path"], each["sass"]) for each in line["code"]] == [
        (each["path"], each["sass"]) for each in first["libraries"]
    ]


@pytest.mark.process
def test_a_wheel_that_cannot_be_read_is_a_line_and_read_again_later(index: Loopback) -> None:
    site = index.sites["127.0.0.1"]
    assert isinstance(site, GpuIndex)
    [(file, good)] = site.wheels["gpu03"].items()
    site.wheels["gpu03"][file] = b"no archive" * 1000
    assert main(["survey", *names(), "--out", "s", "--quiet"]) == 0
    [bad] = [row for row in rows("s") if "error" in row]
    assert (bad["project"], len(rows("s", "packages.jsonl"))) == ("gpu03", 7)

    site.wheels["gpu03"][file] = good
    index.log.clear()
    assert main(["survey", *names(), "--out", "s", "--quiet"]) == 0
    assert set(asked(index)) == {file}
    assert len(rows("s", "packages.jsonl")) == 8


def started(*words: str, python: str = sys.executable) -> subprocess.Popen[bytes]:
    argv = [python, "-m", "torchpick", "survey", *words]
    env = {**os.environ, "PYTHONPATH": SOURCE, "RAY_USAGE_STATS_ENABLED": "0"}
    return subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def until_lines(folder: str, count: int, limit_s: float = 90.0) -> list[str]:
    """The whole lines, once there are so many."""
    file, over = Path(folder, "readings.jsonl"), time.monotonic() + limit_s
    while not file.exists() or file.read_bytes().count(b"\n") < count:
        assert time.monotonic() < over, "the survey wrote too few lines"
        time.sleep(0.01)
    return file.read_text().splitlines()


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_killed_goes_on_where_it_stopped(index: Loopback, kill: signal.Signals) -> None:
    index.delay_s = 0.05
    child = started(*names(), "--out", "s", "--jobs", "2")
    done = {json.loads(line)["file"] for line in until_lines("s", 3)[:3]}
    child.send_signal(kill)
    child.wait(10)
    time.sleep(0.5)
    before = len(index.log)
    time.sleep(0.5)
    assert len(index.log) == before, "a reader outlived the survey"
    with Path("s/readings.jsonl").open("ab") as stream:
        stream.write(b'{"file": "cut in the')
    index.log.clear()

    assert main(["survey", *names(), "--out", "s", "--jobs", "2", "--quiet"]) == 0

    assert not done & set(asked(index))
    assert len({row["sha256"] for row in rows("s")}) == len(rows("s")) == 8


@pytest.mark.process
def test_parts_read_each_wheel_once_and_merge(index: Loopback) -> None:
    for part in (1, 2, 3):
        main(["survey", *names(), "--shard", f"{part}/3", "--out", f"s{part}", "--quiet"])
    assert sum(len(rows(f"s{part}")) for part in (1, 2, 3) if Path(f"s{part}/readings.jsonl").exists()) == 8
    index.log.clear()

    merging = [word for part in (1, 2, 3) for word in ("--merge", f"s{part}")]
    assert main(["survey", "--out", "all", *merging, "--offline", "--quiet"]) == 0
    assert [row["project"] for row in rows("all", "packages.jsonl")] == names()
    assert not index.log


@pytest.mark.parametrize("words", [
    [], ["a", "--jobs", "99"], ["a", "--on", "slurm"], ["a", "--shard", "3/2"], ["--merge", "x"], ["a b"],
    ["--from", "nothing.txt"], ["a", "--offline"],
])  # fmt: skip
@pytest.mark.usefixtures("index")
def test_words_that_cannot_be_meant(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", *words]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.usefixtures("index")
def test_an_unknown_name_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", "nosuch", "--out", "s"]) == 1
    assert "no wheel of nosuch" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.long
@pytest.mark.network
def test_a_cluster_reads_each_wheel_once_too(index: Loopback, ray_cluster: RayCluster) -> None:
    index.delay_s = 0.2
    words = [*names(), "--out", "s", "--jobs", "2", "--on", f"ray:{ray_cluster.address}"]
    child = started(*words, python=ray_cluster.python)
    done = {json.loads(line)["file"] for line in until_lines("s", 2)[:2]}
    child.kill()
    child.wait(10)
    time.sleep(3)
    index.log.clear()

    assert started(*words, python=ray_cluster.python).wait(120) == 0

    assert not done & set(asked(index))
    assert [row["project"] for row in rows("s", "packages.jsonl")] == names()
    assert main(["survey", *names(), "--out", "here", "--quiet", "--deep"]) == 0
    strip = ("bytes_read", "requests")
    here, there = (
        [{key: value for key, value in row.items() if key not in strip} for row in rows(folder, "packages.jsonl")]
        for folder in ("here", "s")
    )
    assert here == there


# Wheels of a few megabytes with GPU code: twelve of an index, of two projects.
REAL = ["torchao>=0.10,<0.17", "torchcodec>=0.6,<0.14"]


@pytest.mark.process
@pytest.mark.long
@pytest.mark.network
def test_real_wheels_are_each_read_once_on_a_cluster_and_as_cuobjdump_reads_them(
    ray_cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usersettings.take_over(monkeypatch)
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    words = [*REAL, "--newest", "6", "--deep", "--out", "s", "--jobs", "2", "--on", f"ray:{ray_cluster.address}"]
    child = started(*words, python=ray_cluster.python)
    before = [json.loads(line) for line in until_lines("s", 5)[:5]]
    child.kill()
    child.wait(10)

    assert started(*words, python=ray_cluster.python).wait(300) == 0

    found = rows("s")
    assert [row["file"] for row in found[:5]] == [row["file"] for row in before]
    assert len(found) == len({row["sha256"] for row in found}) == len(rows("s", "packages.jsonl")) == 12
    unpacked(["nvidia-cuda-cuobjdump"], tmp_path)
    [cuobjdump] = tmp_path.glob("unpacked/nvidia/*/bin/cuobjdump")
    cuobjdump.chmod(0o755)
    held = [row for row in found if row["code"]]
    assert len(held) == 6
    for row in held:
        unpacked([f"{row['project']}=={row['version']}", "--python-version=3.12", "--platform=manylinux_2_28_x86_64"])
        for library in row["code"]:
            assert set(library["sass"]) | set(library["ptx"]) == by_cuobjdump(
                cuobjdump, Path("unpacked", library["path"])
            )


def unpacked(words: list[str], folder: Path = Path()) -> None:
    """A wheel of the user's index, unpacked into the folder of that name."""
    fetched = folder / "fetched"
    line = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", str(fetched)]
    subprocess.run([*line, *words], env=usersettings.fetching(), check=True, timeout=200)
    for file in fetched.iterdir():
        with zipfile.ZipFile(file) as archive:
            archive.extractall(folder / "unpacked")
        file.unlink()


def by_cuobjdump(program: Path, library: Path) -> set[str]:
    done = subprocess.run([program, library], capture_output=True, text=True, check=True, timeout=100)
    images = re.findall(r"^Fatbin (elf|ptx) code:\n=+\narch = sm_(\w+)", done.stdout, re.MULTILINE)
    return {f"{'compute' if kind == 'ptx' else 'sm'}_{number}" for kind, number in images}
