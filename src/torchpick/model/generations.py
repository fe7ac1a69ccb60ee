"""The kinds of GPU in use, oldest first, and what each CUDA toolkit compiles for them.

The products are examples for tables and comments; compat/gpus.json knows all, and a test holds these against it.
"""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import ARM_ONLY, Arch, Fit, fit
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers


class Kind(Noun):
    """GPUs of one architecture; `platforms` empty means that they are found on every one."""

    arch: Arch
    generation: str
    examples: tuple[str, ...]
    platforms: tuple[str, ...] = ()

    @property
    def vendor(self) -> str:
        return "amd" if self.arch.kind == "gfx" else "nvidia"

    def found_on(self, platform: str) -> bool:
        return not self.platforms or platform in self.platforms


_NVIDIA: tuple[tuple[int, int, str, tuple[str, ...]], ...] = (
    (3, 5, "Kepler", ("Tesla K40m", "GeForce GTX 780 Ti")),
    (3, 7, "Kepler", ("Tesla K80",)),
    (5, 0, "Maxwell", ("Quadro K2200", "Tesla M10")),
    (5, 2, "Maxwell", ("GeForce GTX 980 Ti", "Tesla M40")),
    (5, 3, "Maxwell", ("Jetson Nano", "Jetson TX1")),
    (6, 0, "Pascal", ("Tesla P100", "Quadro GP100")),
    (6, 1, "Pascal", ("GeForce GTX 1080 Ti", "Tesla P40")),
    (6, 2, "Pascal", ("Jetson TX2",)),
    (7, 0, "Volta", ("Tesla V100", "TITAN V")),
    (7, 2, "Volta", ("Jetson AGX Xavier",)),
    (7, 5, "Turing", ("GeForce RTX 2080 Ti", "Tesla T4")),
    (8, 0, "Ampere", ("A100", "A30")),
    (8, 6, "Ampere", ("GeForce RTX 3090", "RTX A6000", "A10")),
    (8, 7, "Ampere", ("Jetson AGX Orin",)),
    (8, 9, "Ada Lovelace", ("GeForce RTX 4090", "L4", "L40S")),
    (9, 0, "Hopper", ("H100", "H200", "GH200")),
    (10, 0, "Blackwell", ("B200", "GB200")),
    (10, 3, "Blackwell Ultra", ("B300", "GB300")),
    (11, 0, "Blackwell", ("Jetson AGX Thor",)),
    (12, 0, "Blackwell", ("GeForce RTX 5090", "RTX PRO 6000 Blackwell")),
    (12, 1, "Blackwell", ("DGX Spark", "GB10")),
)
NVIDIA = tuple(
    Kind(
        Arch.of_capability(major, minor),
        generation,
        examples,
        ("linux-aarch64",) if (major, minor) in ARM_ONLY else (),
    )
    for major, minor, generation, examples in _NVIDIA
)


def kind_of(arch: Arch | None) -> Kind | None:
    """The kind that this architecture is, if it is in the list."""
    return next((kind for kind in NVIDIA if arch is not None and kind.arch.capability == arch.capability), None)


# AMD's targets that people ask about, by the products that are sold under them.
_AMD = {
    "gfx803": ("Polaris", ("Radeon RX 580",)),
    "gfx900": ("Vega", ("Radeon RX Vega 64", "Instinct MI25")),
    "gfx906": ("Vega 20", ("Radeon VII", "Instinct MI50")),
    "gfx908": ("CDNA", ("Instinct MI100",)),
    "gfx90a": ("CDNA 2", ("Instinct MI250X",)),
    "gfx942": ("CDNA 3", ("Instinct MI300X",)),
    "gfx950": ("CDNA 4", ("Instinct MI350X",)),
    "gfx1030": ("RDNA 2", ("Radeon RX 6900 XT", "Radeon RX 6800")),
    "gfx1100": ("RDNA 3", ("Radeon RX 7900 XTX",)),
    "gfx1101": ("RDNA 3", ("Radeon RX 7800 XT",)),
    "gfx1102": ("RDNA 3", ("Radeon RX 7600",)),
    "gfx1103": ("RDNA 3", ("Radeon 780M",)),
    "gfx1150": ("RDNA 3.5", ("Radeon 890M",)),
    "gfx1151": ("RDNA 3.5", ("Radeon 8060S",)),
    "gfx1200": ("RDNA 4", ("Radeon RX 9060 XT",)),
    "gfx1201": ("RDNA 4", ("Radeon RX 9070 XT",)),
}


