"""From a GPU's name that the index (gpuindex.py) has not as it was written to its architecture.

`1080ti super`, `6.1`, `gfx1100`, `RX 7900 XTX`, `Arc B580`, `M3 Max`, `g5.xlarge`.

A name is never guessed: where products that could be meant differ in capability and none of them was sold most, or
none is known, the answer is the close ones. Case, blanks and hyphens never matter, so a name is compared by its letters
and digits alone; the keys of the index are made by the same functions (scripts/table/names.py). The page of
`matrix --html` has the same patterns, so they are of the kind that JavaScript reads too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from torchpick.errors import UsageError
from torchpick.knowledge.gpuindex import Names, arch_of, brand, letters, named, spelled, target_of
from torchpick.model.arch import spoken_capability
from torchpick.model.fields import Fields
from torchpick.model.machine import GpuProduct

MOST_CLOSE = 8
LONGEST = 200
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
# `1g.10gb`, `MIG 1g.10gb+me`, `nvidia.com/mig-1g.10gb`: an instance's profile, by its letters and digits.
INSTANCE = r"(?:com)?(?:mig)?(?:[1-7]c)?([1-7]g[0-9]{1,3}gb)(?:me(?:all)?|gfx)?"
PARTS = r"[()/\[\]]"  # between names of several
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
    "instance": f"^{INSTANCE}$",
    "parts": PARTS,
    "old": INTEL_OLD,
}


class Candidates(NamedTuple):
    """Why a name was not understood (`AMBIGUOUS`, `UNKNOWN_NAME`, `NO_SUCH_CAPABILITY`) and what is close to it."""

    reason: str
    close: Callable[[], tuple[GpuProduct, ...]] = tuple  # looked for only where nobody knows the name


def look_up(text: str, names: Names) -> GpuProduct | Candidates:
    """The architecture meant by this text, or the close ones."""
    spoken = text.strip().lower()
    if (capability := spoken_capability(spoken)) is not None:
        if capability not in names.capabilities:
            return Candidates("NO_SUCH_CAPABILITY", lambda: _near_capabilities(capability, names))
        return GpuProduct.nvidia(None, arch_of(capability))
    if cloud := re.match(CLOUD, spoken[:LONGEST]):
        spoken = names.clouds.get(letters("".join(filter(None, cloud.groups()))), spoken)
    plain = ""
    for name in as_written(spoken[: 2 * LONGEST]):
        plain = letters(name)
        if not plain or len(plain) > LONGEST:
            return Candidates("UNKNOWN_NAME")
        plain = plain.removeprefix("nvidia") or plain
        gpu = _of_name(text.partition("\n")[0], plain, names)
        if gpu is not None:
            return gpu
    parts = _of_parts(text, lambda part: _of_name(text, letters(part).removeprefix("nvidia"), names))
    return parts or Candidates("UNKNOWN_NAME", lambda: _similar(plain, names))


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


def _of_parts(text: str, look: Callable[[str], GpuProduct | Candidates | None]) -> GpuProduct | None:
    """`Orin / Orin NX`, `GB10 (DGX Spark)`, `Navi 48 [Radeon RX 9070/9070 XT]`: where those that are known agree."""
    parts = re.split(PARTS, text)
    if len(parts) == 1 or len(text) > LONGEST:
        return None
    meant = [gpu for part in parts if letters(part) and isinstance(gpu := look(part), GpuProduct)]
    return meant[0] if meant and {gpu.arch for gpu in meant} == {meant[0].arch} else None


def _near_capabilities(capability: str, names: Names) -> tuple[GpuProduct, ...]:
    """`12` may be meant as 12.0, `750` as a product: both kinds."""
    digits = capability.replace(".", "")
    near = [other for other in names.capabilities if digits in (other.split(".")[0], other.replace(".", ""))]
    close = [GpuProduct("nvidia", other, arch_of(other)) for other in near]
    return tuple([*close, *(_holding(digits, names) if len(digits) > 2 else ())][:MOST_CLOSE])


def _of_name(text: str, plain: str, names: Names) -> GpuProduct | Candidates | None:
    """The GPU of that name; None where no form of it is known."""
    if profile := re.fullmatch(INSTANCE, plain):
        return _of_instance(text, profile[1], names)
    for form in forms(plain):
        capabilities = names.capabilities_of(form)
        if len(capabilities) == 1 and "?" not in capabilities:
            return named(text, plain, capabilities.pop(), names)
        if capabilities:
            return _of_shared_name(text, form, capabilities, names)
    return None


def _of_shared_name(text: str, form: str, capabilities: set[str], names: Names) -> GpuProduct | Candidates:
    """The GPU of this name that was sold most; where there is none, the ones it could be."""
    meant, (_, rest) = _meant(form, names), brand(form)
    usual = names.sold_most.get(rest, "")
    if usual not in capabilities:
        return Candidates("AMBIGUOUS", lambda: meant)
    shown = {gpu.arch: gpu for gpu in reversed(meant)}
    others = (_gpu(form, other) for other in sorted(capabilities - {usual, "?"}))
    return GpuProduct.nvidia(text, arch_of(usual), tuple(shown.get(gpu.arch, gpu) for gpu in others))


def _of_instance(text: str, profile: str, names: Names) -> GpuProduct | Candidates:
    """The GPU that has such an instance; GPUs of several capabilities may have it, and none of them is guessed."""
    gpus = [gpu.partition(" ") for gpu in names.mig.get(profile, ())]
    capabilities = {capability for capability, _, _ in gpus}
    if len(capabilities) == 1:
        return GpuProduct.nvidia(text, arch_of(*capabilities))
    close = tuple(GpuProduct("nvidia", name, arch_of(capability)) for capability, _, name in gpus)
    return Candidates("AMBIGUOUS" if gpus else "UNKNOWN_NAME", lambda: close)


def _meant(plain: str, names: Names) -> tuple[GpuProduct, ...]:
    """The products that the name could mean: one of each capability first."""
    _, rest = brand(plain)
    products = _holding(rest, names, whole=True) or _holding(rest, names)
    first = {gpu.arch: gpu for gpu in reversed(products)}
    firsts = [gpu for gpu in products if first[gpu.arch] is gpu]
    return tuple((firsts + [gpu for gpu in products if gpu not in firsts])[:MOST_CLOSE])


def _holding(part: str, names: Names, *, whole: bool = False) -> list[GpuProduct]:
    """Products whose name holds this text, as whole words if asked, the shortest first; no number begins inside one."""
    within = r"[^a-z0-9]*".join(part)
    holds = re.compile(rf"(?<![a-z0-9]){within}(?![a-z0-9])" if whole else rf"(?<![0-9]){part}").search
    holding = (row for row in spelled(names.products) if part in row[0] and holds(row[whole]))
    return [_gpu(name, capability) for *_, name, words in holding for capability in words.split()]


def _similar(plain: str, names: Names) -> tuple[GpuProduct, ...]:
    _, rest = brand(plain)
    if len(rest) > 1 and (holding := _holding(rest, names)):
        return tuple(holding[:MOST_CLOSE])
    products = {letters(name): (name, capabilities) for name, capabilities in names.products}
    cores = {core: product for key, product in products.items() for _, core in [brand(key)]}
    # In one letter another.
    alike = (core for core in cores if len(core) == len(rest) and sum(map(str.__ne__, core, rest)) == 1)
    keys = sorted(alike, reverse=True) or get_close_matches(rest, cores, n=4) + get_close_matches(plain, products, n=4)
    chosen = dict.fromkeys(products.get(key) or cores[key] for key in keys)
    close = [_gpu(name, capability) for name, words in chosen for capability in words.split()]
    return tuple(close[:MOST_CLOSE])


def _gpu(name: str, capability: str) -> GpuProduct:
    return GpuProduct("nvidia", name, None if capability == "?" else arch_of(capability))


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
    amd_products: Sequence[str]
    amd_integrated: Sequence[str]
    amd_pci: Mapping[str, tuple[str, str]]
    intel_names: Mapping[str, int]
    intel_products: Sequence[str]
    intel_generations: Sequence[Any]
    intel_pci: Mapping[str, tuple[int, str]]
    apple_chips: Sequence[str]

    @classmethod
    def from_json(cls, fields: Fields) -> OtherNames:
        return cls(*(fields.raw(name) for name in cls._fields))  # type: ignore[arg-type]  # it is trusted

    @property
    def amd_named(self) -> tuple[tuple[str, str], ...]:
        """AMD's products with their targets between blanks."""
        targets_by_name = ((name, self.amd_names.get(letters(name).removeprefix("amd"))) for name in self.amd_products)
        return tuple((name.removeprefix("AMD "), targets) for name, targets in targets_by_name if targets is not None)

    def device(self, vendor: str, number: int) -> GpuProduct | None:
        """The GPU of AMD's or Intel's with this PCI device id, if it is known."""
        listed: Mapping[str, tuple[Any, str]] = self.amd_pci if vendor == "amd" else self.intel_pci
        if (entry := listed.get(f"{number:04x}")) is None:
            return None
        if vendor == "intel":
            return self.of_generation(*entry)
        target, name = entry
        return GpuProduct("amd", name, target_of(target), target in self.amd_integrated)

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
        gpu = look_up_other(text, others)
    gpu = _or_nvidias(gpu, text, names, others)
    if isinstance(gpu, Candidates):
        close = "; ".join(str((vendor and near.arch is None and near.name) or near) for near in gpu.close())
        hint = _HINTS[vendor]
        if close:
            close = f"{'specify which' if gpu.reason == 'AMBIGUOUS' else 'similar names'}: {close}"
            hint = f"{close}; {hint}" if vendor else close
        shown = text.partition("\n")[0][:LONGEST]
        raise UsageError(_MESSAGES[gpu.reason].format(text=shown), hint=hint, code=gpu.reason)
    if vendor == "apple" and isinstance(tesla := look_up(text, names), GpuProduct):
        # `M4` is also a Tesla's name; Apple sold more of theirs.
        return gpu._replace(others=(GpuProduct("nvidia", f"Tesla {text.upper()}", tesla.arch),))
    return gpu


