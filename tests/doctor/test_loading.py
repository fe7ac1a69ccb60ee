"""What the loader of this machine misses, asked of environments that are folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.doctor.homes import Home, linking
from tests.wheels import making
from torchpick.doctor import gpusupport, installedtorch, loading
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment import distributions
from torchpick.model.finding import Finding
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import start_run
from torchpick.wheels.readings import WHOLE, Reading

pytestmark = pytest.mark.process

NOWHERE = "libcudart.so.99"


def subject(home: Home, *packages: str, library_path: str = "") -> EnvironmentUnderTest:
    here = distributions.read_environment(home.python, {})
    machine = Machine(Platform("linux", "x86_64"), Python("3.12"))
    found = EnvironmentUnderTest(
        start_run(Request(), {"LD_LIBRARY_PATH": library_path}), here, machine, torch_alone=False
    )
    inspected = tuple(Reading(name, WHOLE, True, 0, 0, 0) for name in packages)
    vars(found).update(_inspection=(inspected, ()))
    return found


def absent(home: Home, *packages: str) -> list[tuple[str, str]]:
    return list(loading.absent_libraries(subject(home, *packages)))


def wanting(*names: str, **where: str) -> dict[str, bytes | str]:
    return {"torch/lib/libtorch_cuda.so": linking(names, **where)}


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


def libraries(finding: Finding) -> list[str]:
    libraries = finding.seen["libraries"]
    assert isinstance(libraries, list)
    return libraries


def findings(*missing: tuple[str, str]) -> list[tuple[str, bool, str | None]]:
    return [(finding.code, finding.by_torch, finding.advice) for finding in loading.nowhere(missing, set())]


def test_what_torch_itself_misses_is_said_once() -> None:
    torch, other, own = ("a.so", "torch 2.9.1"), ("a.so", "vision 1"), ("libtorch_cuda.so", "flash 2")

    assert [(code, by_torch) for code, by_torch, _ in findings(torch, other)] == [("MISSING_LIBRARY", True)]
    lone = ("b.so", "flash 2")
    assert [code for code, _, _ in findings(torch, other, lone)] == ["MISSING_LIBRARY"] * 2
    assert findings(own)[0][2] == "install the release of flash that was built for this torch"


def test_the_loader_looks_into_these_folders_and_its_cache(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_bytes(b"glibc-ld.so.cache\0libone.so.1\0/lib/libone.so.1\0")
    monkeypatch.setattr(loading, "CACHE", str(tmp_path / "cache"))
    here = distributions.read_environment(home.python, {})
    folders = loading.LoaderFolders(here, {"LD_LIBRARY_PATH": "/one::/two"})

    assert folders.folders == [
        "/one", "/two", f"{here.prefix}/lib", f"{here.prefix}/targets/x86_64-linux/lib", "/usr/local/cuda/lib64",
        "/usr/lib64", "/usr/lib", "/lib64", "/lib", "/usr/lib/wsl/lib", "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
    ]  # fmt: skip
    assert folders.has("libone.so.1")
    assert not folders.has("libone.so")
    monkeypatch.setattr(loading, "CACHE", str(tmp_path / "gone"))
    assert not loading.LoaderFolders(here, {}).has("libone.so.1")


@pytest.mark.parametrize("where", ["$ORIGIN/beside", "/nowhere:${ORIGIN}/beside"])
@pytest.mark.parametrize("kind", ["rpath", "runpath"])
def test_a_library_is_looked_for_where_the_one_that_asks_says(where: str, kind: str, home: Home) -> None:
    home.torch(more=wanting(NOWHERE, **{kind: where}))
    assert absent(home) == [(NOWHERE, "torch 2.9.1")]

    home.write(f"torch/lib/beside/{NOWHERE}", b"x")
    assert absent(home) == []


@pytest.mark.parametrize(("asks", "where", "replaced"), [
        ("torch/lib/libtorch_cuda.so", {}, True), ("torch/lib/libc10.so", {}, True),
        ("torch/lib/libcaffe2_x.so", {}, True),
        ("torch/lib/libshm.so", {}, False),  # torch's own, and no part of its import
        ("torch/lib/libtorch_cuda.so", {"rpath": "$ORIGIN"}, False),
        ("torch/lib/libtorch_cuda.so", {"runpath": "$ORIGIN"}, True),
        ("torch/lib/libtorch_cuda.so", {"rpath": "$ORIGIN", "runpath": "$ORIGIN"}, True),
])  # fmt: skip
def test_library_path_replaces_what_is_not_found_by_an_rpath(
    asks: str, where: dict[str, str], *, replaced: bool, home: Home, tmp_path: Path
) -> None:
    home.torch(more={asks: linking(["libx.so"], **where)})
    home.add("nvidia-x-cu12", "1.0", {"nvidia/x/libx.so": b"x", "nvidia/x/libcudnn_ops.so.9": b"x"})
    home.add("other", "1.0", {"other/liby.so": linking(["libx.so", "liby.so"])})

    def overrides(**folders: str) -> list[tuple[str, str]]:
        """What is replaced, by the libraries in each folder."""
        for folder, names in folders.items():
            (tmp_path / folder).mkdir(exist_ok=True)
            for name in names.split():
                (tmp_path / folder / name).write_bytes(b"y")
        path = ":".join(str(tmp_path / folder) for folder in folders)
        found = loading.library_path(subject(home, library_path=f":{path}:/nowhere"))
        return [(library, str(each.seen["folder"])) for each in found for library in libraries(each)]

    assert overrides(one="libx.so liby.so", two="libx.so") == ([("libx.so", str(tmp_path / "one"))] if replaced else [])
    # cuDNN opens its parts by their names.
    assert overrides(three="libcudnn_ops.so.9") == [("libcudnn_ops.so.9", str(tmp_path / "three"))]
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "libx.so").symlink_to(home.site / "nvidia" / "x" / "libx.so")
    assert overrides(same="") == overrides() == []


def test_without_a_torch_no_library_of_it_is_replaced(home: Home, tmp_path: Path) -> None:
    home.add("nvidia-x-cu12", "1.0", {"nvidia/x/libcudnn_ops.so.9": b"x"})
    (tmp_path / "libcudnn_ops.so.9").write_bytes(b"y")

    assert list(loading.library_path(subject(home, library_path=str(tmp_path)))) == []


def test_twins_are_one_project_for_two_cudas(home: Home) -> None:
    for name in ("nvidia-a-cu12", "nvidia-a-cu13", "nvidia-b", "nvidia-b-cu12", "nvidia-c-cuda", "nvidia-c", "a-cu12"):
        home.add(name, "1.0", {f"{name}/own.so": b"x", f"{name[:8]}.so": b"x"})

    pairs = [finding.seen["packages"] for finding in gpusupport.runtimes(subject(home))]

    assert pairs == [["nvidia-a-cu12 1.0", "nvidia-a-cu13 1.0"], ["nvidia-b 1.0", "nvidia-b-cu12 1.0"]]


def test_one_of_the_same_size_is_read_anew_too(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    for second, name in enumerate(("libcudart.so.98", NOWHERE)):
        path.write_bytes(linking([name]))
        os.utime(path, (second, second))
        assert installedtorch.needs(str(path)) == (name,)
