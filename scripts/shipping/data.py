"""The table as one JSON for other programs, with questions and their answers to try a reader on.

What depends on a GPU alone (code, cuDNN, rocBLAS) is judged here and stands in the file as a word, so that a reader
compares drivers, Pythons and glibc, and nothing else. docs/table.schema.json describes each key.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from typing import Any

from torchpick.decide import demands
from torchpick.decide.answer import Question
from torchpick.decide.matrix import verdicts
from torchpick.decide.remarks import self_contained
from torchpick.errors import TorchpickError
from torchpick.install.question import pick_build
from torchpick.knowledge import gpuindex
from torchpick.knowledge.compat import Knowledge
from torchpick.model import VERSION
from torchpick.model.address import WHEEL_HOST
from torchpick.model.arch import ARM_ONLY, TEGRA, Arch, crosses
from torchpick.model.build import Build, GpuFit, Reason, python_name, toolkit_order
from torchpick.model.machine import PLATFORMS, Gpu, Machine, Platform, Python
from torchpick.model.pick import Request, Wish, pip_line
from torchpick.model.table import DriverTable, Table
from torchpick.model.versions import numbers, release_key
from torchpick.run import start_run

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]
_NO_CACHE = {"TORCHPICK_CACHE_DIR": f"{__file__}.no-cache"}
# The objections that a GPU decides, whatever else the machine has.
_OF_GPU = frozenset({Reason.NO_KERNELS, Reason.LIBRARY_DROPPED_GPU, Reason.UNKNOWN_ARCHES})
_SYSTEMS = ("linux", "windows")

_AMDS_BRANDS = ("Radeon", "Instinct", "FirePro")

# What is asked: each kind of GPU, and pairs, with old and new drivers of each system.
_NVIDIA = (
    "sm_35", "sm_37", "sm_50", "sm_52", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90",
    "sm_100", "sm_103", "sm_107", "sm_110", "sm_120", "sm_121",
)  # fmt: skip
_GPUS = (*((gpu,) for gpu in _NVIDIA), ("sm_61", "sm_86"), ("sm_75", "sm_120"), ("sm_50", "sm_120"))
_AMD = tuple((gpu,) for gpu in ("gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1103", "gfx1151", "gfx1201"))
_DRIVERS = {
    "linux": (
        "450.80.02",
        "470.256.02",
        "525.60.13",
        "535.183.01",
        "560.35.03",
        "570.124.06",
        "580.95.05",
        "595.71.05",
    ),
    "windows": ("452.39", "474.44", "528.33", "537.58", "566.36", "572.83", "581.29", "596.36", "616.92"),
}
_PYTHONS = (
    ("3.12", "2.35"), ("3.11", "2.31"), ("3.10", "2.28"), ("3.13", "2.39"), ("3.9", "2.17"), ("3.14t", "2.39"),
    ("3.15", None), ("3.14.1", "2.39"),
)  # fmt: skip
_COMPANIONS: tuple[tuple[str, ...], ...] = ((), ("torchvision",), ("torchvision", "torchaudio"))


def table(knowledge: Knowledge) -> Row:
    """Every build that may be picked, the one to take first, and what drivers carry."""
    rules = knowledge.rules
    builds = [build for build in knowledge.shipped(default_index=False) if build.published and not build.yanked]
    gpus = tuple(Arch.of_capability(*numbers(each)) for each in sorted(rules.capabilities, key=numbers))
    targets = sorted({str(arch) for build in builds for arch in build.arches or () if arch.kind == "gfx"})
    runs: list[Row] = []
    rows = []
    for name in PLATFORMS:
        mine = [build for build in builds if build.platform == name and build.family in ("cuda", "rocm", "cpu")]
        known = knowledge.table((name,))
        here = tuple(gpu for gpu in gpus if gpu.capability not in ARM_ONLY or name.endswith(("aarch64", "arm64")))
        judged = _judged(known, name, here) | _judged(known, name, tuple(map(Arch.parse, targets)))
        mine.sort(key=_order, reverse=True)
        rows += [_build(build, judged.get(build.key, {}), runs, rules.excluded) for build in mine]
    cudas = sorted({row["cuda"] for row in rows if row["cuda"]}, key=numbers)
    return {
        "schema": 1,
        "torchpick": VERSION,
        "date": rules.date,
        "gpus": {str(gpu): _gpu(gpu, rules.drivers) for gpu in gpus},
        "cuda": {cuda: _cuda(cuda, rules.drivers) for cuda in cudas},
        "names": _named(knowledge, sorted({gpu for each in runs for gpu in each})),
        "runs": runs,
        "builds": [row for row in rows if row["runs"] is None or runs[row["runs"]]],
    }


def _order(build: Build) -> tuple[object, ...]:
    """As `decide/buildfit` ranks builds, less what depends on the machine."""
    return build.vendor is None, release_key(build.torch), self_contained(build), toolkit_order(build.backend)


def _judged(known: Table, platform: str, arches: Sequence[Arch]) -> dict[object, dict[str, Row]]:
    """By build and GPU how its code runs there, for each GPU that it supports."""
    gpus = tuple(Gpu(i, "amd" if arch.kind == "gfx" else "nvidia", None, arch) for i, arch in enumerate(arches))
    machine = Machine(platform=Platform.parse(platform), gpus=gpus, driver=None, python=Python("3.12"))
    found: dict[object, dict[str, Row]] = {}
    for place, mine in verdicts(machine, known, Wish()).items():
        for verdict in mine:
            if not verdict.reasons & _OF_GPU:
                arch = arches[place]
                found.setdefault(verdict.build.key, {})[str(arch)] = _fit(verdict.fits[0], arch, known.drivers)
    return found


def _fit(fit: GpuFit, gpu: Arch, drivers: DriverTable) -> Row:
    through = fit.via is not None and crosses(fit.via, gpu)
    return {"fit": fit.fit.word, **({"driver": drivers.unified_tegra} if through else {})}


def _build(build: Build, fits: Row, runs: list[Row], excluded: Mapping[str, Sequence[str]]) -> Row:
    if build.family != "cpu" and fits not in runs:
        runs.append(fits)
    companions = {
        name: {
            "version": version,
            "pythons": _names(build.companion_pythons.get(name, build.pythons)),
            "excluded": [python for python, releases in excluded.items() if build.release_of(name) in releases],
        }
        for name, version in build.companion_pins.items()
    }
    return {
        "platform": build.platform,
        "torch": build.torch,
        "backend": build.backend,
        "version": build.version,
        "cuda": build.cuda,
        "option": "--index-url" if build.vendor is None else build.vendor.option,
        "index": build.index_url(WHEEL_HOST),
        "extras": [] if build.vendor is None else list(build.vendor.projects),
        "vendor": None if build.vendor is None else build.vendor.vendor,
        "pythons": _names(build.pythons),
        "glibc": build.glibc,
        "companions": companions,
        "runs": None if build.family == "cpu" else runs.index(fits),
    }


def _names(tags: Sequence[str]) -> list[str]:
    return [python_name(tag).removeprefix("Python ") for tag in tags]


def _gpu(gpu: Arch, drivers: DriverTable) -> Row:
    """The drivers that support a GPU: from one of each system on, up to a branch."""
    first = drivers.first_driver.get(gpu.capability, {})
    last = drivers.last_branch.get(gpu.capability)
    before = next((branch for branch in drivers.branches if last is not None and branch > last), None)
    jetson = gpu.capability in TEGRA
    return {"from": {os: first.get(os) for os in _SYSTEMS}, "before": before, "jetson": jetson}


def _cuda(cuda: str, drivers: DriverTable) -> Row:
    """The drivers that carry a CUDA, and the first branch that supports it itself; 0 for what is older than they."""
    native = (branch for branch, own in drivers.branches.items() if numbers(own) >= numbers(cuda))
    older = numbers(cuda) < min(numbers(own) for own in drivers.branches.values())
    return {"from": {os: drivers.floor(cuda, os) for os in _SYSTEMS}, "native": 0 if older else next(native, None)}


def _named(knowledge: Knowledge, gpus: Sequence[str]) -> dict[str, list[str]]:
    """By GPU the names of products, with and without their brand, that mean it and nothing else."""
    products = [name for name, _ in (*knowledge.gpu_names.products, *knowledge.other_names.amd_named)]
    found: dict[str, set[str]] = {gpu: set() for gpu in gpus}
    for text in dict.fromkeys(form for name in products for form in _forms(name)):
        try:
            meant = str(knowledge.gpu(text, mac=False).arch)
        except TorchpickError:  # several may be meant, or none
            continue
        if meant in found:
            found[meant].add(gpuindex.letters(text))
    return {gpu: sorted(names) for gpu, names in sorted(found.items()) if names}


def _forms(name: str) -> Iterator[str]:
    """A product's name as people write it: whole, and without the words of its brand."""
    yield name
    word, _, rest = name.partition(" ")
    if rest and (word.lower() in gpuindex.BRANDS or word in _AMDS_BRANDS):
        yield from _forms(rest)


