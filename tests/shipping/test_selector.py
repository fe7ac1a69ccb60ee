"""The single-file selector is table.json and its reader: it decides as torchpick does and needs nothing beside it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import torchpick
from scripts.shipping import data, selector
from tests import tables
from torchpick.errors import TorchpickError
from torchpick.knowledge import locations
from torchpick.model.pick import NO_LINE, pip_line

pytestmark = pytest.mark.usefixtures("live_table")  # it carries that one
DRIVERS = (
    ("470.82.01", "450.80.02", "525.60.13", "535.183.01", "560.28.03", "570.26", "580.95.05", "595.71.05"),
    ("452.39", "528.33", "537.58", "560.76", "572.83", "581.29", "596.36"),
)
GPUS = (
    "sm_35", "sm_37", "5.0", "sm_52", "6.0", "sm_61", "GTX 1080 Ti", "v100", "sm_70", "7.5", "T4", "a100", "sm_86",
    "RTX 4090", "sm_90", "sm_100", "sm_103", "sm_120", "RTX 5090", "gfx90a", "gfx942", "gfx1100", "none", "sm_87",
)  # fmt: skip
PLATFORMS = ("linux-x86_64", "linux-aarch64", "windows-x86_64", "macos-arm64", "windows-arm64")
TORCH = ("", "", "", "<2.12", ">=2.5,<2.8", "==2.9.1", "==2.6.*", "<1.13", ">=2.15", "~=2.7.0", "!=2.14.1")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("selector") / "torchpick_select.py"
    with pytest.MonkeyPatch.context() as patch:  # made before each test takes that table
        patch.setattr(locations, "shipped_dir", lambda: str(tables.LIVE))
        patch.setenv("TORCHPICK_COMPAT_DIR", str(tables.LIVE))
        assert selector.main(["-o", str(made)]) == 0
    return made


@pytest.fixture(scope="module")
def carried(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("torchpick_select", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine(chance: random.Random) -> dict[str, Any]:
    platform = chance.choice(PLATFORMS)
    glibc = chance.choice(("2.17", "2.28", "2.35", "2.39")) if platform.startswith("linux") else None
    # An Orin is no x86 computer's.
    gpus = GPUS if platform == "linux-aarch64" else GPUS[:-1]
    return {
        "gpus": [chance.choice(gpus) for _ in range(chance.choice((1, 1, 1, 2, 3)))],
        "driver": chance.choice((None, *DRIVERS[platform.startswith("windows")])),
        "platform": platform,
        "glibc": glibc,
        "python": chance.choice(("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.14t", "3.15")),
        "torch": chance.choice(TORCH),
        "backends": chance.choice(([], [], [], ["cu126"], ["cu130", "cpu"], ["rocm7.2"])),
        "allow_cpu": chance.random() < 0.2,
    }


# One answer of pick() a line, as `said` has it.
ALONE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torchpick
from torchpick.model.pick import pip_line
for line in sys.stdin:
    try:
        pick = torchpick.pick(**json.loads(line), environ={"TORCHPICK_CACHE_DIR": sys.argv[2]})
        print(pip_line(pick.build, pick.wish))
    except torchpick.TorchpickError as error:
        print(f"{type(error).__name__} {error.exit_status}: {error} | {error.hint}")
"""


def said(facts: dict[str, Any], environ: dict[str, str]) -> str:
    """The line, or what the error says."""
    try:
        pick = torchpick.pick(**facts, environ=environ).require()
    except TorchpickError as error:
        return f"{type(error).__name__} {error.exit_status}: {error} | {error.hint}"
    return pip_line(pick.build, pick.wish)


def agree(carried: ModuleType, cache: Path, machines: int, seed: int) -> int:
    """How many of these machines have a build; for all of them the answer is the same, also without a dependency."""
    chance = random.Random(seed)  # noqa: S311 # the same machines each run
    asked, answers = [], []
    for _ in range(machines):
        facts = machine(chance)
        companions = ["torchvision"] if chance.random() < 0.3 else []
        ours = {**facts, "companions": dict.fromkeys(companions, "")}
        expected = said(ours, {"TORCHPICK_CACHE_DIR": str(cache)})
        found = None
        with suppress(carried.SelectError):
            found = carried.line(carried.select(**{**facts, "companions": companions}))
        assert found == (expected if expected.startswith("--") else None), (facts, companions, expected)
        asked.append(json.dumps(ours))
        answers.append(expected)
    source = str(Path(torchpick.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ALONE, source, str(cache)],
        input="\n".join(asked), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout.splitlines(), done.stderr) == (answers, "")
    return sum(answer.startswith("--index-url") for answer in answers)


@pytest.mark.process
def test_it_agrees_on_a_hundred_random_machines(carried: ModuleType, tmp_path: Path) -> None:
    assert agree(carried, tmp_path, 100, 1) > 20


@pytest.mark.long
def test_it_agrees_on_ten_thousand_random_machines(
    carried: ModuleType, tmp_path: Path, count: Callable[[str, int, int], None]
) -> None:
    assert agree(carried, tmp_path, 10_000, 2) > 2_000
    count("random machines on which the selector agrees with torchpick", 10_000, 10_000)


def test_it_carries_the_table_for_other_programs(carried: ModuleType, file: Path) -> None:
    told = file.read_text(encoding="utf-8").splitlines()[2]

    assert carried.table() == json.loads(data.table_json())
    assert told == f"# sha256 {hashlib.sha256(data.table_json().encode()).hexdigest()}"


COMMANDS = [
    ["--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"],
    ["--gpu", "GTX 1080 Ti", "--platform", "windows-x86_64", "--python", "3.12", "torch<2.12", "torchvision"],
    ["--gpu", "sm_120", "--driver", "560.28.03", "--platform", "linux-x86_64", "--python", "3.12"],
    ["--gpu", "no such GPU"],
    ["--gpu", "none", "--backend", "cu126"],
]


@pytest.mark.process
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_as_a_command_it_prints_the_line_of_torchpick_url(words: list[str], file: Path, tmp_path: Path) -> None:
    """Alone: no site-packages, no variable, another folder."""
    alone = subprocess.run(
        [sys.executable, "-I", "-S", str(file), *words], capture_output=True, text=True, check=False, cwd=tmp_path,
        timeout=60,
    )  # fmt: skip
    environ = {**os.environ, "TORCHPICK_CACHE_DIR": str(tmp_path / "cache")}
    whole = subprocess.run(
        [sys.executable, "-m", "torchpick", "url", "--quiet", *words], capture_output=True, text=True, check=False,
        cwd=tmp_path, timeout=60, env=environ,
    )  # fmt: skip

    assert (alone.stdout, alone.returncode) == (whole.stdout, whole.returncode), alone.stderr
    assert ("error: " in alone.stderr) == ("error: " in whole.stderr)


@pytest.mark.process
def test_what_needs_more_than_the_file_says_so(file: Path) -> None:
    words = [sys.executable, "-I", "-S", str(file), "--gpu", "none", "torch>=2.1.post1"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (2, f"{NO_LINE}\n")
    assert "torchpick reads it" in done.stderr
