"""Kubernetes node lists. The labels are as gpu-feature-discovery's README shows them; no cluster was asked."""

from __future__ import annotations

import codecs
import json
from io import BytesIO
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.errors import DetectionError, UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import machinefiles
from torchpick.model.fleet import Fleet
from torchpick.model.machine import Driver, Machine
from torchpick.model.pick import Request

BASE = {"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
A100 = {
    **BASE,
    "nvidia.com/cuda.driver.major": "535", "nvidia.com/cuda.driver.minor": "161", "nvidia.com/cuda.driver.rev": "07",
    "nvidia.com/cuda.runtime.major": "12", "nvidia.com/cuda.runtime.minor": "2", "nvidia.com/gpu.compute.major": "8",
    "nvidia.com/gpu.compute.minor": "0", "nvidia.com/gpu.count": "2",
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED", "nvidia.com/gpu.present": "true",
}  # fmt: skip


def node(name: str, labels: dict[str, str], **status: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def read(*nodes: object, kind: str = "List") -> Fleet:
    listed = {"apiVersion": "v1", "kind": kind, "items": list(nodes)}
    return read_bytes(json.dumps(listed, indent=4).encode())


def read_bytes(data: bytes) -> Fleet:
    reader = machinefiles.Reader(Request(python="3.12"), Knowledge({}))
    reader.stream(BytesIO(data), "nodes.json")
    return machinefiles.check_fleet(reader.fleet(), "nodes.json")


def parse(*nodes: object, kind: str = "List") -> list[Machine]:
    return list(read(*nodes, kind=kind).machines)


UNKNOWN = {"nvidia.com/gpu.product": "made-up", "gpu.intel.com/product": "nothing-known"}
SIGNS: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {"nvidia.com/gpu": "4"}), ({}, {"nvidia.com/gpu": "0"}), ({}, {"nvidia.com/gpu.shared": "8"}),
    ({}, {"nvidia.com/mig-1g.10gb": "7"}), ({}, {"amd.com/gpu": "1"}), ({"nvidia.com/gpu.present": "true"}, {}),
    ({"feature.node.kubernetes.io/pci-10de.present": "true"}, {}),
    ({"feature.node.kubernetes.io/pci-0302_10de.present": "true"}, {}),
    ({"feature.node.kubernetes.io/pci-0300_10de_1b06.present": "true"}, {}),
    ({"cloud.google.com/gke-accelerator": "nvidia-made-up-1"}, {}),
    ({"kubernetes.azure.com/accelerator": "nvidia"}, {}),
]  # fmt: skip


@pytest.mark.parametrize(("labels", "capacity"), SIGNS)
def test_gpus_that_nothing_describes_are_named_and_never_cpu(labels: dict[str, str], capacity: dict[str, str]) -> None:
    silent = node("gpu-9", {**BASE, **labels}, capacity=capacity)
    found = read(node("gpu-1", A100), silent)
    assert [crowd.hosts.text for crowd in found.crowds] == ["gpu-1"]
    assert [(left.hosts.text, left.code) for left in found.silent] == [("gpu-9", "NO_CAPABILITY")]
    with pytest.raises(DetectionError, match="gpu-9: it has") as caught:
        parse(silent)
    assert caught.value.exit_status == 4


@pytest.mark.parametrize(("label", "product", "arch"), [
    ("nvidia.com/gpu.product", "Tesla-V100-SXM2-16GB-SHARED", "sm_70"),
    ("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-40GB-MIG-INVALID", "sm_80"),
    ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb+me-SHARED", "sm_90"),
    ("cloud.google.com/gke-accelerator", "nvidia-tesla-t4", "sm_75"),
    ("karpenter.k8s.aws/instance-gpu-name", "a10g", "sm_86"),
    ("k8s.amazonaws.com/accelerator", "nvidia-tesla-v100", "sm_70"),
    ("kubernetes.azure.com/accelerator", "nvidia-h100", "sm_90"), ("gpu.nvidia.com/class", "A40", "sm_86"),
    ("gpu.nvidia.com/model", "L40S", "sm_89"), ("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM", "gfx942"),
    ("beta.amd.com/gpu.product-name", "AMD_Instinct_MI250X_MCM_OAM_AC_MBA", "gfx90a"),
])  # fmt: skip
def test_each_label_that_names_a_product_is_read(label: str, product: str, arch: str) -> None:
    [found] = parse(node("gpu-1", {**BASE, **UNKNOWN, label: product}), kind="NodeList")
    assert [str(gpu.arch) for gpu in found.gpus] == [arch]


