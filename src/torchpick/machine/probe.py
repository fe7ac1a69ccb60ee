"""One source after another, each in a child, all under one deadline: a complete answer or a named failure."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from torchpick.environment import child, processes
from torchpick.environment.processes import Running
from torchpick.environment.world import World
from torchpick.errors import silent
from torchpick.machine import driver_reading, nvidia_libraries
from torchpick.machine.driver_reading import MOST_DEVICES, Device, DriverReading, failed
from torchpick.model.noun import Noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.errors import Report

# Where a source's `read` lies, and what it is called.
_READERS = {
    "nvml": ("torchpick.machine.nvidia_calls", "read_nvml"),
    "cuda": ("torchpick.machine.nvidia_calls", "read_cuda"),
}


class Step(Noun):
    """A source to ask: how its child is started, and how its answer is read."""

    source: str
    start: Callable[[float], Running]
    finish: Callable[[Running], DriverReading]


def ask(
    steps: Sequence[Step],
    deadline: float,
    enough: Callable[[Sequence[DriverReading]], bool],
    report: Report = silent,
) -> list[DriverReading]:
    """The readings of the sources that were asked, best first; asks the next one while `enough` says no.

    A source that is silent gets half of what is left before the next is asked beside it, and keeps running: a cold
    machine with many GPUs may need it. After two seconds the sources that are still silent are reported, once.
    """
    began = time.monotonic()
    running: dict[int, tuple[Step, Running]] = {}
    answers: dict[int, DriverReading] = {}
    told = False

    def listed() -> list[DriverReading]:
        return [answers[place] for place in sorted(answers)]

    try:
        for place, step in enumerate(steps):
            if enough(listed()) or (place and time.monotonic() >= deadline):
                break
            _begin(place, step, deadline, running, answers)
            last = place == len(steps) - 1
            now = time.monotonic()
            patience = deadline if last else now + (deadline - now) / 2
            # A source that failed hands over at once, even while an elder one is still silent.
            while running and (last or place in running) and time.monotonic() < patience and not enough(listed()):
                until = patience if told else min(patience, began + 2.0)
                processes.wait([each for _, each in running.values()], until)
                _collect(running, answers)
                if not told and running and time.monotonic() >= began + 2.0:
                    told = True
                    sources = ", ".join(step.source for step, _ in running.values())
                    report(f"waiting for the GPU driver ({sources}) …")
        for place, (step, _) in running.items():
            spent = time.monotonic() - began
            answers[place] = failed(step.source, "hangs", f"{step.source} did not answer within {spent:.0f} s")
        return listed()
    finally:
        for _, each in running.values():
            each.stop()


def _begin(
    place: int,
    step: Step,
    deadline: float,
    running: dict[int, tuple[Step, Running]],
    answers: dict[int, DriverReading],
) -> None:
    try:
        running[place] = (step, step.start(max(deadline - time.monotonic(), 0.1)))
    except FileNotFoundError as error:
        answers[place] = failed(step.source, "absent", f"{step.source} cannot be queried: {error.strerror or error}")
    except OSError as error:
        # It may well be there: no process, no memory, no file could be had. That says nothing of the GPU.
        answers[place] = failed(step.source, "unasked", f"{step.source} cannot be queried: {error.strerror or error}")


def _collect(running: dict[int, tuple[Step, Running]], answers: dict[int, DriverReading]) -> None:
    """Take the answers that are complete."""
    done = [place for place, (_, each) in running.items() if each.finished]
    for place in done:
        step, each = running.pop(place)
        each.stop()
        answers[place] = step.finish(each)


def library_step(source: str, arguments: Mapping[str, object]) -> Step:
    """A source that calls into a driver library: a fork where that is safe, else a fresh interpreter."""

    def start(limit_s: float) -> Running:
        if arguments.get("libraries") == []:
            raise FileNotFoundError(f"no library of {source}")
        if child.can_fork():
            return child.fork(lambda: _answer(source, arguments), limit_s)
        question = {"source": source, "arguments": dict(arguments), "limit_s": limit_s}
        return child.start(child.python(__name__, question), os.environ, line=True)

    return Step(source, start, lambda each: _finish(source, each))


def smi_step(world: World) -> Step:
    """nvidia-smi by absolute path, with the shell's variables."""
    programs = nvidia_libraries.tools(world)

    def start(limit_s: float) -> Running:
        if not programs:
            raise FileNotFoundError("no nvidia-smi")
        # Its own words are matched, so they must be English; nothing else of the shell is touched.
        return child.start(smi_question(programs[0]), {**world.environ, "LC_ALL": "C"}, limit_s=limit_s)

    def finish(each: Running) -> DriverReading:
        return parse_smi(each.status, (each.answer if each.answer.strip() else each.talk).decode("utf-8", "replace"))

    return Step("smi", start, finish)


