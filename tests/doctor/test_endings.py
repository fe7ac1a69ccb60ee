"""Whose an error is that no signature knows, and what is asked where a text has none."""

from __future__ import annotations

import pytest

from tests.doctor.homes import Home
from tests.doctor.test_explanation import explained

pytestmark = pytest.mark.process

TRACEBACK = "Traceback (most recent call last):"
OWN = '  File "/home/me/train.py", line 3, in <module>'
OF_TORCH = '  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1553, in _call_impl'
OF_PYTHON = '  File "/usr/lib/python3.11/importlib/__init__.py", line 126, in import_module'


def of(package: str) -> str:
    return f'  File "/env/lib/python3.11/site-packages/{package}/core.py", line 9, in f'


@pytest.mark.parametrize(
    ("lines", "cause", "owner"),
    [
        ((OWN, of("made_up"), "ValueError: bad id 'x'"), "PACKAGE_RAISED", "made-up"),
        ((OWN, of("made_up"), OF_TORCH, OF_PYTHON, "ValueError: bad id"), "PACKAGE_RAISED", "made-up"),
        (
            (OWN, r"File c:\env\Lib\site-packages\made_up\a.py:16, in f(x)", "ValueError: bad"),
            "PACKAGE_RAISED",
            "made-up",
        ),
        (("~/env/lib/python3.7/site-packages/made_up/a.py in f()", "", "ValueError: no"), "PACKAGE_RAISED", "made-up"),
        ((OWN, of("cv2"), "NotImplementedError"), "PACKAGE_PLATFORM", "opencv-python"),
        ((OWN, of("made_up"), "AttributeError: 'X' object has no attribute 'y'"), "PACKAGE_API", "made-up"),
        ((OWN, of("a"), "ImportError: cannot import name 'x' from 'made_up.b'"), "PACKAGE_API", "made_up"),
        ((OWN, of("typing"), "AttributeError: type object 'C' has no attribute '_r'"), "PACKAGE_BACKPORT", "typing"),
        ((OWN, of("a"), "AttributeError: partially initialized module 'cv2' has no"), "PACKAGE_CIRCULAR", "cv2"),
        ((OWN, "ModuleNotFoundError: No module named 'warp_x'"), "MODULE_ABSENT", "warp_x"),
        ((OWN, "ModuleNotFoundError: No module named 'sklearn'"), "MODULE_ABSENT", "scikit-learn"),
        ((of("made_up"), OWN, "ValueError: bad id 'x'"), "PROGRAM_RAISED", "me/train.py"),
        (("x", "ERROR: Failed building wheel for made-up"), "PACKAGE_BUILD", "made-up"),
        (("  × Failed to build `made-up==1.0`", "  ╰─▶ The build backend returned"), "PACKAGE_BUILD", "made-up"),
        (
            ('File "/tmp/pip-install-ab12/made-up/setup.py", line 3, in <module>', "ValueError: bad"),
            "PACKAGE_BUILD",
            "made-up",
        ),
        ((OWN, "ImportError: No module named torch"), "TORCH_ABSENT", "torch"),
        (("/src/made_up/kernel.cu(12): error: no such type",), "SOURCE_REFUSED", "kernel.cu"),
        (("/env/torch/include/ATen/Tensor.h:44:65: error: invalid",), "TORCH_HEADERS", "torch"),
    ],
)
def test_an_error_that_is_not_known_is_that_of_the_package_which_raised_it(
    lines: tuple[str, ...], cause: str, owner: str, home: Home
) -> None:
    (error,) = explained(home, "it fails with torch 2.6.0+cu124", "and made-up 1.2.3", TRACEBACK, *lines).errors

    assert (error.cause.id, error.match.package) == (cause, owner)
    advice = " ".join((error.cause.title, error.cause.meaning, *error.cause.cures))
    assert owner in advice
    assert "torch==2.6.0" in advice or cause not in ("PACKAGE_RAISED", "PACKAGE_API", "PACKAGE_PLATFORM")
    assert ("before 1.2.3" in advice) == (
        owner in ("made-up", "made_up") and cause in ("PACKAGE_RAISED", "PACKAGE_API")
    )


@pytest.mark.parametrize(
    ("lines", "asked"),
    [
        (
            ("torch 2.6.0", TRACEBACK, OWN, OF_TORCH, "ValueError: bad"),
            "which GPU is it?",
        ),  # torch's, of what it was given
        (
            ("numpy is broken", TRACEBACK, OWN, of("made_up"), "ValueError: bad"),
            "that of made-up, which is no part of torch",
        ),
        (("it names no such thing", "ValueError: bad"), "names neither torch"),
        (("training with torch", "then the whole system shuts down"), "power supply"),
        (("training with torch on two hosts freezes",), "py-spy dump"),
        (("pip install torch is stuck at Installing build dependencies",), "`-v` shows it"),
        (("pip freeze says torch 2.6.0",), "with which line"),
        (("how do I freeze some of the layers in torch?",), "with which line"),
        (("torch fails: ![image](https://x/y.png)",), "paste its last lines"),
    ],
)
def test_what_is_asked_fits_the_text_and_is_not_in_it(lines: tuple[str, ...], asked: str, home: Home) -> None:
    found = explained(home, *lines)

    assert found.errors == ()
    assert asked in found.question


