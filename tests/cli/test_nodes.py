"""Kubernetes node lists. The labels are as gpu-feature-discovery's README shows them; no cluster was asked."""

from __future__ import annotations

import json

import pytest

from torchpick import machines
from torchpick.errors import DetectionError, UsageError
from torchpick.model.machine import Machine, Python

PYTHON = Python("3.12", source="told")
BASE = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
A100 = {
    **BASE,
    "nvidia.com/cuda.driver.major": "535",
    "nvidia.com/cuda.driver.minor": "161",
    "nvidia.com/cuda.driver.rev": "07",
    "nvidia.com/cuda.runtime.major": "12",
    "nvidia.com/cuda.runtime.minor": "2",
    "nvidia.com/gpu.compute.major": "8",
    "nvidia.com/gpu.compute.minor": "0",
    "nvidia.com/gpu.count": "2",
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED",
    "nvidia.com/gpu.present": "true",
}


def node(name: str, labels: dict[str, str], **status: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def parse(*nodes: object, kind: str = "List") -> list[Machine]:
    told = {"apiVersion": "v1", "kind": kind, "items": list(nodes)}
    return machines.parse(json.dumps(told, indent=4).encode(), "nodes.json", PYTHON)


def test_a_gpu_node() -> None:
    [found] = parse(node("gpu-1", A100))
    assert found.name == "gpu-1"
    assert found.platform.name == "linux-x86_64"
    assert found.platform.glibc is None
    assert [note.code for note in found.notes] == ["GLIBC_ASSUMED"]
    assert found.python == PYTHON
    assert found.driver is not None
    assert (found.driver.version, found.driver.cuda, found.driver.source) == ("535.161.07", "12.2", "label")
    assert [(each.index, str(each.arch), each.name) for each in found.gpus] == [
        (0, "sm_80", "NVIDIA-A100-SXM4-40GB"),
        (1, "sm_80", "NVIDIA-A100-SXM4-40GB"),
    ]


def test_the_newer_labels_go_first() -> None:
    newer = {**A100, "nvidia.com/cuda.driver-version.full": "580.95.05", "nvidia.com/cuda.runtime-version.full": "13.0"}
    [found] = parse(node("gpu-1", newer))
    assert found.driver is not None
    assert (found.driver.version, found.driver.cuda) == ("580.95.05", "13.0")


def test_a_node_without_gpus_and_an_arm_node() -> None:
    plain = node("cpu-1", {}, nodeInfo={"architecture": "arm64", "operatingSystem": "linux"}, capacity={"cpu": "8"})
    found = parse(plain, node("gpu-1", A100), kind="NodeList")
    assert [(each.platform.name, len(each.gpus)) for each in found] == [("linux-aarch64", 0), ("linux-x86_64", 2)]


def test_one_node_alone() -> None:
    [found] = machines.parse(json.dumps(node("gpu-1", A100)).encode(), "nodes.json", PYTHON)
    assert found.name == "gpu-1"


@pytest.mark.parametrize(
    ("labels", "capacity"),
    [
        (BASE, {"nvidia.com/gpu": "4"}),
        (BASE, {"amd.com/gpu": "1"}),
        ({**BASE, "nvidia.com/gpu.present": "true"}, {}),
    ],
)
def test_gpus_that_no_label_describes_are_not_passed_over(labels: dict[str, str], capacity: dict[str, str]) -> None:
    with pytest.raises(DetectionError, match="node gpu-9") as caught:
        parse(node("gpu-1", A100), node("gpu-9", labels, capacity=capacity))
    assert caught.value.exit_status == 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nvidia.com/gpu.compute.major": "eight"}, r"items\[0\]\.metadata\.labels"),
        ({"nvidia.com/gpu.count": "0"}, "gpu.count"),
        ({"nvidia.com/gpu.count": "4000000000"}, "gpu.count"),
    ],
)
def test_labels_that_cannot_be(change: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse(node("gpu-1", {**A100, **change}))


@pytest.mark.parametrize("label", ["kubernetes.io/os", "kubernetes.io/arch"])
def test_a_platform_that_files_cannot_be_named_by(label: str) -> None:
    with pytest.raises(UsageError, match="a-z, 0-9 and _"):
        parse(node("gpu-1", {**A100, label: "../../etc"}))


@pytest.mark.parametrize("value", [{"kind": "Pod"}, {"metadata": {}}, 3, {"metadata": {"name": "x", "labels": {}}}])
def test_items_that_are_no_nodes(value: object) -> None:
    with pytest.raises(UsageError, match="items"):
        parse(value)
