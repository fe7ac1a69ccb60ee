"""How a machine's driver version is read: a branch, another system's version, the newest one if none is known. Pure."""

from __future__ import annotations

from torchpick.model.machine import Driver, Gpu, Machine, Note
from torchpick.model.table import Branch, DriverTable
from torchpick.model.versions import numbers

# These drivers were not detected: they were specified, or assumed for a GPU that was.
_UNSEEN = frozenset({"given", "assumed"})
# The sources that ask the driver itself for its GPUs.
_LISTED_BY = frozenset({"nvml", "cuda"})


def lists(driver: Driver, gpu: Gpu) -> bool:
    """Whether the driver itself listed this GPU, so that it supports it whatever a table says."""
    return gpu.source in _LISTED_BY and driver.source not in _UNSEEN


def completed(machine: Machine, table: DriverTable) -> Machine:
    """The machine with its driver resolved: the newest if none is known, else what the given number means."""
    if machine.driver is None:
        return _assumed(machine, table)
    if machine.driver.source not in _UNSEEN or machine.driver.version is None or machine.jetsons:
        return machine
    driver, notes = _understood(machine.driver, machine.driver_os, table)
    return machine._replace(driver=driver, notes=(*machine.notes, *notes))


def _assumed(machine: Machine, table: DriverTable) -> Machine:
    arches = tuple(gpu.arch for gpu in machine.nvidia if gpu.arch)
    if not arches:
        return machine
    version = table.assumed_for(arches)
    what = f"no driver was specified, so the newest that supports the GPU is assumed: {version}"
    text = f"{what}; specify one with `--driver`"
    return machine._replace(driver=table.assumed(version), notes=(*machine.notes, Note("DRIVER_ASSUMED", text)))


def another(machine: Machine, version: str, table: DriverTable) -> Machine:
    """The machine as it would be with this driver."""
    return machine._replace(driver=table.assumed(version, machine.driver and machine.driver.os))


def _understood(driver: Driver, os: str, table: DriverTable) -> tuple[Driver, list[Note]]:
    version = driver.version or ""
    branch = table.branch_of(version)
    if branch is None:
        return driver, []
    if table.is_branch_number(version):
        text = f"`{version}` is a driver branch and means its newest driver; `--driver` also takes a full version"
        return driver, [Note("DRIVER_BRANCH", text)]
    other = _other_system(version, branch, os)
    if other is not None:
        where = "Windows, whose driver also decides under WSL2" if other == "windows" else "Linux"
        text = f"{version} is not a driver version for {os.capitalize()}; it is treated as one for {where}"
        return driver._replace(os=other), [Note("DRIVER_NUMBER", f"{text}: branch {branch.number}, CUDA {branch.cuda}")]
    if numbers(version)[0] > branch.last_number(os):
        newer = branch == table.branches[-1]
        what = "is newer than any driver in this table" if newer else "is not a known driver version"
        return driver, [Note("DRIVER_NUMBER", f"{version} {what}; it is treated as part of branch {branch.number}")]
    return driver, []


def _other_system(version: str, branch: Branch, os: str) -> str | None:
    """The system whose drivers are numbered like this, if it is another one.

    Linux drivers begin with their branch and often have three parts; Windows drivers have two.
    """
    parts = version.split(".")
    if os == "linux" and branch.number < numbers(version)[0] <= branch.windows_last and len(parts) <= 2:
        return "windows"
    if os == "windows" and len(parts) > 2 and numbers(version)[0] == branch.number:
        return "linux"
    return None
