"""How names of GPUs are written: pasted lines, brands' decoration, memory, boards, clouds' instance types.

The page of `matrix --html` has the same patterns, so they are of the kind that JavaScript reads too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# What drivers, shops and clusters add to a name without changing the chip (`NVIDIA H100 80GB HBM3`, `Orin (nvgpu)`).
DECORATION = (
    r"mig[0-9]+c?[0-9]*g[0-9]+gb(?:me(?:all)?|gfx)?$|withmaxqdesign|maxq|laptop(?:gpu)?|mobile|generation|graphics|"
    r"founders|fe$|lhr$|server|workstation|"
    r"edition|nvgpu|active|developerkit|engineering(?:sample|reference)|embedded|vws$|nvl(?:(?:8|16|72|144)(?![0-9g]))?|pcie|"
    r"sxm(?=[1-9][0-9]{0,2}gb)|sxm[2-6]?|hbm[23]e?|3e$|shared|gpu"
)
# `RTX 4060 Ti 16G`: memory without its B.
SHORT_MEMORY = r"(?:4|6|8|1[0-2]|16|20|24|32|40|48|80|94|96|141)g$"
MEMORY = r"(?=([1-9][0-9]{0,2})gb)"


# `g5.xlarge`, `ml.p4d.24xlarge`; `a2-highgpu-1g`, `g2-standard-4`; `Standard_NC4as_T4_v3`, whose number says how many.
CLOUD = (
    r"^(?:ml\.)?([a-z]{1,2}[0-9][a-z0-9-]*)\.[0-9a-z]+$|^([a-z][0-9]-[a-z]+)-[0-9]+g?$"
    r"|^(?:standard_)?(n[cdv])[0-9]+([a-z]*(?:_[a-z0-9]+)?_v[0-9])$"
)
# What is pasted has the name in it: lines of nvidia-smi -L, of a card or an instance; of lspci, after the chip's.
PASTED = (
    r"^gpu [0-9]+: (.+?)(?: \(uuid: [^\n]*)?(?:\n\s+mig [^\n]*)*$",
    r"^mig (\S+)\s+device\s+[0-9]+:",
    r"\b[a-z]{2,3}[0-9]{2,3}[a-z]* \[([^\]]+)\]",
)
# A Kubernetes label's key; `8x H100`, `RTX 4090 x2` and `T4:4` say how many, `(R)` and `(TM)` nothing.
COUNTED = r"^nvidia\.com/[a-z.]+=|^[0-9]{1,2} ?x ?(?=[a-z])|(?<=[0-9i]) x[0-9]{1,2}$|:[0-9]{1,2}$|\(r\)|\(tm\)"
BOARD = r"(?:-[0-9]{1,2})?-[0-9]{1,3}(?:[abcq](?:me|gfx|nome)?[0-9]?)?$"
# Intel's that no build supports.
INTEL_OLD = r"iris|uhd|hdgraphics|hd[3-6][0-9]0$|^xe$"
# What the vendors' tools and shops put around a name.
AROUND = (
    r"[ _](?:mcm|oam|hf|vf)(?:[ _].*)?$|\(r\)|\(tm\)|advanced micro devices,? ?(?:inc\.?)?|\[amd/ati\]"
    r"|\bgraphics\b|\bseries\b|\bgpu\b"
)
PATTERNS = {
    "pasted": PASTED,
    "counted": COUNTED,
    "board": BOARD,
    "around": AROUND,
    "decoration": DECORATION,
    "short": SHORT_MEMORY,
    "memory": MEMORY,
    "cloud": CLOUD,
    "old": INTEL_OLD,
}


def as_written(spoken: str) -> Iterator[str]:
    """The name out of a pasted line, then the board of a vGPU type: `GRID T4-8Q`, `A100D-1-10C`, `RTX A5000-12`."""
    for pattern in PASTED:
        if line := re.search(pattern, spoken):
            spoken = line[1]
    spoken = re.sub(COUNTED, "", spoken)
    yield spoken
    board = re.sub(BOARD, "", spoken)
    if board != spoken:
        yield board.removesuffix(" dc")  # `RTX Pro 6000 Blackwell DC-96Q`


def forms(plain: str) -> Iterator[str]:
    """The name as it stands, then with what changes no chip taken away."""
    yield plain
    bare = re.sub(DECORATION, "", plain)
    if bare and bare != plain:
        yield bare
    if (shorter := re.sub(SHORT_MEMORY, "", bare)) and shorter != bare:
        yield shorter
    if (longer := re.sub(r"(?<=[0-9i])s$", "super", bare)) != bare:  # `4070 TiS`, `1660S`
        yield longer
    for match in re.finditer(MEMORY, bare):
        if shorter := bare[: match.start()] + bare[match.end(1) + 2 :]:
            yield shorter