def questions() -> Iterator[Row]:
    """What the vectors ask: every machine, with one Python and one set of companions after the other."""
    software = cycle(product(_PYTHONS, _COMPANIONS))
    for platform in PLATFORMS:
        os = platform.partition("-")[0]
        arm = platform.endswith(("aarch64", "arm64"))
        machines: list[tuple[tuple[str, ...], str | None]] = [((), None)]
        machines += [(gpus, None) for gpus in _AMD] if os in _SYSTEMS and not arm else []
        machines += [(gpus, None) for gpus in _GPUS if os in _SYSTEMS and _exists(gpus, "580", arm)]
        machines += [(gpus, driver) for gpus in _GPUS for driver in _DRIVERS.get(os, ()) if _exists(gpus, driver, arm)]
        for (gpus, driver), ((python, glibc), companions) in zip(machines, software, strict=False):
            known = glibc if os == "linux" else None
            machine = {"gpus": list(gpus), "driver": driver, "platform": platform, "python": python, "glibc": known}
            yield {**machine, "companions": list(companions)}


def _exists(gpus: Sequence[str], driver: str, arm: bool) -> bool:
    """Whether a machine may be like this; of drivers that are too old or too new for the GPU a few kinds are enough."""
    capabilities = [Arch.parse(gpu).capability for gpu in gpus]
    soldered = [capability in ARM_ONLY for capability in capabilities]
    old, new = min(capabilities)[0] < 8, max(capabilities)[0] >= 9
    number = numbers(driver)[0]
    odd = (new and number < 570) or (old and min(capabilities) < (7, 5) and number >= 590)
    return (
        (not any(soldered) or arm)
        and (any(soldered) or not arm or capabilities[0] >= (9, 0))
        and (not odd or gpus in (("sm_61",), ("sm_120",)))
    )


