"""evidence/gpus/amd-intel-apple.json → amd.json, intel.json, apple.json: names, PCI ids, rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scripts.table.gpus import plain

Row = dict[str, Any]

# rocBLAS of a ROCm release as the wheels bundle it, where it lacks a target that torch's own kernels have. `before`
# null: to this day.
_ROCBLAS: list[Row] = [
    {
        "from": "6.4",
        "before": None,
        "lacks": ["gfx900", "gfx906"],
        "source": "ROCm/legacy-rocm-build#4625 (files of 6.4.0); pytorch#179865 (files in a rocm7.2 wheel: the first "
        "matrix product aborts); rocm6.3 still computes on both (unsloth#7354, one user each for gfx900 and gfx906)",
        "confidence": "medium",
    },
    {
        "from": "7.0",
        "before": "7.14",
        "lacks": ["gfx1103"],
        "source": "pytorch#179865 (files in a rocm7.2 wheel); rocm-libraries#6320 (a matrix product fails for want of "
        "them); ROCm 7.14 has a device package for it",
        "confidence": "medium",
    },
]
# What HSA_OVERRIDE_GFX_VERSION may make of a target. `works`: often enough to be named; else it is never proposed.
_OVERRIDES: list[Row] = [
    {
        "targets": ["gfx1031", "gfx1032", "gfx1034", "gfx1035", "gfx1036"],
        "as": "10.3.0",
        "works": True,
        "why": "one instruction set with gfx1030; it works for many, and crashes were reported for gfx1031 and gfx1036",
        "source": "ROCm/Tensile#1907 (AMD staff); ROCm#3015, MIOpen#3540 (crashes)",
    },
    {
        "targets": ["gfx1033"],
        "as": "10.3.0",
        "works": False,
        "why": "it computes wrong numbers there",
        "source": "unsloth#8412",
    },
    {
        "targets": ["gfx1101", "gfx1102"],
        "as": "11.0.0",
        "works": True,
        "why": "needed only for torch before 2.6 and 2.7, whose builds lack the target",
        "source": "pytorch#141667, #147761",
    },
    {
        "targets": ["gfx1103"],
        "as": "11.0.0",
        "works": False,
        "why": "page faults and hangs were reported; torch 2.13 and newer have the target itself",
        "source": "pytorch#179653",
    },
    {
        "targets": ["gfx1150", "gfx1151", "gfx1152", "gfx1153"],
        "as": "11.0.0",
        "works": False,
        "why": "their registers differ from gfx1100's",
        "source": "ROCm/TheRock#4604",
    },
    {
        "targets": ["gfx1010", "gfx1011", "gfx1012"],
        "as": "10.3.0",
        "works": False,
        "why": "broken since ROCm 5.3",
        "source": "ROCm#2527",
    },
    {
        "targets": ["gfx902", "gfx90c"],
        "as": "9.0.0",
        "works": False,
        "why": "rocBLAS dropped gfx900; with rocm6.3 alone one user's Vega 8 computed right",
        "source": "rocBLAS#1352; daimonionnn/amd-vega-rocm-vulkan-llm-toolkit#1",
    },
]
_SERVED = ("validated", "not validated, same architecture", "same series")
_DISCRETE = ("Ponte Vecchio", "Alchemist", "Battlemage")


def amd(facts: Row) -> Row:
    """amd.json: targets, names, PCI ids, what rocBLAS lacks, overrides."""
    return {
        "schema": 1,
        "read": facts["read"],
        "sources": facts["sources"],
        "targets": [_target(row) for row in facts["targets"]],
        "rocblas": _ROCBLAS,
        "overrides": _OVERRIDES,
        "names": [_name(row) for row in facts["names"]],
        "pci": [_device(row) for row in facts["pci"]],
    }


def _target(fact: Row) -> Row:
    return {
        "gfx": fact["gfx"],
        "isa": fact["isa"],
        "chips": list(fact["chips"]),
        "integrated": fact["apu"],
        "note": fact["note"],
    }


def _name(fact: Row) -> Row:
    # `Duo`, `RX`, `SSG` alone are no names.
    keys = dict.fromkeys(plain(fact[name]) for name in ("key", "short_key"))
    keys = dict.fromkeys(key for key in keys if len(key) > 3 or (key[:1].isalpha() and key[-1:].isdigit()))
    return {
        "name": fact["spellings"][0],
        "keys": list(keys),
        "gfx": list(fact["gfx"]),
        "sources": list(fact["sources"]),
    }


def _device(fact: Row) -> Row:
    """A PCI id with the product's name as pci.ids has it in brackets, else its chip's."""
    product = _listed_product(fact) or fact["chip"]
    return {
        "id": _device_id(fact),
        "gfx": fact["gfx"],
        "chip": fact["chip"],
        "name": f"AMD {product}",
        "source": fact["source"],
    }


def intel(facts: Row) -> Row:
    """intel.json: generations with what the XPU builds make of them, their names and PCI ids."""
    part = facts["intel"]
    return {
        "schema": 1,
        "read": facts["read"],
        "generations": [
            {
                "generation": row["generation"],
                "xpu": row["xpu"],
                "served": row["xpu"].startswith(_SERVED),
                "integrated": not row["generation"].startswith(_DISCRETE),
                "first_torch": row["first_torch"],
                "note": row["note"],
            }
            for row in part["generations"]
        ],
        "names": [
            {"name": row["name"], "generation": row["generation"], "source": row["source"]} for row in part["names"]
        ],
        "ambiguous": part["ambiguous_names"],
        "pci": list(_intel_devices(part)),
    }


def _intel_devices(part: Row) -> Iterator[Row]:
    for row in part["pci"]:
        name = row.get("name_level_zero") or _listed_product(row) or row["generation"]
        name = name.replace("(R)", "").replace("(TM)", "")
        yield {
            "id": _device_id(row),
            "name": name if name.startswith("Intel") else f"Intel {name}",
            "generation": row["generation"],
        }


def _listed_product(fact: Row) -> str:
    """`Navi 31 [Radeon RX 7900 XTX]` in pci.ids → the product; empty where it names none."""
    return (fact.get("name_pci_ids") or "").partition("[")[2].rstrip("]")


def _device_id(fact: Row) -> str:
    """`1002:744c` → `0x744c`."""
    return f"0x{fact['id'].partition(':')[2]}"


def apple(facts: Row) -> Row:
    """apple.json: chips, and from which macOS on torch's wheels install and reach the GPU."""
    part = facts["apple"]
    return {
        "schema": 1,
        "read": facts["read"],
        "chips": list(part["chips"]),
        "mps": [
            {
                "from": row["torch"].replace(" and later", "").partition("-")[0],
                "macos": row["needs_macos"],
                "source": row["source"],
            }
            for row in part["mps"]
        ],
        "wheels": part["wheels"],
        "notes": ["the last release for Intel Macs is 2.2.2, for Python 3.8 to 3.12"],
    }


