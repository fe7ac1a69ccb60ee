"""torchpick: the PyTorch build that really runs on this machine's GPUs.

The library is the command without its printing: `pick()` selects a build, `detect()` describes the machine, `check()`
examines what is installed. Importing it costs next to nothing; what a function needs is loaded when it is called.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.api import check, detect, fleet, inspect, pick, plan
    from torchpick.decide.several import Groups
    from torchpick.errors import (
        CompatError,
        DetectionError,
        InstallerError,
        IntegrityError,
        NetworkError,
        NoBuildError,
        RangesUnsupportedError,
        RequirementError,
        ResolverError,
        TorchpickError,
        UsageError,
        WheelError,
        WheelLayoutError,
    )
    from torchpick.model import VERSION as __version__  # noqa: N811
    from torchpick.model.finding import Finding
    from torchpick.model.machine import Machine
    from torchpick.model.package import Stack
    from torchpick.model.pick import Pick
    from torchpick.wheels.judging import Inspection
    from torchpick.wheels.readings import Reading

__all__ = [
    "CompatError",
    "DetectionError",
    "Finding",
    "Groups",
    "Inspection",
    "InstallerError",
    "IntegrityError",
    "Machine",
    "NetworkError",
    "NoBuildError",
    "Pick",
    "RangesUnsupportedError",
    "Reading",
    "RequirementError",
    "ResolverError",
    "Stack",
    "TorchpickError",
    "UsageError",
    "WheelError",
    "WheelLayoutError",
    "__version__",
    "check",
    "detect",
    "fleet",
    "inspect",
    "pick",
    "plan",
]

# Where each of them is that is no error and no function.
_HOMES = {
    "Finding": "torchpick.model.finding",
    "Groups": "torchpick.decide.several",
    "Inspection": "torchpick.wheels.judging",
    "Machine": "torchpick.model.machine",
    "Pick": "torchpick.model.pick",
    "Reading": "torchpick.wheels.readings",
    "Stack": "torchpick.model.package",
    "__version__": "torchpick.model",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'torchpick' has no attribute {name!r}")
    home = "torchpick.errors" if name.endswith("Error") else _HOMES.get(name, "torchpick.api")
    from importlib import import_module

    value: object = getattr(import_module(home), "VERSION" if name == "__version__" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
