"""A machine's facts, each with its source."""

from __future__ import annotations

from torchpick.cli import text
from torchpick.model.machine import CODE_VENDORS, Driver, Gpu, Machine, Platform, Python


def lines(machine: Machine, width: int | None = None) -> list[str]:
    """The facts as a table: what, which, and from where."""
    rows = [(what, f"{fact}  [{source}]" if source else fact) for what, fact, source in rows_of(machine)]
    notes = [part for note in machine.notes for part in text.wrap(text.note(note.text), width)]
    return [*text.lines(rows, width), *([""] if notes else []), *notes]


def rows_of(machine: Machine) -> list[tuple[str, str, str]]:
    rows = [
        ("platform", _platform(machine.platform), ""),
        ("python", _python(machine.python), machine.python.source),
        *_driver(machine.driver),
        *[(f"gpu {gpu.index}", _gpu(gpu), gpu.source) for gpu in machine.gpus],
    ]
    if not machine.gpus:
        # Where something did not answer, nothing is known of a GPU; the error says what it was.
        found = "no GPU was found" if machine.trouble is None else "it is not known whether there is one"
        rows.append(("gpu", f'{found}; `--gpu sm_86` or `--gpu "RTX 3090"` specifies a GPU of another machine', ""))
    return rows


def _platform(platform: Platform) -> str:
    if platform.os != "linux":
        return platform.name
    libc = f"glibc {platform.glibc}" if platform.glibc else platform.libc or "C library unknown"
    return f"{platform.name}, {libc}"


def _python(python: Python) -> str:
    where = f", {python.executable}" if python.executable else ""
    return f"{python.version} ({python.tag}){where}"


def _driver(driver: Driver | None) -> list[tuple[str, str, str]]:
    if driver is None:
        return []
    rows = []
    if driver.version is not None:
        rows.append(("driver", driver.version, driver.source))
    if driver.cuda is not None:
        rows.append(("cuda", f"{driver.cuda}, supported by the driver", driver.cuda_source or "unknown"))
    return rows


def _gpu(gpu: Gpu) -> str:
    # Apple's and Intel's GPUs need no code of their own in the wheel, so they have no capability.
    unknown = "capability unknown" if gpu.vendor in CODE_VENDORS else None
    parts = [gpu.name or "an unnamed GPU", str(gpu.arch) if gpu.arch else unknown, gpu.pci, gpu.uuid]
    marks = [
        ("integrated", gpu.integrated),
        ("hidden by CUDA_VISIBLE_DEVICES", not gpu.visible),
        ("left out", not gpu.counted),
    ]
    return ", ".join([part for part in parts if part] + [word for word, true in marks if true])
