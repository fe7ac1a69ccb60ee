"""Facts → findings: one small function a check, none of which asks for anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchpick.doctor.checks import companions, hardware, loader, packages, settings, torch, whole
from torchpick.doctor.facts import Facts
from torchpick.model.finding import Finding

Check = Callable[[Facts], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    torch.interpreter,
    torch.missing,
    torch.broken,
    torch.twice,
    torch.unreadable,
    hardware.silent,
    hardware.cpu_only,
    hardware.other_vendor,
    hardware.unsupported,
    hardware.compiled_at_first_use,
    hardware.partial,
    hardware.triton,
    companions.mismatch,
    companions.other_cuda,
    companions.demands,
    packages.other_cuda,
    packages.without_kernels,
    packages.runtimes,
    whole.required,
    whole.gone,
    whole.numpy,
    whole.twice,
    loader.absent,
    loader.library_path,
    loader.driver_library,
    loader.hidden,
)
# These look at `wanted`, which is known only once the others have said whether torch must change.
LAST: tuple[Check, ...] = (settings.undo, settings.uv_auto, settings.lock)


def run(checks: tuple[Check, ...], facts: Facts) -> list[Finding]:
    return [finding for check in checks for finding in check(facts)]