def _or_nvidias(gpu: GpuProduct | Candidates, text: str, names: Names, others: OtherNames) -> GpuProduct | Candidates:
    """`Ryzen 9 7900X / RTX 4090`: NVIDIA's GPUs may be meant in a name of several, beside one of another maker."""
    parts = re.split(PARTS, text[:LONGEST])
    if isinstance(gpu, Candidates) or gpu.vendor == "nvidia" or len(parts) == 1:
        return gpu
    rest = (part.strip() for part in parts if isinstance(look_up_other(part, others), Candidates))
    beside = tuple(near for part in rest if isinstance(near := look_up(part, names), GpuProduct))
    return Candidates("AMBIGUOUS", lambda: (gpu, *beside)) if beside else gpu


def _nvidias(text: str, names: Names, others: OtherNames) -> GpuProduct | Candidates:
    """By NVIDIA's names; `780M`, `Phoenix`, `Max 1550` are names that need no other maker's word."""
    gpu = look_up(text, names)
    is_mobile = re.fullmatch("[0-9]+m", letters(text))
    if is_mobile or (isinstance(gpu, Candidates) and gpu.reason == "UNKNOWN_NAME"):
        other = look_up_other(text, others)
        if isinstance(other, GpuProduct):
            # `780M` without a maker: Radeons of the last years, and GeForces of 2013 that no build supports.
            geforce = [GpuProduct("nvidia", f"GeForce {text.upper()}", gpu.arch)] if isinstance(gpu, GpuProduct) else []
            return other._replace(others=(*other.others, *geforce))
    return gpu


