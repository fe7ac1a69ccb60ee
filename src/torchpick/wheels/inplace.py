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
from torchpick.wheels import fatbin, judging, librarycode, readings, sections
from torchpick.wheels.judging import GpuCodeFit, ReadingVerdict
from torchpick.wheels.librarycode import Library
from torchpick.wheels.readings import PYTHON_LIBRARIES, VERSION_FILE, WHOLE, Reading, TorchFacts, parse_version_file


def read_distribution(package: distributions.Distribution, target: str) -> Reading:
    """Read an installed distribution in place; its libraries are mapped, so reading all of them is cheap."""
    folder, files = Path(package.folder), distributions.files(package)
    torch = _torch(folder, files)
    paths = filter(wheelnames.may_hold_code, files)
    libraries = [library for path in paths if (library := read_library(str(folder / path), path)) is not None]
    telling = tuple(library for library in libraries if library.holds_code or library.notes)
    return Reading(
        target=target,
        depth=WHOLE,
        complete=all(library.complete for library in telling),
        size=sum(library.size for library in libraries),
        bytes_read=sum(library.size for library in telling),
        requests=0,
        name=package.name,
        version=package.version,
        torch=torch,
        libraries=telling,
        compilers=() if torch is not None else wheelnames.compilers(files),
    )


def _torch(folder: Path, files: tuple[str, ...]) -> TorchFacts | None:
    """What an installed torch reports about itself."""
    present = {path.replace(os.sep, "/") for path in files}
    library = next((path for path in PYTHON_LIBRARIES if path in present), None)
    if VERSION_FILE not in present or library is None:
        return None
    torch = parse_version_file(world.text_of(str(folder / VERSION_FILE)))
    return torch._replace(flags=compiled_flags(str(folder / library)) or ())


def read_library(path: str, shown: str, *, data: bool = True) -> Library | None:
    """A file; without `data` only the code that a loader registers. None if it is gone, empty or not a regular file."""
    return look_into(path, lambda buffer: librarycode.read_buffer(buffer, shown, data=data))


def read_file(path: str, shown: str) -> Reading:
    """A library by its path, which no package has to hold."""
    is_library = look_into(path, lambda buffer: bool(sections.library_format(buffer[:4])) or buffer[:4] == fatbin.MAGIC)
    library = read_library(path, os.path.basename(path)) if is_library else None
    if library is None:
        raise WheelError(f"{shown} is neither a wheel nor a library", hint="give a .whl, .so, .dll, .pyd or .cubin")
    size = library.size
    return Reading(shown, WHOLE, library.complete, size, size, 0, file=library.path, libraries=(library,))


def torch_cuda(python: str | None) -> str | None:
    """The CUDA of the torch that is installed for a Python, from its version file; None without one."""
    environment = distributions.read_environment(python or sys.executable, os.environ, metadata=False)
    return distributions.cuda_of(environment.torches)


def judge_machines(
    reading: Reading, machines: Sequence[Machine], drivers: DriverTable, python: str | None = None
) -> tuple[ReadingVerdict, ...]:
    """Whether it runs: one verdict for each kind of GPU and driver among the machines."""
    cuda = None
    if judging.choose_variants(reading.libraries, None)[0] != reading.libraries:
        cuda = torch_cuda(python)  # which library is loaded depends on the torch beside it
    judged: dict[GpuCodeFit, ReadingVerdict] = {}
    for machine in machines:
        for gpu in machine.counted:
            if gpu.arch:
                judge = _judge(reading, gpu.arch, machine, drivers)
                judged[judge] = judged.get(judge) or judging.judge_reading(reading, judge, cuda)
    return tuple(judged.values())


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


def compiled_flags(path: str) -> tuple[Arch, ...] | None:
    """The architectures that a libtorch_python names itself."""
    return look_into(path, lambda buffer: readings.compiled_flags([buffer]))


def look_into(path: str, look: Callable[[mmap], T]) -> T | None:
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
