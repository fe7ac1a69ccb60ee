"""`torchpick inspect --on ray`: the readings of a cluster are those of this computer."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests.cluster.conftest import RayCluster
from tests.fakes.loopback import Loopback
from tests.wheels.indexed import GpuIndex, asked
from torchpick.cli import main

SOURCE = str(Path(torchpick.__file__).parents[1])
NAMES = [f"gpu{place:02}" for place in range(8)]


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    with GpuIndex(8).serve().running() as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        Path("names.txt").write_text("\n".join(f"{name}==1.0" for name in NAMES))
        yield server


def rows(file: str) -> list[dict[str, Any]]:
    strip = ("bytes_read", "requests")
    found = [json.loads(line) for line in Path(file).read_text().splitlines()]
    return sorted(
        ({key: value for key, value in row.items() if key not in strip} for row in found), key=lambda row: row["target"]
    )


@pytest.mark.process
@pytest.mark.long
@pytest.mark.network
def test_a_cluster_reads_each_wheel_once_too(index: Loopback, ray_cluster: RayCluster) -> None:
    words = ["inspect", "--from", "names.txt", "--python", "3.12", "--platform", "linux-x86_64", "--gpu", "8.0"]
    env = {**os.environ, "PYTHONPATH": SOURCE, "RAY_USAGE_STATS_ENABLED": "0"}
    remote = [
        ray_cluster.python,
        "-m",
        "torchpick",
        *words,
        "--on",
        f"ray:{ray_cluster.address}",
        "--jobs",
        "2",
        "--out",
        "there",
    ]

    done = subprocess.run(remote, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert len(rows("there")) == len(asked(index)) == 8
    index.log.clear()
    assert main([*words, "--out", "here"]) == 0
    assert not asked(index)
    assert rows("here") == rows("there")