def test_a_warning_of_what_may_come_is_not_what_came(home: Home) -> None:
    warned = "If you get `CUDA error: invalid device function` errors, the above might be the cause"
    found = explained(home, "torch", warned, TRACEBACK, OWN, of("made_up"), "ValueError: bad")

    assert found.errors[0].cause.id == "PACKAGE_RAISED"


def test_of_a_long_last_line_the_start_is_shown(home: Home) -> None:
    (error,) = explained(home, "torch", TRACEBACK, OWN, of("made_up"), f"ValueError: bad {'y' * 9000}").errors

    assert error.match.text.startswith("ValueError: bad yyy")
    assert len(error.match.text) < 310


@pytest.mark.parametrize(
    ("title", "cause"),
    [
        ("ImportError: cannot import name 'x' from 'made_up.y'", "PACKAGE_API"),
        ("it ends with RuntimeError: NPU function error of torch_npu", "OTHER_ACCELERATOR"),
    ],
)
def test_an_error_in_the_title_is_that_of_a_text_without_a_log(title: str, cause: str, home: Home) -> None:
    (error,) = explained(home, title, "", "with torch 2.6.0, what is it?").errors

    assert (error.cause.id, error.match.line) == (cause, 1)


NO_GPU = "why is torch.cuda.is_available() False?"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (("CMake Error at x.cmake:219", "nvcc fatal : Unsupported gpu architecture 'compute_71'"), "NVCC_ARCH_LIST"),
        (("nvcc fatal : Unsupported gpu architecture 'compute_86'",), "NVCC_ARCH"),
        (('OSError: [WinError 127] not there. Error loading "c:\\torch\\lib\\x.dll"',), "DLL_CLASH"),
        (('OSError: [WinError 126] not there. Error loading "c:\\torch\\lib\\x.dll"',), "WINERROR"),
        (("cublas runtime error : the GPU program failed to execute", "it works for fp32"), "LIBRARY_AT_SIZE"),
        (("cublas runtime error : the GPU program failed to execute",), "CUBLAS_ARCH_MISMATCH"),
        (("an illegal memory access was encountered", "it works on gpu 0 but not on gpu 1"), "ONE_CARD_FAILS"),
        (("an illegal memory access was encountered",), "ILLEGAL_ACCESS"),
        (("ggml_cuda: no kernel image is available for execution",), "PROGRAM_NO_KERNELS"),
        (("No module named 'setuptools'", "`import setuptools` does not fail"), "MODULE_ELSEWHERE"),
        (
            (
                "these package versions have conflicting dependencies",
                "syft 1.0 depends on torch==1.4",
                "syft 1.1 depends on torch==1.5",
            ),
            "ONE_PACKAGE_CONFLICT",
        ),
        (
            (
                "these package versions have conflicting dependencies",
                "syft 1.0 depends on torch==1.4",
                "vllm 1.1 depends on torch==1.5",
            ),
            "RESOLVE_CONFLICT",
        ),
        (("[TensorRT] ERROR: CUDNN_STATUS_MAPPING_ERROR in execute",), "TENSORRT_RUNS"),
        (("CUDNN_STATUS_MAPPING_ERROR",), "CUDNN_FAILED"),
        (
            ("No matching distribution found", "satisfies the requirement cupy-cuda==6.0 (from versions: none)"),
            "VARIABLE_LEFT",
        ),
        (("in docker, on a TPU", "RuntimeError: no topology", "Is CUDA available: False"), "OTHER_ACCELERATOR"),
        (("on WSL with an RX 7900 XTX", "rocminfo works", NO_GPU), "AMD_ON_WSL"),
        (("on an RX 7900 XTX", NO_GPU), "AMD_GPU"),
    ],
)
def test_the_rest_of_the_text_says_which_of_several_causes_it_is(
    lines: tuple[str, ...], cause: str, home: Home
) -> None:
    found = explained(home, "torch 1.13.1", *lines)

    assert found.errors[0].cause.id == cause


def test_what_the_text_excludes_is_not_its_cause(home: Home) -> None:
    title = "Made-up is not finding the GPU"

    assert [error.cause.id for error in explained(home, f"torch: {title}").errors] == ["CUDA_NOT_AVAILABLE"]
    assert explained(home, f"{title} but TF, PyTorch and nvcc does").errors == ()


def test_what_is_said_is_of_the_years_and_the_numbers_of_the_text(home: Home) -> None:
    gcc = "unsupported GNU version! gcc versions later than 8 are not supported!"
    (old, new) = (explained(home, f"torch {of}", "CUDNN_STATUS_NOT_SUPPORTED").errors[0] for of in ("1.1.0", "2.9.0"))

    assert "g++-8" in explained(home, gcc).errors[0].cause.cures[0]
    assert "cuDNN 9" in new.cause.meaning
    assert "cuDNN 9" not in old.cause.meaning
