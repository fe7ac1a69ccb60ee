"""Kubernetes nodes as machines: `kubectl get nodes -o json`, with the labels that say which GPUs are there. Pure.

The labels: the README of gpu-feature-discovery in NVIDIA/k8s-device-plugin, its mig-strategy.go for the counts under
MIG, Node Feature Discovery's `pci-*.present`, and what AMD's and Intel's
labellers, GKE, EKS, AKS, Karpenter and CoreWeave put on their nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields
from torchpick.model.machine import Driver, Gpu, GpuProduct, Machine, Note, Platform, Python, Trouble
from torchpick.model.versions import major_minor, numbers

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
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "gpu.intel.com/product",
)
_NFD = re.compile(r"feature\.node\.kubernetes\.io/pci-(?:[0-9a-f]{4}_)?10de(?:_[0-9a-f_]+)?\.present")
# `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED`: the instance and the sharing are no part of the product's name.
_SHARE = re.compile(r"(-MIG-(?:[0-9a-z.+]+|INVALID))?(-SHARED)?$")

# Where there is no label for the number of GPUs.
_RESOURCES = ("amd.com/gpu", "gpu.intel.com/xe", "gpu.intel.com/i915")

Named = Callable[[str], "GpuProduct | None"]


def list_nodes(value: object) -> Sequence[object]:
    """The nodes of a List, whose own kind the API leaves out; what is no such list is one thing, or several."""
    if not isinstance(value, dict) or value.get("kind") not in ("List", "NodeList"):
        return value if isinstance(value, list) else (value,)
    items = value.get("items")
    bare = {"apiVersion": "v1", "kind": "Node"}
    return [{**bare, **item} if isinstance(item, dict) else item for item in items] if isinstance(items, list) else ()


def machine_of_node(node: Fields, python: Python, named: Named) -> Machine:
    """The node as a machine; its `trouble` says where it has a GPU that nothing describes."""
    if node.text("kind") != "Node":
        raise node.fail("kind", f"must be Node, is {node.text('kind')!r}")
    metadata = node.object("metadata")
    labels = _texts(metadata.maybe_object("labels"))
    status = node.maybe_object("status")
    resources = _texts(status.maybe_object("capacity") if status else None)
    name = metadata.text("name")
    os = labels.get("kubernetes.io/os", "linux")
    cpu = labels.get("kubernetes.io/arch")
    if cpu is None:
        raise metadata.fail("labels", f"has no kubernetes.io/arch on {name}")
    words = Fields({"os": os, "cpu": _CPUS.get(cpu, cpu)}, metadata.at("labels"))
    product = _product(labels, named)
    return Machine(
        platform=Platform.from_json(words),
        python=python,
        driver=_driver(labels),
        gpus=() if product is None else gpus_of_product(product, _count(labels, resources)),
        notes=(Note("GLIBC_ASSUMED", "a container has the C library of its image, so it is not checked"),),
        trouble=_undescribed(labels, resources) if product is None else None,
        name=name,
    )


def gpus_of_product(product: GpuProduct, count: int) -> tuple[Gpu, ...]:
    """So many of a GPU that is known by its name alone."""
    return tuple(Gpu(index, product.vendor, product.name, product.arch, source="label") for index in range(count))


def _texts(fields: Fields | None) -> dict[str, str]:
    if fields is None:
        return {}
    values = ((name, fields.raw(name)) for name in fields.names())
    return {name: value for name, value in values if isinstance(value, str)}


def _product(labels: dict[str, str], named: Named) -> GpuProduct | None:
    """The GPU by the capability's labels, else by a product's name."""
    products = [_SHARE.sub("", labels[label]) for label in _PRODUCTS if labels.get(label)]
    capability = _version(labels, "", "gpu.compute.", ("major", "minor"))
    if capability is not None:
        return GpuProduct.nvidia(next(iter(products), None), Arch.of_capability(*numbers(capability)[:2]))
    return next(filter(None, map(named, products)), None)


def _count(labels: dict[str, str], resources: dict[str, str]) -> int:
    """How many GPUs; under MIG the label counts the instances, and it is 0 where they are not all alike."""
    text = labels.get(f"{_PREFIX}gpu.count") or next(filter(None, map(resources.get, _RESOURCES)), "1")
    count = int(text) if re.fullmatch(r"\d{1,4}", text) else 0
    return count if 0 < count <= _MOST_GPUS and "-MIG-" not in labels.get(f"{_PREFIX}gpu.product", "") else 1


def _undescribed(labels: dict[str, str], resources: dict[str, str]) -> Trouble | None:
    """A node whose GPUs have no description; None for one without any."""
    signs = [name for name in resources if name.startswith(_PREFIX)]
    signs += ["amd.com/gpu"] if resources.get("amd.com/gpu", "0") not in ("", "0") else []
    signs += [
        name
        for name, value in labels.items()
        if (name.startswith(f"{_PREFIX}gpu.") and value != "false")
        or name in _PRODUCTS
        or (value == "true" and _NFD.fullmatch(name))
    ]
    if not signs:
        return None
    return Trouble(
        "NO_CAPABILITY",
        f"it has {signs[0]}, and no label gives the compute capability or the product",
        "install its maker's labeller, such as NVIDIA's gpu-feature-discovery, or run `torchpick detect --json` there",
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
