"""Whether the installed torch runs on each GPU, by the decision's own verdict on it."""

from __future__ import annotations

from collections.abc import Iterator

from torchpick.decide import remarks
from torchpick.doctor import binaries
from torchpick.doctor.installedtorch import InstalledTorch
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.knowledge.indexes import triton_floors
from torchpick.model.arch import Fit
from torchpick.model.build import FAMILIES, MAKERS, family_of
from torchpick.model.finding import Ailment, Finding
from torchpick.model.table import below
from torchpick.model.verdict import Objection, Reason
from torchpick.model.versions import is_dotted, release_key

# What resolve objects to, where it concerns an installed build.
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
            grouped.setdefault((ailment, objection.text), (objection, []))[1].extend(gpus)
    for (ailment, text), (objection, gpus) in grouped.items():
        by_driver = ailment is Ailment.GPU_NOT_SERVED_BY_DRIVER
        advice = _ADVICE.get(ailment)
        yield Finding(
            ailment,
            text if by_driver else f"{torch.label}{' ' if ailment in _VERBS else ': '}{text}",
            {**objection.facts, **_seen(torch), "gpus": gpus or [gpu.index for gpu in subject.gpus]},
            advice=advice and advice.format_map(objection.facts),
            by_torch=not by_driver,
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
    """A library of torch itself without code for a GPU that the rest of it supports."""
    torch = subject.torch
    if torch is None:
        return
    gpus = tuple(gpu for gpu in subject.machine.nvidia if torch.fit(gpu) is not Fit.NONE)
    for library in binaries.partial(torch, gpus, subject.judge):
        needs = remarks.NEEDS.get(library.name.partition(".")[0].removeprefix("lib"))
        yield Finding(
            Ailment.PARTIAL_LIBRARY,
            f"{library.name} of {torch.label} supports {subject.labels(library.gpu)} only in part: {library.text}",
            {**_seen(torch), "library": library.name, "gpus": [library.gpu]},
            advice=needs and f"{needs}; `torchpick list --whole` names the builds that have all of it",
        )


def triton(subject: EnvironmentUnderTest) -> Iterator[Finding]:
    """torch.compile writes its kernels with triton, which supports fewer GPUs than torch."""
    package = subject.environment.find("triton")
    if package is None or subject.torch is None or not is_dotted(package.version):
        return
    rows = subject.session.knowledge.file("libraries.json", triton_floors)
    sure = [floor for since, floor in rows if release_key(since) <= release_key(package.version)]
    left = [gpu.index for gpu in subject.machine.nvidia if gpu.arch and sure and below(gpu.arch, sure[-1])]
    if left:
        yield Finding(
            Ailment.TRITON_DROPPED_GPU,
            f"triton {package.version} supports sm_{sure[-1][0]}{sure[-1][1]} and newer, not {subject.labels(*left)}",
            {"library": package.label, "gpus": left},
            advice="run without torch.compile there, or set TORCHDYNAMO_DISABLE=1",
        )


def _seen(torch: InstalledTorch) -> dict[str, object]:
    return {
        "torch": torch.version,
        "arches": None if torch.arches is None else [str(arch) for arch in torch.arches],
        "evidence": "measured" if torch.measured else "declared",
        "where": f"{torch.folder}/torch",
    }
