"""Broken environments from public threads, and what a plan answers: each with the thread it was told in.

What a plan cannot see (load paths, symbols, an environment that is there already) is the doctor's; here stands the
environment that would not have broken.
"""

from __future__ import annotations

from tests.stories.asking import codes, noted, plan

PINS_12 = ("vllm==0.19.1", "torch==2.10.0+cu128", "torchvision==0.25.0+cu128", "torchaudio==2.10.0+cu128")


def test_vllm_of_cuda_13_beside_torch_cu129() -> None:
    """vllm-project/vllm#44335."""
    old = plan("vllm==0.22.0", gpu="h100", driver="570.86.10")
    asked = plan("vllm==0.22.0", gpu="h100", driver="580.95.05", backend="cu129")

    assert not old.ok
    assert codes(old, "vllm") == ["PACKAGE_DRIVER_TOO_OLD"]
    assert "libcudart.so.13" in old.objections[0].objection.text
    assert "vllm 0.19.1, torch 2.10.0+cu128" in old.hints[0]
    assert any("https://wheels.vllm.ai/0.22.0/cu129" in hint for hint in old.hints)
    assert codes(asked, "vllm") == ["CUDA_MAJOR_MIXED"]
    assert "without `--backend cu129`: vllm 0.22.0, torch 2.11.0+cu130" in asked.hints
    assert any("https://wheels.vllm.ai/0.22.0/cu129" in hint for hint in asked.hints)


def test_a_driver_for_cuda_12_and_vllm_of_cuda_13() -> None:
    """verl-project/verl-omni#133."""
    pinned = plan("vllm==0.20.2", gpu="a100", driver="535.183.01")
    free = plan("vllm", gpu="a100", driver="535.183.01")

    assert codes(pinned, "vllm") == ["PACKAGE_DRIVER_TOO_OLD"]
    assert "driver 580" in pinned.objections[0].objection.text
    assert free.requirements == PINS_12
    assert noted(free, "MINOR_VERSION_COMPATIBILITY")


def test_vllm_of_cuda_13_in_an_environment_with_torch_cu126() -> None:
    """vllm-project/vllm#52300."""
    held = plan("vllm==0.21.0", "torch==2.11.0+cu126", gpu="a100", driver="580.95.05")
    free = plan("vllm==0.21.0", gpu="a100", driver="580.95.05")

    assert codes(held, "vllm") == ["CUDA_MAJOR_MIXED"]
    assert "without `==2.11.0+cu126` on torch: torch 2.11.0+cu130" in held.hints
    assert free.requirements == (
        "vllm==0.21.0", "torch==2.11.0+cu130", "torchvision==0.26.0+cu130", "torchaudio==2.11.0+cu130",
    )  # fmt: skip


def test_volta_ends_with_vllm_0_19() -> None:
    """vllm-project/vllm PR 39878."""
    new = plan("vllm>=0.20", gpu="v100,v100", driver="580.95.05")
    free = plan("vllm", gpu="v100,v100", driver="580.95.05")

    assert codes(new, "vllm") == ["PACKAGE_NO_KERNELS"]
    assert "vllm 0.19.1, torch 2.10.0+cu128" in new.hints[0]
    assert free.requirements == PINS_12
    assert free.packages[0].verdict == "partly"
    assert "fa2" in noted(free, "PARTIAL_LIBRARY")


def test_no_vllm_ever_held_code_for_pascal() -> None:
    """vllm-project/vllm#19542."""
    stack = plan("vllm", gpu="1080 ti", python="3.10", glibc="2.31")

    assert not stack.ok
    assert "PACKAGE_NO_KERNELS" in codes(stack, "vllm")
    assert set(codes(stack, "vllm")) <= {"PACKAGE_NO_KERNELS", "GLIBC_TOO_OLD", "NO_WHEEL_FOR_PYTHON"}
    assert "torch itself runs here: torch 2.14.1+cu126" in stack.hints
    assert any("llama-cpp-python" in hint for hint in stack.hints)
    assert plan("torch", gpu="1080 ti", python="3.10", glibc="2.31").version("torch") == "2.14.1+cu126"


def test_the_kernel_has_the_major_of_torch() -> None:
    """sgl-project/sglang#29646."""
    stack = plan("sglang-kernel", "torch==2.11.0", gpu="sm_120", driver="580.95.05")

    assert stack.version("torch") == "2.11.0+cu130"
    assert stack.packages[0].cuda == "13"


def test_versions_that_were_right() -> None:
    """sgl-project/sglang#10951."""
    asked = ("sglang[srt]==0.5.2", "sgl-kernel==0.3.9.post2", "torch==2.8.0")
    stack = plan(*asked, gpu="a10", driver="550.127.08", python="3.10")

    assert stack.version("sgl-kernel") == "0.3.9.post2"
    assert stack.version("torch") == "2.8.0+cu128"
    assert {each.cuda for each in stack.packages} == {"12", None}


def test_pascal_on_windows() -> None:
    """Comfy-Org/ComfyUI#9650."""
    free = plan("torch", "torchvision", gpu="gtx 1080 ti", driver="580.88", platform="windows-x86_64")
    pinned = plan("torch==2.8.0", "torchvision", gpu="gtx 1080 ti", driver="580.88", platform="windows-x86_64")

    assert free.requirements == ("torch==2.14.1+cu126", "torchvision==0.29.1+cu126")
    assert pinned.requirements == ("torch==2.8.0+cu126", "torchvision==0.23.0+cu126")


