"""Machines as lines of JSON, one in less than 1,000 bytes, and as nodes of Kubernetes; the values of a stream.

A short line holds what decides, and equal neighbours among the GPUs once, with `count`. Launchers cut long lines into
each other: slurmstepd forwards output in pieces of at most 1,024 bytes (SLURM_IO_MAX_MSG_LEN in its io.c).
"""

from __future__ import annotations

import errno
import json
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, dumps, envelope, written
from torchpick.model.machine import MOST_GPUS, Driver, Gpu, GpuProduct, Machine, Note, Platform, Python, Trouble
from torchpick.model.versions import major_minor, numbers

MOST_BYTES = 1_000
# Prose is cut to this: the important part comes first.
_MOST_TEXT = 110
_MOST_NAME = 64


def write_line(machine: Machine) -> str:
    """The envelope of `detect --json` in this form; without the GPUs' names where it would be too long with them."""
    status = 0 if machine.trouble is None else 4
    for named in (True, False):
        text = dumps(envelope("detect", status, machine=_deciding(machine, named=named)))
        if len(text) < MOST_BYTES:
            break
    return text


def _deciding(machine: Machine, *, named: bool) -> dict[str, object]:
    """What `to_dict` writes, without what no decision needs."""
    value: dict[str, object] = {
        "name": None if machine.name is None else machine.name[:_MOST_NAME],
        "platform": _present(machine.platform),
        "python": _present(machine.python._replace(executable=None, source="given")),
        "driver": None if machine.driver is None else _present(machine.driver),
        "gpus": _rows(machine.gpus, named=named),
    }
    if machine.trouble is not None:
        code, text, hint = machine.trouble
        value["trouble"] = Trouble(code, _cut(text), _cut(hint))
    return value


def _cut(text: str) -> str:
    """The text, or as many of its words as there is room for."""
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 4].rsplit(' ', 1)[0]} ..."


def _present(facts: Platform | Python | Driver | Gpu) -> dict[str, object]:
    """What says more than a reader takes for granted."""
    usual = {"index": 0, "vendor": "nvidia", **facts._field_defaults}
    return {name: value for name, value in written(facts).items() if value != usual.get(name)}


def _rows(gpus: tuple[Gpu, ...], *, named: bool) -> list[dict[str, object]]:
    """Equal neighbours once."""
    most = _MOST_NAME if named else 0
    kinds = (
        gpu._replace(index=0, name=(gpu.name or "")[:most] or None, uuid=None, pci=None, source="given") for gpu in gpus
    )
    rows: list[dict[str, object]] = []
    for gpu, alike in groupby(kinds):
        count = len(list(alike))
        rows.append({**_present(gpu), **({"count": count} if count > 1 else {})})
    return rows


def expand_gpus(value: object) -> object:
    """The same machine with a row for each GPU; what is not in this form is left for the reader to judge."""
    if not isinstance(value, dict) or not isinstance(value.get("gpus"), list):
        return value
    gpus: list[object] = []
    for row in value["gpus"][: MOST_GPUS + 1]:
        count = row.get("count") if isinstance(row, dict) else None
        if type(count) is int and 0 < count <= MOST_GPUS:
            gpus += [{name: row[name] for name in row if name != "count"}] * count
        else:
            gpus.append(row)
    return {**value, "gpus": gpus}


_MOST_HOST = 253  # a DNS name


def host_name(environ: Mapping[str, str]) -> str | None:
    """Slurm's own name of the node, which several slurmd on one host do not share, else the system's."""
    return (environ.get("SLURMD_NODENAME") or platform.node())[:_MOST_HOST] or None


def file_name(name: str) -> str:
    """The name as one of a file: no separator, and not hidden."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:_MOST_HOST] or "host"


# `kubectl get nodes -o json` is 10 to 30 kB a node, so this is a cluster of several thousand.
_MOST_OF_A_STREAM = 128 << 20
# `srun -l` writes `3: {`, pdsh `node3: {`.
_PREFIX = re.compile(r"\A([^\s{}\[\]\",:]{1,255}): ?(?=[\[{])")
_SHOWN = 60


def read_values(stream: IO[bytes]) -> Iterator[tuple[int, str | None, object, str]]:
    """Every value of the stream: the line it begins on, the host that its prefix names, itself, or why there is none.

    One may be spread over lines, alone in its stream.
    """
    text = _text(stream)
    if "\n" in text.strip():
        value, why = _decoded(text.strip())
        if not why:
            yield 1, None, value, ""
            return
    for number, line in enumerate(text.split("\n"), 1):
        *prefix, body = _PREFIX.split(line.strip(), maxsplit=1)
        if body:
            value, why = _decoded(body)
            yield number, prefix[-1] if prefix else None, value, why and f"not JSON: {why}"


def _decoded(text: str) -> tuple[object, str]:
    """The value that this text is, or why it is none."""
    try:
        return json.loads(text), ""
    except json.JSONDecodeError:
        why = "cut in the middle" if text[0] in "[{" else text[:_SHOWN].partition("\n")[0]
        return None, _NO_TEXT if "\N{REPLACEMENT CHARACTER}" in why else why
    except (ValueError, RecursionError):  # a number of thousands of digits, hostile depth
        return None, "a value that does not describe a machine"


def _text(stream: IO[bytes]) -> str:
    """All of the stream, also where PowerShell's `>` wrote UTF-16 or a byte order mark."""
    data = stream.read(_MOST_OF_A_STREAM + 1)
    if len(data) > _MOST_OF_A_STREAM:
        raise OSError(errno.EFBIG, f"it is larger than {_MOST_OF_A_STREAM >> 20} MiB")
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")


_NO_TEXT = "not UTF-8 text"
_MOST_GPUS = 64
_CPUS = {"amd64": "x86_64", "arm64": "aarch64"}
_NVIDIA = "nvidia.com/"
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
    labels = _strings(metadata.maybe_object("labels"))
    status = node.maybe_object("status")
    resources = _strings(status.maybe_object("capacity") if status else None)
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


def _strings(fields: Fields | None) -> dict[str, str]:
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
    text = labels.get(f"{_NVIDIA}gpu.count") or next(filter(None, map(resources.get, _RESOURCES)), "1")
    count = int(text) if re.fullmatch(r"\d{1,4}", text) else 0
    return count if 0 < count <= _MOST_GPUS and "-MIG-" not in labels.get(f"{_NVIDIA}gpu.product", "") else 1


def _undescribed(labels: dict[str, str], resources: dict[str, str]) -> Trouble | None:
    """A node whose GPUs have no description; None for one without any."""
    signs = [name for name in resources if name.startswith(_NVIDIA)]
    signs += ["amd.com/gpu"] if resources.get("amd.com/gpu", "0") not in ("", "0") else []
    signs += [
        name
        for name, value in labels.items()
        if (name.startswith(f"{_NVIDIA}gpu.") and value != "false")
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
    listed = [labels.get(f"{_NVIDIA}{old}{part}") for part in parts]
    text = labels.get(f"{_NVIDIA}{full}") or ".".join(part for part in listed if part)
    return text if re.fullmatch(r"\d{1,4}(\.\d{1,4}){1,3}", text) else None
