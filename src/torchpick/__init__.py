"""torchpick: the PyTorch build that really runs on this machine's GPUs.

The library is the command without its printing: `pick()` answers, `detect()` looks, `check()` examines what is
installed. Importing it costs next to nothing; what a function needs is loaded when it is called.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.api import check as check
    from torchpick.api import detect as detect
    from torchpick.api import pick as pick
    from torchpick.errors import DetectionError as DetectionError
    from torchpick.errors import NoBuildError as NoBuildError
    from torchpick.errors import TorchpickError as TorchpickError
    from torchpick.errors import UsageError as UsageError
    from torchpick.model.finding import Finding as Finding
    from torchpick.model.machine import Machine as Machine
    from torchpick.model.verdict import Pick as Pick

_HOMES = {
    "check": "torchpick.api",
    "detect": "torchpick.api",
    "pick": "torchpick.api",
    "DetectionError": "torchpick.errors",
    "NoBuildError": "torchpick.errors",
    "TorchpickError": "torchpick.errors",
    "UsageError": "torchpick.errors",
    "Finding": "torchpick.model.finding",
    "Machine": "torchpick.model.machine",
    "Pick": "torchpick.model.verdict",
}

__all__ = [
    "DetectionError",
    "Finding",
    "Machine",
    "NoBuildError",
    "Pick",
    "TorchpickError",
    "UsageError",
    "__version__",
    "check",
    "detect",
    "pick",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'torchpick' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
