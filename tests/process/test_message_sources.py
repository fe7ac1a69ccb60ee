"""The texts that packages print, made from their own newest sources: a new wording turns this red.

The messages of a function are taken out of its syntax tree, with stand-ins for what is filled in.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.doctor.test_errors import named
from tests.process import wheelmembers

pytestmark = [pytest.mark.process, pytest.mark.network, pytest.mark.long]
_SHORTEST = 12

# The package, the file in its wheel, the function or class that says it, and what it has to be understood as.
SOURCES = (
    ("torch", "torch/cuda/__init__.py", "_warn_unsupported_code", "NOT_COMPATIBLE_WARNING"),
    ("torch", "torch/cuda/__init__.py", "_check_cubins", "NOT_COMPATIBLE_WARNING"),
    ("torch", "torch/cuda/__init__.py", "_lazy_init", "NOT_COMPILED_WITH_CUDA"),
    ("torch", "torch/_inductor/exc.py", "TritonMissing", "TRITON_MISSING"),
    ("torch", "torch/_inductor/exc.py", "GPUTooOldForTriton", "TRITON_TOO_OLD"),
    ("torchvision", "torchvision/extension.py", "_assert_has_ops", "TORCHVISION_NMS"),
    ("torchvision", "torchvision/extension.py", "_check_cuda_version", "COMPANION_CUDA"),
    ("triton", "triton/backends/nvidia/driver.py", "libcuda_dirs", "WSL_LIBCUDA"),
    ("triton", "triton/runtime/build.py", "_find_compiler", "TRITON_MISSING"),
    ("bitsandbytes", "bitsandbytes/cextension.py", "_format_lib_error_message", "BITSANDBYTES"),
    ("xformers", "xformers/_cpp_lib.py", "xFormersInvalidLibException", "XFORMERS_MISMATCH"),
    ("xformers", "xformers/ops/fmha/common.py", "AttentionOpBase", "XFORMERS_ARCH"),
    ("vllm", "vllm/config/device.py", "__post_init__", "VLLM_DEVICE"),
    ("vllm", "vllm/platforms/cuda.py", "check_if_supports_dtype", "BFLOAT16"),
)


def messages(source: str, name: str) -> list[str]:
    """The texts of a function or class, a stand-in where something is filled in; its own documentation is none."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    found = [node for node in nodes if node.name == name]
    assert found, f"there is no {name} any more: where did its messages go?"
    return [text for node in found for text in _texts(node) if len(text) >= _SHORTEST]


def _texts(node: ast.AST) -> Iterator[str]:
    text = _text(node)
    if text is not None:
        yield text
        return
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    for child in ast.iter_child_nodes(node):
        if child is not first or not isinstance(child, ast.Expr) or not isinstance(child.value, ast.Constant):
            yield from _texts(child)


def _text(node: ast.AST) -> str | None:
    """A text put together of literals; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join((_text(part) or "") if isinstance(part, ast.Constant) else "6" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [_text(node.left), _text(node.right)]
        return None if sides == [None, None] else "".join(side or "6" for side in sides)
    return _text(node.left) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else None


@pytest.mark.parametrize(
    ("package", "file", "name", "meaning"), SOURCES, ids=lambda value: str(value).rpartition("/")[2]
)
def test_what_a_package_prints_today_is_understood(package: str, file: str, name: str, meaning: str) -> None:
    found = wheelmembers.texts(package, file)
    assert found, f"{package} has no {file} any more"

    said = messages(found[file], name)

    assert meaning in named("\n".join(said)), said


@pytest.mark.parametrize(
    ("file", "name", "meaning"),
    [
        ("setup.py", "check_if_cuda_home_none", "BUILD_CUDA_HOME"),
        ("flash_attn/cute/interface.py", "_flash_attn_fwd", "FLASH_ATTENTION_TOO_OLD"),
    ],
    ids=lambda value: str(value).rpartition("/")[2],
)
def test_what_flash_attn_prints_today_is_understood(file: str, name: str, meaning: str) -> None:
    """It is published as source alone."""
    said = messages(wheelmembers.source_text("flash-attn", file), name)

    assert meaning in named("\n".join(said)), said


def test_what_flash_attn_raises_while_it_is_built_and_called_is_understood() -> None:
    setup = ast.parse(wheelmembers.source_text("flash-attn", "setup.py"))
    raised = [text for node in ast.walk(setup) if isinstance(node, ast.Raise) for text in _texts(node)]
    called = wheelmembers.source_text("flash-attn", "csrc/flash_attn/flash_api.cpp")
    refused = set(re.findall(r'TORCH_CHECK\(is_sm\w+, "([^"]+)"', called))

    assert [named(text) for text in raised if "CUDA" in text] == [["BUILD_CUDA_MISMATCH"]]
    assert refused
    assert [named(text) for text in refused] == [["FLASH_ATTENTION_TOO_OLD"]] * len(refused)


def test_what_torch_says_of_drivers_is_understood() -> None:
    """c10/cuda/CUDAFunctions.cpp: its texts lie in libc10_cuda.so as they are."""
    library = wheelmembers.data("torch", "torch/lib/libc10_cuda.so")
    about = rb"[^\0]*(?:NVIDIA driver|driver initialization|No CUDA GPUs|CUDA unknown error)[^\0]*"
    texts = [match.decode("utf-8", "replace") for match in re.findall(about, library)]

    understood = [named(f"{text}12080). Please update your GPU driver") for text in texts]

    assert all(understood), [text for text, ids in zip(texts, understood, strict=True) if not ids]
    assert {name for ids in understood for name in ids} >= {"DRIVER_TOO_OLD", "NO_DRIVER", "NO_DEVICE", "CUDA_UNKNOWN"}
