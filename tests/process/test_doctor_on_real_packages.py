"""Doctor on what is really published: a small GPU package from the package index."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import usersettings
from tests.doctor.homes import Home, codes, examine

pytestmark = [pytest.mark.process, pytest.mark.network]


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
        "--python-version", "3.12", "--platform", "manylinux_2_28_x86_64", "--implementation", "cp", "--abi", "cp312",
    ]  # fmt: skip
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
