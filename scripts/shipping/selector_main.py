"""Which PyTorch build runs on a given GPU: the table of torchpick and its reader, in one file. MIT licence.

    python torchpick_select.py --gpu sm_61 --driver 580.95.05 --platform linux-x86_64 --python 3.12
    select(["GTX 1080 Ti"], driver="580.95.05", platform="linux-x86_64", python="3.12").requirements

It needs Python 3.10 or newer and nothing else, detects nothing and asks no network. `torchpick` says why, and installs.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import platform as computer
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

# table.json, compressed; scripts/build-selector writes it here.
_HELD = ""
_HOST = "https://download.pytorch.org/whl"
# What stands where no build runs: pip refuses it, and takes nothing from the default index instead.
NOTHING_RUNS = "--no-index torch==0+no.build.runs.here"
# And where the question has no answer at all.
NO_LINE = "--no-index torch==0+see.the.error"
_FITS = ("jit", "binary", "exact")
_NONE = ("none", "cpu")
Row = dict[str, Any]
Release = tuple[int, ...]
_read: list[Row] = []


class SelectError(Exception):
    """Why there is no build; `exit_status` is 3 where none runs, 2 where the question is not understood."""

    def __init__(self, message: str, exit_status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = exit_status


class Choice(NamedTuple):
    """The build to take: its version, how pip takes its index, and what to install from there."""

    version: str
    option: str
    index_url: str
    requirements: tuple[str, ...]


def line(choice: Choice) -> str:
    """The choice as one line of pip's arguments."""
    return " ".join((choice.option, choice.index_url, *choice.requirements))


def table() -> Row:
    """The table that this file carries."""
    if not _read:
        _read.append(json.loads(zlib.decompress(base64.b85decode("".join(_HELD.split())))))
    return _read[0]


def select(  # the flags of the command, by name
    gpus: Sequence[str],
    *,
    driver: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    python: str | None = None,
    torch: str = "",
    companions: Sequence[str] = (),
    backends: Sequence[str] = (),
    index_base: str = _HOST,
    allow_cpu: bool = False,
) -> Choice:
    """The build for the machine that is given; what is not given of system and Python is this computer's."""
    platform = platform or _platform()
    if platform == _platform():
        glibc = glibc or _glibc()
    counted = _counted(gpus)
    natural = "cpu" if not counted else "cu" if counted[0].startswith("sm_") else "rocm"
    # What was asked for first; a CPU build that is only allowed where nothing of that runs.
    asked = [natural, *(("cpu",) if counted else ("cu", "rocm"))] if backends else [natural]
    tries = [(family, backends) for family in asked] + ([("cpu", ())] if allow_cpu else [])
    driver = _assumed(counted, driver) if natural == "cu" else None if counted else driver
    python = python or ".".join(map(str, sys.version_info[:3])) + ("t" if "t" in getattr(sys, "abiflags", "") else "")
    admitted = _admits(torch)
    here = [build for build in table()["builds"] if build["platform"] == platform]
    if backends and not any(build["backend"] in backends for build in here):
        raise SelectError(f"no build for {', '.join(backends)} is in the table for {platform}")
    for family, among in tries:
        builds = [
            build
            for build in here
            if build["backend"].startswith(family)
            and (not among or build["backend"] in among)
            and admitted(numbers(build["torch"]))
            and _has(build, python, glibc, companions)
        ]
        found = _best(builds, () if family == "cpu" else counted, driver, platform.partition("-")[0])
        if found is not None:
            return _choice(found, counted, companions, index_base)
    names = ", ".join(gpus)
    raise SelectError(f"no build of the table of {table()['date']} runs on {names}; torchpick says why", 3)


def _choice(build: Row, gpus: Sequence[str], companions: Sequence[str], base: str) -> Choice:
    extras = "[{}]".format(",".join(f"device-{gpu}" for gpu in gpus))
    versions = {"torch": build["version"], **{name: build["companions"][name]["version"] for name in companions}}
    pins = (f"{name}{extras if name in build['extras'] else ''}=={version}" for name, version in versions.items())
    index = build["index"]
    if build["vendor"] is None and base != _HOST:
        index = base[len("flat+") :] if base.startswith("flat+") else base.rstrip("/") + index[len(_HOST) :]
    return Choice(build["version"], build["option"], index, tuple(pins))


