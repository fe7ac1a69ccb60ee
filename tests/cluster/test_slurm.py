"""Eight slurmd on this host, each with a stand-in computer: what `torchpick fleet slurm` says of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchpick
from tests.cluster.slurm_cluster import SlurmCluster, missing
from tests.fakes.nvidia import Fakes

pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler for the stand-in driver"),
]
SOURCE = str(Path(torchpick.__file__).parents[1])

# What each node is; n6 hangs, n7 has no GPU, n8's driver was updated under its feet.
WRAPPER = """\
#!/bin/sh
export PYTHONPATH={source}
case "$SLURMD_NODENAME" in
  n1|n2|n3) export TORCHPICK_GPU=v100 TORCHPICK_DRIVER=580.95.05 ;;
  n4|n5) export TORCHPICK_GPU=b200,b200 TORCHPICK_DRIVER=580.95.05 ;;
  n6) exec sleep 600 ;;
  n7) export TORCHPICK_GPU=none ;;
  n8) export LD_LIBRARY_PATH={libraries} FAKE_NVIDIA={libraries}/fake.conf ;;
esac
exec {python} -m torchpick "$@"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    with SlurmCluster(tmp_path_factory.mktemp("slurm"), 8) as running:
        yield running


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    libraries = tmp_path_factory.mktemp("libraries")
    fakes = Fakes(tmp_path_factory.mktemp("compiled"))
    for name in ("libnvidia-ml", "libcuda"):
        shutil.copy(fakes.get(name), libraries / f"{name}.so.1")
    (libraries / "fake.conf").write_text("nvml.init 18\ncuda.init 803\n")
    file = libraries / "torchpick-here"
    file.write_text(WRAPPER.format(source=SOURCE, libraries=libraries, python=sys.executable))
    file.chmod(0o755)
    return str(file)


def start(cluster: SlurmCluster, program: str, *words: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "torchpick", "fleet", "slurm", "--program", program, "--python", "3.12", *words]
    env = {**os.environ, **cluster.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_groups_with_their_hosts_and_what_is_wrong_with_the_rest(cluster: SlurmCluster, program: str) -> None:
    begun = time.monotonic()
    process = start(cluster, program, "--timeout", "30", "--json")
    out, err = process.communicate(timeout=60)
    answer = json.loads(out)

    assert (process.returncode, answer["status"]) == (0, "ok"), out + err
    assert time.monotonic() - begun < 40
    assert sorted((crowd["hosts"], crowd["count"]) for crowd in answer["machines"]) == [("n[1-3]", 3), ("n[4-5]", 2)]
    left = {part["hosts"]: (part["code"], part["text"]) for part in answer["left_out"]}
    assert left["n6"][0] == "NO_ANSWER"
    assert left["n7"][0] == "NO_GPU_LEFT_OUT"
    assert left["n8"][0] == "DRIVER_MISMATCH"
    assert len(left) == 3
    assert [group["hosts"] for group in answer["plan"]] == ["n[1-5]"]
    assert answer["plan"][0]["install"].startswith("pip install --index-url ")


def test_strict_refuses_and_names_who(cluster: SlurmCluster, program: str) -> None:
    process = start(cluster, program, "--timeout", "20", "--strict")
    _, err = process.communicate(timeout=60)

    assert process.returncode == 4
    assert "n6: " in err
    assert "n8: " in err


def test_a_node_that_is_down_is_a_result(cluster: SlurmCluster, program: str) -> None:
    cluster.tool("scontrol", "update", "NodeName=n6", "State=DRAIN", "Reason=test")
    process = start(cluster, program, "--timeout", "30")
    out, err = process.communicate(timeout=60)
    cluster.tool("scontrol", "update", "NodeName=n6", "State=RESUME")

    assert process.returncode == 0, err
    assert "hosts  n[1-5]" in out
    assert "n6: its state is drain" in err


def test_inside_an_allocation_its_own_nodes_are_asked(cluster: SlurmCluster, program: str) -> None:
    argv = [sys.executable, "-m", "torchpick", "fleet", "slurm", "--program", program, "--python", "3.12", "--json"]
    out = cluster.tool("salloc", "--nodelist=n[2-4]", "env", f"PYTHONPATH={SOURCE}", *argv)

    assert [(crowd["hosts"], crowd["count"]) for crowd in json.loads(out)["machines"]] == [("n[2-3]", 2), ("n4", 1)]


def test_a_running_controller_takes_the_features(cluster: SlurmCluster, program: str, tmp_path: Path) -> None:
    process = start(cluster, program, "--timeout", "30", "--emit", "slurm", "--out", str(tmp_path))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    cluster.tool("sh", str(tmp_path / "features.sh"))
    [head] = tmp_path.glob("job-*.sh")
    constraint = head.read_text().partition("--constraint=")[2].split()[0]

    assert cluster.tool("sinfo", "-h", "-n", "n1", "-o", "%f").strip() == constraint
    assert cluster.tool("srun", f"--constraint={constraint}", "printenv", "SLURMD_NODENAME").strip() == "n1"


def test_ctrl_c_leaves_no_job_and_no_file(cluster: SlurmCluster, program: str, tmp_path: Path) -> None:
    env = {**os.environ, **cluster.environ, "PYTHONPATH": SOURCE, "TMPDIR": str(tmp_path)}
    argv = [sys.executable, "-m", "torchpick", "fleet", "slurm", "--program", program, "--timeout", "60"]
    while cluster.jobs():  # of a test before this one
        time.sleep(0.2)
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + 20
    while not cluster.jobs() and time.monotonic() < until:
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    until = time.monotonic() + 20
    while cluster.jobs() and time.monotonic() < until:
        time.sleep(0.2)

    assert process.returncode == 130, err
    assert cluster.jobs() == []
    assert list(tmp_path.iterdir()) == []