def test_what_newer_labels_say_in_full_comes_before_its_parts() -> None:
    new = {"nvidia.com/cuda.driver-version.full": "580.95.05", "nvidia.com/cuda.runtime-version.full": "13.0.1"}
    arm = {"kubernetes.io/arch": "arm64", "nvidia.com/gpu.count": "65", "nvidia.com/gpu.product": "made-up"}
    [old], [full], [runtime] = (parse(node("g", {**A100, **more})) for more in ({}, {**new, **arm}, {}))
    assert old.driver == runtime.driver == Driver("535.161.07", "12.2", "label", "label")
    assert full.driver == Driver("580.95.05", "13.0", "label", "label")
    assert (old.platform.name, full.platform.name, len(full.gpus)) == ("linux-x86_64", "linux-aarch64", 1)
    assert (full.gpus[0].name, str(full.gpus[0].arch)) == ("made-up", "sm_80"), "by its capability, whatever its name"
    [alone] = parse(node("g", {**BASE, "nvidia.com/gpu.product": "A40", **dict([*new.items()][1:])}))
    assert alone.driver == Driver(None, "13.0", "label", "label")
    [windows] = parse(node("g", {**A100, "kubernetes.io/os": "windows"}, capacity={"amd.com/gpu": "3"}))
    assert (windows.platform.name, len(windows.gpus)) == ("windows-x86_64", 1)


def test_the_number_of_gpus_without_a_label_for_it() -> None:
    for name, count in (("amd.com/gpu", 8), ("gpu.intel.com/xe", 2), ("gpu.intel.com/i915", 3), ("x.com/gpu", 1)):
        [found] = parse(node("g", {**BASE, "gpu.intel.com/product": "Max_1550"}, capacity={name: str(count)}))
        assert len(found.gpus) == count
    [none] = parse(node("g", BASE, capacity={"amd.com/gpu": "0"}))
    assert (none.gpus, none.trouble) == ((), None)


@pytest.mark.parametrize("labels", [
    {"nvidia.com/gpu.present": "false"}, {"feature.node.kubernetes.io/pci-10de.present": "false"},
    {"feature.node.kubernetes.io/pci-1002.present": "true"},
])  # fmt: skip
def test_labels_that_say_nothing_of_a_gpu(labels: dict[str, str]) -> None:
    [found] = parse(node("cpu-1", {**BASE, **labels}, capacity={"cpu": "8"}))
    assert (found.gpus, found.trouble) == ((), None)


def test_a_capability_that_is_none_is_named_with_its_node() -> None:
    bad = node("gpu-2", {**BASE, "nvidia.com/gpu.compute.major": "eight", "nvidia.com/gpu.compute.minor": "0"})
    [left] = read(node("gpu-1", A100), bad).silent
    assert (left.hosts.text, left.code) == ("gpu-2", "NO_CAPABILITY")