def index(amd_: Row, intel_: Row, apple_: Row) -> Row:
    """The compact index that names and PCI ids of these vendors are looked up in."""
    served = {row["generation"]: row for row in intel_["generations"]}
    names: dict[str, str] = {}
    for row in amd_["names"]:
        for key in row["keys"]:
            names.setdefault(key, " ".join(row["gfx"]))
    for row in amd_["targets"]:
        for chip in row["chips"]:
            if "(" not in chip and ":" not in chip:
                names.setdefault(plain(chip), row["gfx"])
    generations = list(served)
    intel_names = {plain(row["name"]): generations.index(row["generation"]) for row in intel_["names"]}
    return {
        "schema": 1,
        "amd_names": dict(sorted(names.items())),
        "amd_products": [row["name"] for row in amd_["names"]],
        "amd_integrated": [row["gfx"] for row in amd_["targets"] if row["integrated"]],
        "amd_pci": {row["id"][2:]: [row["gfx"], row["name"]] for row in amd_["pci"]},
        "intel_generations": [
            [name, row["served"], row["integrated"], row["first_torch"]] for name, row in served.items()
        ],
        "intel_names": dict(sorted(intel_names.items())),
        "intel_products": [row["name"] for row in intel_["names"]],
        "intel_pci": {row["id"][2:]: [generations.index(row["generation"]), row["name"]] for row in intel_["pci"]},
        "apple_chips": list(apple_["chips"]),
    }
