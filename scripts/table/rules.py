"""The collected driver facts and the written rules → drivers.json, libraries.json, family.json."""

from __future__ import annotations

import re

from scripts.table import branches, layout
from scripts.table.wording import source
from torchpick.model.fields import Fields
from torchpick.model.versions import major_minor, numbers

Row = dict[str, object]

_TOOLKIT = re.compile(r"(\d+\.\d+)((?:U|GA)\d+)?")


def drivers(facts: Fields) -> Row:
    """Which driver carries which CUDA, and which driver serves which GPU."""
    toolkits = sorted((_toolkit(fact) for fact in facts.objects("toolkit_driver")), key=_newest_first)
    return {
        "schema": 1,
        "toolkits": toolkits,
        "majors": [_major(fact) for fact in facts.objects("driver_min_for_minor_version_compat")],
        **branches.sections(Fields(layout.read(branches.EVIDENCE), branches.EVIDENCE.name)),
        "unified_tegra": {
            "linux": "595",
            "source": "JetPack 7 (the SBSA stack) brings driver R595; before it, Orin does not load the code of "
            "discrete GPUs",
            "confidence": "medium",
        },
        "toolkit_arches": [_toolkit_arches(fact) for fact in facts.objects("toolkit_sm_support")],
        "forward_compat": [_forward(fact) for fact in facts.objects("forward_compat")],
        "notes": [
            source(facts.text("driver_max_column_note")),
            "under WSL2 the Windows driver decides and a Linux wheel is used: compare with the Windows column "
            "(NVIDIA WSL guide; medium)",
            "Tegra GPUs (5.3, 6.2, 7.2, 8.7) get their driver from JetPack (540.4.0 in JetPack 6); the SBSA stack that "
            "runs the common aarch64 wheels on 8.7 is R595 and later (medium)",
        ],
    }


def _toolkit(fact: Fields) -> Row:
    match = _TOOLKIT.fullmatch(fact.text("toolkit"))
    if match is None:
        raise fact.fail("toolkit", f"is no toolkit: {fact.text('toolkit')!r}")
    return {
        "cuda": match[1],
        "update": match[2],
        "linux": fact.maybe_text("linux"),
        "windows": fact.maybe_text("windows"),
        **_said(fact),
    }


def _newest_first(row: Row) -> tuple[tuple[int, ...], str]:
    return tuple(-part for part in numbers(str(row["cuda"]))), str(row["update"] or "")


def _major(fact: Fields) -> Row:
    return {
        "cuda_major": fact.number("cuda_major"),
        "linux": fact.text("linux"),
        "windows": fact.text("windows"),
        **_said(fact),
    }


def _toolkit_arches(fact: Fields) -> Row:
    toolkit = fact.text("toolkit")
    return {
        "toolkit": toolkit,
        "cuda": major_minor(toolkit),
        "arches": list(fact.texts("ptxas_gpu_names")),
        **_said(fact),
    }


def _forward(fact: Fields) -> Row:
    row: Row = {"rule": fact.text("rule")}
    for name in ("platforms", "not_covered"):
        if fact.has(name):
            row[name] = fact.text(name)
    return {**row, **_said(fact)}


def _said(fact: Fields) -> Row:
    """Source, confidence and note of a fact, as every row carries them."""
    row: Row = {"source": source(fact.text("source")), "confidence": fact.text("confidence")}
    if fact.has("note"):
        row["note"] = source(fact.text("note"))
    return row


_CUDNN = "NVIDIA cuDNN support matrix"
_NCCL = "NVIDIA/nccl makefiles/common.mk, default gencode"
_UNSCANNED = "derived from the makefile; the shipped nvidia-nccl wheel was not scanned"

# `from` is the first version with this floor; it holds until the next row of the same CUDA major.
LIBRARIES: Row = {
    "schema": 1,
    "cudnn": [
        {
            "from": "8.0",
            "floor": "3.5",
            "source": _CUDNN,
            "confidence": "medium",
            "note": "late 8.x may already need 5.0; 8.7 (torch 2.0-2.3 cu118) counts as 3.5",
        },
        {"from": "9.0", "floor": "5.0", "source": _CUDNN, "confidence": "high"},
        {
            "from": "9.11",
            "floor": "7.5",
            "source": f"{_CUDNN}; pytorch PRs #172598, #175253",
            "confidence": "high",
            "note": "9.10.2 is the last with Maxwell, Pascal and Volta",
        },
    ],
    "nccl": [
        {"from": "2.14", "cuda_major": 11, "floor": "3.5", "source": f"{_NCCL}, v2.14", "confidence": "medium"},
        {
            "from": "2.19",
            "cuda_major": 12,
            "floor": "5.0",
            "source": f"{_NCCL}, v2.19-v2.21",
            "confidence": "medium",
            "note": _UNSCANNED,
        },
        {
            "from": "2.27.5",
            "cuda_major": 13,
            "floor": "7.5",
            "source": f"{_NCCL}, v2.27.5",
            "confidence": "medium",
            "note": _UNSCANNED,
        },
        {
            "from": "2.28.9",
            "cuda_major": 12,
            "floor": "6.0",
            "source": f"{_NCCL}, v2.28.9",
            "confidence": "medium",
            "note": f"Maxwell works on one GPU, several GPUs through NCCL may not; {_UNSCANNED}",
        },
    ],
    "triton": [
        {
            "from": "2.0",
            "floor": "7.0",
            "source": "triton README up to 3.2; torch 2.15.0 raises GPUTooOldForTriton below 7.0",
            "confidence": "high",
            "note": "below the floor eager mode works and torch.compile does not",
        },
        {
            "from": "3.3",
            "floor": "8.0",
            "source": "triton README; triton PR #5066 removed the code paths of V100 and T4",
            "confidence": "medium",
            "note": "torch itself still refuses only below 7.0",
        },
    ],
}

FAMILY: Row = {
    "schema": 1,
    "source": "the names that uv 0.13.8 redirects to the PyTorch index (crates/uv-torch, read in source)",
    "names": [
        "fbgemm-gpu",
        "fbgemm-gpu-genai",
        "pytorch-triton",
        "pytorch-triton-rocm",
        "pytorch-triton-xpu",
        "torch",
        "torch-tensorrt",
        "torchao",
        "torcharrow",
        "torchaudio",
        "torchcodec",
        "torchcsprng",
        "torchdistx",
        "torchrec",
        "torchserve",
        "torchtext",
        "torchtune",
        "torchvision",
        "triton",
        "triton-rocm",
        "triton-xpu",
        "xformers",
    ],
    "pinned": ["torch", "torchvision", "torchaudio"],
}
