"""From a name of AMD's, Intel's or Apple's to the GPU: `RX 7900 XTX`, `Arc B580`, `M3 Max`; and PCI ids of all makers.

Case, blanks, hyphens and trademark signs never matter. compat/amd.json, intel.json and apple.json say where each name
is from; the index holds them by their letters and digits alone.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import NamedTuple

from torchpick.errors import UsageError
from torchpick.knowledge import gpunames
from torchpick.knowledge.gpuindex import Names, letters
from torchpick.knowledge.gpunames import LONGEST, Candidates
from torchpick.model.arch import GENERIC, Arch
from torchpick.model.fields import Fields
from torchpick.model.machine import GpuProduct, Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Names that can only be theirs, by letters and digits alone; what matches is not looked up among NVIDIA's names.
_AMD = (
    r"radeon|instinct|firepro|^amd|^rx(?:vega)?[0-9]|^vega(?:[0-9]|$)|^mi[1-9][0-9]{1,2}[ax]?$|^strix(?:halo|point)"
    r"|^ryzen|^steam(?:deck|machine)|^w[67][0-9]{3}x?$|^wx[0-9]"
)
_INTEL = (
    r"^intel|^arc(?:pro)?(?:[ab][0-9]|1[34]0[tv]|graphics|$)|^(?:iris|uhd|irisxe)|^(?:datacenter)?gpu(?:max|flex)"
    r"|^[ab](?:310|350|370|380|550|570|580|730|750|770)$|^hd[3-6][0-9]0$|^xe$|^coreultra"
)
# M6, M10, M40 and M60 are Teslas; M4 is both, and Apple sold more.
_APPLE = r"^(?:apple)?m(?:[1-5]|[1-9](?:pro|max|ultra))$|^apple"
# What the vendors' tools and shops put around a name.
_AROUND = (
    r"[ _](?:mcm|oam|hf|vf)(?:[ _].*)?$|\(r\)|\(tm\)|advanced micro devices,? ?(?:inc\.?)?|\[amd/ati\]"
    r"|\bgraphics\b|\bseries\b|\bgpu\b"
)
_MOST_CLOSE = 6
MAC = "macos-arm64"
_MESSAGES = {
    "UNKNOWN_NAME": "`{text}` is not a known GPU",
    "AMBIGUOUS": "`{text}` matches GPUs with different capabilities",
    "NO_SUCH_CAPABILITY": "`{text}` is not a compute capability of any known NVIDIA GPU",
}
_HINTS = {
    "amd": "`rocminfo` prints its target, such as gfx1100, which `--gpu` takes too",
    "intel": "use the product name, such as `Arc B580`, or request the builds with `--backend xpu`",
    "apple": "such as `M3 Max`, or `--platform macos-arm64`",
    None: "a name such as `GTX 1080 Ti`, `RX 7900 XTX` or `Arc B580`, a target such as sm_61, 6.1 or gfx1100, or none",
}


class OtherNames(NamedTuple):
    """The index. An AMD name has its targets in one text, the most sold first; an Intel name has its generation."""

    amd_names: Mapping[str, str]
    amd_products: tuple[str, ...]
    amd_integrated: tuple[str, ...]
    amd_pci: Mapping[str, tuple[str, str]]
    intel_names: Mapping[str, int]
    intel_products: tuple[str, ...]
    intel_generations: tuple[Any, ...]
    intel_pci: Mapping[str, tuple[int, str]]
    apple_chips: tuple[str, ...]

    @classmethod
    def from_json(cls, fields: Fields) -> OtherNames:
        return cls(
            amd_names=fields.mapping("amd_names"),
            amd_products=fields.texts("amd_products"),
            amd_integrated=fields.texts("amd_integrated"),
            amd_pci=fields.mapping("amd_pci"),
            intel_names=fields.mapping("intel_names"),
            intel_products=fields.texts("intel_products"),
            intel_generations=tuple(fields.items("intel_generations")),
            intel_pci=fields.mapping("intel_pci"),
            apple_chips=fields.texts("apple_chips"),
        )

    @property
    def amd_named(self) -> tuple[tuple[str, str], ...]:
        """AMD's products with their targets between blanks."""
        targets_by_name = ((name, self.amd_names.get(letters(name).removeprefix("amd"))) for name in self.amd_products)
        return tuple((name.removeprefix("AMD "), targets) for name, targets in targets_by_name if targets is not None)

    def amd_device(self, device: int) -> GpuProduct | None:
        """The AMD GPU with this PCI device id, if it is known."""
        if (entry := self.amd_pci.get(f"{device:04x}")) is None:
            return None
        target, name = entry
        return GpuProduct("amd", name, target_of(target), target in self.amd_integrated)

    def intel_device(self, device: int) -> GpuProduct | None:
        """The Intel GPU with this PCI device id, if it is known."""
        if (entry := self.intel_pci.get(f"{device:04x}")) is None:
            return None
        generation, name = entry
        return self.of_generation(generation, name)

    def of_generation(self, place: int, name: str) -> GpuProduct:
        _, supported, integrated, _ = self.intel_generations[place]
        return GpuProduct("intel", name, None, integrated, supported=supported)


