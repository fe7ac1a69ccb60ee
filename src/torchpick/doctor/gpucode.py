"""Whether packages beside torch support the GPUs, its CUDA and the driver, and what they install over one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchpick.decide.packagefit import ADDED_WHEEL, PackageFit
from torchpick.doctor import binaries, depends, remedy
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment import distributions
from torchpick.environment.distributions import Distribution
from torchpick.install import shell
from torchpick.model.arch import listed
from torchpick.model.build import COMPANIONS
from torchpick.model.finding import Ailment, Finding
from torchpick.model.package import Package, PackageFacts
from torchpick.model.verdict import NOT, PARTLY, Objection, Reason
from torchpick.model.versions import grouped, some_of

# The libraries whose number is CUDA's major (libcufft's and libcusolver's are not).
_NUMBERED = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)(?:\.\d+)?")
# `cupy-cuda12x`, `jax-cuda13-plugin`, `faiss-gpu-cu12`.
_NAMED = re.compile(r"-cu(?:da)?(1[1-9])x?(?:-|$)")


def without_kernels(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Any package whose code no GPU here loads, or only in part."""
    for package in subject.inspected.packages:
        for word, ailment in ((NOT, Ailment.PACKAGE_NO_KERNELS), (PARTLY, Ailment.PACKAGE_PARTLY)):
            failing = [support for support in package.support if support.word == word]
            if not failing:
                continue
            gpus = [support.gpu for support in failing]
            libraries = failing[0].failing
            names = [library.path.rpartition("/")[2] for library in libraries]
            how = "holds no code" if word == NOT else f"has libraries without code ({some_of(names)})"
            by_torch = package.name in COMPANIONS or package.per_cuda
            advice = (
                f"install a release of {package.name} that was built for this GPU (`torchpick inspect "
                f"{package.name}==VERSION --gpu …` reads one without downloading it), or run without it"
            )
            yield Finding(
                ailment,
                f"{package.label} {how} for {subject.labels(*gpus)}: it was built for {listed(package.arches)}",
                {
                    "package": package.label,
                    "arches": [str(arch) for arch in package.arches],
                    "gpus": gpus,
                    "libraries": {library.path: library.text for library in libraries},
                },
                by_torch=by_torch,
                advice=None if by_torch or word == PARTLY else advice,
            )


