"""What each CUDA toolkit compiles for the kinds of GPU."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.arch import Arch, Fit, fit
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.noun import Noun
from torchpick.model.versions import numbers


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
    able = [arch for arch in arches if fit(arch, gpu) is not Fit.NONE]
    return max(able, default=None, key=lambda arch: (fit(arch, gpu), arch.capability))


class CompileTargets(Noun):
    """What to compile, and the GPUs that the list of architectures does not reach."""

    compiled: tuple[Arch, ...]
    left: tuple[Arch, ...]


def targets(gpus: tuple[Arch, ...], arches: tuple[Arch, ...]) -> CompileTargets:
    """The architectures of this list to compile for these GPUs."""
    best = {gpu: best_target(arches, gpu) for gpu in gpus}
    compiled = {arch for arch in best.values() if arch is not None}
    left = tuple(gpu for gpu, arch in best.items() if arch is None)
    return CompileTargets(tuple(sorted(compiled, key=lambda arch: arch.capability)), left)
