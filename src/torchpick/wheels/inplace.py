"""What is installed for a Python, read in place: no package is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TypeVar

from torchpick.environment import distributions, world
from torchpick.errors import WheelError
from torchpick.index import wheelnames
from torchpick.model.arch import Arch
from torchpick.model.build import is_unified
from torchpick.model.machine import Driver, Machine
from torchpick.model.table import DriverTable
from torchpick.wheels import flags, judging, librarycode, sections
from torchpick.wheels.judging import GpuCodeFit, ReadingVerdict
from torchpick.wheels.librarycode import Library
from torchpick.wheels.readings import PYTHON_LIBRARIES, VERSION_FILE, WHOLE, Reading, TorchFacts, torch_facts


def read_distribution(one: distributions.Distribution, target: str) -> Reading:
    """Read an installed distribution in place; its libraries are mapped, so reading all of them is cheap."""
    folder, files = Path(one.folder), distributions.files(one)
    torch = _torch(folder, files)
    size = touched = 0
    found: list[Library] = []
    for path in files:
        if not wheelnames.may_hold_code(path):
            continue
        library = read_library(str(folder / path), path)
        if library is None:
            continue
        size += library.size
        if library.holds_code or library.notes:
            found.append(library)
            touched += library.size
    return Reading(
        target=target,
        depth=WHOLE,
        complete=all(library.complete for library in found),
        size=size,
        bytes_read=touched,
        requests=0,
        name=one.name,
        version=one.version,
        torch=torch,
        libraries=tuple(found),
        compilers=() if torch is not None else wheelnames.compilers(files),
    )


def _torch(folder: Path, files: tuple[str, ...]) -> TorchFacts | None:
    """What an installed torch reports about itself."""
    present = {path.replace(os.sep, "/") for path in files}
    here = [path for path in PYTHON_LIBRARIES if path in present]
    if VERSION_FILE not in present or not here:
        return None
    torch = torch_facts(world.text_of(str(folder / VERSION_FILE)))
    held = compiled_flags(str(folder / here[0]))
    return torch if held is None else torch._replace(flags=held)


def read_library(path: str, shown: str) -> Library | None:
    """All of a file; None if it is gone, empty or not a regular file."""
    return mapped(path, lambda buffer: librarycode.of_buffer(buffer, shown))


def read_file(path: str, shown: str) -> Reading:
    """A library by its path, which no package has to hold."""
    name = os.path.basename(path)
    if (
        one := mapped(
            path,
            lambda buffer: librarycode.of_buffer(buffer, name)
            if sections.form(buffer[:4]) or buffer[:4] == b"\x50\xed\x55\xba"
            else None,
        )
    ) is None:
        raise WheelError(f"{shown} is neither a wheel nor a library", hint="give a .whl, .so, .dll, .pyd or .cubin")
    return Reading(shown, WHOLE, one.complete, one.size, one.size, 0, file=one.path, libraries=(one,))


def torch_cuda(python: str | None) -> str | None:
    """The CUDA of the torch that is installed for a Python, from its version file; None without one."""
    return distributions.cuda_of(distributions.read(python or sys.executable, os.environ, metadata=False).torches)


def verdicts(
    reading: Reading, machines: Sequence[Machine], drivers: DriverTable, python: str | None = None
) -> tuple[ReadingVerdict, ...]:
    """Whether it runs: one verdict for each kind of GPU and driver among the machines."""
    cuda = None
    if judging.chosen(reading.libraries, None).libraries != reading.libraries:
        cuda = torch_cuda(python)  # which library is loaded depends on the torch beside it
    found: dict[GpuCodeFit, ReadingVerdict] = {}
    for machine in machines:
        for gpu in machine.counted:
            if gpu.arch:
                judge = _judge(reading, gpu.arch, machine, drivers)
                found[judge] = found.get(judge) or judging.of_reading(reading, judge, cuda)
    return tuple(found.values())


def _judge(reading: Reading, gpu: Arch, machine: Machine, drivers: DriverTable) -> GpuCodeFit:
    torch, driver = reading.torch, machine.driver
    judge = GpuCodeFit.of(gpu, driver, drivers, unified=torch is not None and is_unified(torch.version, torch.cuda))
    if driver is None:
        return judge
    return judge._replace(refusal=_refusal(reading, gpu, driver, driver.os or machine.platform.os, drivers))


def _refusal(reading: Reading, gpu: Arch, driver: Driver, os_: str, drivers: DriverTable) -> str | None:
    """Why this driver runs none of it, if that is known."""
    if gpu.kind == "gfx":
        return None
    if (no := drivers.unsupported(driver, gpu, os_)) is not None:
        return f"driver {driver.label} does not support {gpu}: {no.why}; it needs {no.remedy}"
    cuda = reading.torch.cuda if reading.torch is not None else None
    if cuda is None or drivers.supports_cuda(driver, cuda, os_):
        return None
    return f"it is built with CUDA {cuda}, which needs driver {drivers.floor(cuda, os_) or 'of a newer branch'}"


T = TypeVar("T")


def registered(path: str, shown: str) -> Library | None:
    """The GPU code that a loader registers."""
    return mapped(path, lambda buffer: librarycode.of_buffer(buffer, shown, data=False))


def compiled_flags(path: str) -> tuple[Arch, ...] | None:
    """The architectures that a libtorch_python names itself."""
    return mapped(path, lambda buffer: flags.find([buffer]))


def mapped(path: str, look: Callable[[mmap], T]) -> T | None:
    """What a look at the file finds; None if it is gone, empty or not a regular file."""
    try:
        with world.opened(path) as file:
            if not os.fstat(file.fileno()).st_size:
                return None
            with mmap(file.fileno(), 0, access=ACCESS_READ) as buffer:
                return look(buffer)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise WheelError(f"cannot read {path}: {error}", hint="check its permissions") from error
