"""What is computed of a text: what stands for the names in the table's remedies, and facts for its cases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from torchpick.doctor.texts import Mentions
from torchpick.environment import interpreter, shell
from torchpick.model.address import WHEEL_HOST
from torchpick.model.build import COMPANIONS, Build, python_span
from torchpick.model.pick import Request
from torchpick.model.versions import admits
from torchpick.run import Run

_MOST_DEMANDS = 4


def named(said: Mentions, failing: Mentions, request: Request, run: Run) -> Mapping[str, str | None]:
    """The names, each with its value, None where that is not known; `failing` is what the line of the error says."""
    pin, required = _required(said.demands)
    flags = shell.line(Request(gpus=request.gpus, driver=request.driver).flags, run.shell)
    return {
        "PACKAGE": failing.facts.get("package") or said.facts.get("package"),
        "torch==X.Y.Z": "==".join(filter(None, ("torch", pin or (said.torch or "").partition("+")[0]))),
        " --gpu NAME --driver VERSION": f" {flags}".rstrip(),
        "REQUIRED": required or _companions(said, flags, run),
        "PUBLISHED": _published(said, run),
        "SUPPORTED": _supported(said),
    }


def facts(said: Mentions, line: str, run: Run) -> set[str]:
    """What follows from the table and the line of the error."""
    wrong = {"other python": _is_other_python(said, run), "own library": _is_own_library(line, said)}
    return {fact for fact, holds in wrong.items() if holds}


def _required(demands: Sequence[tuple[str, str]]) -> tuple[str | None, str | None]:
    """The torch that all of these packages take, and who requires which; None where nobody pins one."""
    pins = [text.removeprefix("==") for _, text in demands if re.fullmatch(r"==\d+(\.\d+)*", text)]
    if not pins:
        return None, None
    taken = next((pin for pin in pins if all(admits(text)(pin) for _, text in demands)), None)
    who = ", ".join(f"{package} requires torch{text}" for package, text in demands[:_MOST_DEMANDS])
    if taken is None:
        advice = "no torch is all of these, so install other releases of them, or each into its own environment"
        return None, f"{who}: {advice}"
    return taken, f"{who}: `torchpick install torch=={taken} torchvision torchaudio` installs that one"


def _published(said: Mentions, run: Run) -> str | None:
    """For what the torch was built that an installer did not find."""
    builds = _builds(said.asked, said, run)
    if not builds:
        return None
    label = (said.asked or "").partition("+")[2]
    if any(build.backend == label for build in builds) and not _is_other_python(said, run):
        where = f"lies on the index of its label alone, for Python {python_span(builds[0].pythons)}"
        return f"torch {said.asked} {where}: `--index-url {WHEEL_HOST}/{label}`"
    glibc = f" with glibc {builds[0].glibc} or newer" if builds[0].glibc else ""
    where = f"{', '.join(build.backend for build in builds)}, and for Python {python_span(builds[0].pythons)}{glibc}"
    here = f", and the text's Python is {said.python}" if _is_other_python(said, run) else ""
    return f"torch {builds[0].torch} is there for {where}{here}"


def _supported(said: Mentions) -> str | None:
    """What the driver of the text takes."""
    if said.driver_cuda is None:
        return None
    major = said.driver_cuda.partition(".")[0]
    return f"the driver supports CUDA {said.driver_cuda}: take a build for CUDA {major}, or a newer driver"


def _is_other_python(said: Mentions, run: Run) -> bool:
    builds = _builds(said.asked, said, run)
    return said.python is not None and bool(builds) and f"cp{said.python.replace('.', '')}" not in builds[0].pythons


def _builds(version: str | None, said: Mentions, run: Run) -> Sequence[Build]:
    platform = said.platform or interpreter.running().platform.name
    return run.knowledge.table((platform,)).of(platform).builds((version or "").partition("+")[0])


def _companions(said: Mentions, flags: str, run: Run) -> str | None:
    """Which companions belong to the torch of the text, where it names others."""
    release, _, backend = (said.torch or "").partition("+")
    builds = _builds(said.torch, said, run)
    row = builds[0].companions if builds else {}
    other = {
        name: version
        for name, version in said.packages.items()
        if name in COMPANIONS and row.get(name) and version.split(".")[:2] != str(row[name]).split(".")[:2]
    }
    if not other:
        return None
    who = " and ".join(f"{name} {str(row[name]).partition('+')[0]}, not {version}" for name, version in other.items())
    command = ["torchpick", "install", f"torch=={release}", *other, *(["--backend", backend] if backend else [])]
    return f"torch {release} goes with {who}: `{' '.join([*command, *filter(None, [flags])])}` installs them together"


# The number of these is the major of their CUDA.
_OF_CUDA = re.compile(r"\blib(?:cudart|nvrtc|cublas|cublasLt|cusparse|nvJitLink)\.so\.(\d{2})\b")


def _is_own_library(line: str, said: Mentions) -> bool:
    """Whether the library that the line misses is one that the text's torch itself brings."""
    library = _OF_CUDA.search(line)
    label = re.search(r"\+cu(\d{2})\d$", said.torch or "")
    cuda = said.cuda or (label[1] if label else "")
    return library is not None and library[1] == cuda.partition(".")[0]
