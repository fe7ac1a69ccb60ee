"""Which build of a CUDA package has code for which GPU: plain rows for a page. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchpick.model.arch import Arch, Fit, best
from torchpick.model.noun import Noun
from torchpick.model.package import Package, PackageFacts
from torchpick.model.verdict import JIT, NOT, PARTLY, RUNS


class PackageGpuRow(Noun):
    """One version of a package. `words`, in the order of the GPUs: `runs`, `runs by JIT`, `partly`, `will not run`."""

    name: str
    version: str
    cuda: str | None
    words: tuple[str, ...]
    measured: bool


def rows(packages: Iterable[PackageFacts], gpus: Sequence[Arch], newest: int = 3) -> tuple[PackageGpuRow, ...]:
    """Of each package that has GPU code so many of its newest versions that were read, and the newest for each GPU."""
    found = []
    for facts in sorted(packages, key=lambda each: each.name):
        read = [one for one in facts.versions if one.code and not one.yanked]
        words = {one.version: tuple(_word(one, gpu) for gpu in gpus) for one in read}
        shown = {one.version for one in read[:newest]}
        for place in range(len(gpus)):
            # What matters to an older GPU is the last version that still had code for it.
            shown |= set([one.version for one in read if words[one.version][place] != NOT][:1])
        found += [
            PackageGpuRow(one.name, one.version, one.cuda, words[one.version], one.evidence.kind == "measured")
            for one in read
            if one.version in shown
        ]
    return tuple(found)


def _word(package: Package, gpu: Arch) -> str:
    """Its main libraries must all run; the others make it `partly`. Of one library for each CUDA the best counts."""
    code = package.code or ()
    if package.per_cuda:
        fit = max(best(one.arches, gpu).fit for one in code)
        return NOT if fit is Fit.NONE else JIT if fit is Fit.JIT else RUNS
    main = [best(one.arches, gpu).fit for one in code if one.main]
    others = [best(one.arches, gpu).fit for one in code if not one.main]
    deciding = main or others
    if not any(deciding) or not all(main):
        return NOT
    if not all(others):
        return PARTLY
    return JIT if min(deciding) is Fit.JIT else RUNS