def answer(question: Mapping[str, Any]) -> str | None:
    """What `torchpick url` prints; null where nothing runs. No setting of this user binds, so it is so everywhere."""
    facts = {name: question[name] for name in ("driver", "platform", "python", "glibc")}
    requirements, gpus = ("torch", *question["companions"]), tuple(question["gpus"]) or ("none",)
    request = Request(requirements=requirements, gpus=gpus, **facts)
    wish = demands.narrowed(demands.wish_of(request, _NO_CACHE), requirements)
    try:
        pick = pick_build(start_run(request, _NO_CACHE), Question(wish), everything=False)
    except TorchpickError:
        return None
    return pip_line(pick.build, pick.wish)


def table_json() -> str:
    """The table as it is written."""
    return json.dumps(table(Knowledge(_NO_CACHE)), separators=(",", ":")) + "\n"


def files() -> dict[str, str]:
    """The files by their names; the same for the same checkout."""
    vectors = ({"question": each, "answer": answer(each)} for each in questions())
    found = {
        "table.json": table_json(),
        "vectors.jsonl": "".join(json.dumps(vector, separators=(",", ":")) + "\n" for vector in vectors),
        "table.schema.json": (ROOT / "docs" / "table.schema.json").read_text(encoding="utf-8"),
    }
    sums = (f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in found.items())
    return {**found, "SHA256SUMS": "".join(sums)}


def write(folder: Path) -> list[Path]:
    """Write the files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    found = files()
    for name, text in found.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in found]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, epilog="example: scripts/build-data -o dist/api/v1")
    parser.add_argument(
        "-o", "--output", type=Path, default=ROOT / "dist" / "api" / "v1", help="the folder to write them to"
    )
    args = parser.parse_args(words)
    for path in write(args.output):
        print(f"{path}: {path.stat().st_size} bytes")
    return 0