def test_blackwell_never_takes_cu126() -> None:
    """Comfy-Org/ComfyUI#7380; 2.15.0+cu130 is not confirmed for Windows."""
    new = plan("torch", gpu="rtx 5070", driver="581.15", platform="windows-x86_64")
    old = plan("torch", gpu="rtx 5070", driver="572.83", platform="windows-x86_64")
    linux = plan("torch", gpu="rtx 5070", driver="570.86.10")

    assert new.version("torch") == "2.14.1+cu130"
    assert old.version("torch") == "2.11.0+cu128"  # cu129 ended with 2.9.0 on Windows
    assert linux.version("torch") == "2.13.0+cu129"


def test_flash_attention_has_no_wheel_on_the_default_index() -> None:
    """Dao-AILab/flash-attention#1920 and #1421."""
    stack = plan("flash-attn", "torch==2.5.1", gpu="rtx 3090", driver="580.95.05", python="3.10", backend="cu124")
    said = noted(stack, "PACKAGE_UNREAD")

    assert stack.version("torch") == "2.5.1+cu124"
    assert "https://github.com/Dao-AILab/flash-attention/releases" in said
    assert "+cu12torch2.5cxx11abiFALSE" in said
    assert "--no-build-isolation" in said


def test_flash_attention_2_is_not_for_turing() -> None:
    """Dao-AILab/flash-attention#1230."""
    stack = plan("flash-attn", gpu="t1000", driver="580.95.05")

    assert codes(stack, "flash-attn") == ["PACKAGE_NO_KERNELS"]
    assert "sm_80 sm_90 sm_100 sm_120" in stack.objections[0].objection.text
    assert any("scaled_dot_product_attention" in hint for hint in stack.hints)


def test_a_source_build_names_its_prebuilt_wheel() -> None:
    """Dao-AILab/causal-conv1d#108."""
    asked = ("causal-conv1d>=1.4.0", "torch==2.11.0")
    stack = plan(*asked, gpu="a100", driver="580.95.05", python="3.10", backend="cu130")

    assert stack.version("torch") == "2.11.0+cu130"
    assert "causal_conv1d-1.7.0+cu13torch2.11cxx11abiTRUE" in noted(stack, "PACKAGE_UNREAD")
    assert "compiler of torch's CUDA" in noted(stack, "PACKAGE_UNREAD")


def test_torch_follows_the_pin_of_xformers_and_stays_a_cuda_build() -> None:
    """oobabooga/textgen PR 7581."""
    stack = plan("xformers==0.0.33", gpu="rtx 3060", driver="581.15", platform="windows-x86_64")
    newer = plan("xformers==0.0.33.post2", gpu="rtx 3060", driver="581.15", platform="windows-x86_64")

    assert stack.requirements == ("xformers==0.0.33", "torch==2.9.0+cu128")
    assert newer.version("torch") == "2.9.1+cu128"


def test_a_jetson_takes_nothing_of_this() -> None:
    """facebookresearch/xformers#1193."""
    stack = plan("xformers", gpu="sm_87", driver="540.4.0", platform="linux-aarch64", python="3.10")

    assert set(codes(stack, "xformers")) == {"NO_WHEEL_FOR_PLATFORM"}
    assert any("built against NVIDIA's own" in hint for hint in stack.hints)


def test_one_choice_for_every_step_of_an_installer() -> None:
    """unslothai/unsloth#5827."""
    stack = plan("unsloth", gpu="rtx 5090", driver="581.15", platform="windows-x86_64", python="3.13")
    torch = stack.version("torch") or ""

    assert stack.ok
    assert "+cu126" not in torch
    assert {each.cuda for each in stack.packages if each.links_torch} == {"12"}


def test_torchcodec_belongs_to_a_torch_that_its_metadata_does_not_name() -> None:
    """meta-pytorch/torchcodec#1180."""
    then = plan("torch==2.9.1", "torchcodec", gpu="a100", driver="535.183.01", python="3.13")
    now = plan("torch==2.10.0", "torchcodec", gpu="a100", driver="535.183.01", python="3.13")

    assert then.version("torchcodec") == "0.9.1"
    assert now.version("torchcodec") == "0.10.0"


def test_two_packages_that_are_one_module() -> None:
    """microsoft/onnxruntime#26996."""
    stack = plan("onnxruntime", "onnxruntime-gpu", "torch", gpu="t4", driver="580.95.05")

    assert stack.version("onnxruntime-gpu") is not None
    assert stack.version("onnxruntime") is None
    assert {each.cuda for each in stack.packages} == {"13"}


def test_whisper_needs_cublas_of_cuda_12() -> None:
    """SYSTRAN/faster-whisper#1431, Softcatala/whisper-ctranslate2#146; and #885, #1182 for the cuDNN years."""
    ampere = plan("faster-whisper", "torch", gpu="rtx 3090", driver="580.95.05", python="3.11")
    blackwell = plan("faster-whisper", "torch", gpu="rtx 5090", driver="580.95.05")
    old = plan("ctranslate2==4.4.0", "torch", gpu="rtx 3090", driver="550.54.15")
    newer = plan("ctranslate2==4.5.0", "torch<2.5", gpu="rtx 3090", driver="550.54.15")

    assert ampere.requirements[1:] == ("ctranslate2==4.8.5", "torch==2.14.1+cu126")
    assert blackwell.requirements[1:] == ("ctranslate2==4.8.5", "torch==2.13.0+cu129")
    assert (old.version("torch") or "").startswith("2.3.1+cu12")
    assert (newer.version("torch") or "").startswith("2.4.1+cu12")
