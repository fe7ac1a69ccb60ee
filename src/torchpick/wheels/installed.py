"""What is installed for a Python, found by its metadata and read in place: no package is imported."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import NamedTuple

from torchpick.errors import WheelError
from torchpick.wheels import flags, library, names
from torchpick.wheels.library import Library
from torchpick.wheels.reading import FLAGS, WHOLE, Reading, Torch, torch_facts

# Bounds on what is walked: conda's base environment has some 300,000 files.
MOST_FILES = 1_000_000
_MOST_TEXT = 1 << 20
_MOST_RECORD = 64 << 20
_ASK = "import json, sys, sysconfig; print(json.dumps([sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]))"


class Installed(NamedTuple):
    """A distribution: its name, its version, the folder that its files are relative to, and those files."""

    name: str
    version: str
    folder: Path
    files: tuple[str, ...]


def folders(python: str | None) -> tuple[Path, ...]:
    """Where a Python keeps what is installed; another than ours is asked, isolated from the user's settings."""
    if python is None or Path(python) == Path(sys.executable):
        import sysconfig

        # Beside its own, what it also sees: the user's site, and the system's from a venv that was let see it.
        seen = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
        paths = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *seen]
    else:
        paths = _asked(python)
    return tuple(dict.fromkeys(Path(path) for path in paths))


def _asked(python: str) -> list[str]:
    hint = "name an interpreter with `--python`"
    try:
        done = subprocess.run([python, "-I", "-c", _ASK], capture_output=True, timeout=30, check=True)
        paths = json.loads(done.stdout)
    except OSError as error:
        raise WheelError(f"cannot run {python}: {error.strerror}", hint=hint) from error
    except (subprocess.SubprocessError, ValueError) as error:
        raise WheelError(f"{python} does not answer like a Python", hint=hint) from error
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise WheelError(f"{python} does not answer like a Python", hint=hint)
    return paths


def find(name: str, where: Iterable[Path]) -> Installed | None:
    """The distribution of this name; None where it is not installed."""
    wanted = names.normal(name)
    for folder in where:
        try:
            entries = sorted(entry.name for entry in os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            project, _, version = entry.removesuffix(".dist-info").rpartition("-")
            if entry.endswith(".dist-info") and names.normal(project) == wanted:
                return Installed(wanted, version, folder, _files(folder, folder / entry))
    return None


def _files(folder: Path, info: Path) -> tuple[str, ...]:
    """The files of a distribution, from its RECORD; without one (conda, Debian) those of its top-level folders."""
    record = info / "RECORD"
    try:
        if record.stat().st_size > _MOST_RECORD:
            raise WheelError(f"{record} is not sane: {record.stat().st_size} bytes", hint="install it anew")
        text = record.read_text(encoding="utf-8", errors="replace")
    except OSError:
        tops = _text(info / "top_level.txt").split() or [info.name.partition("-")[0]]
        return tuple(str(path.relative_to(folder)) for top in tops if top.isidentifier() for path in walk(folder / top))
    # A NUL or a field beyond csv's limit is somebody's joke, not a file of ours.
    lines = (line for line in text.splitlines() if len(line) < 4096 and "\0" not in line)
    return tuple(row[0] for row in csv.reader(lines) if row)


def _text(path: Path) -> str:
    """The start of a text file; nothing where it is not there."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""


def walk(folder: Path) -> list[Path]:
    """The files below a folder, links to folders not followed."""
    found: list[Path] = []
    for root, below, here in os.walk(folder):
        below.sort()
        found += [Path(root, name) for name in sorted(here)]
        if len(found) > MOST_FILES:
            raise WheelError(f"{folder} holds more than {MOST_FILES} files", hint="name a folder further down")
    return found


def read_distribution(one: Installed, target: str, depth: str | None) -> Reading:
    """Read an installed distribution in place; its libraries are mapped, so reading all of them is cheap."""
    return _read(one.folder, one.files, target, depth)._replace(name=one.name, version=one.version)


def read_folder(folder: Path, target: str, depth: str | None) -> Reading:
    files = tuple(str(path.relative_to(folder)) for path in walk(folder))
    return _read(folder, files, target, depth)


def _read(folder: Path, files: tuple[str, ...], target: str, depth: str | None) -> Reading:
    torch = _torch(folder, files)
    size = touched = 0
    found: list[Library] = []
    for path in files if depth != FLAGS else ():
        if not names.may_hold_code(path):
            continue
        one = read_library(folder / path, path)
        if one is None:
            continue
        size += one.size
        if one.holds_code or one.notes:
            found.append(one)
            touched += one.size
    version = torch.version if torch is not None else None
    return Reading(
        target=target,
        depth=FLAGS if depth == FLAGS else WHOLE,
        complete=all(one.complete for one in found),
        size=size,
        bytes_read=touched,
        requests=0,
        version=version,
        torch=torch,
        libraries=tuple(found),
        compilers=() if torch is not None else names.compilers(files),
    )


def _torch(folder: Path, files: tuple[str, ...]) -> Torch | None:
    """What an installed torch says of itself; the folder may be site-packages or torch's own."""
    present = {path.replace(os.sep, "/") for path in files}
    for prefix in ("torch/", ""):
        libraries = [f"{prefix}lib/libtorch_python.so", f"{prefix}lib/torch_python.dll"]
        here = [path for path in libraries if path in present]
        if f"{prefix}version.py" not in present or not here:
            continue
        try:
            torch = torch_facts(_text(folder / prefix / "version.py"))
            with (folder / here[0]).open("rb") as file:
                held = flags.find(iter(lambda: file.read(1 << 20), b""))
        except OSError as error:
            raise WheelError(f"cannot read {folder / here[0]}: {error.strerror}", hint="check its permissions") from (
                error
            )
        return torch if held is None else torch._replace(flags=held.arches, certain=held.certain)
    return None


def read_library(path: Path, shown: str) -> Library | None:
    """One file of this computer, mapped; None where it is gone, empty or no plain file."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return None
            with mmap(file.fileno(), 0, access=ACCESS_READ) as mapped:
                return library.of_buffer(mapped, shown)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise WheelError(f"cannot read {path}: {error}", hint="check its permissions") from error


def torch_cuda(python: str | None) -> str | None:
    """The CUDA of the torch that is installed for a Python, from its version file; None without one."""
    texts = (_text(folder / "torch" / "version.py") for folder in folders(python))
    return next((torch_facts(text).cuda for text in texts if text), None)
