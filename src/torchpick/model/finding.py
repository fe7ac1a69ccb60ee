"""What is wrong in an environment: a stable code, what was seen, and what to do about it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from torchpick.model.fields import dumps, written

ERROR, WARNING, NOTE = "error", "warning", "note"
SEVERITIES = (ERROR, WARNING, NOTE)


class Ailment(Enum):
    """What can be wrong: the name is the stable code, the value its usual severity and why it matters.

    docs/doctor.md explains each: what it means, its common causes and its fix.
    """

    TORCH_MISSING = (ERROR, "there is no torch to import")
    TORCH_BROKEN = (ERROR, "files of torch are missing, so `import torch` fails")
    CPU_ONLY_BUILD = (ERROR, "it was built without GPU code, so torch.cuda.is_available() is False on any driver")
    OTHER_VENDOR_BUILD = (ERROR, "code for another maker's GPUs does not run here")
    NO_KERNELS = (ERROR, "the first kernel fails: no kernel image is available for execution on the device (error 209)")
    PTX_ONLY_DRIVER_TOO_OLD = (ERROR, "there is no machine code for the GPU, and the driver cannot compile this PTX")
    DRIVER_TOO_OLD = (ERROR, "CUDA does not start: the NVIDIA driver on your system is too old (error 35)")
    GPU_NOT_SERVED_BY_DRIVER = (ERROR, "the driver ignores the GPU, so no program sees it")
    NO_WHEEL_FOR_PLATFORM = (ERROR, "an installer finds no file, and stops")
    DRIVER_NO_ANSWER = (ERROR, "without a driver that answers no program can use the GPU")
    LIBRARY_DROPPED_GPU = (ERROR, "convolutions and attention call that library, and it has no code for the GPU")
    COMPANION_MISMATCH = (ERROR, "compiled against another torch: undefined symbols, or operators that do not exist")
    COMPANION_OTHER_CUDA = (
        ERROR,
        "built for another CUDA or without it: it refuses to load, or lacks its GPU operators",
    )
    CUDA_MAJOR_MIXED = (ERROR, "what links torch loads the CUDA it was built for, and torch has loaded another")
    PACKAGE_DRIVER_TOO_OLD = (ERROR, "the driver does not carry the CUDA that the package brings (error 35)")
    PACKAGE_NO_KERNELS = (ERROR, "its kernels fail on the GPU, whatever torch itself can do")
    REQUIREMENT_MISSING = (ERROR, "it cannot be imported, or loads libraries that are not there")
    NUMPY_TOO_NEW = (ERROR, "this torch was compiled against NumPy 1: Numpy is not available")
    MISSING_LIBRARY = (ERROR, "the loader fails: cannot open shared object file: No such file or directory")
    TORCH_TWICE = (WARNING, "which one is imported depends on the search path, and an installer changes only one")
    UNKNOWN_ARCHES = (WARNING, "which GPUs this torch was built for could not be read, so nothing is promised")
    PARTIAL_LIBRARY = (WARNING, "what calls that library fails on the GPU; everything else runs")
    REQUIREMENT_UNMET = (WARNING, "it was built and tested with another version of that package")
    TWO_CUDA_RUNTIMES = (WARNING, "files of one overwrite the other's, and the last one installed wins")
    LIBRARY_PATH = (
        WARNING,
        "the loader prefers those files to the environment's own: undefined symbols, wrong results",
    )
    GPUS_HIDDEN = (WARNING, "programs started from this shell see no GPU")
    MODULE_TWICE = (WARNING, "each overwrites the other's files, and the last one installed wins")
    LOCK_UNDOES = (WARNING, "uv makes the environment what the lock of the project says, whatever was installed since")
    UNREADABLE = (WARNING, "what cannot be read cannot be judged, nor cleanly replaced by an installer")
    PACKAGE_PARTLY = (NOTE, "what needs those libraries fails on the GPU; the package may have another way")
    JIT_ONLY = (NOTE, "the driver compiles its code on first use, which takes minutes, once")

    @property
    def severity(self) -> str:
        severity, _ = self.value
        return severity

    @property
    def why(self) -> str:
        _, why = self.value
        return why


class KindOfFinding(Protocol):
    """What an ailment and a cause of compat/errors.json have in common."""

    @property
    def name(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def why(self) -> str: ...


class Finding(NamedTuple):
    """One thing that is wrong.

    `seen` holds the facts it rests on. `cure` is a command that fixes it, where there is one, and `brings` what that
    installs; `advice` says the rest. `by_torch` asks for the command that installs another build of torch, `needs` for
    a requirement beside it.
    """

    ailment: KindOfFinding
    text: str
    seen: Mapping[str, object] = {}
    advice: str | None = None
    cure: str | None = None
    brings: str | None = None
    by_torch: bool = False
    needs: str | None = None
    weight: str | None = None

    @property
    def code(self) -> str:
        return self.ailment.name

    @property
    def why(self) -> str:
        return self.ailment.why

    @property
    def severity(self) -> str:
        return self.weight or self.ailment.severity

    @property
    def remark(self) -> str | None:
        """What the fix brings, and what else there is to know."""
        return "; ".join(part for part in (self.brings, self.advice) if part) or None

    def to_json(self) -> str:
        return dumps(self.to_dict())

    def to_dict(self) -> dict[str, object]:
        return {**written(self, "code", "severity", "text", "why", "seen", "cure"), "advice": self.remark}


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then notes; among equals the order of the catalogue, then of the checks."""
    order = [ailment.name for ailment in Ailment]
    return tuple(sorted(findings, key=lambda finding: (SEVERITIES.index(finding.severity), order.index(finding.code))))
