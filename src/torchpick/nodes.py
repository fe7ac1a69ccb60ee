"""Kubernetes nodes as machines: `kubectl get nodes -o json`, with the labels of NVIDIA's GPU feature discovery. Pure.

The labels: the README of gpu-feature-discovery in NVIDIA/k8s-device-plugin.
"""

from __future__ import annotations

import re

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble

_MOST_GPUS = 64
_CPUS = {"amd64": "x86_64", "arm64": "aarch64"}
_PREFIX = "nvidia.com/"


def machines(fields: Fields, python: Python) -> list[Machine]:
    """The machines of a List of nodes, or of one Node."""
    kind = fields.text("kind")
    if kind in ("List", "NodeList"):
        return [_node(each, python) for each in fields.objects("items")]
    if kind != "Node":
        raise fields.fail("kind", f"must be a list of nodes, is {kind!r}")
    return [_node(fields, python)]


def _node(node: Fields, python: Python) -> Machine:
    if node.has("kind") and node.text("kind") != "Node":
        raise node.fail("kind", f"must be Node, is {node.text('kind')!r}")
    metadata = node.object("metadata")
    labels = _texts(metadata.maybe_object("labels"))
    status = node.maybe_object("status")
    info = _texts(status.maybe_object("nodeInfo") if status else None)
    capacity = _texts(status.maybe_object("capacity") if status else None)
    name = metadata.text("name")
    os = labels.get("kubernetes.io/os") or info.get("operatingSystem") or "linux"
    cpu = labels.get("kubernetes.io/arch") or info.get("architecture")
    if cpu is None:
        raise metadata.fail("labels", "has no kubernetes.io/arch")
    notes = [Note("GLIBC_ASSUMED", "the C library of a container is its image's, so it is not judged")]
    gpus, trouble = _gpus(labels, capacity, name, metadata)
    words = Fields({"os": os, "cpu": _CPUS.get(cpu, cpu)}, metadata.at("labels"))
    return Machine(
        platform=Platform.from_json(words),
        python=python,
        driver=_driver(labels),
        gpus=gpus,
        notes=tuple(notes),
        trouble=trouble,
        name=name,
    )


def _texts(fields: Fields | None) -> dict[str, str]:
    if fields is None:
        return {}
    values = ((name, fields.raw(name)) for name in fields.names())
    return {name: value for name, value in values if isinstance(value, str)}


def _gpus(
    labels: dict[str, str], capacity: dict[str, str], name: str, metadata: Fields
) -> tuple[tuple[Gpu, ...], Trouble | None]:
    major, minor = labels.get(f"{_PREFIX}gpu.compute.major"), labels.get(f"{_PREFIX}gpu.compute.minor")
    if major is None or minor is None:
        return (), _unlabelled(labels, capacity, name)
    if not re.fullmatch(r"\d{1,2}", major) or not re.fullmatch(r"\d", minor):
        raise metadata.fail("labels", f"{_PREFIX}gpu.compute is {major!r}.{minor!r}, not a capability")
    told = labels.get(f"{_PREFIX}gpu.count", "1")
    count = int(told) if re.fullmatch(r"\d{1,4}", told) else 0
    if not 0 < count <= _MOST_GPUS:
        raise metadata.fail("labels", f"{_PREFIX}gpu.count is {told!r}, not a number from 1 to {_MOST_GPUS}")
    # `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED`: the instance and the sharing are no part of the product's name.
    product = labels.get(f"{_PREFIX}gpu.product")
    product = re.sub(r"(-MIG-[0-9a-z.+]+)?(-SHARED)?$", "", product) if product else None
    arch = Arch.of_capability(int(major), int(minor))
    return tuple(Gpu(index, "nvidia", product, arch, source="label") for index in range(count)), None


def _unlabelled(labels: dict[str, str], capacity: dict[str, str], name: str) -> Trouble | None:
    """A node whose GPUs nobody has described; one without any is a machine without a GPU."""
    named = [vendor for vendor in ("nvidia.com/gpu", "amd.com/gpu") if capacity.get(vendor, "0") not in ("", "0")]
    if not named and labels.get(f"{_PREFIX}gpu.present") == "true":
        named = ["nvidia.com/gpu"]
    if not named:
        return None
    return Trouble(
        "NO_CAPABILITY",
        f"node {name} has {named[0]} and no label that tells its compute capability",
        "install NVIDIA's gpu-feature-discovery, or run `torchpick detect --json` on the node",
    )


def _driver(labels: dict[str, str]) -> Driver | None:
    """The driver's version and the CUDA it speaks; newer releases of the labels spell them in full."""
    version = _version(labels, "cuda.driver-version.full", "cuda.driver.", ("major", "minor", "rev"))
    # "runtime" is what cuDriverGetVersion says: the CUDA that the driver speaks.
    cuda = _version(labels, "cuda.runtime-version.full", "cuda.runtime.", ("major", "minor"))
    if version is None and cuda is None:
        return None
    return Driver(version, ".".join(cuda.split(".")[:2]) if cuda else None, "label", "label" if cuda else None)


def _version(labels: dict[str, str], full: str, old: str, parts: tuple[str, ...]) -> str | None:
    """The label in full, or the parts that older releases write; None for what is no version."""
    listed = [labels.get(f"{_PREFIX}{old}{part}") for part in parts]
    text = labels.get(f"{_PREFIX}{full}") or ".".join(part for part in listed if part)
    return text if re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", text) else None
