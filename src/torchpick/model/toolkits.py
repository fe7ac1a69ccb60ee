"""What each CUDA toolkit can compile, and which of its targets support a GPU. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Arch, Fit, fit
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.noun import Noun
from torchpick.model.versions import is_dotted, numbers


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
            cuda = row.text("cuda")
            if not is_dotted(cuda):
                raise row.fail("cuda", f"must be numbers between dots, is {cuda!r}")
            found[cuda] = tuple(arch for arch in arches if not arch.suffix)
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
    found = max((each for each in serving if each[0] is not Fit.NONE), default=None, key=lambda each: each[:2])
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
    found: dict[Arch, bool] = {}
    left = []
    for gpu in dict.fromkeys(gpus):
        arch = gpu if arches is None else best_target(arches, gpu)
        if arch is None and ptx and arches is not None:
            arch = newest_below(arches, gpu)
            if arch is not None:
                found[arch] = True
                continue
        if arch is None:
            left.append(gpu)
        else:
            found.setdefault(arch, False)
    ordered = sorted(found, key=lambda arch: arch.capability)
    if ptx and ordered:
        found[ordered[-1]] = True
    return CompileTargets(tuple(CompileTarget(arch, found[arch]) for arch in ordered), tuple(left))
