"""Whether the installed torch and the packages beside it support the GPUs, the driver and one CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from torchpick.decide import refusal, remarks
from torchpick.decide.packagefit import PackageFit
from torchpick.doctor import depends, installedtorch, remedy
from torchpick.doctor.installedtorch import InstalledTorch
from torchpick.doctor.subject import DescribedEnvironment, EnvironmentUnderTest
from torchpick.environment import distributions, shell
from torchpick.environment.distributions import Distribution
from torchpick.model.arch import Fit, listed
from torchpick.model.build import COMPANIONS, FAMILIES, MAKERS, NOT, PARTLY, Objection, Reason, family_of
from torchpick.model.finding import Ailment, Finding
from torchpick.model.package import Package, PackageFacts
from torchpick.model.versions import grouped, some_of
from torchpick.wheels import judging
from torchpick.wheels.librarycode import union

# What is objected to, where it concerns an installed build.
_OBJECTIONS = {reason: ailment for reason in Reason for ailment in Ailment if reason.name == ailment.name}
# Their sentences go on from the subject.
_VERBS = (Ailment.NO_KERNELS, Ailment.PTX_ONLY_DRIVER_TOO_OLD)
_ADVICE = {
    Ailment.DRIVER_TOO_OLD: "or install driver {needs} or newer and keep this torch",
    Ailment.PTX_ONLY_DRIVER_TOO_OLD: "or install a driver that supports CUDA {cuda} and keep this torch",
    Ailment.GPU_NOT_SERVED_BY_DRIVER: "change the driver: {why}; no build of torch can fix this",
}


def silent(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """A GPU is there and its driver does not answer."""
    trouble = subject.machine.trouble
    if trouble is not None:
        yield Finding(Ailment.DRIVER_NO_ANSWER, trouble.text, {"code": trouble.code}, advice=trouble.hint)


def foreign(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """A CPU build where there is a GPU, or a build for another maker's."""
    torch = subject.torch
    if torch is None or not subject.gpus:
        return
    family = family_of(torch.backend)
    ailment, what = Ailment.CPU_ONLY_BUILD, "is a CPU build"
    if family in FAMILIES:
        vendor, maker = MAKERS[family]
        if any(gpu.vendor == vendor for gpu in subject.gpus):
            return
        ailment, what = Ailment.OTHER_VENDOR_BUILD, f"was built for {maker} GPUs"
    elif torch.backend != "cpu":
        return
    seen = {"torch": torch.version, "gpus": [gpu.index for gpu in subject.gpus]}
    yield Finding(
        ailment,
        f"{torch.label} {what}, and there is {subject.labels() or 'a driver for NVIDIA GPUs'}",
        seen,
        by_torch=True,
    )


