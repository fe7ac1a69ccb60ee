"""Environments of which a part is missing, or that are of another framework: folders, as pip leaves them."""

from __future__ import annotations

import os
from shutil import rmtree

import pytest

from tests.doctor.homes import Home, codes, examine, linking
from tests.doctor.test_findings import jax
from torchpick.doctor import presence
from torchpick.environment import distributions

pytestmark = pytest.mark.process


def test_each_file_of_a_folder_that_is_gone_is_named(home: Home) -> None:
    files = {f"torch/nn/{part}/{name}.py": "" for part in ("modules", "utils") for name in ("__init__", "a")}
    home.torch(named="2.9.1+cu128", more=files)
    rmtree(home.site / "torch" / "nn")

    found = examine(home, "sm_86")

    assert codes(found) == ["TORCH_BROKEN"]
    assert found.findings[0].seen["missing"] == sorted(files)
    assert found.remedy is not None
    assert found.remedy.command[-2:] == ("--", "--force-reinstall")


def test_a_large_environment_is_looked_at_by_folders(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some 900 folders hold torch's code, and 13,000 files: on a shared file system every look counts."""
    home.torch(more={f"torch/part{number % 200}/file{number}.py": "" for number in range(6000)})
    looks: list[str] = []
    real = os.listdir

    def counted(folder: str) -> list[str]:
        looks.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "listdir", counted)
    package = distributions.read_environment(home.python, {}).find("torch")
    assert package is not None

    assert presence.gone(package) == ()
    assert 200 <= len(looks) <= 210


def test_a_torch_without_its_nvidia_packages_is_said_to_lack_them_and_nothing_more(home: Home) -> None:
    """As `--no-deps` leaves it: the libraries that are nowhere are those of the packages that are named."""
    needs = {"torch/lib/libtorch_cuda.so": linking(["libcudart.so.99", "libcublas.so.99"])}
    requires = [f"nvidia-{name}-cu99==99.1; platform_system == 'Linux'" for name in ("cublas", "cuda-runtime")]
    home.torch(more=needs, requires=[*requires, "triton==3.5.1; platform_system == 'Linux'"])

    found = examine(home, "sm_86")

    assert [(finding.code, finding.severity) for finding in found.findings] == [("REQUIREMENT_MISSING", "error")]
    assert "nvidia-cublas-cu99==99.1, nvidia-cuda-runtime-cu99==99.1, triton==3.5.1" in found.findings[0].text
    assert found.remedy is not None
    assert "torch==2.9.1" in found.remedy.command


def test_an_environment_of_jax_alone_hears_no_word_of_torch(home: Home) -> None:
    jax(home)

    assert codes(examine(home, "sm_86", driver="580.95.05")) == []
    (finding,) = examine(home, "sm_86", driver="570.124.06").findings
    assert "torch" not in finding.text + str(finding.advice)
    assert "580" in finding.text
