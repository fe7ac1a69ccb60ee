"""What NVIDIA's own compiler writes, read back: containers, relocatable objects, bare files, groups."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from torchpick.model.fields import plain
from torchpick.wheels import librarycode
from torchpick.wheels.librarycode import Library

NVCC = shutil.which("nvcc")
pytestmark = [pytest.mark.process, pytest.mark.skipif(NVCC is None, reason="no nvcc")]
KERNEL = "__global__ void twice(float *x) { *x *= 2; }\n"
CODES = ["sm_75", "sm_90a", "sm_120f"]


def compiled(folder: Path, *words: str, source: str = KERNEL, name: str = "out.so") -> Library:
    (folder / "k.cu").write_text(source, "utf-8")
    out = folder / name
    line = [str(NVCC), *words, "-o", str(out), str(folder / "k.cu")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"this nvcc cannot: {done.stderr.strip().splitlines()[-1]}")
    found = librarycode.read_library(str(out), name)
    assert found is not None
    return found


def for_all(*ptx: str) -> list[str]:
    words = [f"-gencode=arch=compute_{code[3:]},code={code}" for code in CODES]
    return [*words, *(f"-gencode=arch={each},code={each}" for each in ptx)]


@pytest.mark.parametrize(
    "packing", ["speed", *(pytest.param(packing, marks=pytest.mark.long) for packing in ("size", "none"))]
)
def test_a_shared_library(tmp_path: Path, packing: str) -> None:
    one = compiled(
        tmp_path, "-shared", "-Xcompiler", "-fPIC", f"--compress-mode={packing}", *for_all("compute_80", "compute_90a")
    )

    assert plain(one.sass) == CODES
    assert plain(one.ptx) == ["compute_80", "compute_90a"]
    assert [(plain(each.sass), plain(each.ptx)) for each in one.code.modules] == [
        (CODES, ["compute_80", "compute_90a"])
    ]


def test_a_source_without_a_kernel_makes_modules_without_one(tmp_path: Path) -> None:
    one = compiled(tmp_path, "-shared", "-Xcompiler", "-fPIC", *for_all(), source="int nothing;\n")

    assert plain(one.sass) == CODES
    assert one.code.total == 0
    assert one.code.empty > 0


def test_bare_files(tmp_path: Path) -> None:
    cubin = compiled(tmp_path, "-cubin", "-gencode=arch=compute_80,code=sm_80", name="k.cubin")
    fatbin = compiled(tmp_path, "-fatbin", *for_all("compute_80"), name="k.fatbin")

    assert plain(cubin.sass) == ["sm_80"]
    assert (plain(fatbin.sass), plain(fatbin.ptx)) == (CODES, ["compute_80"])
