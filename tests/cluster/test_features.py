"""What `fleet --emit slurm` writes, run against a real controller whose nodes have features already."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cluster.slurm_cluster import SlurmCluster, missing
from torchpick.cli import main
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python

pytestmark = [pytest.mark.process, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


def machine(name: str, *capabilities: tuple[int, int]) -> str:
    gpus = tuple(Gpu(place, "nvidia", None, Arch("sm", *each)) for place, each in enumerate(capabilities))
    platform = Platform("linux", "x86_64", "2.36", "glibc")
    return json.dumps(Machine(platform, Python("3.12"), Driver("580.95.05"), gpus, name=name).to_dict())


def test_a_node_keeps_its_features_and_gets_those_of_its_groups(tmp_path: Path) -> None:
    volta, blackwell = "torch_2_14_1_cu126", "torch_2_15_0_cu132"
    file = tmp_path / "fleet.jsonl"
    file.write_text("\n".join([machine("n1", (7, 0)), machine("n2", (10, 0)), machine("n3", (7, 0), (10, 0))]), "utf-8")
    assert main(["fleet", str(file), "--max-environments", "2", "--emit", "slurm", "--out", str(tmp_path)]) == 0

    with SlurmCluster(3) as cluster:

        def features() -> list[str]:
            return cluster.tool("sinfo", "-h", "-N", "-o", "%f %b").splitlines()

        old = "torch_2_9_0_cu118"
        cluster.tool(
            "scontrol", "update", "NodeName=n1", f"AvailableFeatures=ib,{old},torch_ok", f"ActiveFeatures=ib,{old}"
        )
        cluster.tool("scontrol", "update", "NodeName=n3", f"AvailableFeatures={old}", f"ActiveFeatures={old}")
        assert features() == [f"ib,{old},torch_ok ib,{old}", "(null) (null)", f"{old} {old}"]
        for _ in range(2):
            script = str(tmp_path / "features.sh")
            subprocess.run(["sh", script], env={**cluster.environ, "PATH": "/usr/bin:/bin"}, check=True, timeout=60)
            both = f"{blackwell},{volta}"
            assert features() == [f"{volta},ib,torch_ok {volta},ib", f"{blackwell} {blackwell}", f"{both} {both}"]
        [head] = tmp_path.glob("job-*cu132.sh")
        constraint = head.read_text("utf-8").partition("--constraint=")[2].split()[0]
        ran = cluster.tool("srun", f"--constraint={constraint}", "--nodelist=n3", "printenv", "SLURMD_NODENAME")
        assert ran.strip() == "n3"