def _target(text: str, others: OtherNames) -> GpuProduct:
    """An AMD target as torch and rocminfo print it: `gfx1100`, `gfx906:sramecc+:xnack-`."""
    lower = text.lower()
    try:
        arch = target_of(lower)
    except ValueError as error:
        message = _MESSAGES["UNKNOWN_NAME"].format(text=text[:LONGEST])
        raise UsageError(message, hint=_HINTS["amd"], code="UNKNOWN_NAME") from error
    return GpuProduct("amd", None, arch, str(arch) in others.amd_integrated)


def belongs(text: str) -> str | None:
    """The vendor whose name this can only be; None where it may be NVIDIA's."""
    plain = letters(text[:LONGEST])
    patterns = (("apple", _APPLE), ("amd", _AMD), ("intel", _INTEL))
    return next((vendor for vendor, pattern in patterns if re.search(pattern, plain)), None)


def look_up_other(text: str, names: OtherNames) -> GpuProduct | Candidates:
    """The GPU of one of these vendors that this text names, or the close ones."""
    shown, vendor = text.strip()[:LONGEST], belongs(text)
    plain = letters(re.sub(AROUND, " ", shown.lower()))
    if vendor == "apple":
        return _apple(shown, plain, names)
    if vendor != "intel" and (gpu := _amd(shown, plain, names)) is not None:
        return gpu
    if vendor != "amd":
        whole = letters(re.sub(r"\(r\)|\(tm\)", "", shown.lower())).removeprefix("intel")
        for key in (whole, plain, plain.removeprefix("intel"), plain.removeprefix("intel").removeprefix("datacenter")):
            if (generation := names.intel_names.get(key)) is not None:
                return names.of_generation(generation, shown)
    if vendor == "intel" and re.search(INTEL_OLD, plain):
        return GpuProduct("intel", shown, None, integrated=True, supported=False)
    if (gpu := _of_parts(shown, lambda part: look_up_other(part, names))) is not None:
        return gpu
    products = names.intel_products if vendor == "intel" else names.amd_products if vendor == "amd" else ()
    return Candidates("UNKNOWN_NAME", lambda: _close(plain, products, names))


