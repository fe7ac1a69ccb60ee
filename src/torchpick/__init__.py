"""torchpick: the PyTorch build that really runs on this machine's GPUs.

The library is the command without its printing: `pick()` selects a build, `detect()` describes the machine, `check()`
examines what is installed. Importing it costs next to nothing; what a function needs is loaded when it is called.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.api import check, detect, fleet, inspect, pick, plan
    from torchpick.decide.several import Groups
    from torchpick.errors import DetectionError, NoBuildError, TorchpickError, UsageError
    from torchpick.model import VERSION as __version__  # noqa: N811
    from torchpick.model.finding import Finding
    from torchpick.model.machine import Machine
    from torchpick.model.package import Stack
    from torchpick.model.pick import Pick

# Where a name is that is not a function of the library.
_HOMES = {
    "DetectionError": "torchpick.errors",
    "NoBuildError": "torchpick.errors",
    "TorchpickError": "torchpick.errors",
    "UsageError": "torchpick.errors",
    "Finding": "torchpick.model.finding",
    "Groups": "torchpick.decide.several",
    "Machine": "torchpick.model.machine",
    "Pick": "torchpick.model.pick",
    "Stack": "torchpick.model.package",
    "__version__": "torchpick.model",
}

__all__ = [
    "DetectionError",
    "Finding",
    "Groups",
    "Machine",
    "NoBuildError",
    "Pick",
    "Stack",
    "TorchpickError",
    "UsageError",
    "__version__",
    "check",
    "detect",
    "fleet",
    "inspect",
    "pick",
    "plan",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'torchpick' has no attribute {name!r}")
    from importlib import import_module

    home = import_module(_HOMES.get(name, "torchpick.api"))
    value: object = getattr(home, "VERSION" if name == "__version__" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
