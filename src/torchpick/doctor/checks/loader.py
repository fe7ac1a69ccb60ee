"""What the loader of this machine will do: libraries that are nowhere, or come from elsewhere first. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchpick.doctor.facts import Facts
from torchpick.model.finding import Ailment, Finding
from torchpick.model.verdict import Reason
from torchpick.model.versions import is_dotted, numbers

# NVIDIA's CUDA Compatibility guide: forward compatibility is for data-centre GPUs; these are refused (error 804).
_REFUSED = re.compile(r"geforce|titan|\b[GR]TX (?:16|[1-5]0)[5-9]0", re.IGNORECASE)
_HIDING = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}


def absent(facts: Facts) -> Iterator[Finding]:
    """Libraries that torch or a package asks for and that are in no folder the loader looks into."""
    wanted: dict[str, list[str]] = {}
    for each in facts.absent:
        wanted.setdefault(each.wanted_by, []).append(each.library)
    # These are said with the package that should have brought them, or with the CUDA that does not belong.
    lacking = {missing.package for missing in facts.required if missing.name.startswith(("nvidia-", "cuda-"))}
    mixed = {trouble.label for trouble in facts.troubles if trouble.objection.reason is Reason.CUDA_MAJOR_MIXED}
    # What torch itself misses, the others miss for the same reason.
    of_torch = {each.library for each in facts.absent if each.wanted_by.startswith("torch ")}
    for package, every in wanted.items():
        mine = package.startswith("torch ")
        libraries = [library for library in every if mine or library not in of_torch]
        if package in lacking | mixed:
            libraries = [library for library in libraries if library.startswith(("libtorch", "libc10"))]
        if not libraries:
            continue
        shown = ", ".join(libraries[:4]) + (" …" if len(libraries) > 4 else "")
        yield Finding(
            Ailment.MISSING_LIBRARY,
            f"{package} needs {shown}, which is in no package here and in no folder of the loader",
            {"package": package, "libraries": libraries},
            advice=None if mine else _advice(package, libraries),
            by_torch=mine,
        )


def _advice(package: str, libraries: list[str]) -> str:
    name = package.partition(" ")[0]
    if any(library.startswith(("libtorch", "libc10")) for library in libraries):
        return f"install the release of {name} that was built for this torch"
    return f"install the {name} that was built for the CUDA of this torch, not the missing library"


def library_path(facts: Facts) -> Iterator[Finding]:
    by_folder: dict[str, list[str]] = {}
    for each in facts.overrides:
        by_folder.setdefault(each.folder, []).append(each.library)
    for folder, names in by_folder.items():
        yield Finding(
            Ailment.LIBRARY_PATH,
            f"LD_LIBRARY_PATH puts {folder} first, so {', '.join(sorted(names)[:4])} come from there and not from "
            "the environment",
            {"folder": folder, "libraries": sorted(names)},
            cure="unset LD_LIBRARY_PATH",
            advice="torch brings its own CUDA; leave the folder out for programs that use it",
        )


def driver_library(facts: Facts) -> Iterator[Finding]:
    """A libcuda that is not the driver's: a stub never works, cuda-compat only newer than the driver, on some GPUs."""
    found = facts.shell.driver_library
    if found is None:
        return
    seen: dict[str, object] = {"folder": found.folder, "version": found.version}
    advice = f"remove {found.folder} from LD_LIBRARY_PATH"
    if found.kind == "stub":
        text = f"LD_LIBRARY_PATH puts the stub libcuda of {found.folder} before the driver's"
        yield Finding(Ailment.STUB_DRIVER_LIBRARY, text, seen, advice=advice)
        return
    driver = facts.machine.driver
    version = None if driver is None else driver.version
    if found.version and is_dotted(found.version) and version and numbers(version) >= numbers(found.version):
        text = f"cuda-compat {found.version} in {found.folder} is not newer than the driver, {version}"
        yield Finding(Ailment.CUDA_COMPAT, text, {**seen, "driver": version}, advice=advice)
        return
    refused = [gpu.label for gpu in facts.nvidia() if _REFUSED.search(gpu.name or "")]
    if refused:
        text = f"cuda-compat in {found.folder} does not support {', '.join(refused)}"
        yield Finding(Ailment.CUDA_COMPAT, text, seen, advice=advice)


def hidden(facts: Facts) -> Iterator[Finding]:
    """A variable that hides every GPU; to hide some of them is a choice."""
    for name, value in facts.shell.variables.items():
        gpus = [gpu for gpu in facts.gpus if gpu.vendor == _HIDING.get(name)]
        first = value.split(",")[0].strip()
        if gpus and not (first[:1].isdigit() or first[:1] == "+" or "-" in first[1:]):
            yield Finding(
                Ailment.GPUS_HIDDEN,
                f"{name} is {value!r}, which hides every GPU",
                {"variable": name, "value": value, "hidden": [gpu.index for gpu in gpus]},
                cure=f"unset {name}",
            )