def _apple(shown: str, plain: str, names: OtherNames) -> GpuProduct | Candidates:
    chip = plain.removeprefix("apple")
    chips = {letters(name): name for name in names.apple_chips}
    if chip in (*chips, "silicon", "") or re.match(r"m[1-9]", chip):  # a chip newer than the list is Apple's too
        name = f"Apple {chips[chip]}" if chip in chips else shown
        return GpuProduct("apple", name, integrated=True, platform=MAC)
    return Candidates("UNKNOWN_NAME")


def _amd(shown: str, plain: str, names: OtherNames) -> GpuProduct | None:
    """By the key as it is listed, then without what vendors put in front."""
    bare = plain.removeprefix("amd").removeprefix("ati")
    for key in (plain, bare, f"radeon{bare}", f"rx{bare}", bare.removeprefix("radeon")):
        if not (value := names.amd_names.get(key)):
            continue
        first, *rest = value.split()
        others = tuple(GpuProduct("amd", shown, target_of(target)) for target in rest)
        return GpuProduct("amd", shown, target_of(first), first in names.amd_integrated, others=others)
    return None


def _close(plain: str, products: Sequence[str], names: OtherNames) -> tuple[GpuProduct, ...]:
    names_by_letters = {letters(name): name for name in products}
    keys = get_close_matches(plain, names_by_letters, n=_MOST_CLOSE, cutoff=0.7)
    near = ((names_by_letters[key], names.amd_names.get(key, "").split()) for key in keys)
    return tuple(GpuProduct("amd", name, target_of(targets[0]) if targets else None) for name, targets in near)
