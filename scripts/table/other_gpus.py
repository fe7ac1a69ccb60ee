"""evidence/gpus/amd-intel-apple.json → amd.json, intel.json, apple.json: names, PCI ids, rules."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.table.gpus import plain
from torchpick.model.fields import Fields

Row = dict[str, object]

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


def amd(facts: Fields) -> Row:
    """amd.json: targets, names, PCI ids, what rocBLAS lacks, overrides."""
    return {
        "schema": 1,
        "read": facts.text("read"),
        "sources": facts.raw("sources"),
        "targets": [_target(row) for row in facts.objects("targets")],
        "rocblas": _ROCBLAS,
        "overrides": _OVERRIDES,
        "names": [_name(row) for row in facts.objects("names")],
        "pci": [_device(row) for row in facts.objects("pci")],
    }


def _target(fact: Fields) -> Row:
    return {
        "gfx": fact.text("gfx"),
        "isa": fact.text("isa"),
        "chips": list(fact.texts("chips")),
        "integrated": fact.flag("apu"),
        "generic": fact.maybe_text("generic"),
        "note": fact.text("note"),
    }


def _name(fact: Fields) -> Row:
    # `Duo`, `RX`, `SSG` alone are no names.
    keys = dict.fromkeys(plain(fact.text(name)) for name in ("key", "short_key"))
    keys = dict.fromkeys(key for key in keys if len(key) > 3 or (key[:1].isalpha() and key[-1:].isdigit()))
    return {
        "name": fact.texts("spellings")[0],
        "keys": list(keys),
        "gfx": list(fact.texts("gfx")),
        "sources": list(fact.texts("sources")),
    }


def _device(fact: Fields) -> Row:
    """A PCI id with the product's name as pci.ids has it in brackets, else its chip's."""
    product = _listed_product(fact) or fact.text("chip")
    return {
        "id": _device_id(fact),
        "gfx": fact.text("gfx"),
        "chip": fact.text("chip"),
        "name": f"AMD {product}",
        "source": fact.text("source"),
    }


def intel(facts: Fields) -> Row:
    """intel.json: generations with what the XPU builds make of them, their names and PCI ids."""
    part = facts.object("intel")
    return {
        "schema": 1,
        "read": facts.text("read"),
        "generations": [
            {
                "generation": row.text("generation"),
                "xpu": row.text("xpu"),
                "served": row.text("xpu").startswith(_SERVED),
                "integrated": not row.text("generation").startswith(_DISCRETE),
                "first_torch": row.text("first_torch"),
                "note": row.text("note"),
            }
            for row in part.objects("generations")
        ],
        "names": [
            {"name": row.text("name"), "generation": row.text("generation"), "source": row.text("source")}
            for row in part.objects("names")
        ],
        "ambiguous": part.raw("ambiguous_names"),
        "pci": list(_intel_devices(part)),
    }


def _intel_devices(part: Fields) -> Iterator[Row]:
    for row in part.objects("pci"):
        name = row.maybe_text("name_level_zero") or _listed_product(row) or row.text("generation")
        name = name.replace("(R)", "").replace("(TM)", "")
        yield {
            "id": _device_id(row),
            "name": name if name.startswith("Intel") else f"Intel {name}",
            "generation": row.text("generation"),
        }


def _listed_product(fact: Fields) -> str:
    """`Navi 31 [Radeon RX 7900 XTX]` in pci.ids → the product; empty where it names none."""
    return (fact.maybe_text("name_pci_ids") or "").partition("[")[2].rstrip("]")


def _device_id(fact: Fields) -> str:
    """`1002:744c` → `0x744c`."""
    return f"0x{fact.text('id').partition(':')[2]}"


def apple(facts: Fields) -> Row:
    """apple.json: chips, and from which macOS on torch's wheels install and reach the GPU."""
    part = facts.object("apple")
    return {
        "schema": 1,
        "read": facts.text("read"),
        "chips": list(part.texts("chips")),
        "mps": [
            {
                "from": row.text("torch").replace(" and later", "").partition("-")[0],
                "macos": row.text("needs_macos"),
                "source": row.text("source"),
            }
            for row in part.objects("mps")
        ],
        "wheels": part.raw("wheels"),
        "notes": ["the last release for Intel Macs is 2.2.2, for Python 3.8 to 3.12"],
    }


def index(amd_: Fields, intel_: Fields, apple_: Fields) -> Row:
    """The compact index that names and PCI ids of these vendors are looked up in."""
    served = {row.text("generation"): row for row in intel_.objects("generations")}
    names: dict[str, str] = {}
    for row in amd_.objects("names"):
        for key in row.texts("keys"):
            names.setdefault(key, " ".join(row.texts("gfx")))
    for row in amd_.objects("targets"):
        for chip in row.texts("chips"):
            if "(" not in chip and ":" not in chip:
                names.setdefault(plain(chip), row.text("gfx"))
    generations = list(served)
    intel_names = {
        plain(row.text("name")): generations.index(row.text("generation")) for row in intel_.objects("names")
    }
    return {
        "schema": 1,
        "amd_names": dict(sorted(names.items())),
        "amd_products": [row.text("name") for row in amd_.objects("names")],
        "amd_integrated": [row.text("gfx") for row in amd_.objects("targets") if row.flag("integrated")],
        "amd_pci": {row.text("id")[2:]: [row.text("gfx"), row.text("name")] for row in amd_.objects("pci")},
        "intel_generations": [
            [name, row.flag("served"), row.flag("integrated"), row.text("first_torch")] for name, row in served.items()
        ],
        "intel_names": dict(sorted(intel_names.items())),
        "intel_products": [row.text("name") for row in intel_.objects("names")],
        "intel_pci": {
            row.text("id")[2:]: [generations.index(row.text("generation")), row.text("name")]
            for row in intel_.objects("pci")
        },
        "apple_chips": list(apple_.texts("chips")),
    }
