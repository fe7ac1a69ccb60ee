"""What around an environment leads programs astray, or undoes the right torch at the next plain install."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchpick.doctor.subject import Subject
from torchpick.environment.distributions import ProjectLock, TorchSetting
from torchpick.model.finding import Ailment, Finding
from torchpick.model.versions import is_dotted, numbers

# NVIDIA's CUDA Compatibility guide: forward compatibility is for data-centre GPUs; these are refused (error 804).
_REFUSED = re.compile(r"geforce|titan|\b[GR]TX (?:16|[1-5]0)[5-9]0", re.IGNORECASE)
_HIDING = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}
_VARIABLES = "the environment"


def driver_library(subject: Subject) -> Iterator[Finding]:
    """A libcuda that is not the driver's: a stub never works, cuda-compat only newer than the driver, on some GPUs."""
    library = subject.shell.driver_library
    if library is None:
        return
    seen: dict[str, object] = {"folder": library.folder, "version": library.version}
    advice = f"remove {library.folder} from LD_LIBRARY_PATH"
    if library.kind == "stub":
        text = f"LD_LIBRARY_PATH puts the stub libcuda of {library.folder} before the driver's"
        yield Finding(Ailment.STUB_DRIVER_LIBRARY, text, seen, advice=advice)
        return
    driver = None if subject.machine.driver is None else subject.machine.driver.version
    refused = [gpu.index for gpu in subject.gpus if gpu.vendor == "nvidia" and _REFUSED.search(gpu.name or "")]
    if library.version and is_dotted(library.version) and driver and numbers(driver) >= numbers(library.version):
        text = f"cuda-compat {library.version} in {library.folder} is not newer than the driver, {driver}"
        yield Finding(Ailment.CUDA_COMPAT, text, {**seen, "driver": driver}, advice=advice)
    elif refused:
        text = f"cuda-compat in {library.folder} does not support {subject.labels(*refused)}"
        yield Finding(Ailment.CUDA_COMPAT, text, seen, advice=advice)


def hidden(subject: Subject) -> Iterator[Finding]:
    """A variable that hides every GPU; to hide some of them is a choice."""
    for name, value in subject.shell.variables.items():
        gpus = [gpu.index for gpu in subject.gpus if gpu.vendor == _HIDING.get(name)]
        first = value.split(",")[0].strip()
        if gpus and not (first[:1].isdigit() or first[:1] == "+" or "-" in first[1:]):
            yield Finding(
                Ailment.GPUS_HIDDEN,
                f"{name} is {value!r}, which hides every GPU",
                {"variable": name, "value": value, "hidden": gpus},
                cure=f"unset {name}",
            )


def undo(settings: Iterable[TorchSetting], backend: str, *, auto_fails: bool) -> Iterator[Finding]:
    """Settings of pip or uv that lead to another backend than the environment should have.

    The `auto` of uv looks at the driver alone (uv 0.13.8): it may take a build without code for the GPU.
    """
    for setting in settings:
        is_auto = setting.backend == "auto"
        if setting.backend == backend or (is_auto and not auto_fails):
            continue
        means = f"leads to {setting.backend} builds" if setting.backend else "offers builds of every backend"
        text = f"{means}, and {backend} is the one to keep"
        if is_auto:
            text = "is auto, which goes by the driver alone and takes a build without code for this GPU"
        by_variable = setting.where == _VARIABLES and not is_auto
        yield Finding(
            Ailment.SETTINGS_UNDO,
            f"{setting.name} in {setting.where} {text}",
            {"setting": setting.name, "where": setting.where, "value": setting.value, "backend": setting.backend},
            cure=f"unset {setting.name}" if by_variable else None,
            advice=f"set it to {backend}" if is_auto else None if by_variable else _removal(setting),
        )


def _removal(setting: TorchSetting) -> str:
    ours = ", or all that `torchpick pin` wrote with `torchpick unpin`" if setting.beside_pin else ""
    return f"remove that line from {setting.where}{ours}"


def lock(subject: Subject, locked: ProjectLock, version: str, backend: str) -> Iterator[Finding]:
    """A lock that names another torch than the one to keep."""
    here, torch = subject.environment, subject.torch
    recorded = here.find("torch")
    keeps = {version}
    if recorded is not None and torch is not None and torch.version == version:
        keeps.add(recorded.version)
    if keeps.isdisjoint(locked.versions):
        yield Finding(
            Ailment.LOCK_UNDO,
            f"{locked.file} holds torch {', '.join(locked.versions)}, and {version} ({backend}) is the one to keep",
            {"file": locked.file, "locked": list(locked.versions), "wanted": version},
            advice="write the backend into the project (`torchpick extras --for app`) and lock again",
        )
