"""Machines that are read from a file: which flags contradict it, and who may speak in it."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import machinefiles
from torchpick.model.fleet import Fleet
from torchpick.model.machine import Driver
from torchpick.model.pick import Request

LABELS = {
    "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
    "nvidia.com/cuda.driver-version.full": "580.95.05", "nvidia.com/cuda.runtime-version.full": "13.0.1",
}  # fmt: skip
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node1", "labels": {**LABELS, "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}},
    "status": {"capacity": {"nvidia.com/gpu": "1"}, "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"}},
}
MACHINE = {
    "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"},
    "python": {"version": "3.12"},
    "driver": {"version": "580.95.05"},
    "gpus": [{"arch": "sm_80"}],
}


def listed(folder: Path, value: dict[str, Any], **more: Any) -> Fleet:
    file = folder / "machine.json"
    file.write_text(json.dumps(value), "utf-8")
    return machinefiles.read_machines(Request(machine=(str(file),), **more), Knowledge({}))


@pytest.mark.parametrize(
    ("more", "flag"),
    [
        ({"gpus": ("a100",)}, "--gpu"),
        ({"gpus": ()}, "--gpu"),
        ({"visible_only": True}, "--gpus visible"),
        ({"driver": "580"}, "--driver"),
        ({"cuda_driver": "13.0"}, "--cuda-driver"),
        ({"platform": "linux-x86_64"}, "--platform"),
        ({"glibc": "2.35"}, "--glibc"),
        ({"macos": "14"}, "--macos"),
        ({"only": "0"}, "--only"),
    ],
)
def test_a_flag_that_describes_another_machine_is_refused(more: dict[str, Any], flag: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        listed(tmp_path, MACHINE, **more)

    assert caught.value.message == f"`--machine` and `{flag}` both describe the machine"
    assert caught.value.hint == f"remove `{flag}`, or change the fact in the file"


def test_a_python_and_trust_in_the_bus_contradict_no_file(tmp_path: Path) -> None:
    (machine,) = listed(tmp_path, MACHINE, python="3.11", trust_pci=True).machines

    assert machine.python.version == "3.11"
    assert [str(gpu.arch) for gpu in machine.gpus] == ["sm_80"]


def test_a_node_of_kubernetes_is_read_from_a_file_and_not_from_a_host_that_was_asked(tmp_path: Path) -> None:
    (machine,) = listed(tmp_path, NODE).machines
    assert [gpu.name for gpu in machine.gpus] == ["NVIDIA-A100-SXM4-40GB"]
    assert machine.driver == Driver("580.95.05", "13.0", "label", "label")

    reading = machinefiles.Reader(Request(), Knowledge({}))
    reading.stream(BytesIO(json.dumps(NODE).encode()), "an answer", host="node7", has="2 GPUs")
    found = reading.fleet()
    assert found.machines == ()
    assert [left.hosts.text for left in found.unread] == ["node7"]