def parse(text: str, names: Names, others: OtherNames, *, mac: bool) -> GpuProduct:
    """The GPU of any maker that this text names; UsageError where none is known, or several that differ.

    Without `mac` an `M4` is the Tesla of that name.
    """
    if text.lower().startswith("gfx"):
        return _target(text, others)
    vendor = belongs(text)
    if vendor is None or (vendor == "apple" and not mac):
        vendor, gpu = None, _nvidias(text, names, others)
    else:
        gpu = look_up(text, others)
    if isinstance(gpu, Candidates):
        close = "; ".join(near.name if vendor and near.arch is None else str(near) for near in gpu.close())
        hint = _HINTS[vendor]
        if close:
            hint = f"similar names: {close}; {hint}" if vendor else f"similar names: {close}"
        raise UsageError(_MESSAGES[gpu.reason].format(text=gpu.text), hint=hint, code=gpu.reason)
    if vendor == "apple" and isinstance(tesla := gpunames.look_up(text, names), GpuProduct):
        # `M4` is also a Tesla's name; Apple sold more of theirs.
        return gpu._replace(others=(Named(f"Tesla {text.upper()}", tesla.arch),))
    return gpu


def _nvidias(text: str, names: Names, others: OtherNames) -> GpuProduct | Candidates:
    """By NVIDIA's names; `780M`, `Phoenix`, `Max 1550` are names that need no other maker's word."""
    gpu = gpunames.look_up(text, names)
    plain = letters(text)
    mobile = plain.endswith("m") and plain[:-1].isdigit()
    if mobile or (isinstance(gpu, Candidates) and gpu.reason == "UNKNOWN_NAME"):
        other = look_up(text, others)
        if isinstance(other, GpuProduct):
            # `780M` without a maker: Radeons of the last years, and GeForces of 2013 that no build supports.
            geforce = (Named(f"GeForce {text.upper()}", gpu.arch),) if isinstance(gpu, GpuProduct) else ()
            return other._replace(others=(*other.others, *geforce))
    return gpu


def _target(text: str, others: OtherNames) -> GpuProduct:
    """An AMD target as torch and rocminfo print it: `gfx1100`, `gfx906:sramecc+:xnack-`."""
    lower = text.lower()
    if lower in GENERIC:
        family = ", ".join(sorted(GENERIC[lower]))
        hint = f"use the GPU's own target: {family}"
        raise UsageError(f"`{text}` is a family of targets, not the target of a GPU", hint=hint)
    try:
        arch = target_of(lower)
    except ValueError as error:
        message = _MESSAGES["UNKNOWN_NAME"].format(text=text[:LONGEST])
        raise UsageError(message, hint=_HINTS["amd"], code="UNKNOWN_NAME") from error
    return GpuProduct("amd", None, arch, str(arch) in others.amd_integrated)


def belongs(text: str) -> str | None:
    """The vendor whose name this can only be; None where it may be NVIDIA's."""
    plain = letters(text[:LONGEST])
    for vendor, pattern in (("apple", _APPLE), ("amd", _AMD), ("intel", _INTEL)):
        if re.search(pattern, plain):
            return vendor
    return None


def look_up(text: str, names: OtherNames) -> GpuProduct | Candidates:
    """The GPU of one of these vendors that this text names, or the close ones."""
    shown, vendor = text.strip()[:LONGEST], belongs(text)
    plain = letters(re.sub(_AROUND, " ", shown.lower()))
    if vendor == "apple":
        return _apple(shown, plain, names)
    if vendor != "intel" and (gpu := _amd(shown, plain, names)) is not None:
        return gpu
    if vendor != "amd":
        whole = letters(re.sub(r"\(r\)|\(tm\)", "", shown.lower())).removeprefix("intel")
        for key in (whole, plain, plain.removeprefix("intel"), plain.removeprefix("intel").removeprefix("datacenter")):
            if (generation := names.intel_names.get(key)) is not None:
                return names.of_generation(generation, shown)
    if vendor == "intel" and re.search(r"iris|uhd|hdgraphics|hd[3-6][0-9]0$|^xe$", plain):
        return GpuProduct("intel", shown, None, integrated=True, supported=False)
    products = names.intel_products if vendor == "intel" else names.amd_products if vendor == "amd" else ()
    return Candidates("UNKNOWN_NAME", shown, lambda: _close(plain, products, names))


def target_of(text: str) -> Arch:
    """An AMD GPU's own target; `gfx906:sramecc+:xnack-` is gfx906 with features, which no wheel's list names."""
    return Arch.parse(text.partition(":")[0])


def _apple(shown: str, plain: str, names: OtherNames) -> GpuProduct | Candidates:
    chip = plain.removeprefix("apple")
    chips = {letters(name): name for name in names.apple_chips}
    if chip in chips:
        return GpuProduct("apple", f"Apple {chips[chip]}", integrated=True, platform=MAC)
    if chip in ("silicon", "") or re.match(r"m[1-9]", chip):  # a chip newer than the list is Apple's too
        return GpuProduct("apple", shown, integrated=True, platform=MAC)
    return Candidates("UNKNOWN_NAME", shown)


def _amd(shown: str, plain: str, names: OtherNames) -> GpuProduct | None:
    """By the key as it is listed, then without what vendors put in front."""
    bare = plain.removeprefix("amd").removeprefix("ati")
    shorter = (bare.removeprefix("radeon"), bare.removeprefix("instinct"))
    for key in (plain, bare, f"radeon{bare}", f"rx{bare}", *shorter):
        if not (value := names.amd_names.get(key)):
            continue
        first, *rest = value.split()
        others = tuple(Named(shown, target_of(target)) for target in rest)
        return GpuProduct("amd", shown, target_of(first), first in names.amd_integrated, others=others)
    return None


def _close(plain: str, products: tuple[str, ...], names: OtherNames) -> tuple[Named, ...]:
    names_by_letters = {letters(name): name for name in products}
    close = []
    for key in get_close_matches(plain, names_by_letters, n=_MOST_CLOSE, cutoff=0.7):
        targets = names.amd_names.get(key, "").split()
        close.append(Named(names_by_letters[key], target_of(targets[0]) if targets else None))
    return tuple(close)
