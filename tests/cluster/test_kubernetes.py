"""The real kubectl against an API on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import torchpick
from tests.cli.test_nodes import A100, BASE, node
from tests.cluster.api_server import ApiServer

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]
SOURCE = str(Path(torchpick.__file__).parents[1])
NODES: list[object] = [
    node("control-1", BASE, capacity={"cpu": "8"}),
    node("gpu-1", A100),
    node("gpu-2", A100),
    node("bare-1", BASE, capacity={"nvidia.com/mig-1g.10gb": "7"}),
]


def ask(config: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "KUBECONFIG": config, "PYTHONPATH": SOURCE, "HOME": os.path.dirname(config)}
    argv = [sys.executable, "-m", "torchpick", "fleet", *words, "--python", "3.12", "--json"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=90, check=False)


def test_the_labels_are_read_and_nothing_is_written(tmp_path: Path) -> None:
    with ApiServer(NODES) as api:
        done = ask(api.config(tmp_path), "kubernetes:here")
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert [(group["hosts"], group["count"]) for group in answer["plan"]] == [("gpu-[1-2]", 2)]
    assert {part["hosts"]: part["code"] for part in answer["left_out"]} == {
        "bare-1": "NO_CAPABILITY",
        "control-1": "NO_GPU_LEFT_OUT",
    }
    assert {line.split()[0] for line in api.asked} == {"GET"}


def said(name: str) -> str | None:
    """What a pod prints there; `bare-1` never starts one."""
    if name == "bare-1":
        return None
    env = {
        **os.environ,
        "PYTHONPATH": SOURCE,
        "TORCHPICK_GPU": "h100",
        "TORCHPICK_DRIVER": "580.95.05",
    }
    argv = [sys.executable, "-m", "torchpick", "detect", "--json", "--compact"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


def test_a_job_on_each_gpu_node_and_none_is_left(tmp_path: Path) -> None:
    answers = {name: said(name) for name in ("gpu-1", "gpu-2", "bare-1")}
    with ApiServer(NODES, answers.__getitem__) as api:
        done = ask(
            api.config(tmp_path), "kubernetes", "--run", "--image", "registry.example/torchpick", "--timeout", "20"
        )
        left = dict(api.jobs)
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert [(crowd["hosts"], crowd["gpus"][0]["arch"]) for crowd in answer["machines"]] == [("gpu-[1-2]", "sm_90")]
    assert [(part["hosts"], part["text"]) for part in answer["left_out"]] == [("bare-1", "its pod is Pending")]
    assert left == {}


def test_a_server_that_is_not_there_is_said_in_time(tmp_path: Path) -> None:
    with ApiServer([]) as api:
        config = api.config(tmp_path)
    begun = time.monotonic()
    done = ask(config, "kubernetes", "--timeout", "10")

    assert done.returncode == 1
    assert time.monotonic() - begun < 20
    assert json.loads(done.stdout)["error"]["text"].startswith("kubectl: ")
