"""nvidia-smi: the query, and how to read the answer. The parsing is pure; the child runs elsewhere."""

from __future__ import annotations

import re

from torchpick.machine import reading
from torchpick.machine.reading import MOST_DEVICES, Device, DriverReading

# The name goes last: nvidia-smi's CSV does not quote commas.
_FIELDS = ("driver_version", "uuid", "pci.bus_id", "compute_cap", "name")
# One that lacks `compute_cap` (470 does, 510 has it) prints this on stdout, status 2, and no row at all.
_NO_SUCH_FIELD = "is not a valid field to query"
_MISMATCH = "driver/library version mismatch"
# Bounded, and each anchored at a word that is found once: a line of any length is read once.
_NO_HANDLE = re.compile(
    r"unable to determine the device handle for gpu\s{0,8}([0-9a-f:.]{1,20})\s{0,8}:", re.IGNORECASE
)
_LOST = re.compile(r"gpu\s{0,8}([0-9a-f]{1,8}:[0-9a-f:.]{1,12})", re.IGNORECASE)
_MOST_LINE = 4096


def question(program: str, *, capability: bool = True) -> list[str]:
    """The command that asks for every GPU, a row each."""
    fields = [field for field in _FIELDS if capability or field != "compute_cap"]
    return [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]


def lacks_capability(status: int | None, out: str) -> bool:
    """Whether this nvidia-smi does not know `compute_cap`, and is to be asked again without it."""
    return status == 2 and _NO_SUCH_FIELD in out.lower()


def parse(status: int | None, out: str, *, capability: bool = True) -> DriverReading:
    """What it printed; each row counts by itself, whatever the status, as one lost GPU spoils that."""
    lines = [line.strip()[:_MOST_LINE] for line in out.splitlines()[:1000]]
    devices: list[Device] = []
    drivers = []
    for line in lines:
        row = _row(line, capability=capability)
        if row is not None:
            drivers.append(row[0])
            devices.append(row[1])
        elif match := _NO_HANDLE.search(line) or ("is lost" in line.lower() and _LOST.search(line)) or None:
            devices.append(Device(pci=reading.pci(match[1]), error=15))
    failure = None
    if not any(device.error is None for device in devices):
        failure = _failure(status, lines)
    driver = next((each for each in drivers if each), None)
    return DriverReading("smi", driver=driver, devices=tuple(devices[:MOST_DEVICES]), failure=failure)


def _row(line: str, *, capability: bool) -> tuple[str | None, Device] | None:
    """The driver version and the GPU of one row; None where the line is not one."""
    width = len(_FIELDS) - (0 if capability else 1)
    cells = [cell.strip() for cell in line.split(",", width - 1)]
    if len(cells) != width:
        return None
    driver, uuid, bus = reading.driver_version(cells[0]), reading.uuid(cells[1]), reading.pci(cells[2])
    if uuid is None and bus is None and driver is None:
        return None  # a sentence with commas
    pair = re.fullmatch(r"(\d{1,2})\.(\d)", cells[3]) if capability else None
    return driver, Device(
        name=reading.name(cells[-1]),
        capability=reading.capability(int(pair[1]), int(pair[2])) if pair else None,
        uuid=uuid,
        pci=bus,
        error=15 if "lost" in f"{cells[1]} {cells[2]} {cells[3]}".lower() else None,
    )


def _failure(status: int | None, lines: list[str]) -> reading.Failure:
    said = next((line for line in lines if line), "")
    if status is not None and status < 0:  # it had no time to say whether a GPU is there
        text = f"nvidia-smi was ended by signal {-status}" + (f" after it said: {said[:200]}" if said else "")
        return reading.Failure("crashed", text, status)
    text = f"nvidia-smi says: {said[:200]}" if said else f"nvidia-smi says nothing (status {status})"
    code = 18 if _MISMATCH in said.lower() else status
    return reading.Failure("refused", text, code)
