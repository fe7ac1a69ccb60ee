"""Whether the other packages with GPU code support the GPUs, and what they install over one another. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.doctor.facts import Facts, InspectedPackage
from torchpick.model.arch import listed
from torchpick.model.build import COMPANIONS
from torchpick.model.finding import NOTE, Ailment, Finding
from torchpick.model.requirement import first_three
from torchpick.model.verdict import NOT, PARTLY, Reason


def without_kernels(facts: Facts) -> Iterator[Finding]:
    """Any package whose code no GPU here loads, or only in part."""
    for package in facts.packages:
        for word, ailment in ((NOT, Ailment.PACKAGE_NO_KERNELS), (PARTLY, Ailment.PACKAGE_PARTLY)):
            gpus = [support.gpu for support in package.support if support.word == word]
            if not gpus:
                continue
            failing = next(support.failing for support in package.support if support.word == word)
            labels = ", ".join(dict.fromkeys(facts.gpu(index).label for index in gpus))
            names = [library.path.rpartition("/")[2] for library in failing]
            how = "holds no code" if word == NOT else f"has libraries without code ({first_three(names)})"
            yield Finding(
                ailment,
                f"{package.name} {package.version} {how} for {labels}: it was built for {listed(package.arches)}",
                {
                    "package": f"{package.name} {package.version}",
                    "arches": [str(arch) for arch in package.arches],
                    "gpus": gpus,
                    "libraries": {library.path: library.text for library in failing},
                },
                by_torch=package.name in COMPANIONS or bool(package.with_cuda),
                advice=_advice(package, word),
            )


def other_cuda(facts: Facts) -> Iterator[Finding]:
    """Packages that link another CUDA than torch's, or bring one that the driver does not carry."""
    labelled = {one.name for one in facts.companions if "+" in one.version}
    for trouble in facts.troubles:
        mixed = trouble.objection.reason is Reason.CUDA_MAJOR_MIXED
        if mixed and trouble.name in labelled:
            continue  # its label says the same
        ours = trouble.name in COMPANIONS
        cuda = trouble.objection.facts["cuda"]
        if ours:
            advice = None
        elif mixed:
            advice = f"install the {trouble.name} that was built for torch's CUDA, or a torch for CUDA {cuda}"
        else:
            advice = f"install a {trouble.name} for an older CUDA, or the driver that is named"
        yield Finding(
            Ailment.CUDA_MAJOR_MIXED if mixed else Ailment.PACKAGE_DRIVER_TOO_OLD,
            f"{trouble.label} {trouble.objection.text}",
            {"package": trouble.label, **trouble.objection.facts},
            advice=advice,
            by_torch=ours,
        )


def _advice(package: InspectedPackage, word: str) -> str | None:
    if package.with_cuda:
        return f"its library for CUDA {', '.join(package.with_cuda)} holds code, and goes with a torch of that CUDA"
    if package.name in COMPANIONS or word == PARTLY:
        return None
    return (
        f"install a release of {package.name} that was built for this GPU (`torchpick inspect {package.name}==VERSION "
        "--gpu …` reads one without downloading it), or run without it"
    )


def runtimes(facts: Facts) -> Iterator[Finding]:
    """Two CUDA majors of one NVIDIA library: harmless side by side, not where they write the same file."""
    for twins in facts.twins:
        one, other, shared = twins.one, twins.other, twins.shared
        beside = f"{one} is installed beside {other}"
        yield Finding(
            Ailment.TWO_CUDA_RUNTIMES,
            f"{beside}, and both installed {shared}" if shared else f"{beside}; they share no file",
            {"packages": [one, other], "file": shared},
            advice=_repair(facts, one, other) if shared else None,
            weight=None if shared else NOTE,
        )
    torch = facts.torch
    if torch is None or torch.cuda is None:
        return
    major = torch.cuda.split(".")[0]
    installed = facts.environment.find("torch")
    by_pip = installed is not None and installed.installer in ("pip", "uv")
    for package in facts.environment.conda:
        other_major = package.version.split(".")[0] != major
        if by_pip and package.name in ("cudatoolkit", "cuda-cudart", "cuda-runtime") and other_major:
            yield Finding(
                Ailment.TWO_CUDA_RUNTIMES,
                f"conda's {package.name} {package.version} is installed beside {torch.label}, which brings CUDA "
                f"{torch.cuda}",
                {"packages": [f"{package.name} {package.version}", torch.label], "file": None},
                advice="torch does not use it; keep it only where something else does",
                weight=NOTE,
            )


def _repair(facts: Facts, one: str, other: str) -> str:
    """Which of the two goes, and that the other must be installed again over the damage."""
    major = facts.torch.cuda.split(".")[0] if facts.torch is not None and facts.torch.cuda else None
    keep, drop = (one, other) if major is not None and _major(one) == major else (other, one)
    name, _, version = keep.partition(" ")
    python = facts.environment.program
    return (
        f"`{python} -m pip uninstall {drop.partition(' ')[0]}`, then "
        f"`{python} -m pip install --force-reinstall --no-deps {name}=={version}`"
    )


def _major(label: str) -> str:
    """The CUDA major of `nvidia-cudnn-cu12 9.10` by its name; without one, from CUDA 13 on, by the version."""
    name, _, version = label.partition(" ")
    stem, mark, digits = name.rpartition("-cu")
    return digits if mark and digits.isdigit() and stem else version.split(".")[0]
