"""Thirteen nodes of a real Slurm, which share nothing, and what `torchpick fleet slurm` says of each."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests.cluster.slurm_cluster import SlurmCluster, missing
from tests.fakes.nvidia import Fakes

pytestmark = [
    pytest.mark.process, pytest.mark.long, pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for the stand-in driver"),
]  # fmt: skip
SOURCE = str(Path(torchpick.__file__).parents[1])

# What each node is; n6 hangs, n7 has no GPU, n8's driver was updated under its feet, n9 has no torchpick, n10 hides its
# GPUs from a job that asks for none, n11 never started, n12 is held by another job, n13 is in a partition of its own.
WRAPPER = """\
#!/bin/sh
unset TORCHPICK_COMPAT_DIR TORCHPICK_CACHE_DIR  # which are in a /tmp that is not the node's
export PYTHONPATH={source}
case "$SLURMD_NODENAME" in
  n1|n2|n3|n13) export TORCHPICK_GPU=v100 TORCHPICK_DRIVER=580.95.05 ;;
  n4|n5) export TORCHPICK_GPU=b200,b200 TORCHPICK_DRIVER=580.95.05 ;;
  n6) exec sleep 600 ;;
  n8) export LD_LIBRARY_PATH={libraries} FAKE_NVIDIA={libraries}/fake.conf ;;
  *) export TORCHPICK_GPU=none ;;
esac
exec {python} -m torchpick "$@"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    gpus: dict[str, str] = dict.fromkeys(("n1", "n8", "n10", "n12"), "v100")
    with SlurmCluster(13, gpus=gpus, apart=["n13"], absent=["n11"], bare=["n9"]) as running:
        fakes = Fakes(tmp_path_factory.mktemp("compiled"))
        for name in ("libnvidia-ml", "libcuda"):
            shutil.copy(fakes.get(name), running.programs / f"{name}.so.1")
        (running.programs / "fake.conf").write_text("nvml.init 18\ncuda.init 803\n", "utf-8")
        file = running.programs / "torchpick-here"
        file.write_text(WRAPPER.format(source=SOURCE, libraries=running.programs, python=sys.executable), "utf-8")
        file.chmod(0o755)
        yield running


def start(cluster: SlurmCluster, *words: str, source: str = "slurm", **env: str) -> subprocess.Popen[str]:
    program = str(cluster.programs / "torchpick-here")
    argv = [sys.executable, "-m", "torchpick", "fleet", source, "--program", program, "--python", "3.12", *words]
    env = {**os.environ, **cluster.environ, "PYTHONPATH": SOURCE, **env}
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ask(cluster: SlurmCluster, *words: str, source: str = "slurm") -> dict[str, Any]:
    begun = time.monotonic()
    process = start(cluster, "--timeout", "15", "--json", *words, source=source)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert time.monotonic() - begun < 25
    answer: dict[str, Any] = json.loads(out)
    return answer


def until(holds: Callable[[], bool]) -> bool:
    over = time.monotonic() + 30
    while not holds() and time.monotonic() < over:
        time.sleep(0.2)
    return holds()


@pytest.fixture
def held(cluster: SlurmCluster) -> Iterator[None]:
    """Another job has n12."""
    cluster.tool("sbatch", "--nodelist=n12", "--output=/dev/null", "--chdir=/", "--wrap", "sleep 300")
    assert until(lambda: "alloc" in cluster.tool("sinfo", "-h", "-n", "n12", "-o", "%t"))
    yield
    cluster.tool("scancel", "--user=root")


@pytest.mark.usefixtures("held")
def test_groups_with_their_hosts_and_what_is_wrong_with_the_rest(cluster: SlurmCluster) -> None:
    answer = ask(cluster)

    crowds = sorted((crowd["hosts"], crowd["count"]) for crowd in answer["machines"])
    assert crowds == [("n[1-3,13]", 4), ("n[4-5]", 2)]
    left = {part["hosts"]: (part["code"], part["hint"]) for part in answer["left_out"]}
    assert {host: code for host, (code, _) in left.items()} == {
        "n6": "NO_ANSWER", "n7": "NO_GPU_LEFT_OUT", "n8": "DRIVER_MISMATCH", "n9": "NO_TORCHPICK",
        "n10": "NO_GPU_GIVEN", "n11": "NODE_DOWN", "n12": "BUSY",
    }  # fmt: skip
    assert "-- --gres=gpu:1" in left["n10"][1]
    assert "--program" in left["n9"][1]
    assert [group["hosts"] for group in answer["plan"]] == ["n[1-5,13]"]
    assert answer["plan"][0]["install"].startswith("pip install --index-url ")


@pytest.mark.usefixtures("held")
def test_a_busy_node_is_answered_by_the_gpu_that_the_controller_names(cluster: SlurmCluster) -> None:
    answer = ask(cluster, "--driver", "580.95.05")

    [described] = [crowd for crowd in answer["machines"] if crowd["hosts"] == "n12"]
    assert [gpu["arch"] for gpu in described["gpus"]] == ["sm_70", "sm_70"]
    assert "n12" not in {part["hosts"] for part in answer["left_out"]}


def test_inside_an_allocation_its_own_nodes_are_asked(cluster: SlurmCluster) -> None:
    program = str(cluster.programs / "torchpick-here")
    argv = [sys.executable, "-m", "torchpick", "fleet", "slurm", "--program", program, "--python", "3.12", "--json"]
    nodes = "n[2-4,6,9-10]"
    out = cluster.tool(
        "salloc", f"--nodelist={nodes}", "env", f"PYTHONPATH={SOURCE}", *argv, "--timeout", "12", limit_s=60
    )
    answer = json.loads(out)

    assert sorted(crowd["hosts"] for crowd in answer["machines"]) == ["n4", "n[2-3]"]
    left = {part["hosts"]: part["code"] for part in answer["left_out"]}
    assert left == {"n6": "NO_ANSWER", "n9": "NO_TORCHPICK", "n10": "NO_GPU_GIVEN"}


def test_ctrl_c_leaves_no_job_and_no_file(cluster: SlurmCluster, tmp_path: Path) -> None:
    assert until(lambda: not cluster.jobs())  # of a test before this one
    process = start(cluster, "--timeout", "60", TMPDIR=str(tmp_path))
    assert until(lambda: bool(cluster.jobs()))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)

    assert process.returncode == 130, err
    assert until(lambda: not cluster.jobs())
    assert list(tmp_path.iterdir()) == []
