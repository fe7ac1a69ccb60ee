"""An environment of this very computer, whose own folders count: libraries that are nowhere, and the loader's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.doctor.homes import VERSION, Home, codes, linking
from torchpick.doctor import examination, installedtorch, loading
from torchpick.doctor.examination import Examination
from torchpick.environment.distributions import Environment
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import Run, start_run

pytestmark = pytest.mark.process

NOWHERE = "libcudart.so.99"
MACHINE = Machine(
    Platform("linux", "x86_64", "2.35"), Python(VERSION, "cp", False, None, "test"), Driver("580.95.05"),
    (Gpu(0, "nvidia", None, Arch.parse("sm_86")),),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No CUDA in the computer's own folders, whatever it has."""
    monkeypatch.setattr(loading, "SYSTEM", ())
    monkeypatch.setattr(loading, "CACHE", "/nowhere")


def examined(
    home: Home, monkeypatch: pytest.MonkeyPatch, machine: Machine = MACHINE, environ: Mapping[str, str] = {}
) -> Examination:
    monkeypatch.setattr(Run, "find_machine", lambda _: machine)
    variables = {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root), **environ}
    return examination.examine(start_run(Request(python=home.python), variables))


def test_what_torch_misses_here_is_an_error(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.torch(more={"torch/lib/libtorch_cuda.so": linking([NOWHERE, "libcuda.so.1", "libm.so.6"])})

    (finding,) = examined(home, monkeypatch).findings

    assert finding.code == "MISSING_LIBRARY"
    assert finding.seen == {"package": "torch 2.9.1", "libraries": [NOWHERE]}
    assert codes(examined(home, monkeypatch, MACHINE._replace(platform=Platform("macos", "arm64")))) == []


@pytest.mark.parametrize("folder", ["cuda", ".venv/lib", ".venv/targets/x86_64-linux/lib"])
def test_a_cuda_that_is_found_elsewhere_makes_its_wheels_spare(
    folder: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.torch(more={"torch/lib/libtorch_cuda.so": linking([NOWHERE])}, requires=["nvidia-cuda-runtime-cu99==99.1"])
    place = home.root.parent / folder
    place.mkdir(parents=True, exist_ok=True)
    (place / NOWHERE).write_bytes(linking([]))

    exam = examined(home, monkeypatch, environ={"LD_LIBRARY_PATH": f":{home.root.parent}/cuda"})
    lacking = examined(home, monkeypatch)

    assert [(finding.code, finding.severity) for finding in exam.findings] == [("REQUIREMENT_MISSING", "warning")]
    alone = "warning" if folder != "cuda" else "error"
    assert [(finding.code, finding.severity) for finding in lacking.findings] == [("REQUIREMENT_MISSING", alone)]


def test_a_library_that_is_opened_by_name_is_missed_where_there_is_a_gpu(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.add("ctranslate2", "4.8.5", {"ctranslate2/_ext.so": linking([])})

    (finding,) = examined(home, monkeypatch).findings

    assert finding.seen == {"package": "ctranslate2 4.8.5", "libraries": ["libcublas.so.12"]}
    assert codes(examined(home, monkeypatch, MACHINE._replace(gpus=()))) == []
    (tmp_path / "cuda").mkdir()
    (tmp_path / "cuda" / "libcublas.so.12").write_bytes(b"x")
    assert codes(examined(home, monkeypatch, environ={"LD_LIBRARY_PATH": str(tmp_path / "cuda")})) == []
    home.add("nvidia-cublas-cu12", "12.8", {"nvidia/cublas/lib/libcublas.so.12": b"x"})
    assert codes(examined(home, monkeypatch)) == []


def test_torch_by_the_version_file_of_rocm_and_by_its_metadata_alone(tmp_path: Path) -> None:
    def exam(home: Home) -> Examination:
        request = Request(gpus=("gfx1100",), python=home.python)
        return examination.examine(start_run(request, {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root)}))

    rocm = exam(Home(tmp_path / "rocm").torch("2.9.1", None, "gfx1100", hip="6.4.43482")).subject.torch
    silent = Home(tmp_path / "silent").torch()
    silent.write("torch/version.py", "# says nothing\n")

    assert rocm is not None
    assert (rocm.label, rocm.backend, rocm.release) == ("torch 2.9.1+rocm6.4", "rocm6.4", "2.9.1")
    found = exam(silent).subject.torch
    assert found is not None
    assert (found.label, found.backend) == ("torch 2.9.1", "cpu")
    own = Home(tmp_path / "own").torch("main+cu128", "12.8")
    own.add("numpy", "2.1.0")
    made_up = exam(own).subject.torch
    assert made_up is not None
    assert made_up.verdict is not None
    assert made_up.verdict.build.torch == "0"


@pytest.mark.parametrize(
    ("version", "said", "cuda"),
    [
        ("2.9.1+cu128", None, "12.8"), ("2.9.1+rocm6.4", None, None), ("2.9.1+cuda", None, None),
        ("2.9.1+cpu", None, None), ("2.9.1", "12.6", "12.6"),
    ],
)  # fmt: skip
def test_a_torch_that_is_only_named_has_the_cuda_of_its_label(version: str, said: str | None, cuda: str | None) -> None:
    run = start_run(Request(gpus=("sm_86",), platform="linux-x86_64", python="3.12"), {})
    nowhere = Environment(Python("3.12"), "the machine of the text")

    found = installedtorch.named(version, said, nowhere, run.find_machine(), run.read_table())

    assert (found.version.partition("+")[0], found.cuda) == ("2.9.1", cuda)