def test_a_real_list_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Control planes and CPU nodes are in every list, MIG in many, and one node that nobody has labelled."""
    nodes = [
        node("control-1", BASE, capacity={"cpu": "8"}),
        node("single-1", {**A100, "nvidia.com/gpu.count": "14"}),
        node("invalid-1", {**A100, "nvidia.com/gpu.count": "0", "nvidia.com/gpu.product": "A100-MIG-INVALID"}),
        node("mixed-1", BASE, capacity={"nvidia.com/mig-1g.10gb": "7"}),
    ]
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}, indent=4), "utf-8")

    status = main(["--machine", str(file), "--python", "3.12", "--json"])
    answer = json.loads(capsys.readouterr().out)

    assert (status, answer["status"], answer["pick"]["backend"][:2]) == (0, "ok", "cu")
    left = {part["hosts"]: part["code"] for part in answer["left_out"]}
    assert left == {"mixed-1": "NO_CAPABILITY", "control-1": "NO_GPU_LEFT_OUT"}
    assert {note["code"] for note in answer["pick"]["notes"]} >= {"NO_GPU_LEFT_OUT", "NO_ANSWER_LEFT_OUT"}
    assert [len(machine.gpus) for machine in parse(*nodes)] == [0, 1, 1]  # the label counts instances
    assert main(["--machine", str(file), "--python", "3.12", "--strict"]) == 4
    assert "mixed-1" in capsys.readouterr().err


@pytest.mark.parametrize("label", ["kubernetes.io/os", "kubernetes.io/arch"])
def test_a_platform_that_files_cannot_be_named_by(label: str) -> None:
    with pytest.raises(UsageError, match="a-z, 0-9 and _"):
        parse(node("gpu-1", {**A100, label: "../../etc"}))


@pytest.mark.parametrize(("value", "words"), [
    ({"kind": "Pod"}, "must be Node"), ({"metadata": {}}, "name: is missing"), (3, "must be an object"),
    ({"metadata": {"name": "x", "labels": {}}}, "no kubernetes.io/arch on x"),
])  # fmt: skip
def test_items_that_are_no_nodes(value: object, words: str) -> None:
    found = read(value, node("gpu-1", A100))
    assert [crowd.hosts.text for crowd in found.crowds] == ["gpu-1"]
    assert words in found.unread[0].text


def test_a_driver_that_is_specified_is_assumed_where_an_nvidia_gpu_has_none() -> None:
    reader = machinefiles.Reader(Request(python="3.12", driver="570.86"), Knowledge({}))
    labels = {"amd": "amd.com/gpu.product-name", "bare": "nvidia.com/gpu.product"}
    nodes = [
        node(name, {**BASE, label: {"amd": "AMD_Instinct_MI300X_OAM"}.get(name, "A40")})
        for name, label in labels.items()
    ]
    listed = json.dumps({"kind": "List", "items": [*nodes, node("own", A100)]})
    for data in (listed.encode("utf-8-sig"), codecs.BOM_UTF16_BE + listed.encode("utf-16-be"), listed.encode("utf-16")):
        reader.stream(BytesIO(data), "nodes.json")
    assert reader.fleet().unread == ()
    drivers = {machine.name: machine.driver and machine.driver[::2] for machine in reader.fleet().machines}
    assert drivers == {"amd": None, "bare": ("570.86", "assumed", None), "own": ("535.161.07", "label", None)}


def test_the_labellers_of_amd_and_intel() -> None:
    amd = {**BASE, "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}
    intel = {**BASE, "gpu.intel.com/product": "Max_1550"}
    nodes = [
        node("mi300", amd, capacity={"amd.com/gpu": "8"}),
        node("mi250", {**BASE, "beta.amd.com/gpu.product-name": "AMD_Instinct_MI250X_MCM_OAM_AC_MBA"}),
        node("pvc", intel, capacity={"gpu.intel.com/xe": "2"}),
        node("unknown", {**BASE, "gpu.intel.com/product": "Max_9999"}),
    ]
    fleet = read(*nodes)

    found = {machine.name: [(gpu.vendor, str(gpu.arch)) for gpu in machine.gpus] for machine in fleet.machines}
    assert found == {"mi300": [("amd", "gfx942")] * 8, "mi250": [("amd", "gfx90a")], "pvc": [("intel", "None")] * 2}
    assert [(left.hosts.text, left.code) for left in fleet.silent] == [("unknown", "NO_CAPABILITY")]
