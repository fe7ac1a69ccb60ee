"""Kubernetes nodes as machines: `kubectl get nodes -o json`, with the labels of NVIDIA's GPU feature discovery. Pure.

The labels: the README of gpu-feature-discovery in NVIDIA/k8s-device-plugin, its mig-strategy.go for the counts under
MIG, Node Feature Discovery's `pci-*.present`, and what GKE, EKS, AKS, Karpenter and CoreWeave put on their nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, kind
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble
from torchpick.model.versions import major_minor

_MOST_GPUS = 64
_CPUS = {"amd64": "x86_64", "arm64": "aarch64"}
_PREFIX = "nvidia.com/"
# Labels whose value is a product's name, or at least says that a GPU of NVIDIA is there.
_PRODUCTS = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
    "k8s.amazonaws.com/accelerator",
    "kubernetes.azure.com/accelerator",
    "gpu.nvidia.com/class",
    "gpu.nvidia.com/model",
    "accelerator",
)
_MAKERS = {"karpenter.k8s.aws/instance-gpu-manufacturer": "nvidia"}
_NFD = re.compile(r"feature\.node\.kubernetes\.io/pci-(?:[0-9a-f]{4}_)?10de(?:_[0-9a-f_]+)?\.present")
# `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED`: the instance and the sharing are no part of the product's name.
_SHARE = re.compile(r"(-MIG-(?:[0-9a-z.+]+|INVALID))?(-SHARED)?$")

Named = Callable[[str], "Arch | None"]


def nodes(fields: Fields) -> Iterator[Fields]:
    """The nodes of a List, or the one Node; ShapeError for what is neither."""
    what = fields.text("kind")
    if what in ("List", "NodeList"):
        for place, item in enumerate(fields.items("items")):
            yield Fields(item if isinstance(item, dict) else {"kind": kind(item)}, f"{fields.at('items')}[{place}]")
    elif what == "Node":
        yield fields
    else:
        raise fields.fail("kind", f"must be a list of nodes, not {what!r}")


def name_of(node: Fields) -> str | None:
    """The node's name, as far as it has one."""
    raw = node.raw("metadata") if node.has("metadata") else None
    name = raw.get("name") if isinstance(raw, dict) else None
    return name if isinstance(name, str) else None


def machine(node: Fields, python: Python, named: Named | None = None) -> Machine:
    """The node as a machine; its `trouble` says where it has a GPU that nothing describes."""
    if node.has("kind") and node.text("kind") != "Node":
        raise node.fail("kind", f"must be Node, is {node.text('kind')!r}")
    metadata = node.object("metadata")
    labels = _texts(metadata.maybe_object("labels"))
    status = node.maybe_object("status")
    info = _texts(status.maybe_object("nodeInfo") if status else None)
    resources = {
        **_texts(status.maybe_object("allocatable") if status else None),
        **_texts(status.maybe_object("capacity") if status else None),
    }
    name = metadata.text("name")
    os = labels.get("kubernetes.io/os") or info.get("operatingSystem") or "linux"
    cpu = labels.get("kubernetes.io/arch") or info.get("architecture")
    if cpu is None:
        raise metadata.fail("labels", "has no kubernetes.io/arch")
    words = Fields({"os": os, "cpu": _CPUS.get(cpu, cpu)}, metadata.at("labels"))
    notes = [Note("GLIBC_ASSUMED", "a container has the C library of its image, so it is not checked")]
    arch, product = _described(labels, metadata, named)
    trouble: Trouble | None = None
    gpus: tuple[Gpu, ...] = ()
    if arch is None:
        trouble = _undescribed(labels, resources)
    else:
        count, odd = _count(labels)
        gpus = tuple(Gpu(index, "nvidia", product, arch, source="label") for index in range(count))
        notes += [odd] if odd else []
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


def _described(labels: dict[str, str], metadata: Fields, named: Named | None) -> tuple[Arch | None, str | None]:
    """The architecture by the capability's labels, else by a product's name, and that name."""
    products = [_SHARE.sub("", labels[label]) for label in _PRODUCTS if labels.get(label)]
    major, minor = labels.get(f"{_PREFIX}gpu.compute.major"), labels.get(f"{_PREFIX}gpu.compute.minor")
    if major is not None and minor is not None:
        if not re.fullmatch(r"\d{1,2}", major) or not re.fullmatch(r"\d", minor):
            raise metadata.fail("labels", f"{_PREFIX}gpu.compute is {major!r}.{minor!r}, not a capability")
        return Arch.of_capability(int(major), int(minor)), products[0] if products else None
    for product in products:
        if named is not None and (arch := named(product)) is not None:
            return arch, product
    return None, None


def _count(labels: dict[str, str]) -> tuple[int, Note | None]:
    """How many GPUs, and a note where the label cannot be their number.

    Under MIG it counts the instances, and it is 0 where they are not all alike.
    """
    if "-MIG-" in labels.get(f"{_PREFIX}gpu.product", ""):
        return 1, None
    given = labels.get(f"{_PREFIX}gpu.count", "1")
    count = int(given) if re.fullmatch(r"\d{1,4}", given) else 0
    if 0 < count <= _MOST_GPUS:
        return count, None
    return 1, Note("GPU_COUNT_UNUSABLE", f"{_PREFIX}gpu.count is {given[:20]!r}, so one GPU stands for them all")


def _undescribed(labels: dict[str, str], resources: dict[str, str]) -> Trouble | None:
    """A node whose GPUs have no description; None for one without any."""
    signs = [name for name in resources if name.startswith(_PREFIX)]
    signs += ["amd.com/gpu"] if resources.get("amd.com/gpu", "0") not in ("", "0") else []
    signs += [
        name
        for name, value in labels.items()
        if (name.startswith(f"{_PREFIX}gpu.") and not name.startswith(f"{_PREFIX}gpu.deploy.") and value != "false")
        or (name in _PRODUCTS and (name != "accelerator" or "nvidia" in value.lower()))
        or _MAKERS.get(name) == value.lower()
        or (value == "true" and _NFD.fullmatch(name))
    ]
    if not signs:
        return None
    return Trouble(
        "NO_CAPABILITY",
        f"it has {signs[0]}, and no label gives the compute capability or the product",
        "install NVIDIA's gpu-feature-discovery, or run `torchpick detect --json` on the node",
    )


def _driver(labels: dict[str, str]) -> Driver | None:
    """The driver's version and the CUDA it supports; newer releases of the labels spell them in full."""
    version = _version(labels, "cuda.driver-version.full", "cuda.driver.", ("major", "minor", "rev"))
    # "runtime" is what cuDriverGetVersion says: the CUDA that the driver supports.
    cuda = _version(labels, "cuda.runtime-version.full", "cuda.runtime.", ("major", "minor"))
    if version is None and cuda is None:
        return None
    return Driver(version, major_minor(cuda) if cuda else None, "label", "label" if cuda else None)


def _version(labels: dict[str, str], full: str, old: str, parts: tuple[str, ...]) -> str | None:
    """The label in full, or the parts that older releases write; None if it is not a version."""
    listed = [labels.get(f"{_PREFIX}{old}{part}") for part in parts]
    text = labels.get(f"{_PREFIX}{full}") or ".".join(part for part in listed if part)
    return text if re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", text) else None
