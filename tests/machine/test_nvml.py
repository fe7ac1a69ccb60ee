"""What `import pynvml` finds in the wild: the binding, an old one, or something else of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.nvidia import Computer, gpu
from tests.machine.conftest import Look
from tests.machine.test_nvidia_good import archs, codes

pytestmark = pytest.mark.process

OLD = """
# As pynvml 8.0 and nvidia-ml-py3: bytes, and no call for the capability.
class NVMLError(Exception):
    def __init__(self, value): self.value = value
def nvmlInit(): pass
def nvmlSystemGetDriverVersion(): return b"580.95.05"
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetName(handle): return b"NVIDIA GeForce GTX 1080 Ti"
def nvmlDeviceGetUUID(handle): return b"GPU-00000001-1111-2222-3333-000000000001"
"""


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "raise RuntimeError('no')",
        "raise SystemExit(0)",
        "import os; os._exit(0)",
        "print('hello'); import sys; sys.stdout.flush()",
        "import warnings; warnings.warn('The pynvml package is deprecated', FutureWarning); raise ImportError('x')",
        "def nvmlInit(): raise KeyError('odd')\nnvmlDeviceGetCount = nvmlDeviceGetHandleByIndex = nvmlInit\n"
        "nvmlSystemGetDriverVersion = nvmlInit",
    ],
)
def test_an_impostor_means_the_next_source(
    computer: Computer,
    look: Look,
    tmp_path: Path,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "pynvml.py").write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = look(computer.driver().say(gpu(1, "6.1")))
    assert (archs(found), found.gpus[0].source) == (["sm_61"], "cuda")
    assert codes(found)[0] in ("NVML_UNUSABLE", "NVML_SILENT", "NVML_REFUSED")
    assert capfd.readouterr() == ("", "")


def test_an_old_binding_gives_what_it_has(
    computer: Computer, look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pynvml.py").write_text(OLD, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = look(computer.driver().say(gpu(1, "6.1", "ignored")))
    assert (archs(found), found.gpus[0].source) == (["sm_61"], "cuda")
    assert found.gpus[0].name == "NVIDIA GeForce GTX 1080 Ti"
    assert found.driver is not None
    assert (found.driver.version, found.driver.source, found.driver.cuda_source) == ("580.95.05", "nvml", "cuda")


@pytest.mark.parametrize("absolute", [False, True])
def test_a_file_in_the_current_folder_is_not_the_binding(
    computer: Computer, look: Look, tmp_path: Path, absolute: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pynvml.py").write_text("raise RuntimeError('planted')", "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path) if absolute else "")
    found = look(computer.driver().say(gpu(1, "6.1")))
    assert (archs(found), found.gpus[0].source, found.notes) == (["sm_61"], "nvml", ())
