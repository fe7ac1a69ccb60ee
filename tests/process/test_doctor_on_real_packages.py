"""Doctor on what is really published: a small GPU package from the package index, and, on request, torch itself.

TORCHPICK_TEST_BIG=1 adds environments with torch 2.9.1 (without its dependencies, 0.9 GB) as the index has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import usersettings
from tests.doctor.homes import Home, codes, examine, snapshot
from tests.fakes import venvs

pytestmark = [pytest.mark.process, pytest.mark.network]
BIG = pytest.mark.skipif(not os.environ.get("TORCHPICK_TEST_BIG"), reason="TORCHPICK_TEST_BIG=1 fetches a gigabyte")


def _pip(*words: str, python: str = sys.executable) -> None:
    command, environ = [python, "-m", "pip", *words], usersettings.fetching()
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        pytest.skip(f"the package index does not give it: {done.stderr.strip().splitlines()[-1][:200]}")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / ".venv")


@pytest.fixture(scope="session")
def torchvision(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of torchvision 0.24.1 as the package index has it: 8 MB, built for CUDA 12.8."""
    folder = tmp_path_factory.mktemp("wheels")
    wanted = [
        "--python-version",
        "3.12",
        "--platform",
        "manylinux_2_28_x86_64",
        "--implementation",
        "cp",
        "--abi",
        "cp312",
    ]
    _pip("download", "--quiet", "--no-deps", "--only-binary=:all:", *wanted, "-d", str(folder), "torchvision==0.24.1")
    return next(folder.glob("*.whl"))


def test_a_real_companion_is_judged_for_each_gpu(home: Home, torchvision: Path) -> None:
    home.torch()
    home.add("numpy", "2.0.0", {})
    home.add("pillow", "11.0.0", {})
    with zipfile.ZipFile(torchvision) as archive:
        archive.extractall(home.site)

    fine, old = examine(home, "RTX 4090"), examine(home, "GTX 1080 Ti", driver="580.95.05")
    home.torch("2.8.0+cu128")
    other = examine(home, "RTX 4090")

    assert codes(fine) == []
    assert codes(old) == ["NO_KERNELS", "PACKAGE_NO_KERNELS"]
    assert "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120" in old.findings[1].text
    assert codes(other) == ["COMPANION_MISMATCH", "TORCH_TWICE"]


@pytest.fixture(scope="session")
def real_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("big") / "env"
    venvs.with_pip(root)
    _pip("install", "--quiet", "--no-deps", "torch==2.9.1", "torchvision==0.24.1", python=str(root / "bin" / "python"))
    return root


@BIG
def test_the_issue_s_own_example_on_the_real_binaries(real_torch: Path) -> None:
    before = snapshot(real_torch)
    command = [sys.executable, "-m", "torchpick", "doctor", "--python", str(real_torch), "--json"]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}

    def doctor(*words: str) -> tuple[int, dict[str, object]]:
        done = subprocess.run([*command, *words], capture_output=True, text=True, env=environ, check=False)
        return done.returncode, json.loads(done.stdout)

    status, sick = doctor("--gpu", "MX330", "--driver", "580.119.02")
    well_status, well = doctor("--gpu", "RTX 4090")

    assert status == 3
    findings = sick["findings"]
    assert isinstance(findings, list)
    assert findings[0]["code"] == "NO_KERNELS"
    assert findings[0]["seen"]["evidence"] == "measured"
    assert findings[0]["seen"]["arches"] == ["sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
    assert findings[0]["cure"].startswith("torchpick install torch==2.9.1 torchvision --gpu MX330")
    assert sick["cure"]["version"] == "2.9.1+cu126"  # type: ignore[index]
    assert (well_status, well["findings"]) == (0, [])
    assert snapshot(real_torch) == before