def unsupported(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Every objection to the installed build, one finding for the GPUs of one kind."""
    torch = subject.torch
    if torch is None or torch.verdict is None or subject.machine.trouble is not None or any(foreign(subject)):
        return
    grouped: dict[tuple[Ailment, str], tuple[Objection, list[int]]] = {}
    for objection in torch.verdict.objections:
        ailment = _OBJECTIONS.get(objection.reason)
        if ailment is not None:
            gpus = [] if objection.gpu is None else [objection.gpu]
            _, of_text = grouped.setdefault((ailment, objection.text), (objection, []))
            of_text += gpus
    for (ailment, text), (objection, gpus) in grouped.items():
        by_driver = ailment is Ailment.GPU_NOT_SERVED_BY_DRIVER
        advice = _ADVICE.get(ailment)
        keeps = _override(subject, torch, gpus) if ailment is Ailment.NO_KERNELS else None
        yield Finding(
            ailment,
            text if by_driver else f"{torch.label}{' ' if ailment in _VERBS else ': '}{text}",
            {**objection.facts, **_seen(torch), "gpus": gpus or [gpu.index for gpu in subject.gpus]},
            advice=keeps or (advice and advice.format_map(objection.facts)),
            by_torch=not (by_driver or keeps),
        )


def _override(subject: EnvironmentUnderTest, torch: InstalledTorch, gpus: Sequence[int]) -> str | None:
    """How these AMD GPUs run the code that this torch has for another one, where all of them do."""
    arches = [gpu.arch for gpu in subject.gpus if gpu.index in gpus]
    ways = {refusal.override_of(arch, subject.table) for arch in arches}
    if len(ways) != 1 or (way := ways.pop()) is None or way[0] not in map(str, torch.arches or ()):
        return None
    target, setting, why = way
    name, _, value = setting.partition("=")
    return (
        f"`export {setting}` (in fish `set -gx {name} {value}`) in the shell that starts the program lets this torch"
        f" run its code for {target}: {why}; `env | grep HSA` shows what reaches the program. AMD does not support it:"
        f" `torchpick list --gpu {arches[0]}` names the builds that need none"
    )


def compiled_at_first_use(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    torch = subject.torch
    if torch is None or not torch.runs:
        return
    gpus = [gpu.index for gpu in subject.gpus if torch.fit(gpu) is Fit.JIT]
    if gpus:
        text = f"{torch.label} has only PTX for {subject.labels(*gpus)}"
        yield Finding(Ailment.JIT_ONLY, text, {**_seen(torch), "gpus": gpus})


def partial(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """A library of torch itself that is known to lack code for a GPU that the rest of it supports."""
    torch = subject.torch
    row = torch and subject.table.find(subject.machine.platform.name, torch.release, torch.backend)
    if torch is None or row is None or not torch.runs:
        return
    lacks = ((gpu, library) for gpu in subject.machine.nvidia for library in remarks.lacking(row, gpu))
    for gpu, library in lacks:
        needs = remarks.NEEDS.get(library.partition(".")[0].removeprefix("lib"))
        yield Finding(
            Ailment.PARTIAL_LIBRARY,
            f"{library} of {torch.label} was built mostly without {gpu.label}",
            {**_seen(torch), "library": library, "gpus": [gpu.index]},
            advice=needs and f"{needs}; `torchpick list --whole` names the builds that have all of it",
        )


def _seen(torch: InstalledTorch) -> dict[str, object]:
    return {
        "torch": torch.version,
        "arches": None if torch.arches is None else [str(arch) for arch in torch.arches],
        "evidence": "measured" if torch.measured else "declared",
        "where": f"{torch.folder}/torch",
    }


# The libraries whose number is CUDA's major (libcufft's and libcusolver's are not).
_NUMBERED = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)(?:\.\d+)?")
# `cupy-cuda12x`, `jax-cuda13-plugin`, `faiss-gpu-cu12`.
_NAMED = re.compile(r"-cu(?:da)?(1[1-9])x?(?:-|$)")


def without_kernels(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Any package whose code no GPU here loads, or only in part."""
    cuda = subject.torch and subject.torch.cuda
    for package in subject.inspected:
        loaded, _ = judging.choose_variants(package.libraries, cuda)
        counted, _ = judging.without_vendored(loaded, package.target)
        arches = union(part for library in counted for part in (library.sass, library.ptx))
        judges = ((gpu.index, subject.judge._replace(gpu=gpu.arch)) for gpu in subject.machine.nvidia if gpu.arch)
        verdicts = [(gpu, judging.judge_reading(package, judge, cuda)) for gpu, judge in judges]
        label = f"{package.target} {package.version}"
        for word, ailment in ((NOT, Ailment.PACKAGE_NO_KERNELS), (PARTLY, Ailment.PACKAGE_PARTLY)):
            failing = [(gpu, verdict) for gpu, verdict in verdicts if verdict.word == word]
            if not failing:
                continue
            gpus = [gpu for gpu, _ in failing]
            libraries = next(verdict.failing for _, verdict in failing)
            names = [library.path.rpartition("/")[2] for library in libraries]
            how = "holds no code" if word == NOT else f"has libraries without code ({some_of(names)})"
            by_torch = package.target in COMPANIONS or loaded != package.libraries
            advice = (
                f"install a release of {package.target} that was built for this GPU (`torchpick inspect "
                f"{package.target}==VERSION --gpu …` reads one without downloading it), or run without it"
            )
            yield Finding(
                ailment,
                f"{label} {how} for {subject.labels(*gpus)}: it was built for {listed(arches)}",
                {
                    "package": label,
                    "arches": [str(arch) for arch in arches],
                    "gpus": gpus,
                    "libraries": {library.path: library.text for library in libraries},
                },
                by_torch=by_torch,
                advice=None if by_torch or word == PARTLY else advice,
            )


def other_cuda(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Packages that link another CUDA than torch's, or bring one that the driver does not carry."""
    for package, objection in _objections(subject):
        ailment = _OBJECTIONS[objection.reason]
        mixed = ailment is Ailment.CUDA_MAJOR_MIXED
        version = installedtorch.version(package.folder, package.name) if package.name in depends.LABELLED else None
        if mixed and "+" in (version or package.version):
            continue  # its label says the same
        advice = f"install a {package.name} for an older CUDA, or the driver that is named"
        if mixed:
            cuda = objection.facts["cuda"]
            advice = f"install the {package.name} that was built for torch's CUDA, or a torch for CUDA {cuda}"
        ours = package.name in COMPANIONS
        yield Finding(
            ailment,
            f"{package.label} {objection.text}",
            {"package": package.label, **objection.facts},
            advice=None if ours else advice,
            by_torch=ours,
        )


def mixed(subject: EnvironmentUnderTest) -> set[str]:
    objections = _objections(subject)
    return {package.label for package, objection in objections if objection.reason is Reason.CUDA_MAJOR_MIXED}


def _objections(subject: EnvironmentUnderTest) -> Iterator[tuple[Distribution, Objection]]:
    """The objection that a plan would have to each package beside this torch and this driver.

    The code of what is installed was read out of its files; of what is only described the table has it.
    """
    is_described = isinstance(subject, DescribedEnvironment)
    situation = PackageFit(subject.machine, subject.table)
    torch = subject.torch
    build = torch and torch.verdict and torch.verdict.build
    for installed in subject.environment.named(""):
        if installed.name == "torch" or installed.name.startswith(depends.OF_TORCH):
            continue
        package = (_described if is_described else _package)(installed, subject.known)
        if package is None or (package.major is None and not is_described):
            continue
        objection = situation.objection(package if is_described else package._replace(code=()), build)
        if objection is not None:
            yield installed, objection


def _package(installed: Distribution, catalog: Mapping[str, PackageFacts]) -> Package | None:
    """What its libraries ask for; what the table knows of that version where they open CUDA by name."""
    needed = {name for path in installedtorch.loaded_libraries(installed) for name in installedtorch.needs(path)}
    numbered = {name: match[1] for name in sorted(needed) if (match := _NUMBERED.fullmatch(name))}
    majors = {*numbered.values()}
    name, version = installed.name, installed.version
    if len(majors) == 1:
        links = any(map(installedtorch.is_of_torch, needed))
        return Package(name, version, cuda=majors.pop(), links_torch=links, needs=tuple(numbered))
    if majors:
        return None  # a library for each CUDA: it loads the one of torch's
    return _described(installed, catalog)


def _described(installed: Distribution, catalog: Mapping[str, PackageFacts]) -> Package | None:
    """What the table knows of that version; else what its name says."""
    row = row_of(installed, catalog)
    if row is not None:
        return row
    match = _NAMED.search(installed.name)
    return Package(installed.name, installed.version, cuda=match[1]) if match is not None else None


def row_of(installed: Distribution, catalog: Mapping[str, PackageFacts]) -> Package | None:
    facts = catalog.get(installed.name)
    rows = () if facts is None else facts.versions
    return next((row for row in rows if row.version == installed.version), None)


def runtimes(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Two CUDA majors of one NVIDIA library that wrote the same file; side by side they are harmless."""
    here, torch, quoting = subject.environment, subject.torch, subject.run.shell
    groups = grouped((_stem(package), package) for package in here.named(installedtorch.NVIDIA))
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
                cure=shell.then(
                    remedy.by_installer(here, quoting, "uninstall", drop.name),
                    remedy.put_back(here, quoting, keep),
                    quoting,
                ),
            )


def _stem(package: Distribution) -> str:
    stem, _, digits = package.name.rpartition("-cu")
    return stem if digits.isdigit() else package.name


def _major(package: Distribution) -> str:
    """The CUDA major of `nvidia-cudnn-cu12 9.10` by its name; without one, from CUDA 13 on, by the version."""
    return package.name.rpartition("-cu")[2] if _stem(package) != package.name else package.version.split(".")[0]


def twice(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """Projects that install the same module: whichever was installed last, the other's files are under it."""
    here, quoting = subject.environment, subject.run.shell
    pairs: dict[frozenset[str], tuple[Distribution, Distribution]] = {}
    for package in here.named(""):
        facts = subject.known.get(package.name)
        for other in filter(None, map(here.find, () if facts is None else facts.rivals)):
            pairs.setdefault(frozenset({package.name, other.name}), (package, other))
    for one, other in pairs.values():
        keep, drop = (one, other) if "gpu" in one.name or "gpu" not in other.name else (other, one)
        again = remedy.by_installer(here, quoting, "install", f"{keep.name}=={keep.version}")
        yield Finding(
            Ailment.MODULE_TWICE,
            f"{one.label} and {other.label} install the same module",
            {"packages": [one.label, other.label]},
            cure=shell.then(remedy.by_installer(here, quoting, "uninstall", keep.name, drop.name), again, quoting),
            advice=f"to uninstall one alone would take files of {keep.name} away",
        )
