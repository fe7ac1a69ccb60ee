"""What is installed, found by its metadata and read in place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.doctor.homes import Home
from tests.wheels import making
from torchpick.environment import distributions
from torchpick.environment.distributions import Distribution, Environment
from torchpick.errors import TorchpickError
from torchpick.model.fields import plain
from torchpick.model.machine import Python
from torchpick.wheels import inspect_target, librarycode, readings

LIBRARY = making.library(making.module("sm_80"))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site-packages with a torch, a package with a library, and one without RECORD."""
    files = {
        "torch/version.py": making.version_py("2.15.0+cu132", "13.2"),
        "torch/lib/libtorch_python.so": making.torch_python("sm_75 sm_80"),
        "torch/lib/libtorch_cuda.so": making.library(making.module("sm_75", "sm_80")),
        "torch-2.15.0+cu132.dist-info/RECORD": b"torch/version.py,,\ntorch/lib/libtorch_python.so,sha256=x,5\n"
        b'torch/lib/libtorch_cuda.so,,\ntorch/lib/gone.so,,\n../../bin/torchrun,,\n"torch/a,b.so",,\n',
        "torch/a,b.so": LIBRARY,
        "Some_Pkg/hip.so": making.elf({".hip_fatbin": b"x"}),
        "Some_Pkg/plain.so": making.elf({".text": b"x"}),
        "Some_Pkg/_C.so": LIBRARY,
        "Some_Pkg-1.0.dist-info/top_level.txt": b"Some_Pkg\n..\n",
        "other-2.0.dist-info/RECORD": b"\0\n" + b"x" * 5000 + b"\n",
    }
    for name, data in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path


def find(name: str, site: Path) -> Distribution | None:
    """The project of this name in a folder, whichever Python it is for."""
    return Environment(Python("3.12"), "", distributions=tuple(distributions.in_folder(str(site)))).find(name)


def test_torch_is_read_in_place(site: Path) -> None:
    one = find("torch", site)
    assert one is not None
    found = readings.read_distribution(one, "torch")

    assert (found.name, found.version, found.complete) == ("torch", "2.15.0+cu132", True)
    assert plain(found.sass) == ["sm_75", "sm_80"]
    assert [library.path for library in found.libraries] == ["torch/lib/libtorch_cuda.so", "torch/a,b.so"]


def test_what_reading_it_in_place_cost_is_the_code_that_was_found(site: Path) -> None:
    one = find("torch", site)
    assert one is not None
    found = readings.read_distribution(one, "it")
    sizes = {name: (site / "torch" / name).stat().st_size for name in ("lib/libtorch_cuda.so", "a,b.so")}
    python = (site / "torch/lib/libtorch_python.so").stat().st_size

    assert (found.target, found.depth, found.requests, found.compilers) == ("it", "whole", 0, ())
    assert (found.bytes_read, found.size) == (sum(sizes.values()), sum(sizes.values()) + python)
    assert found.torch is not None
    assert (found.torch.version, found.torch.cuda, found.torch.hip) == ("2.15.0+cu132", "13.2", None)


def test_a_package_without_record_is_read_by_its_folders(site: Path) -> None:
    one = find("some-pkg", site)
    assert one is not None

    found = readings.read_distribution(one, "some-pkg")
    assert ({library.path for library in found.libraries}, plain(found.sass)) == (
        {"Some_Pkg/_C.so", "Some_Pkg/hip.so"}, ["sm_80"]
    )  # fmt: skip


def test_libraries_that_cannot_be_read_are_errors_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.so").write_bytes(b"")
    (tmp_path / "folder.so").mkdir()

    assert librarycode.read_library(str(tmp_path / "empty.so"), "x") is None
    assert librarycode.read_library(str(tmp_path / "folder.so"), "x") is None
    assert librarycode.read_library(str(tmp_path / "gone.so"), "x") is None


@pytest.mark.process
def test_another_python_is_asked_where_it_keeps_its_packages(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "e")], check=True)
    (site,) = tmp_path.glob("e/lib/python*/site-packages")
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_bytes(making.version_py("2.15.0+cu132", "13.2"))

    assert inspect_target.torch_cuda(str(tmp_path / "e" / "bin" / "python")) == "13.2"


@pytest.mark.process
@pytest.mark.parametrize("program", ["/nonexistent/python", "/bin/false", "/bin/echo"])
def test_what_is_no_python_is_said_so(program: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        inspect_target.torch_cuda(program)
    assert "--python" in str(caught.value.hint)


def test_the_cuda_of_the_installed_torch(home: Home) -> None:
    assert inspect_target.torch_cuda(home.python) is None
    home.torch("2.15.0+cu132", "13.2")
    assert inspect_target.torch_cuda(home.python) == "13.2"
