"""What the loader of this machine misses, asked of environments that are folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.homes import Home, linking
from tests.wheels import making
from torchpick.doctor import binaries, loader
from torchpick.doctor.checks import loader as loader_checks
from torchpick.doctor.facts import Absent, Facts, InspectedPackage
from torchpick.environment import distributions
from torchpick.environment.installed import Environment
from torchpick.environment.shell import Shell
from torchpick.model.machine import Machine, Platform, Python

pytestmark = pytest.mark.process

NOWHERE = "libcudart.so.99"


def absent(home: Home, *packages: str, shell: Shell | None = None) -> list[tuple[str, str]]:
    here = distributions.read(home.python, {})
    inspected = [InspectedPackage(name, "1.0", (), ()) for name in packages]
    found = loader.absent(here, inspected, loader.LoaderFolders(here, shell or Shell()))
    return [(each.library, each.wanted_by) for each in found]


def wanting(*names: str, **where: str) -> dict[str, bytes | str]:
    return {"torch/lib/libtorch_cuda.so": linking(names, **where)}


def test_another_library_at_the_same_place_is_read_anew(tmp_path: Path) -> None:
    """As in a notebook, where one process examines an environment before and after an installation."""
    path = tmp_path / "lib.so"
    path.write_bytes(linking([NOWHERE]))
    before = binaries.needs(str(path))
    path.write_bytes(linking([NOWHERE, "libm.so.6"]))

    assert before.needed == (NOWHERE,)
    assert binaries.needs(str(path)).needed == (NOWHERE, "libm.so.6")


def test_a_library_that_is_nowhere_is_missed(tmp_path: Path) -> None:
    home = Home(tmp_path / "env").torch(more=wanting(NOWHERE, "libcuda.so.1", "libm.so.6"))

    assert absent(home) == [(NOWHERE, "torch 2.9.1")]


def test_a_sister_package_torch_s_own_folder_and_a_runpath_have_it(tmp_path: Path) -> None:
    held = {"nvidia/cuda_runtime/lib/libcudart.so.99": b"x"}
    one = Home(tmp_path / "one").torch(more=wanting(NOWHERE))
    one.add("nvidia-cuda-runtime-cu99", "99.0", held)
    two = Home(tmp_path / "two").torch(more={**wanting(NOWHERE), "torch/lib/libcudart.so.99": making.elf({})})
    three = Home(tmp_path / "three").torch(more=wanting(NOWHERE, runpath="$ORIGIN/../../beside"))
    three.write("beside/libcudart.so.99", b"x")

    assert absent(one) == absent(two) == absent(three) == []


def test_another_project_of_the_family_has_it(tmp_path: Path) -> None:
    home = Home(tmp_path / "env").torch().companion("torchcodec", "0.9")
    home.add("kern", "1.0", {"kern/_C.so": linking(["libtorchcodec_core.so", "libtorch_own.so"])})
    assert absent(home, "kern") == [("libtorch_own.so", "kern 1.0"), ("libtorchcodec_core.so", "kern 1.0")]

    home.add("torchcodec", "0.9", {"torchcodec/libtorchcodec_core.so": b"x"})
    home.add("other", "1.0", {"other/libtorch_own.so": b"x"})
    assert absent(home, "kern") == [("libtorch_own.so", "kern 1.0")]


@pytest.mark.parametrize(
    "folder",
    [
        "/usr/local/cuda/lib64", "/usr/lib64", "/usr/lib", "/lib64", "/lib", "/usr/lib/wsl/lib",
        "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    ],
)  # fmt: skip
def test_the_folders_of_the_system_are_the_loader_s(folder: str, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = loader.LoaderFolders(distributions.read(home.python, {}), Shell())
    monkeypatch.setattr("os.path.exists", lambda path: path == f"{folder}/{NOWHERE}")

    assert folders.has(NOWHERE)
    assert not folders.has("libcudart.so.98")


def test_library_path_has_it_too(tmp_path: Path) -> None:
    home = Home(tmp_path / "env").torch(more=wanting(NOWHERE))
    (tmp_path / NOWHERE).write_text("")

    assert absent(home, shell=Shell({"LD_LIBRARY_PATH": f"/nowhere:{tmp_path}"})) == []


def test_a_recorded_library_that_is_gone_does_not_count(tmp_path: Path) -> None:
    home = Home(tmp_path / "env").torch(more=wanting(NOWHERE))
    home.add("nvidia-cuda-runtime-cu99", "99.0", {"nvidia/lib/libcudart.so.99": b"x"})
    (home.site / "nvidia" / "lib" / "libcudart.so.99").unlink()

    assert absent(home) == [(NOWHERE, "torch 2.9.1")]


def test_a_package_for_another_cuda_misses_its_own(tmp_path: Path) -> None:
    """As vllm for CUDA 12 beside a torch of CUDA 13; a library per CUDA, as bitsandbytes has them, is not asked."""
    home = Home(tmp_path / "env").torch()
    home.add("vllm", "1.0", {"vllm/_C.so": linking([NOWHERE, "libtorch_cuda.so"])})
    home.add("bnb", "1.0", {f"bnb/libx_cuda{cuda}.so": linking([NOWHERE]) for cuda in ("118", "126")})

    assert absent(home, "vllm", "bnb") == [(NOWHERE, "vllm 1.0")]


def findings(*missing: Absent) -> list[tuple[str, bool, str | None]]:
    here = Environment(None, "/env", "3.12")
    machine = Machine(Platform("linux", "x86_64"), Python("3.12"))
    found = loader_checks.absent(Facts(here, machine, absent=missing))
    return [(finding.code, finding.by_torch, finding.advice) for finding in found]


def test_what_torch_itself_misses_is_said_once() -> None:
    torch, other, own = Absent("a.so", "torch 2.9.1"), Absent("a.so", "vision 1"), Absent("libtorch_cuda.so", "flash 2")

    assert [(code, by_torch) for code, by_torch, _ in findings(torch, other)] == [("MISSING_LIBRARY", True)]
    assert findings(own)[0][2] == "install the release of flash that was built for this torch"
