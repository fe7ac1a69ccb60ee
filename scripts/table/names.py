"""gpus.json → the index that names and PCI ids are looked up in (torchpick.knowledge.gpuindex reads it)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from scripts.table.gpus import on_the_box, plain, sold, words
from torchpick.knowledge.gpuindex import brand
from torchpick.model.arch import Arch
from torchpick.model.versions import numbers

Row = dict[str, Any]

# The brand that a product's name begins with → its family; names that begin otherwise are `n`.
_FAMILY = {"geforce": "g", "quadro": "w", "rtx": "w", "tesla": "d", "grid": "d", "jetson": "j"}
# Words that people leave out although another product bears the rest of the name: `RTX 6000` may be Turing, Ada or
# Blackwell, `TITAN X` Maxwell or Pascal.
_SERIES = frozenset({"pro", "ada", "blackwell", "pascal", "workstation", "server"})


def index(gpus: Row, drivers: Row) -> Row:
    """The compact index: keys are letters and digits only, values `family+capability` words."""
    capabilities = _capabilities(gpus, drivers)
    products = _products(gpus)
    full: dict[str, set[str]] = {}
    exact: dict[str, set[str]] = {}
    longer: dict[str, set[str]] = {}
    chips = {plain(chip["chip"]) for chip in gpus["chips"]}
    for name, each in products.items():
        listed = words(name)
        family = _FAMILY.get(listed[0], "n")
        for key in {"".join(listed), "".join(on_the_box(listed, chips))}:
            if brand(key)[1] != key:
                full.setdefault(key, set()).update(each)
        for bare in _cores(listed, chips):
            exact.setdefault(bare, set()).update(family + capability for capability in each)
        for begun in _beginnings(listed):
            longer.setdefault(begun, set()).update(family + capability for capability in each)
    _add_exact_names(gpus, full, exact)
    # The beginning of a name means the product only where no other is called exactly so.
    core = {key: " ".join(sorted(each)) for key, each in {**longer, **exact}.items()}
    return {
        "schema": 1,
        "capabilities": capabilities,
        "sold_most": _sold_most(gpus),
        "mig": _mig(gpus),
        "clouds": gpus["clouds"],
        "arm_only": [plain(name) for name in gpus["arm_only"]],
        "full": {key: " ".join(_ordered(each)) for key, each in sorted(full.items())},
        "core": dict(sorted(core.items())),
        "products": list(products),
        "product_capabilities": [" ".join(_ordered(each)) for each in products.values()],
        "pci_ranges": list(_ranges(gpus)),
        "pci_devices": _devices(gpus),
    }


def _capabilities(gpus: Row, drivers: Row) -> list[str]:
    """Every capability a CUDA GPU of today can have: the chips', and what the toolkits compile for."""
    found = {chip.get("capability") for chip in gpus["chips"]}
    for toolkit in drivers["toolkit_arches"]:
        arches = [Arch.parse(text) for text in toolkit["arches"]]
        found.update(f"{arch.major}.{arch.minor}" for arch in arches)
    # 1.x ended with CUDA 6.5; `12` must not be taken for it.
    return _ordered({each for each in found if each is not None and not each.startswith("1.")})


def _products(gpus: Row) -> dict[str, set[str]]:
    """Name → its capabilities, `?` for an unknown one; names that differ in case and spacing are one."""
    devices: list[Row] = [{name: device[name] for name in ("name", "capability")} for device in gpus["pci"]["devices"]]
    rows = [(row["name"], row.get("capability")) for row in gpus["products"]]
    rows += [(str(row["name"]), None if row["capability"] is None else str(row["capability"])) for row in sold(devices)]
    spelled: dict[str, str] = {}
    found: dict[str, set[str]] = {}
    for name, capability in rows:
        first = spelled.setdefault(plain(name), name)
        found.setdefault(first, set()).add(capability or "?")
    return found


def _add_exact_names(gpus: Row, full: dict[str, set[str]], exact: dict[str, set[str]]) -> None:
    """Chips, and the PCI names that are no product's: what is found by exactly that name."""
    for chip in gpus["chips"]:
        if (capability := chip.get("capability")) is not None:
            key = plain(chip["chip"])
            if brand(key)[1] != key:
                full.setdefault(key, set()).add(capability)
            exact.setdefault(key, set()).add(f"n{capability}")
    for device in _no_products(gpus):
        key = plain(device["name"])
        capability = device.get("capability") or "?"
        if brand(key)[1] != key:
            full.setdefault(key, set()).add(capability)
        exact.setdefault(brand(key)[1], set()).add(f"n{capability}")


def _no_products(gpus: Row) -> Iterator[Row]:
    """The devices whose PCI name is no product's: found by exactly that name, and suggested to nobody."""
    for device in gpus["pci"]["devices"]:
        row: Row = {"name": device["name"]}
        if not sold([row]):
            yield device


def _sold_most(gpus: Row) -> Row:
    """What a shared name stands for, by the letters after its brand."""
    return {brand(plain(row["name"]))[1]: row["capability"] for row in gpus["sold_most"]}


def _mig(gpus: Row) -> Row:
    """`1g10gb` → the GPUs with such an instance, the first sold first."""
    found: dict[str, list[str]] = {}
    for row in gpus["mig"]:
        for profile in row["profiles"]:
            found.setdefault(plain(profile), []).append(f"{row['capability']} {row['gpu']}")
    return dict(found)


def _cores(listed: list[str], chips: Collection[str]) -> Iterator[str]:
    """What this very product may be called without its brand."""
    bare = on_the_box(listed, chips)
    without_pro = [word for word in bare if word != "pro"]
    for left in (listed, bare, without_pro, [word for word in bare if word not in _SERIES]):
        core = brand("".join(left))[1]
        # `nano` alone may be a Jetson Nano or an Orin Nano: a core of one word needs a number, or no brand before it.
        if core and (core != "".join(left[-1:]) or re.search(r"\d", core) or len(left) == 1 == len(listed)):
            yield core


def _beginnings(listed: list[str]) -> Iterator[str]:
    """The beginnings of the name, as long as they hold a number; a Tesla's also without the letters of its board."""
    for end in range(1, len(listed) + 1):
        core = brand("".join(listed[:end]))[1]
        if re.search(r"\d", core) or core == "titan":
            yield core
        if listed[0] == "tesla" and (board := re.fullmatch(r"([a-z]\d{2})[a-z]{1,2}", core)):  # K40c, K40m, K40st
            yield board[1]


def _ordered(capabilities: set[str]) -> list[str]:
    return sorted(capabilities, key=lambda each: (each == "?", numbers(each) if each != "?" else ()))


def _ranges(gpus: Row) -> Iterator[list[object]]:
    for row in gpus["pci"]["ranges"]:
        yield [int(row["first"], 16), int(row["last"], 16), row["capability"]]


def _devices(gpus: Row) -> Row:
    """The devices for which their range, or having none, gives another answer."""
    ranges = [(int(str(first)), int(str(last)), each) for first, last, each in _ranges(gpus)]
    found: Row = {}
    for device in gpus["pci"]["devices"]:
        number, capability = int(device["id"], 16), device.get("capability")
        by_range = [each for first, last, each in ranges if first <= number <= last]
        if by_range != [capability]:
            found[f"{number:04x}"] = capability
    return dict(sorted(found.items()))
