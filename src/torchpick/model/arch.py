"""GPU architectures, and which compiled code runs on which of them.

The rules and their sources: NVIDIA's compatibility guides per generation, and PyTorch's own table
`DEVICE_REQUIREMENT` (torch/cuda/__init__.py, 2.11 and later), which this module states as four sentences.
"""

from __future__ import annotations

from torchpick.model import IntEnum, NamedTuple
from torchpick.model.versions import is_dotted, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The Tegra member of each generation: discrete code does not run there, nor theirs on discrete boards
# (torch/cuda/__init__.py, DEVICE_REQUIREMENT: 50 and 52 exclude 5.3, 60 and 61 exclude 6.2, 70 excludes 7.2,
# 80 and 86 exclude 8.7).
TEGRA = frozenset({(5, 3), (6, 2), (7, 2), (8, 7)})
# Chips that share their memory with an Arm processor, and so exist on it alone: Tegra, Thor (11.0), GB10 (12.1).
ARM_ONLY = TEGRA | {(11, 0), (12, 1)}
# From torch 2.14, for wheels of CUDA 13.2 and later, 70, 80 and 86 no longer exclude 7.2 and 8.7
# (DEVICE_REQUIREMENT_POST_JETSON_SBSA_UNIFICATION).
UNIFIED_TEGRA = frozenset({(7, 2), (8, 7)})

_HEX = frozenset("0123456789abcdef")


class Fit(IntEnum):
    """How well code supports a GPU; a larger one is better."""

    NONE = 0
    JIT = 1
    BINARY = 2
    EXACT = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Arch(NamedTuple):
    """One architecture: machine code (`sm_61`, `sm_90a`), PTX (`compute_120`) or an AMD target (`gfx1100`).

    For AMD, major and minor are 0 and `suffix` holds what follows `gfx`.
    """

    kind: str
    major: int
    minor: int
    suffix: str = ""

    @classmethod
    def parse(cls, text: str) -> Arch:
        """Read the printed form; raises ValueError."""
        kind, _, rest = text.partition("_")
        digits, suffix = (rest[:-1], rest[-1]) if rest[-1:] in ("a", "f") else (rest, "")
        if kind in ("sm", "compute") and len(digits) in (2, 3) and digits.isascii() and digits.isdigit():
            return cls(kind, int(digits[:-1]), int(digits[-1]), suffix)
        if text.startswith("gfx") and 6 <= len(text) <= 8 and all(char in _HEX for char in text[3:]):
            return cls("gfx", 0, 0, text[3:])
        raise ValueError(f"not an architecture: {text!r}")

    @classmethod
    def of_capability(cls, major: int, minor: int) -> Arch:
        return cls("sm", major, minor)

    def __str__(self) -> str:
        if self.kind == "gfx":
            return f"gfx{self.suffix}"
        return f"{self.kind}_{self.major}{self.minor}{self.suffix}"

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability; 10.1, which 10.0 does not run on, is the old name of 11.0 (sm_101 before CUDA 13)."""
        return (11, 0) if (self.major, self.minor) == (10, 1) else (self.major, self.minor)


# A table, and a fleet, names some thirty, again and again.
parsed = remembered(Arch.parse)


def fit(code: Arch, gpu: Arch, *, unified: bool = False) -> Fit:
    """How `code` supports `gpu`, the driver aside; `unified` is true for torch >= 2.14 built with CUDA >= 13.2."""
    if code.kind == "gfx" or gpu.kind == "gfx":
        return Fit.EXACT if code == gpu else Fit.NONE
    built, device = code.capability, gpu.capability
    if code.suffix == "a":  # architecture-specific: that one capability
        runs = built == device
    elif code.suffix == "f":  # family-specific: the family, from this member on
        runs = built[0] == device[0] and built[1] <= device[1]
    elif code.kind == "compute":  # PTX: any newer capability of any major
        runs = built <= device
    else:
        same = built[0] == device[0] and built[1] <= device[1]
        runs = same and not _tegra_wall(built, device, unified)
    if not runs:
        return Fit.NONE
    if code.kind == "compute":
        return Fit.JIT
    return Fit.EXACT if built == device else Fit.BINARY


def _tegra_wall(built: tuple[int, int], device: tuple[int, int], unified: bool) -> bool:
    """Whether one side is Tegra and the other is another chip."""
    if built == device or not (built in TEGRA or device in TEGRA):
        return False
    # After the unification discrete code crosses to Tegra; Tegra's own code still stays there.
    return built in TEGRA or not (unified and device in UNIFIED_TEGRA)


def crosses(code: Arch, gpu: Arch) -> bool:
    """Whether this is a discrete GPU's machine code on Tegra, which only the unified stack loads."""
    return code.kind == "sm" and gpu.capability in UNIFIED_TEGRA and code.capability not in TEGRA


def best(codes: tuple[Arch, ...], gpu: Arch, *, unified: bool = False) -> tuple[Fit, Arch | None]:
    """The best fit among the codes, and the code that gives it, if any: the newest of the equally good."""
    found, by = Fit.NONE, None
    for code in sorted(codes, key=lambda arch: (arch.capability, arch.suffix, arch)):
        here = fit(code, gpu, unified=unified)
        if here and here >= found:
            found, by = here, code
    return found, by


def listed(arches: Iterable[Arch]) -> str:
    """`sm_61 sm_70`, as a sentence names what code was built for."""
    return " ".join(map(str, arches)) or "no GPU"


def spoken_capability(spoken: str) -> str | None:
    """`6.1`, `61`, `sm_61`, `sm_90a` → `6.1`, `9.0`; None where the text is no capability at all."""
    prefix = next((word for word in ("sm_", "sm", "compute_") if spoken.startswith(word)), "")
    digits = spoken[len(prefix) :].lstrip(" ")
    if prefix and digits[-1:] in ("a", "f"):
        digits = digits[:-1]
    if is_dotted(digits) and digits.count(".") == 1:
        major, minor = digits.split(".")
    elif digits.isascii() and digits.isdigit() and len(digits) in (2, 3):
        major, minor = digits[:-1], digits[-1]
    else:
        return None
    return f"{int(major)}.{int(minor)}"
