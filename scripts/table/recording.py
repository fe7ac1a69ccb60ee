"""Record what the stories' tests rest on: compat/packages as it is today, and the newest torch that they know.

The tests of stories run on this recording, so that a new release of anything turns none of them red.

usage: scripts/record-stories
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.table import layout

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "compat" / "packages"
RECORDED = ROOT / "tests" / "stories" / "recorded.json"
# What the stories name, and what that asks for.
NAMES = (
    "bitsandbytes", "causal-conv1d", "ctranslate2", "faster-whisper", "flash-attn", "jax", "jax-cuda12-pjrt",
    "jax-cuda12-plugin", "lmdeploy", "mamba-ssm", "onnxruntime-gpu", "sgl-kernel", "sglang", "sglang-kernel",
    "speechbrain", "tensorflow", "torch", "torchao", "torchcodec", "unsloth", "unsloth-zoo", "vllm", "whisperx",
    "xformers",
)  # fmt: skip


def main(words: Sequence[str]) -> int:
    """Write the recording."""
    if words:
        print("usage: scripts/record-stories", file=sys.stderr)
        return 2
    packages = [json.loads((PACKAGES / f"{name}.json").read_text(encoding="utf-8")) for name in NAMES]
    newest = packages[NAMES.index("torch")]["versions"][0]["version"]
    layout.write_compact(RECORDED, {"newest_torch": newest, "packages": packages})
    return 0
