"""What a plan must answer for popular requests: versions, CUDA, and the words of a refusal."""

from __future__ import annotations

import pytest

from tests.stories.asking import codes, noted, plan
from torchpick.model.package import Stack


def majors(stack: Stack) -> set[str]:
    return {each.cuda for each in stack.packages if each.cuda is not None}


def test_vllm_on_glibc_2_28_with_cuda_12() -> None:
    """The wheels of 0.12 to 0.19 need glibc 2.31."""
    assert plan("vllm<0.20", gpu="a100", driver="535.183.01", glibc="2.28").version("vllm") == "0.11.2"


@pytest.mark.parametrize("gpu", ["sm_61", "a100", "rtx 5090"])
@pytest.mark.parametrize("asked", ["vllm>=0.20", "torchcodec>=0.17", "flashinfer-python>=0.6"])
def test_a_newer_driver_is_named_only_where_it_helps(gpu: str, asked: str) -> None:
    name = asked.partition(">")[0]
    for hint in plan(asked, gpu=gpu, driver="535.183.01" if gpu != "rtx 5090" else "570.124.06").hints:
        if hint.startswith("with driver "):
            driver, _, versions = hint.removeprefix("with driver ").partition(" or newer: ")
            stack = plan(asked, gpu=gpu, driver=driver)
            assert f"{name} {stack.version(name)}" in versions
            assert f"torch {stack.version('torch')}" in versions


def test_no_driver_and_no_other_index_is_named_where_no_version_has_code() -> None:
    assert not [
        hint for hint in plan("vllm", gpu="sm_61", driver="535.183.01").hints if "driver" in hint or "index" in hint
    ]
    assert (
        "with driver 580 or newer: vllm 0.33.0, torch 2.14.0+cu130"
        in plan("vllm>=0.20", gpu="a100", driver="550.54.15").hints
    )


def test_sglang_comes_with_torch_and_torchaudio_of_one_cuda() -> None:
    stack = plan("sglang", gpu="h100", driver="610.43.02")

    assert stack.version("sglang") == "0.5.23"
    assert stack.version("sglang-kernel") == "0.4.10"
    assert stack.version("torch") == "2.14.1+cu130"
    assert stack.version("torchaudio") == "2.11.0+cu130"
    assert noted(stack, "COMPANION_UNVERIFIED")


@pytest.mark.parametrize(
    "asked", [("jax[cuda12]", "torch"), ("tensorflow[and-cuda]", "torch"), ("unsloth",), ("faster-whisper", "torch")]
)
def test_what_mixes_two_majors_by_a_plain_install_has_one_here(asked: tuple[str, ...]) -> None:
    stack = plan(*asked, gpu="rtx 3090", driver="580.95.05")

    assert majors(stack) == {"12"}
    assert not noted(stack, "CUDA_MAJOR_MIXED")


def test_a_second_major_whose_wheels_share_files_is_taken_only_where_it_is_allowed() -> None:
    """Nothing of CUDA 12 carries torch 2.15.0; jax finds its own wheels."""
    strict = plan("jax[cuda12]", "torch==2.15.0", gpu="rtx 3090", driver="580.95.05")
    mixed = plan("jax[cuda12]", "torch==2.15.0", gpu="rtx 3090", driver="580.95.05", mixed=True)

    assert codes(strict, "jax-cuda12-plugin") == ["CUDA_FILES_SHARED"]
    assert mixed.version("torch") == "2.15.0+cu132"
    assert majors(mixed) == {"12", "13"}
    assert "CUDA 12" in noted(mixed, "CUDA_MAJOR_MIXED")
    assert not noted(mixed, "LOADER_PATH")


def test_the_last_way_is_a_wheel_that_is_added_with_a_loader_path() -> None:
    stack = plan("ctranslate2", "torch==2.15.0", gpu="rtx 3090", driver="580.95.05")

    assert stack.version("nvidia-cublas-cu12") == "12.*"
    assert "libcublas.so.12" in noted(stack, "LOADER_PATH")


def test_a_wheel_that_links_torch_never_has_another_major_unless_it_is_allowed() -> None:
    strict = plan("xformers", "torch==2.15.0", gpu="rtx 3090", driver="580.95.05")
    mixed = plan("xformers", "torch==2.15.0", gpu="rtx 3090", driver="580.95.05", mixed=True)

    assert codes(strict, "xformers")[0] == "CUDA_MAJOR_MIXED"
    assert mixed.version("xformers") == "0.0.35"
    assert "--allow-mixed" in noted(mixed, "CUDA_MAJOR_MIXED")


def test_without_a_gpu_a_cuda_package_is_refused_and_told_how() -> None:
    stack = plan("vllm", gpu="none")

    assert codes(stack, "vllm") == ["CUDA_MAJOR_MIXED"]
    assert any("--backend" in hint for hint in stack.hints)


def test_what_the_table_does_not_know_is_said() -> None:
    unknown = plan("some-package", "torch", gpu="rtx 3090", driver="580.95.05")
    version = plan("vllm==0.99", gpu="a100")

    assert unknown.unknown == {"some-package": ""}
    assert codes(version, "vllm") == ["CONSTRAINED"]


def test_on_another_platform_the_code_is_not_read_and_that_is_said() -> None:
    stack = plan("lmdeploy", gpu="rtx 3090", driver="581.15", platform="windows-x86_64")

    assert stack.packages[0].verdict == "not read"
    assert "windows-x86_64" in noted(stack, "PACKAGE_UNREAD")
