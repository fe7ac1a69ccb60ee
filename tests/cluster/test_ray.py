"""`torchpick fleet ray` on a real Ray cluster on loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

import torchpick
from tests.cluster.conftest import RAY_ENVIRON, RayCluster

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.network]
SOURCE = str(Path(torchpick.__file__).parents[1])


def ask(python: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": SOURCE, **RAY_ENVIRON}
    argv = [python, "-m", "torchpick", "fleet", *words, "--python", "3.12", "--json"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=150, check=False)


def test_the_cluster_listens_on_loopback_alone(ray_cluster: RayCluster) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent; the system says by which of its addresses it would be
        except OSError:
            pytest.skip("this computer has no address but loopback")
        own = probe.getsockname()[0]
    port = int(ray_cluster.address.rpartition(":")[2])

    with socket.create_connection(("127.0.0.1", port), timeout=10), pytest.raises(OSError, match="refused"):
        socket.create_connection((own, port), timeout=10)


def test_a_task_on_each_node(ray_cluster: RayCluster, tmp_path: Path) -> None:
    program = tmp_path / "there"
    program.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={SOURCE} TORCHPICK_GPU=a100 TORCHPICK_DRIVER=580.95.05\n"
        f'exec {ray_cluster.python} -m torchpick "$@"\n',
        "utf-8",
    )
    program.chmod(0o755)

    done = ask(ray_cluster.python, f"ray:{ray_cluster.address}", "--program", str(program))
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stdout + done.stderr
    assert [(crowd["count"], crowd["gpus"][0]["arch"]) for crowd in answer["machines"]] == [(1, "sm_80")]


def test_a_cluster_that_is_not_there_is_said_in_time(ray_python: str) -> None:
    done = ask(ray_python, "ray:127.0.0.1:1", "--timeout", "15")

    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["text"].startswith("ray: ")