def other_cuda(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Packages that link another CUDA than torch's, or bring one that the driver does not carry."""
    for package, objection in _objections(subject):
        mixed = objection.reason is Reason.CUDA_MAJOR_MIXED
        version = binaries.version(package.folder, package.name) if package.name in depends.LABELLED else None
        if mixed and "+" in (version or package.version):
            continue  # its label says the same
        advice = f"install a {package.name} for an older CUDA, or the driver that is named"
        if mixed:
            cuda = objection.facts["cuda"]
            advice = f"install the {package.name} that was built for torch's CUDA, or a torch for CUDA {cuda}"
        ours = package.name in COMPANIONS
        yield Finding(
            Ailment.CUDA_MAJOR_MIXED if mixed else Ailment.PACKAGE_DRIVER_TOO_OLD,
            f"{package.label} {objection.text}",
            {"package": package.label, **objection.facts},
            advice=None if ours else advice,
            by_torch=ours,
        )


def mixed(subject: EnvironmentUnderTest) -> set[str]:
    """The packages that link another CUDA than torch's."""
    found = _objections(subject)
    return {package.label for package, objection in found if objection.reason is Reason.CUDA_MAJOR_MIXED}


def _objections(subject: EnvironmentUnderTest) -> Iterator[tuple[Distribution, Objection]]:
    """The objection that a plan would have to each package beside this torch and this driver."""
    situation = PackageFit(subject.machine, subject.table)
    torch = subject.torch
    build = torch and torch.verdict and torch.verdict.build
    for installed in subject.environment.named(""):
        if installed.name == "torch" or installed.name.startswith(depends.OF_TORCH):
            continue
        package = _package(installed, subject.known)
        if package is None or package.major is None:
            continue
        objection: Objection | None = None
        if package.links_torch:
            objection = situation.mismatch(package, build, (), ADDED_WHEEL)
        objection = objection or situation.refusal(package._replace(code=()))
        if objection is not None:
            yield installed, objection


def _package(installed: Distribution, known: Mapping[str, PackageFacts]) -> Package | None:
    """What its libraries ask for; what the table knows of that version where they open CUDA by name."""
    needed = {name for path in binaries.loaded_libraries(installed) for name in binaries.needs(path).needed}
    numbered = {name: match[1] for name in sorted(needed) if (match := _NUMBERED.fullmatch(name))}
    majors = {*numbered.values()}
    name, version = installed.name, installed.version
    if len(majors) == 1:
        links = any(map(binaries.is_of_torch, needed))
        return Package(name, version, cuda=majors.pop(), links_torch=links, needs=tuple(numbered))
    if majors:
        return None  # a library for each CUDA: it loads the one of torch's
    row = row_of(installed, known)
    if row is not None:
        return row._replace(requires_python="", pythons=("any",), platforms=("any",), glibc=None, yanked=False)
    match = _NAMED.search(name)
    return Package(name, version, cuda=match[1]) if match is not None else None


def row_of(installed: Distribution, known: Mapping[str, PackageFacts]) -> Package | None:
    """What the table knows of the installed version."""
    facts = known.get(installed.name)
    rows = () if facts is None else facts.versions
    return next((row for row in rows if row.version == installed.version), None)


def runtimes(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Two CUDA majors of one NVIDIA library that wrote the same file; side by side they are harmless."""
    here, torch = subject.environment, subject.torch
    groups = grouped((_stem(package), package) for package in here.named(binaries.NVIDIA))
    for first, *others in groups.values():
        for second in others:
            shared = distributions.overwritten(first, second)
            if shared is None:
                continue
            major = torch.cuda.split(".")[0] if torch is not None and torch.cuda else None
            keep, drop = (first, second) if major is not None and _major(first) == major else (second, first)
            yield Finding(
                Ailment.TWO_CUDA_RUNTIMES,
                f"{first.label} is installed beside {second.label}, and both installed {shared}",
                {"packages": [first.label, second.label], "file": shared},
                cure=shell.then(remedy.by_installer(here, "uninstall", drop.name), remedy.put_back(here, keep)),
            )


def _stem(package: Distribution) -> str:
    stem, _, digits = package.name.rpartition("-cu")
    return stem if digits.isdigit() else package.name


def _major(package: Distribution) -> str:
    """The CUDA major of `nvidia-cudnn-cu12 9.10` by its name; without one, from CUDA 13 on, by the version."""
    return package.name.rpartition("-cu")[2] if _stem(package) != package.name else package.version.split(".")[0]


def twice(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Projects that install the same module: whichever was installed last, the other's files are under it."""
    here = subject.environment
    pairs: dict[frozenset[str], tuple[Distribution, Distribution]] = {}
    for package in here.named(""):
        facts = subject.known.get(package.name)
        for other in filter(None, map(here.find, () if facts is None else facts.rivals)):
            pairs.setdefault(frozenset({package.name, other.name}), (package, other))
    for one, other in pairs.values():
        keep, drop = (one, other) if "gpu" in one.name or "gpu" not in other.name else (other, one)
        again = remedy.by_installer(here, "install", f"{keep.name}=={keep.version}")
        yield Finding(
            Ailment.MODULE_TWICE,
            f"{one.label} and {other.label} install the same module",
            {"packages": [one.label, other.label]},
            cure=shell.then(remedy.by_installer(here, "uninstall", keep.name, drop.name), again),
            advice=f"to uninstall one alone would take files of {keep.name} away",
        )