def _has(build: Row, python: str, glibc: str | None, companions: Sequence[str]) -> bool:
    """Whether there are wheels for this Python and C library, of the companions too."""
    short = ".".join(python.rstrip("t").split(".")[:2]) + ("t" if python.endswith("t") else "")
    beside = [build["companions"].get(name, {"pythons": ()}) for name in companions]
    return (
        all(short in each["pythons"] and python not in each.get("excluded", ()) for each in (build, *beside))
        and not (glibc and build["glibc"] and numbers(glibc) < numbers(build["glibc"]))
    )  # fmt: skip


def _best(builds: Sequence[Row], gpus: Sequence[str], driver: str | None, os_: str) -> Row | None:
    """The builds are in the order of preference: the best of the newest release of which any runs."""
    found: Row | None = None
    best = (0, False)
    for build in builds:
        if found is not None and (build["torch"], build["vendor"]) != (found["torch"], found["vendor"]):
            break
        worst = min((_fit(build, gpu, driver, os_) for gpu in gpus), default=3 if _carries(driver, build, os_) else 0)
        native = driver is None or not gpus or numbers(driver)[0] >= _native(build)
        if worst and (worst, native) > best:
            best, found = (worst, native), build
    return found


def _fit(build: Row, gpu: str, driver: str | None, os_: str) -> int:
    """How well a build runs on one GPU with this driver: 3 its own code, 2 older code, 1 PTX, 0 not at all."""
    runs = table()["runs"][build["runs"]].get(gpu)
    if runs is None:
        return 0
    fit = _FITS.index(runs["fit"]) + 1
    if driver is None:
        return fit
    has, of_gpu = numbers(driver), table()["gpus"][gpu]
    native = has[0] >= _native(build)
    old = of_gpu["from"][os_] is not None and has < numbers(of_gpu["from"][os_])
    late = of_gpu["before"] is not None and has[0] >= of_gpu["before"]
    short = has < numbers(runs.get("driver", "0")) or (fit == 1 and not native)
    return 0 if old or late or short or not _carries(driver, build, os_) else fit


def _carries(driver: str | None, build: Row, os_: str) -> bool:
    """Whether the driver supports the build's CUDA, itself or by minor-version compatibility."""
    if driver is None or build["cuda"] is None or numbers(driver)[0] >= _native(build):
        return True
    first = table()["cuda"][build["cuda"]]["from"][os_]
    return first is not None and numbers(driver) >= numbers(first)


def _native(build: Row) -> int:
    """The first number of the drivers that support this build's CUDA itself."""
    native = table()["cuda"][build["cuda"]]["native"]
    return 10**6 if native is None else int(native)


def _counted(gpus: Sequence[str]) -> tuple[str, ...]:
    """The GPUs as the table calls them; NVIDIA's alone where AMD's are beside them."""
    if any(gpu.lower() in _NONE for gpu in gpus):
        if len(gpus) > 1:
            raise SelectError("no GPU together with another GPU")
        return ()
    found = [_gpu(gpu) for gpu in gpus]
    nvidia = [gpu for gpu in found if gpu.startswith("sm_")]
    return tuple(dict.fromkeys(nvidia or found))


def _gpu(text: str) -> str:
    spoken = text.strip().lower()
    if match := re.fullmatch(r"(?:sm_?)?([0-9]{1,2})\.?([0-9])", spoken):
        spoken = f"sm_{match[1]}{match[2]}"
    if spoken in table()["gpus"] or re.fullmatch(r"gfx[0-9a-f]{3,4}", spoken):
        return spoken
    letters = "".join(char for char in spoken if char.isascii() and char.isalnum())
    for gpu, names in table()["names"].items():
        if letters in names or letters.replace("nvidia", "", 1) in names:
            return str(gpu)
    raise SelectError(f"`{text}` is not a name of the table; give its capability, such as sm_86")


def _assumed(gpus: Sequence[str], driver: str | None) -> str | None:
    """The driver, or the newest that supports the GPUs; a Jetson takes other wheels with each JetPack."""
    if driver is not None:
        return driver
    known = [table()["gpus"][gpu] for gpu in gpus]
    if any(each["jetson"] for each in known):
        raise SelectError("which wheels run on a Jetson depends on its driver: 540.4.0 for JetPack 6, 595.78 for 7.2")
    return str(min((each["before"] for each in known if each["before"] is not None), default=10**6) - 1)


