"""An environment of this very computer, whose own folders count: libraries that are nowhere, and the loader's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

import pytest

from tests.doctor.homes import VERSION, Home, codes, linking
from tests.doctor.test_loading import libraries, subject
from tests.wheels import making
from torchpick.doctor import examination, installedtorch, loading
from torchpick.doctor.examination import Examination
from torchpick.doctor.shellvariables import Shell
from torchpick.environment.distributions import Environment
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import Run, start_run

pytestmark = pytest.mark.process

NOWHERE = "libcudart.so.99"
MACHINE = Machine(
    Platform("linux", "x86_64", "2.35"),
    Python(VERSION, "cp", False, None, "test"),
    Driver("580.95.05"),
    (Gpu(0, "nvidia", None, Arch.parse("sm_86")),),
)


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


def test_the_loaders_cache_counts_by_whole_names(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home.torch(more={"torch/lib/libtorch_cuda.so": linking([NOWHERE])})
    monkeypatch.setattr(loading, "CACHE", str(tmp_path / "cache"))

    for text, expected in (
        (b"\0x" + NOWHERE.encode() + b"\0", ["MISSING_LIBRARY"]),
        (b"\0" + NOWHERE.encode() + b".1\0", ["MISSING_LIBRARY"]),
        (b"x\0" + NOWHERE.encode() + b"\0y", []),
    ):
        (tmp_path / "cache").write_bytes(text)
        assert codes(examined(home, monkeypatch)) == expected


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


@pytest.mark.parametrize("word", ["$ORIGIN", "${ORIGIN}"])
def test_a_library_beside_the_one_that_asks_is_found_by_its_rpath(word: str, home: Home) -> None:
    home.torch(more={"torch/lib/libtorch_cuda.so": linking([NOWHERE], rpath=f"{word}/../more:/nowhere")})

    assert [one.library for one in loading.absent_libraries(subject(home))] == [NOWHERE]
    home.write(f"torch/more/{NOWHERE}", b"x")
    assert loading.absent_libraries(subject(home)) == ()


def overridden(home: Home, folder: Path) -> list[tuple[str, str]]:
    names = tuple(sorted(os.listdir(folder)))
    there = subject(home, shell=Shell(folders=(("/nowhere", ("libx.so",)), (str(folder), names))))
    return [(library, str(each.seen["folder"])) for each in loading.library_path(there) for library in libraries(each)]


CUDNN, CUBLAS = "nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cublas/lib/libcublas.so.12"


@pytest.mark.parametrize(
    ("torch", "library", "replaced"),
    [
        ({"rpath": "$ORIGIN"}, "libcublas.so.12", False),  # the rpath comes first
        ({"runpath": "$ORIGIN"}, "libcublas.so.12", True),
        (
            {"rpath": "$ORIGIN", "runpath": "$ORIGIN"},
            "libcublas.so.12",
            True,
        ),  # and counts for nothing beside a runpath
        ({}, "libcublas.so.12", True),
        ({"rpath": "$ORIGIN"}, "libcudnn_ops.so.9", True),  # cuDNN opens its parts by name
        ({"runpath": "$ORIGIN"}, "libcusparse.so.12", False),  # nobody asks for it
    ],
)
def test_what_library_path_replaces(
    torch: dict[str, str], library: str, *, replaced: bool, home: Home, tmp_path: Path
) -> None:
    asked = [] if library == "libcusparse.so.12" else ["libcublas.so.12"]
    home.torch(more={"torch/lib/libtorch_cuda.so": linking(asked, **torch), "torch/bin/other.so": linking([library])})
    home.add(
        "nvidia-all-cu12",
        "12",
        {f"nvidia/lib/{name}": b"x" for name in ("libcublas.so.12", "libcudnn_ops.so.9", "libcusparse.so.12")},
    )
    home.add("other", "1", {"other/_C.so": linking([library])})
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / library).write_bytes(b"another")

    assert overridden(home, beside) == ([(library, str(beside))] if replaced else [])
    (beside / library).unlink()
    (beside / library).symlink_to(home.site / "nvidia" / "lib" / library)
    assert overridden(home, beside) == []
    rmtree(home.site / "torch")
    (beside / library).unlink()
    (beside / library).write_bytes(b"another")
    assert overridden(home, beside) == []


def test_torch_by_the_version_file_of_rocm_and_by_its_metadata_alone(tmp_path: Path) -> None:
    def exam(home: Home) -> Examination:
        request = Request(gpus=("gfx1100",), python=home.python)
        return examination.examine(start_run(request, {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root)}))

    rocm = exam(Home(tmp_path / "rocm").torch("2.9.1", None, "gfx1100", hip="6.4.43482")).subject.torch
    silent = Home(tmp_path / "silent").torch()
    silent.write("torch/version.py", "")

    assert rocm is not None
    assert (rocm.label, rocm.backend, rocm.release) == ("torch 2.9.1+rocm6.4", "rocm6.4", "2.9.1")
    found = exam(silent).subject.torch
    assert found is not None
    assert (found.label, found.backend) == ("torch 2.9.1", "cpu")
    made_up = exam(Home(tmp_path / "own").torch("main+cu128", "12.8")).subject.torch
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
    nowhere = Environment(None, "the machine of the text", "3.12")

    found = installedtorch.named(version, said, nowhere, run.find_machine(), run.read_table())

    assert (found.version.partition("+")[0], found.cuda) == ("2.9.1", cuda)


def test_torch_is_judged_by_all_its_libraries_and_the_largest_counts_first(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its list of GPUs, PTX counts as the machine code does."""
    main = making.library(making.module("sm_70", "compute_75"))
    home.torch(flags=None, more={"torch/lib/libtorch_cuda.so": main, "torch/lib/libtorch_a.so": making.library()})

    torch = examined(home, monkeypatch).subject.torch

    assert torch is not None
    assert [str(arch) for arch in torch.arches or ()] == ["sm_70", "compute_75"]
    assert torch.measured