def _answer(source: str, arguments: Mapping[str, object]) -> bytes:
    module, function = _READERS[source]
    found: DriverReading = getattr(import_module(module), function)(**arguments)
    return (driver_reading.dumps(found) + "\n").encode()


def answer(source: str, arguments: Mapping[str, object], limit_s: float) -> None:
    """The other end of `library_step`, in a fresh interpreter."""
    channel = child.answer_apart()
    child.guard(limit_s)
    child.write_all(channel, _answer(source, arguments))
    os._exit(0)


def _finish(source: str, each: Running) -> DriverReading:
    """Success is a complete answer, not a status: libraries call exit(0) in their init."""
    said = each.talk.decode("utf-8", "replace").strip()
    if each.answer.endswith(b"\n"):
        found = driver_reading.load(each.answer, source)
        if found.failure is not None and "stub" in said.lower():
            return found._replace(failure=found.failure._replace(kind="stub"))
        return found
    if each.overflow:
        return failed(source, "silent", f"{source} gave an endless answer")
    if each.status is not None and each.status < 0:
        return failed(source, "crashed", f"{source} crashed ({_signal(each.status)})")
    words = f": {said.splitlines()[-1][:200]}" if said else ""
    return failed(source, "silent", f"{source} exited without an answer (status {each.status}){words}")


def _signal(status: int) -> str:
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


# The name goes last: nvidia-smi's CSV does not quote commas.
_FIELDS = ("driver_version", "uuid", "pci.bus_id", "compute_cap", "name")
_MISMATCH = "driver/library version mismatch"
# Bounded, and each anchored at a word that is found once: a line of any length is read once.
_NO_HANDLE = re.compile(
    r"unable to determine the device handle for gpu\s{0,8}([0-9a-f:.]{1,20})\s{0,8}:", re.IGNORECASE
)
_LOST = re.compile(r"gpu\s{0,8}([0-9a-f]{1,8}:[0-9a-f:.]{1,12})", re.IGNORECASE)
_MOST_LINE = 4096


def smi_question(program: str) -> list[str]:
    """The command that asks for every GPU, a row each; older ones (470) do not know `compute_cap`, and refuse."""
    return [program, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader"]


def parse_smi(status: int | None, out: str) -> DriverReading:
    """What it printed; each row counts by itself, whatever the status, as one lost GPU spoils that."""
    lines = [line.strip()[:_MOST_LINE] for line in out.splitlines()[:1000]]
    devices: list[Device] = []
    drivers = []
    for line in lines:
        row = _row(line)
        if row is not None:
            drivers.append(row[0])
            devices.append(row[1])
        elif match := _NO_HANDLE.search(line) or ("is lost" in line.lower() and _LOST.search(line)) or None:
            devices.append(Device(pci=driver_reading.pci(match[1]), error=15))
    failure = None
    if not any(device.error is None for device in devices):
        failure = _failure(status, lines)
    driver = next((each for each in drivers if each), None)
    return DriverReading("smi", driver=driver, devices=tuple(devices[:MOST_DEVICES]), failure=failure)


def _row(line: str) -> tuple[str | None, Device] | None:
    """The driver version and the GPU of one row; None where the line is not one."""
    cells = [cell.strip() for cell in line.split(",", len(_FIELDS) - 1)]
    if len(cells) != len(_FIELDS):
        return None
    driver, uuid, bus = (
        driver_reading.driver_version(cells[0]),
        driver_reading.uuid(cells[1]),
        driver_reading.pci(cells[2]),
    )
    if uuid is None and bus is None and driver is None:
        return None  # a sentence with commas
    pair = re.fullmatch(r"(\d{1,2})\.(\d)", cells[3])
    return driver, Device(
        name=driver_reading.name(cells[4]),
        capability=driver_reading.capability(int(pair[1]), int(pair[2])) if pair else None,
        uuid=uuid,
        pci=bus,
        error=15 if "lost" in f"{cells[1]} {cells[2]} {cells[3]}".lower() else None,
    )


def _failure(status: int | None, lines: list[str]) -> driver_reading.Failure:
    said = next((line for line in lines if line), "")
    if status is not None and status < 0:  # it had no time to say whether a GPU is there
        text = f"nvidia-smi was ended by signal {-status}" + (f" after it said: {said[:200]}" if said else "")
        return driver_reading.Failure("crashed", text, status)
    text = f"nvidia-smi says: {said[:200]}" if said else f"nvidia-smi says nothing (status {status})"
    code = 18 if _MISMATCH in said.lower() else status
    return driver_reading.Failure("refused", text, code)
