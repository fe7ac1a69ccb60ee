"""Packages that are built from source: what must be there first, said before an installer starts."""

from __future__ import annotations

from torchpick.errors import InstallerError
from torchpick.install.agreement import Agreement
from torchpick.installers.jobs import Job
from torchpick.model.machine import Note

_FLAG = "--no-build-isolation"


def check(job: Job, agreement: Agreement) -> tuple[Note, ...]:
    """Notes for what can be built now; InstallerError for what cannot be before torch is there."""
    notes = []
    for name in sorted(agreement.named):
        if not agreement.knows(name) or (source := agreement.facts[name].source_only) is None:
            continue
        if any(each.name == name and each.place for each in job.asked.wanted) or name in job.target.installed:
            continue
        cuda = job.pick.build.cuda
        toolkit = f"nvcc of CUDA {cuda}" if cuda else "a compiler"
        arches = sorted(
            {gpu.arch for gpu in job.pick.machine.counted if gpu.arch is not None and gpu.vendor == "nvidia"}
        )
        flags = ";".join(f"{arch.major}.{arch.minor}" for arch in arches)
        variable = f'TORCH_CUDA_ARCH_LIST="{flags}" ' if flags else ""
        command = f"{variable}torchpick install {name} -- {_FLAG}"
        if _FLAG not in job.passed_on or job.target.installed.get("torch") != job.pick.version:
            message = f"{name} is built from source, with torch and {toolkit} in place: {source}"
            hint = f"`torchpick install torch=={job.pick.version}`, then `{command}`"
            raise InstallerError(message, hint=hint, code="BUILT_FROM_SOURCE")
        notes.append(
            Note("BUILT_FROM_SOURCE", f"{name} is built from source, which needs {toolkit}; `{variable.strip()}`")
        )
    return tuple(notes)
