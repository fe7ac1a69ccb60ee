"""What the live table says of packages that no wheel of theirs says: extras, kernels made at run time, other places."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import KnownPackages, catalog_of
from torchpick.model.package import Package, PackageFacts, WheelRule, cuda_of_extra

LIVE = {"TORCHPICK_COMPAT_DIR": str(Path(__file__).parents[2] / "compat")}
KNOWN = KnownPackages(LIVE, "linux-x86_64")


def row(name: str, version: str) -> Package:
    return next(package for package in KNOWN[name].versions if package.version == version and not package.place)


@pytest.mark.parametrize(
    ("extra", "major"),
    [
        ("cu12", 12), ("cu13", 13), ("cuda13", 13), ("cuda12-local", 12), ("cu126-torch280", 12),
        ("cu130onlytorch2140", 13), ("cuda", None), ("focus12", None), ("dev", None),
    ],
)  # fmt: skip
def test_an_extra_that_names_a_cuda_chooses_its_major(extra: str, major: int | None) -> None:
    assert cuda_of_extra(extra) == major


def test_an_extra_that_names_none_is_what_the_project_says_it_is() -> None:
    facts = PackageFacts("jax", (), rule=WheelRule(cuda_extras={"cuda": "12"}))

    assert cuda_of_extra("cuda", facts) == 12
    assert cuda_of_extra("cuda13", facts) == 13
    assert cuda_of_extra("and-cuda", KNOWN["tensorflow"]) == 12


@pytest.mark.parametrize(("name", "version", "floor"), [
        ("flash-attn-4", "4.0.0b36", "sm_90"), ("flashinfer-python", "0.7.2", "sm_75"),
        ("nvidia-cutlass-dsl", "4.8.1", ""),
])  # fmt: skip
def test_what_is_compiled_at_run_time_has_the_oldest_gpu_that_is_known(name: str, version: str, floor: str) -> None:
    assert row(name, version).jit == floor


def test_what_holds_its_kernels_is_not_compiled_at_run_time() -> None:
    assert row("vllm", "0.33.0").jit is None


def test_projects_that_write_the_same_files_are_known() -> None:
    shared = catalog_of(Knowledge(LIVE), "linux-x86_64").shared_files

    assert all(shared(f"nvidia-{name}-cu12", f"nvidia-{name}-cu13") for name in ("cudnn", "nccl", "nvshmem"))
    assert shared("nvidia-cusparselt-cu13", "nvidia-cusparselt-cu12")
    assert not shared("nvidia-cublas-cu12", "nvidia-cublas")