def _admits(specifier: str) -> Callable[[Release], bool]:
    """Whether a release is one of `>=2.5,<2.8`, `~=2.7.0`, `==2.6.*`."""
    tests = list(_tests(specifier))
    return lambda release: all(test(release) for test in tests)


def _tests(specifier: str) -> Iterator[Callable[[Release], bool]]:
    for part in filter(None, (text.strip() for text in specifier.split(","))):
        match = re.fullmatch(r"(==|!=|<=|>=|<|>|~=)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?", part)
        if match is None or (match[3] and match[1] not in ("==", "!=")):
            raise SelectError(f"`{part}` is more than this file reads; torchpick reads it")
        yield _test(match[1], numbers(match[2]), star=bool(match[3]))


def _test(operator: str, wanted: Release, *, star: bool) -> Callable[[Release], bool]:
    def same(release: Release) -> bool:
        return _padded(release, 6)[: len(wanted)] == wanted if star else _padded(release, 6) == _padded(wanted, 6)

    def least(release: Release) -> bool:
        return _padded(release, 6) >= _padded(wanted, 6)

    return {
        "==": same,
        "!=": lambda release: not same(release),
        ">=": least,
        "<": lambda release: not least(release),
        ">": lambda release: least(release) and not same(release),
        "<=": lambda release: not least(release) or same(release),
        "~=": lambda release: least(release) and release[: len(wanted) - 1] == wanted[:-1],
    }[operator]


def _padded(parts: Release, length: int) -> Release:
    return parts + (0,) * (length - len(parts))


def numbers(text: str) -> Release:
    """`580.95.05` → (580, 95, 5)."""
    return tuple(map(int, text.split(".")))


def _platform() -> str:
    """This computer's, by the table's names."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    cpu = {"amd64": "x86_64", "arm64": "aarch64"}.get(computer.machine().lower(), computer.machine().lower())
    return f"{system}-{'arm64' if cpu == 'aarch64' and system != 'linux' else cpu}"


def _glibc() -> str | None:
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (AttributeError, ValueError, OSError):
        return None
    return version if name == "glibc" else None


def main(words: Sequence[str] | None = None) -> int:
    """Print the line for pip, or the error; the exit status is torchpick's."""
    parser = argparse.ArgumentParser(
        prog="torchpick_select.py",
        description="Print pip's arguments for the PyTorch build that runs on the GPU that is given.",
        epilog="example: python torchpick_select.py --gpu sm_61 --driver 580.95.05 --platform linux-x86_64",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("requirements", nargs="*", metavar="REQ", help="`torch<2.12`, `torchvision`, `torchaudio`")
    add(
        "--gpu", action="append", required=True, metavar="SPEC", help="sm_61, 6.1, `GTX 1080 Ti`, gfx1100, none; repeat"
    )
    add("--driver", metavar="VERSION", help="such as 580.95.05; the newest that supports the GPU without it")
    add("--platform", metavar="NAME", help="linux-x86_64, windows-x86_64, …; this computer's without it")
    add("--glibc", metavar="X.Y", help="such as 2.28")
    add("--python", metavar="X.Y", help="3.12, 3.14t; the Python that runs this without it")
    add("--backend", action="append", default=[], metavar="NAME", help="only this backend; repeat")
    add("--index-base", metavar="URL", default=_HOST, help="a mirror of the wheel host")
    add("--allow-cpu", action="store_true", help="take the CPU build where nothing else runs")
    args = parser.parse_args(words)
    torch = [text for text in args.requirements if re.fullmatch(r"torch(?![A-Za-z0-9]).*", text.strip())]
    try:
        choice = select(
            args.gpu,
            driver=args.driver,
            platform=args.platform,
            glibc=args.glibc,
            python=args.python,
            torch=",".join(text.strip()[len("torch") :] for text in torch),
            companions=[text for text in args.requirements if text not in torch],
            backends=args.backend,
            index_base=args.index_base,
            allow_cpu=args.allow_cpu,
        )
    except (SelectError, ValueError) as error:
        status = getattr(error, "exit_status", 2)
        print(NOTHING_RUNS if status == 3 else NO_LINE)
        print(f"error: {error}", file=sys.stderr)
        return status
    print(line(choice))
    return 0


if __name__ == "__main__":
    sys.exit(main())
