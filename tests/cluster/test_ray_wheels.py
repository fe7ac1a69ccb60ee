"""`torchpick inspect --on ray`: the readings of a cluster are those of this computer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import RAY_ENVIRON, RayCluster
from tests.fakes.loopback import Loopback
from tests.test_inspect_many import HERE, SOURCE, index, rows
from tests.wheels.indexed import asked
from torchpick.cli import main

__all__ = ["index"]  # the fixture of the neighbour


def without_cost(file: str) -> list[dict[str, Any]]:
    found = ({**row, "bytes_read": 0, "requests": 0} for row in rows(file))
    return sorted(found, key=lambda row: str(row["target"]))


@pytest.mark.process
@pytest.mark.long
@pytest.mark.network
def test_a_cluster_reads_each_wheel_once_too(index: Loopback, ray_cluster: RayCluster) -> None:
    words = ["inspect", "--from", "names.txt", *HERE]
    env = {**os.environ, "PYTHONPATH": SOURCE, **RAY_ENVIRON}
    on_cluster = ["--on", f"ray:{ray_cluster.address}", "--jobs", "2", "--out", "there"]

    remote = [ray_cluster.python, "-m", "torchpick", *words, *on_cluster]
    done = subprocess.run(remote, env=env, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert len(rows("there")) == len(asked(index)) == 8
    index.log.clear()
    assert main([*words, "--out", "here"]) == 0
    assert not asked(index)
    assert without_cost("here") == without_cost("there")


# A task that "runs" when it is waited for; what it is given has to be plain, as on a real cluster.
FAKE_RAY = """
ran = []
def init(**words): pass
def shutdown(): pass
def remote(**words):
    class Task:
        def __init__(self, function): self.function = function
        def remote(self, *words): return (self.function, [str(word) if word else None for word in words])
    return Task
def wait(tasks, timeout): return tasks, []
def get(task):
    ran.append(task[1][0])
    if "gpu02" in task[1][0]:
        raise RuntimeError("x\\nthe node was killed")
    return task[0](*task[1])
"""


@pytest.mark.usefixtures("index")
def test_a_task_reads_what_is_not_known_and_one_that_dies_is_that_wheels_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("modules").mkdir()
    Path("modules", "ray.py").write_text(FAKE_RAY, "utf-8")
    monkeypatch.syspath_prepend("modules")
    monkeypatch.setitem(sys.modules, "ray", sys)  # so that it is taken away afterwards
    del sys.modules["ray"]
    assert main(["inspect", "--from", "names.txt", *HERE, "--out", "before", "--jobs", "2"]) == 0
    for file in Path("cache", "readings").iterdir():
        if "gpu01" in file.read_text("utf-8") or "gpu02" in file.read_text("utf-8"):
            file.unlink()

    assert main(["inspect", "--from", "names.txt", *HERE, "--on", "ray", "--out", "there"]) == 1

    assert sorted(url.partition("#")[0].rpartition("/")[2][:5] for url in sys.modules["ray"].ran) == ["gpu01", "gpu02"]
    [bad] = [row for row in rows("there") if "error" in row]
    assert (bad["target"], bad["error"]["text"]) == ("gpu02==1.0", "the node was killed")
    assert without_cost("there")[0] == without_cost("before")[0]
    assert len(rows("there")) == 8
