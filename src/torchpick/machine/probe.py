"""What NVML and libcuda say, each asked in a child under one deadline; nothing that comes back is believed unread."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from torchpick.environment import child, guard
from torchpick.environment.child import Running
from torchpick.machine import kernel
from torchpick.model.fields import Fields, ShapeError, loads

_UUID = r"[0-9A-Za-z/-]{4,100}"


class Device(NamedTuple):
    """One GPU as a source sees it; `error` is the source's status where the GPU itself would not answer."""

    name: str | None = None
    capability: tuple[int, int] | None = None
    uuid: str | None = None
    pci: str | None = None
    error: int | None = None


class DriverReading(NamedTuple):
    """One source's answer. `libcuda` is the version in the file name of the libcuda that its CUDA version is from.

    `failure` is why it gave nothing: absent, refused, stub, hangs, crashed, silent, unasked or unusable; else empty.
    """

    source: str
    driver: str | None = None
    cuda: str | None = None
    devices: tuple[Device, ...] = ()
    libcuda: str | None = None
    failure: str = ""
    text: str = ""
    code: int | None = None

    @property
    def answering(self) -> tuple[Device, ...]:
        return tuple(device for device in self.devices if device.error is None)


def failed_reading(source: str, failure: str, text: str, code: int | None = None) -> DriverReading:
    return DriverReading(source, failure=failure, text=text, code=code)


def ask(
    sources: Mapping[str, Callable[[float], Running]],
    deadline: float,
    enough: Callable[[Sequence[DriverReading]], bool],
) -> list[DriverReading]:
    """The readings of the sources that were asked, best first; asks the next one while `enough` says no.

    Each source is what starts its child, with so many seconds. One that is silent gets half of what is left before the
    next is asked beside it, and keeps running: a cold machine with many GPUs may need it.
    """
    began = patience = time.monotonic()
    waiting = list(sources)
    running: dict[str, Running] = {}
    answers: dict[str, DriverReading] = {}

    def readings() -> list[DriverReading]:
        return [answers[source] for source in sources if source in answers]

    try:
        while (waiting or running) and not enough(readings()):
            now = time.monotonic()
            if now >= deadline and (running or answers):
                break
            if waiting and (not running or now >= patience):
                source = waiting.pop(0)
                try:
                    running[source] = sources[source](max(deadline - now, 0.1))
                except OSError as error:
                    # The library is there: no process, no memory, no file could be had. That says nothing of the GPU.
                    text = f"{source} cannot be queried: {error.strerror or error}"
                    answers[source] = failed_reading(source, "unasked", text)
                patience = now + (deadline - now) / 2
            child.wait([*running.values()], patience if waiting else deadline)
            for source, started in [row for row in running.items() if row[1].finished]:
                del running[source]
                started.stop()
                answers[source] = read_answer(source, started)
        for source in running:
            spent = time.monotonic() - began
            answers[source] = failed_reading(source, "hangs", f"{source} did not answer within {spent:.0f} s")
        return readings()
    finally:
        for started in running.values():
            started.stop()


def start(source: str, libraries: Sequence[str], limit_s: float) -> Running:
    """A child that calls into a driver library: a fork where that is safe, else a fresh interpreter."""
    if guard.can_fork():
        return guard.fork(lambda: _ask(source, libraries), limit_s)
    question = {"source": source, "libraries": libraries, "limit_s": limit_s}
    return child.start(guard.python(__name__, question), os.environ, line=True)


def answer(source: str, libraries: Sequence[str], limit_s: float) -> None:
    """The other end of `start`, in a fresh interpreter."""
    channel = guard.answer_apart()
    guard.confine(limit_s)
    guard.write_all(channel, _ask(source, libraries))
    os._exit(0)


def _ask(source: str, libraries: Sequence[str]) -> bytes:
    from torchpick.machine import nvidia_calls  # it loads ctypes, which only the child needs

    return nvidia_calls.read(source, libraries)


def read_answer(source: str, ended: Running) -> DriverReading:
    """What a source's child left. Success is a complete answer, not a status: libraries call exit(0) in their init."""
    talk = ended.talk.decode("utf-8", "replace").strip()
    if ended.answer.endswith(b"\n"):
        reading = parse_reading(ended.answer, source)
        return reading._replace(failure="stub") if reading.failure and "stub" in talk.lower() else reading
    if ended.overflow:
        return failed_reading(source, "silent", f"{source} gave an endless answer")
    if ended.status is not None and ended.status < 0:
        return failed_reading(source, "crashed", f"{source} crashed ({signal_name(-ended.status)})")
    words = f": {talk.splitlines()[-1][:200]}" if talk else ""
    return failed_reading(source, "silent", f"{source} exited without an answer (status {ended.status}){words}")


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def parse_reading(text: bytes, source: str) -> DriverReading:
    """Read what a child wrote, believing nothing: it shared a process with a driver library."""
    try:
        fields = Fields(loads(text))
        if (failure := fields.maybe_object("failure")) is not None:
            return failed_reading(source, failure.text("kind"), failure.text("text"), failure.maybe_number("code"))
        return DriverReading(
            source=source,
            driver=kernel.driver_version(fields.maybe_text("driver")),
            cuda=cuda_version(fields.maybe_number("cuda")),
            devices=tuple(map(_load_device, fields.objects("devices")[: kernel.MOST_DEVICES])),
            libcuda=kernel.driver_version(fields.maybe_text("libcuda")),
        )
    except ShapeError as error:
        return failed_reading(source, "silent", f"gave an answer that cannot be read: {error}")


def _load_device(fields: Fields) -> Device:
    pair = [] if fields.lacks("capability") else fields.items("capability")
    uuid = kernel.formed(_UUID, fields.maybe_text("uuid"))
    return Device(
        name=kernel.product_name(fields.maybe_text("name")),
        capability=capability(*pair) if len(pair) == 2 else None,
        uuid=uuid[0] if uuid else None,
        pci=kernel.pci_address(fields.maybe_text("pci")),
        error=fields.maybe_number("error"),
    )


def cuda_version(number: int | None) -> str | None:
    """`12080` → `12.8`; None for numbers that no CUDA ever had (an untouched 0 or -1 among them)."""
    return f"{number // 1000}.{number % 1000 // 10}" if number is not None and 2000 <= number < 100_000 else None


def capability(major: object, minor: object) -> tuple[int, int] | None:
    """A compute capability, or None for numbers that were not written (0.0, -1) or cannot be (9999.-1)."""
    if isinstance(major, bool) or not isinstance(major, int) or not isinstance(minor, int):
        return None
    return (major, minor) if 1 <= major <= 30 and 0 <= minor <= 9 else None
