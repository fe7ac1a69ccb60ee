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


@pytest.mark.parametrize(
    ("name", "version", "floor"),
    [
        ("flash-attn-4", "4.0.0b36", "sm_90"),
        ("flashinfer-python", "0.7.2", "sm_75"),
        ("nvidia-cutlass-dsl", "4.8.1", ""),
    ],
)
def test_what_is_compiled_at_run_time_has_the_oldest_gpu_that_is_known(name: str, version: str, floor: str) -> None:
    assert row(name, version).jit == floor


def test_what_holds_its_kernels_is_not_compiled_at_run_time() -> None:
    assert row("vllm", "0.33.0").jit is None


def test_bitsandbytes_takes_another_cuda_of_the_major_from_the_version_that_does() -> None:
    falls_back = {package.version: package.minor_fallback for package in KNOWN["bitsandbytes"].versions}

    assert falls_back["0.50.2"]
    assert not falls_back["0.49.0"]


def test_torchao_goes_on_without_its_libraries() -> None:
    assert all(package.optional for package in KNOWN["torchao"].versions)
    assert not any(package.optional for package in KNOWN["torchcodec"].versions)


@pytest.mark.parametrize(
    ("version", "torch"), [("1.9.0", "torch==2.14.*"), ("1.5.0", "torch==2.10.*"), ("1.4.2", "torch==2.9.*")]
)
def test_each_fbgemm_requires_the_torch_that_it_was_built_with(version: str, torch: str) -> None:
    assert torch in row("fbgemm-gpu", version).requires


def test_a_wheel_elsewhere_has_the_code_that_its_build_names() -> None:
    wheel = next(
        package
        for package in KNOWN["xformers"].versions
        if package.version == "0.0.35" and "/whl/cu130/" in package.place
    )

    assert (wheel.cuda, wheel.requires[-1]) == ("13", "torch>=2.10")
    assert wheel.place.endswith("#sha256=962eb73f7243fb6a6b68ed85ed8f97780070ee35c1be464eefe3299b0382391d")
    assert "sm_120a" in {str(arch) for library in wheel.code or () for arch in library.arches}


def test_of_pyg_lib_the_versions_are_known_by_their_torch() -> None:
    known = {(package.requires[-1], package.version) for package in KNOWN["pyg-lib"].versions}

    assert {("torch==2.14.*", "0.9.0"), ("torch==2.11.*", "0.9.0"), ("torch==2.10.*", "0.8.0")} <= known
    assert ("torch==2.10.*", "0.9.0") not in known


def test_projects_that_write_the_same_files_are_known() -> None:
    shared = catalog_of(Knowledge(LIVE), LIVE, "linux-x86_64").shared_files

    assert all(shared(f"nvidia-{name}-cu12", f"nvidia-{name}-cu13") for name in ("cudnn", "nccl", "nvshmem"))
    assert shared("nvidia-cusparselt-cu13", "nvidia-cusparselt-cu12")
    assert not shared("nvidia-cublas-cu12", "nvidia-cublas")
