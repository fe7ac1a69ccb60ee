"""Whether the installed torch runs on each GPU, by resolve's own verdict on it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchpick.doctor.facts import Facts, InstalledTorch, fits
from torchpick.model.arch import Fit
from torchpick.model.build import family_of
from torchpick.model.finding import Ailment, Finding
from torchpick.model.machine import Gpu
from torchpick.model.table import below
from torchpick.model.verdict import Objection, Reason

# What resolve objects to, where it concerns an installed build.
_OBJECTIONS = {
    Reason.NO_KERNELS: Ailment.NO_KERNELS,
    Reason.PTX_ONLY_DRIVER_TOO_OLD: Ailment.PTX_ONLY_DRIVER_TOO_OLD,
    Reason.DRIVER_TOO_OLD: Ailment.DRIVER_TOO_OLD,
    Reason.GPU_NOT_SERVED_BY_DRIVER: Ailment.GPU_NOT_SERVED_BY_DRIVER,
    Reason.LIBRARY_DROPPED_GPU: Ailment.LIBRARY_DROPPED_GPU,
    Reason.UNKNOWN_ARCHES: Ailment.UNKNOWN_ARCHES,
}
# Their sentences go on from the subject.
_VERBS = (Ailment.NO_KERNELS, Ailment.PTX_ONLY_DRIVER_TOO_OLD)
_FAMILIES = {"nvidia": "cuda", "amd": "rocm"}


def silent(facts: Facts) -> Iterator[Finding]:
    """A GPU is there and its driver does not answer."""
    trouble = facts.machine.trouble
    if trouble is not None:
        yield Finding(Ailment.DRIVER_NO_ANSWER, trouble.text, {"code": trouble.code}, advice=trouble.hint)


def cpu_only(facts: Facts) -> Iterator[Finding]:
    torch = facts.torch
    if torch is not None and torch.backend == "cpu" and facts.gpus:
        yield Finding(
            Ailment.CPU_ONLY_BUILD,
            f"{torch.label} is a CPU build, and there is {_labels(facts.gpus)}",
            {"torch": torch.version, "gpus": [gpu.index for gpu in facts.gpus]},
            by_torch=True,
        )


def other_vendor(facts: Facts) -> Iterator[Finding]:
    torch = facts.torch
    if torch is None:
        return
    family = family_of(torch.backend)
    if family in ("cuda", "rocm") and facts.gpus and family not in {_FAMILIES[gpu.vendor] for gpu in facts.gpus}:
        maker = {"cuda": "NVIDIA", "rocm": "AMD"}[family]
        yield Finding(
            Ailment.OTHER_VENDOR_BUILD,
            f"{torch.label} was built for {maker} GPUs, and there is {_labels(facts.gpus)}",
            {"torch": torch.version, "gpus": [gpu.index for gpu in facts.gpus]},
            by_torch=True,
        )


def unsupported(facts: Facts) -> Iterator[Finding]:
    """Every objection to the installed build, one finding for the GPUs of one kind."""
    torch = facts.torch
    if torch is None or torch.verdict is None or _foreign(torch, facts) or facts.machine.trouble is not None:
        return
    grouped: dict[tuple[Ailment, str], tuple[Objection, list[int]]] = {}
    for objection in torch.verdict.objections:
        ailment = _OBJECTIONS.get(objection.reason)
        if ailment is None:
            continue
        gpus = [] if objection.gpu is None else [objection.gpu]
        grouped.setdefault((ailment, objection.text), (objection, []))[1].extend(gpus)
    for (ailment, text), (objection, gpus) in grouped.items():
        driver_alone = ailment is Ailment.GPU_NOT_SERVED_BY_DRIVER
        yield Finding(
            ailment,
            text if driver_alone else f"{torch.label}{' ' if ailment in _VERBS else ': '}{text}",
            {**objection.facts, **_seen(torch), "gpus": gpus or [gpu.index for gpu in facts.gpus]},
            advice=_advice(ailment, objection),
            by_torch=not driver_alone,
        )


def _advice(ailment: Ailment, objection: Objection) -> str | None:
    if ailment is Ailment.DRIVER_TOO_OLD:
        return f"or install driver {objection.facts['needs']} or newer and keep this torch"
    if ailment is Ailment.PTX_ONLY_DRIVER_TOO_OLD:
        return f"or install a driver that supports CUDA {objection.facts['cuda']} and keep this torch"
    if ailment is Ailment.GPU_NOT_SERVED_BY_DRIVER:
        return f"change the driver: {objection.facts['why']}; no build of torch can fix this"
    return None


def compiled_at_first_use(facts: Facts) -> Iterator[Finding]:
    torch = facts.torch
    if torch is None or torch.verdict is None or not torch.verdict.ok:
        return
    gpus = [gpu for gpu in facts.gpus if fits(torch, gpu) is Fit.JIT]
    if gpus:
        yield Finding(
            Ailment.JIT_ONLY,
            f"{torch.label} has only PTX for {_labels(gpus)}",
            {**_seen(torch), "gpus": [gpu.index for gpu in gpus]},
        )


def partial(facts: Facts) -> Iterator[Finding]:
    """A library of torch itself without code for a GPU that the rest of it supports."""
    torch = facts.torch
    if torch is None:
        return
    for library in torch.partial:
        gpu = facts.gpu(library.gpu)
        if fits(torch, gpu) is not Fit.NONE:
            yield Finding(
                Ailment.PARTIAL_LIBRARY,
                f"{library.name} of {torch.label} supports {gpu.label} only in part: {library.text}",
                {**_seen(torch), "library": library.name, "gpus": [library.gpu]},
                advice=_ADVICE.get(library.name.partition(".")[0]),
            )


_ADVICE = {
    "libtorch_cuda_linalg": (
        "LU of large matrices and LDL may fail there, all else of torch.linalg runs; "
        "`torchpick list --whole` names the builds that have all of it"
    )
}


def triton(facts: Facts) -> Iterator[Finding]:
    """torch.compile writes its kernels with triton, which supports fewer GPUs than torch."""
    one, floor = facts.environment.find("triton"), facts.triton_floor
    if one is None or floor is None or facts.torch is None:
        return
    left = [gpu for gpu in facts.nvidia() if gpu.arch is not None and below(gpu.arch, floor)]
    if left:
        yield Finding(
            Ailment.TRITON_DROPPED_GPU,
            f"triton {one.version} supports sm_{floor[0]}{floor[1]} and newer, not {_labels(left)}",
            {"library": one.label, "gpus": [gpu.index for gpu in left]},
            advice="run without torch.compile there, or set TORCHDYNAMO_DISABLE=1",
        )


def _foreign(torch: InstalledTorch, facts: Facts) -> bool:
    """Whether another maker's build is installed, which is said once and not once more for each GPU."""
    return any(True for _ in other_vendor(facts)) or torch.backend == "cpu"


def _seen(torch: InstalledTorch) -> dict[str, object]:
    return {
        "torch": torch.version,
        "arches": None if torch.arches is None else [str(arch) for arch in torch.arches],
        "evidence": "measured" if torch.measured else "declared",
        "where": f"{torch.folder}/torch",
    }


def _labels(gpus: Sequence[Gpu]) -> str:
    names = list(dict.fromkeys(gpu.label for gpu in gpus))
    return ", ".join(names)