def amd_kind(arch: Arch) -> Kind:
    """The kind of an AMD target; ROCm builds are published for Linux on x86-64 alone."""
    generation, examples = _AMD.get(str(arch), ("AMD", ()))
    return Kind(arch, generation, examples, ("linux-x86_64",))


class CompileTarget(Noun):
    """One architecture to compile for; `ptx` where PTX of it is wanted too."""

    arch: Arch
    ptx: bool = False


class Toolkits(Noun):
    """Toolkit → the architectures its ptxas lists, plain ones alone."""

    lists: Mapping[str, tuple[Arch, ...]]

    @classmethod
    def from_json(cls, fields: Fields) -> Toolkits:
        """Read drivers.json."""
        found = {}
        for row in fields.objects("toolkit_arches"):
            try:
                arches = tuple(Arch.parse(text) for text in row.texts("arches"))
            except ValueError as error:
                raise ShapeError(row.at("arches"), str(error)) from error
            found[row.dotted("cuda")] = tuple(arch for arch in arches if not arch.suffix)
        return cls(dict(sorted(found.items(), key=lambda item: numbers(item[0]))))

    def nearest(self, cuda: str) -> str | None:
        """The toolkit whose list holds for this one: within a major the lists only grow, so an older one is sure."""
        older = [known for known in self.lists if numbers(known) <= numbers(cuda)]
        same = [known for known in older if numbers(known)[0] == numbers(cuda)[0]]
        return max(same, key=numbers, default=None)

    def able(self, gpu: Arch) -> tuple[str, ...]:
        """The toolkits that compile machine code for a GPU."""
        return tuple(cuda for cuda, arches in self.lists.items() if best_target(arches, gpu) is not None)


def best_target(arches: tuple[Arch, ...], gpu: Arch) -> Arch | None:
    """The architecture whose machine code suits the GPU best: its own, else the newest that runs there."""
    serving = [(fit(arch, gpu), arch.capability, arch) for arch in arches]
    found = max(
        (target for target in serving if target[0] is not Fit.NONE), default=None, key=lambda target: target[:2]
    )
    return None if found is None else found[2]


def newest_below(arches: tuple[Arch, ...], gpu: Arch) -> Arch | None:
    """The newest architecture whose PTX the driver can compile for the GPU."""
    below = [arch for arch in arches if arch.capability <= gpu.capability]
    return max(below, key=lambda arch: arch.capability, default=None)


class CompileTargets(Noun):
    """What to compile, and the GPUs that the list of architectures does not reach."""

    compiled: tuple[CompileTarget, ...]
    left: tuple[Arch, ...]


def targets(gpus: tuple[Arch, ...], arches: tuple[Arch, ...] | None, *, ptx: bool) -> CompileTargets:
    """What to compile for these GPUs.

    Without a list each GPU gets its own architecture. `ptx` adds PTX of the newest, and lets PTX reach a GPU that
    machine code does not.
    """
    wanted: dict[Arch, bool] = {}
    left = []
    for gpu in dict.fromkeys(gpus):
        arch = gpu if arches is None else best_target(arches, gpu)
        if arch is None and ptx and arches is not None:
            arch = newest_below(arches, gpu)
            if arch is not None:
                wanted[arch] = True
                continue
        if arch is None:
            left.append(gpu)
        else:
            wanted.setdefault(arch, False)
    ordered = sorted(wanted, key=lambda arch: arch.capability)
    if ptx and ordered:
        wanted[ordered[-1]] = True
    return CompileTargets(tuple(CompileTarget(arch, wanted[arch]) for arch in ordered), tuple(left))
