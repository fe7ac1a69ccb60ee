"""`torchpick inspect --from`: a line for each wheel as it is read, and none read twice, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests.fakes.loopback import Loopback
from tests.wheels.indexed import GpuIndex, asked
from torchpick.cli import main
from torchpick.errors import UsageError
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions

SOURCE = str(Path(torchpick.__file__).parents[1])
NAMES = [f"gpu{place:02}" for place in range(8)]
HERE = ["--python", "3.12", "--platform", "linux-x86_64", "--gpu", "8.0"]


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    with GpuIndex(8).serve().running() as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        Path("names.txt").write_text("# the packages\n" + "\n".join(f"{name}==1.0  # one" for name in NAMES), "utf-8")
        yield server


def rows(file: str = "out") -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("command", ["inspect", "survey"])
def test_each_wheel_is_a_line_and_a_second_run_reads_nothing(command: str, index: Loopback) -> None:
    words = [command, "--from", "names.txt", *HERE, "--out", "out", "--jobs", "2"]
    assert main(words) == 0

    assert sorted(row["name"] for row in rows()) == NAMES
    [row] = [row for row in rows() if row["name"] == "gpu01"]
    assert (row["sass"], row["verdict"], row["gpus"][0]["gpu"]) == (["sm_75", "sm_80"], "runs", "sm_80")
    assert len(asked(index)) == 8
    index.log.clear()
    assert main(words) == 0
    assert not asked(index)
    assert {**row, "bytes_read": 0, "requests": 0} in rows()


def test_a_list_names_each_thing_once_whatever_its_comments_are_written_in(tmp_path: Path) -> None:
    file = tmp_path / "names"
    file.write_bytes(b"# caf\xe9\na==1.0 # why\n\n  b.whl  \na==1.0\n")

    assert inspect_target.list_targets(str(file), ReadOptions()) == ["a==1.0", "b.whl"]
    file.write_bytes(b"# nothing\n")
    with pytest.raises(UsageError, match="names nothing to inspect"):
        inspect_target.list_targets(str(file), ReadOptions())
    with pytest.raises(UsageError, match="cannot read"):
        inspect_target.list_targets(str(tmp_path / "none"), ReadOptions())


def test_a_page_is_a_list_of_its_newest_builds(index: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--from", f"{index.url}/simple/gpu02/", *HERE]) == 0
    [row] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert (row["name"], row["version"]) == ("gpu02", "1.0")


def test_a_folder_of_wheels_too(index: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    site = index.sites["127.0.0.1"]
    assert isinstance(site, GpuIndex)
    Path("wheels").mkdir()
    for files in list(site.wheels.values())[:2]:
        for file, content in files.items():
            Path("wheels", file).write_bytes(content)

    main(["inspect", "--from", "wheels", *HERE, "--offline"])

    assert sorted(json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()) == NAMES[:2]


def test_a_wheel_that_cannot_be_read_is_a_line_and_read_again_later(index: Loopback) -> None:
    site = index.sites["127.0.0.1"]
    assert isinstance(site, GpuIndex)
    [(file, good)] = site.wheels["gpu03"].items()
    site.wheels["gpu03"][file] = b"no archive" * 1000
    words = ["inspect", "--from", "names.txt", *HERE, "--out", "out"]
    assert main(words) == 1
    [bad] = [row for row in rows() if "error" in row]
    assert bad["target"] == "gpu03==1.0"

    site.wheels["gpu03"][file] = good
    index.log.clear()
    assert main(words) == 0
    assert set(asked(index)) == {file}
    assert not [row for row in rows() if "error" in row]


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("kill", ["SIGKILL", "SIGINT"])
def test_a_run_that_was_killed_goes_on_where_it_stopped(index: Loopback, kill: str) -> None:
    index.delay_s = 0.05
    argv = [sys.executable, "-m", "torchpick", "inspect", "--from", "names.txt", *HERE, "--out", "out", "--jobs", "2"]
    child = subprocess.Popen(
        argv, env={**os.environ, "PYTHONPATH": SOURCE}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    over = time.monotonic() + 60
    while not Path("out").exists() or Path("out").read_bytes().count(b"\n") < 3:
        assert time.monotonic() < over
        time.sleep(0.01)
    done = {json.loads(line)["file"] for line in Path("out").read_text("utf-8").splitlines()[:3]}
    child.send_signal(signal.Signals[kill])
    child.wait(10)
    index.log.clear()

    main(argv[3:])

    assert not done & set(asked(index))
    assert len({row["sha256"] for row in rows()}) == len(rows()) == 8


@pytest.mark.parametrize("in_order", [True, False])
def test_of_many_names_few_are_held_at_once(in_order: bool) -> None:
    names = iter(range(100_000))
    with closing(
        inspect_target.read_targets((f"/{n}.whl" for n in names), ReadOptions(), 2, in_order=in_order)
    ) as all_:
        assert sum(1 for _ in islice(all_, 50)) == 50

    assert next(names) < 60


@pytest.mark.parametrize("words", [
    [], ["--from", "names.txt", "--jobs", "99"], ["--from", "names.txt", "--jobs", "0"], ["a", "--out", "x"],
    ["--from", "names.txt", "--on", "slurm"], ["--from", "nothing.txt"], ["a b"],
    ["--from", "https://x.example/simple/", "--offline"],
])  # fmt: skip
@pytest.mark.usefixtures("index")
def test_words_that_cannot_be_meant(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *words, "--gpu", "none"]) == 2
    assert "Traceback" not in capsys.readouterr().err
