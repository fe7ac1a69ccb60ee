"""What around an environment leads programs astray."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.model.finding import Ailment, Finding
from torchpick.model.versions import is_dotted, numbers

# NVIDIA's CUDA Compatibility guide: forward compatibility is for data-centre GPUs; these are refused (error 804).
_REFUSED = re.compile(r"geforce|titan|\b[GR]TX (?:16|[1-5]0)[5-9]0", re.IGNORECASE)
_HIDING = {"CUDA_VISIBLE_DEVICES": "nvidia", "HIP_VISIBLE_DEVICES": "amd", "ROCR_VISIBLE_DEVICES": "amd"}


def driver_library(subject: EnvironmentUnderTest) -> Iterator[Finding]:
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


def hidden(subject: EnvironmentUnderTest) -> Iterator[Finding]:
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
