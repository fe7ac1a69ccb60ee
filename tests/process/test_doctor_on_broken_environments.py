"""Environments that are broken as people's are, made of what is really published.

torch 2.9.1 by its own metadata, list of files and small libraries, with empty stand-ins for the rest of it.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import rmtree

import pytest

from tests.doctor.homes import Home, codes, examine
from tests.process import wheelmembers

pytestmark = [pytest.mark.process, pytest.mark.network, pytest.mark.long]
INFO = "torch-2.9.1.dist-info"
REAL = ("torch/version.py", "torch/lib/libc10_cuda.so", "torch/lib/libtorch.so", "torch/lib/libcaffe2_nvrtc.so")


@pytest.fixture(scope="module")
def torch() -> dict[str, bytes]:
    """What is read of the wheel of torch 2.9.1: some 2 MB of 900."""
    with wheelmembers.archive("torch==2.9.1") as wheel:
        found = wheel.find(*REAL, f"{INFO}/METADATA", f"{INFO}/RECORD")
        return {name: wheel.read(member, 8 << 20) for name, member in found.items()}


@pytest.fixture
def installed(torch: dict[str, bytes], home: Home) -> Home:
    """As `pip install --no-deps torch==2.9.1` leaves it."""
    for row in csv.reader(torch[f"{INFO}/RECORD"].decode().splitlines()):
        if row and re.search(r"\.(py|so[.\d]*)$", row[0]) and not row[0].startswith(".."):
            home.write(row[0], torch.get(row[0], b""))
    for name, data in torch.items():
        home.write(name, data)
    home.write(f"{INFO}/INSTALLER", "pip\n")
    return home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / ".venv")


def with_requirements(home: Home) -> Home:
    """Everything that torch requires is there, by name at least."""
    for finding in examine(home, "RTX 4090").findings:
        missing = finding.seen.get("missing")
        assert isinstance(missing, list)
        for requirement in missing:
            name, _, version = str(requirement).partition("==")
            home.add(re.split(r"[<>=!~]", name)[0], version or "99.0")
    return home


def test_torch_without_its_dependencies(installed: Home) -> None:
    command = [sys.executable, "-m", "torchpick", "doctor", "--python", installed.python, "--gpu", "RTX 4090"]

    told = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=False)
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert told.returncode == shown.returncode == 3
    (finding,) = json.loads(told.stdout)["findings"]
    assert finding["code"] == "REQUIREMENT_MISSING"
    assert {"nvidia-cublas-cu12==12.8.4.1", "nvidia-cudnn-cu12==9.10.2.21"} <= {*finding["seen"]["missing"]}
    assert not [each for each in finding["seen"]["missing"] if "extra" in each or "win" in each]
    assert finding["cure"].startswith("torchpick install torch==2.9.1")
    assert "nvidia-cublas-cu12" in shown.stdout
    assert "\nruns " not in shown.stdout


def test_torch_with_all_of_it_is_well_and_without_nn_is_broken(installed: Home) -> None:
    with_requirements(installed)
    assert codes(examine(installed, "RTX 4090")) == []

    rmtree(installed.site / "torch" / "nn")
    (finding,) = examine(installed, "RTX 4090").findings

    assert (finding.code, finding.seen["missing"]) == ("TORCH_BROKEN", ["torch/nn/"])


def test_a_cleaner_that_took_headers_and_tests_broke_nothing(installed: Home) -> None:
    with_requirements(installed)
    for folder in ("torch/include", "torch/testing", "torch/share"):
        rmtree(installed.site / folder, ignore_errors=True)

    assert codes(examine(installed, "RTX 4090")) == []
