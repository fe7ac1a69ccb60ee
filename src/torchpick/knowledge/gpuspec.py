"""`--gpu SPEC`: a capability, an AMD target, or a product's name of any vendor."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.model.arch import ARM_ONLY, GENERIC, Arch
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.knowledge.compat import Knowledge
    from torchpick.knowledge.gpunames import Candidates, Meant
    from torchpick.knowledge.othernames import OtherGpu

ARM, MAC = "linux-aarch64", "macos-arm64"
_MESSAGES = {
    "UNKNOWN_NAME": "`{text}` is not a known GPU",
    "AMBIGUOUS": "`{text}` matches GPUs with different capabilities",
    "NO_SUCH_CAPABILITY": "`{text}` is not a compute capability of any NVIDIA GPU",
}
_HINTS = {
    "amd": "`rocminfo` prints its target, such as gfx1100, which `--gpu` takes too",
    "intel": "use the product name, such as `Arc B580`, or request the builds with `--backend xpu`",
    "apple": "such as `M3 Max`, or `--platform macos-arm64`",
}


class GivenGpu(Noun):
    """What a SPEC means. `others` share its name; `platform` is the only one where such a GPU exists."""

    vendor: str
    name: str | None
    arch: Arch | None
    others: tuple[str, ...] = ()
    platform: str | None = None
    integrated: bool = False
    supported: bool = True


def parse(spec: str, knowledge: Knowledge, *, mac: bool = True) -> GivenGpu:
    """The GPU that was given.

    Without `mac` an `M4` is the Tesla of that name.
    """
    plain = spec.strip()
    if (arch := knowledge.plain_arch(plain)) is not None:
        return _nvidia(None, arch)
    if plain.lower().startswith("gfx"):
        return _target(plain, knowledge)
    from torchpick.knowledge.othernames import belongs

    vendor = belongs(plain)
    if vendor is not None and (vendor != "apple" or mac):
        return _other(plain, vendor, knowledge)
    return _by_nvidia_name(plain, knowledge)


def _nvidia(name: str | None, arch: Arch, others: tuple[str, ...] = (), *, arm_only: bool = False) -> GivenGpu:
    platform = ARM if arm_only or arch.capability in ARM_ONLY else None
    # Tegra's own GPUs share the processor's memory.
    return GivenGpu("nvidia", name, arch, others, platform, integrated=arch.capability in ARM_ONLY - {(12, 1)})


def _target(text: str, knowledge: Knowledge) -> GivenGpu:
    """An AMD target as torch and rocminfo print it: `gfx1100`, `gfx906:sramecc+:xnack-`."""
    from torchpick.knowledge.othernames import target_of

    lower = text.lower()
    if lower in GENERIC:
        family = ", ".join(sorted(GENERIC[lower]))
        hint = f"use the GPU's own target: {family}"
        raise UsageError(f"`{text}` is a family of targets, not the target of a GPU", hint=hint)
    try:
        arch = target_of(lower)
    except ValueError as error:
        message = _MESSAGES["UNKNOWN_NAME"].format(text=text[:200])
        raise UsageError(message, hint=_HINTS["amd"], code="UNKNOWN_NAME") from error
    return GivenGpu("amd", None, arch, integrated=str(arch) in knowledge.other_names.amd_integrated)


def _other(text: str, vendor: str, knowledge: Knowledge) -> GivenGpu:
    from torchpick.knowledge.othernames import OtherGpu

    found = _look_up_other(text, knowledge)
    if not isinstance(found, OtherGpu):
        close = "; ".join(gpu.name if gpu.arch is None else str(gpu) for gpu in found.close)
        raise _refused(found, f"similar names: {close}; {_HINTS[vendor]}" if close else _HINTS[vendor])
    also = _tesla(text, knowledge) if vendor == "apple" else ()
    return _of_other(found, also)


def _of_other(gpu: OtherGpu, also: tuple[str, ...] = ()) -> GivenGpu:
    return GivenGpu(
        gpu.vendor,
        gpu.name,
        gpu.arch,
        others=(*map(str, gpu.others), *also),
        platform=MAC if gpu.vendor == "apple" else None,
        integrated=gpu.integrated,
        supported=gpu.supported,
    )


def _tesla(text: str, knowledge: Knowledge) -> tuple[str, ...]:
    """`M4` is also a Tesla's name; Apple sold more of theirs."""
    from torchpick.knowledge.gpunames import Meant

    found = _look_up(text, knowledge)
    return (f"Tesla {text.upper()} ({found.arch})",) if isinstance(found, Meant) else ()


def _by_nvidia_name(text: str, knowledge: Knowledge) -> GivenGpu:
    from torchpick.knowledge import gpunames
    from torchpick.knowledge.othernames import OtherGpu

    found = _look_up(text, knowledge)
    if gpunames.letters(text).removesuffix("m").isdigit() and gpunames.letters(text).endswith("m"):
        # `780M` without a maker: Radeons of the last years, and GeForces of 2013 that no build supports.
        radeon = _look_up_other(text, knowledge)
        if isinstance(radeon, OtherGpu):
            also = (f"GeForce {text.upper()} ({found.arch})",) if isinstance(found, gpunames.Meant) else ()
            return _of_other(radeon, also)
    if isinstance(found, gpunames.Meant):
        return _nvidia(text, found.arch, tuple(map(str, found.others)), arm_only=found.arm_only)
    if found.reason == "UNKNOWN_NAME":  # `780M`, `Phoenix`, `Max 1550`: names that need no maker's word
        other = _look_up_other(text, knowledge)
        if isinstance(other, OtherGpu):
            return _of_other(other)
    close = "; ".join(map(str, found.close))
    raise _refused(found, f"similar names: {close}" if close else "such as sm_61, 6.1, `GTX 1080 Ti` or a100")


def _refused(candidates: Candidates, hint: str) -> UsageError:
    message = _MESSAGES[candidates.reason].format(text=candidates.text)
    return UsageError(message, hint=hint, code=candidates.reason)


def _look_up(text: str, knowledge: Knowledge) -> Meant | Candidates:
    from torchpick.knowledge import gpunames

    return gpunames.look_up(text, knowledge.gpu_names)


def _look_up_other(text: str, knowledge: Knowledge) -> OtherGpu | Candidates:
    from torchpick.knowledge import othernames

    return othernames.look_up(text, knowledge.other_names)
