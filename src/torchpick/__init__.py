"""torchpick: the PyTorch build that really runs on this machine's GPUs.

The library is the command without its printing: `pick()` selects a build, `detect()` describes the machine, `check()`
examines what is installed. Importing it costs next to nothing; what a function needs is loaded when it is called.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.api import check, detect, fleet, inspect, pick, plan
    from torchpick.decide.several import Groups, HostGroup
    from torchpick.errors import (
        CompatError,
        DetectionError,
        InstallerError,
        IntegrityError,
        MissingPackageError,
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
    from torchpick.model.arch import Arch, Fit
    from torchpick.model.build import Build, Evidence, GpuFit, Objection, Rank, Reason, VendorIndex, Verdict
    from torchpick.model.finding import Ailment, Finding
    from torchpick.model.fleet import Crowd, Fleet, Hosts, LeftOut
    from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python, Trouble
    from torchpick.model.package import PackageObjection, PinnedPackage, Stack
    from torchpick.model.pick import Change, Group, Limit, Pick, Wish
    from torchpick.wheels.judging import Inspection, LibraryVerdict, ReadingVerdict
    from torchpick.wheels.librarycode import CodeContents, Library, Modules
    from torchpick.wheels.readings import Reading, TorchFacts

__all__ = [
    "Ailment",
    "Arch",
    "Build",
    "Change",
    "CodeContents",
    "CompatError",
    "Crowd",
    "DetectionError",
    "Driver",
    "Evidence",
    "Finding",
    "Fit",
    "Fleet",
    "Gpu",
    "GpuFit",
    "Group",
    "Groups",
    "HostGroup",
    "Hosts",
    "Inspection",
    "InstallerError",
    "IntegrityError",
    "LeftOut",
    "Library",
    "LibraryVerdict",
    "Limit",
    "Machine",
    "MissingPackageError",
    "Modules",
    "NetworkError",
    "NoBuildError",
    "Note",
    "Objection",
    "PackageObjection",
    "Pick",
    "PinnedPackage",
    "Platform",
    "Python",
    "RangesUnsupportedError",
    "Rank",
    "Reading",
    "ReadingVerdict",
    "Reason",
    "RequirementError",
    "ResolverError",
    "Stack",
    "TorchFacts",
    "TorchpickError",
    "Trouble",
    "UsageError",
    "VendorIndex",
    "Verdict",
    "WheelError",
    "WheelLayoutError",
    "Wish",
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
    "torchpick.decide.several": "Groups HostGroup",
    "torchpick.model.arch": "Arch Fit",
    "torchpick.model.build": "Build Evidence GpuFit Objection Rank Reason VendorIndex Verdict",
    "torchpick.model.finding": "Ailment Finding",
    "torchpick.model.fleet": "Crowd Fleet Hosts LeftOut",
    "torchpick.model.machine": "Driver Gpu Machine Note Platform Python Trouble",
    "torchpick.model.package": "PackageObjection PinnedPackage Stack",
    "torchpick.model.pick": "Change Group Limit Pick Wish",
    "torchpick.wheels.judging": "Inspection LibraryVerdict ReadingVerdict",
    "torchpick.wheels.librarycode": "CodeContents Library Modules",
    "torchpick.wheels.readings": "Reading TorchFacts",
    "torchpick.model": "__version__",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'torchpick' has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names.split()), "torchpick.api")
    if name.endswith("Error"):
        home = "torchpick.errors"
    from importlib import import_module

    value: object = getattr(import_module(home), "VERSION" if name == "__version__" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
