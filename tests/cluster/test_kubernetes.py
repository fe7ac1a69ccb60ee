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
from tests.cli.test_nodes import A100, node
from tests.cluster.api_server import ApiServer, Status
from tests.cluster.test_features import machine
from torchpick.cli import main

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed"),
]
SOURCE = str(Path(torchpick.__file__).parents[1])


def ask(config: str, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "KUBECONFIG": config, "PYTHONPATH": SOURCE, "HOME": os.path.dirname(config)}
    argv = [sys.executable, "-m", "torchpick", "fleet", *words, "--python", "3.12", "--json"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=90, check=False)


def status(phase: str, state: str, reason: str, message: str, unmet: str) -> Status:
    """A pod's, as the scheduler and the kubelet write it."""
    conditions = [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "False", "message": unmet}]
    container = {"name": "detect", "state": {state: {"reason": reason, "message": message}}}
    return {"phase": phase, "conditions": conditions, "containerStatuses": [container] if reason else []}


UNREADY = "containers with unready status: [detect]"
# What a real cluster says of pods that do not come to run.
STUCK = {
    "no-image": status("Pending", "waiting", "ImagePullBackOff", 'Back-off pulling image "registry.example/x"',
     UNREADY),
    "no-room": status("Pending", "", "", "", "0/5 nodes are available: 1 node(s) were unschedulable.\nno preemption"),
    "no-program": status("Failed", "terminated", "StartError",
     'exec: "torchpick": executable file not found in $PATH: unknown', UNREADY),
}  # fmt: skip


def said() -> str:
    """What a pod prints."""
    env = {**os.environ, "PYTHONPATH": SOURCE, "TORCHPICK_GPU": "h100", "TORCHPICK_DRIVER": "580.95.05"}
    argv = [sys.executable, "-m", "torchpick", "detect", "--json", "--compact"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=True).stdout


def test_a_pod_that_does_not_come_to_run_has_the_cause_in_kubernetes_own_words(tmp_path: Path) -> None:
    answers: dict[str, str | Status] = {**STUCK, "gpu-1": said()}
    with ApiServer([node(name, A100) for name in answers], answers.__getitem__) as api:
        done = ask(api.config(tmp_path), "kubernetes", "--run", "--image", "registry.example/x", "--timeout", "12")
        assert api.jobs == {}
    left = {part["hosts"]: part for part in json.loads(done.stdout)["left_out"]}

    assert {host: part["code"] for host, part in left.items()} == {
        "no-image": "NO_IMAGE", "no-room": "NOT_STARTED", "no-program": "NO_TORCHPICK",
    }  # fmt: skip
    assert 'ImagePullBackOff Back-off pulling image "registry.example/x"' in left["no-image"]["text"]
    assert "0/5 nodes are available: 1 node(s) were unschedulable. no preemption" in left["no-room"]["text"]
    assert ["--image" in left[host]["hint"] for host in STUCK] == [True, False, False]


def test_a_node_gets_a_label_for_each_of_its_groups_and_loses_ours_of_an_earlier_torch(tmp_path: Path) -> None:
    file, site = tmp_path / "fleet.jsonl", tmp_path / "site"
    file.write_text("\n".join([machine("n1", (7, 0)), machine("n2", (10, 0)), machine("n3", (7, 0), (10, 0))]), "utf-8")
    assert main(["fleet", str(file), "--max-environments", "2", "--emit", "kubernetes", "--out", str(site)]) == 0

    old = {"torchpick.example/torch-2.9.0-cu118": "true", "rack": "4"}
    with ApiServer([node(name, dict(old)) for name in ("n1", "n2", "n3", "n4")]) as api:
        env = {**os.environ, "KUBECONFIG": api.config(tmp_path), "HOME": str(tmp_path)}
        for _ in range(2):
            subprocess.run(["sh", site / "label-nodes.sh"], env=env, check=True, timeout=60)
    labels = {each["metadata"]["name"]: each["metadata"]["labels"] for each in api.nodes}

    volta, blackwell = ({f"torchpick.example/torch-{build}": "true"} for build in ("2.14.1-cu126", "2.15.0-cu132"))
    assert labels == {
        "n1": {"rack": "4", **volta}, "n2": {"rack": "4", **blackwell}, "n3": {"rack": "4", **volta, **blackwell},
        "n4": old,
    }  # fmt: skip
    for label in (volta, blackwell):
        [key] = label
        assert f"key: {key}, operator: Exists" in (site / f"affinity-{key.partition('/')[2]}.yaml").read_text("utf-8")


def test_a_server_that_is_not_there_is_said_in_time(tmp_path: Path) -> None:
    with ApiServer([]) as api:
        config = api.config(tmp_path)
    begun = time.monotonic()
    done = ask(config, "kubernetes", "--timeout", "10")

    assert done.returncode == 1
    assert time.monotonic() - begun < 20
    assert json.loads(done.stdout)["error"]["text"].startswith("kubectl: ")
