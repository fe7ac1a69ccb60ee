"""What installed packages ask of torch, of CUDA and of one another's files."""

from __future__ import annotations

import pytest

from tests.doctor.homes import Home, examine, linking
from tests.wheels import making
from torchpick.doctor import depends, gpusupport, presence
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment import distributions
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.package import Package, PackageFacts
from torchpick.model.pick import Request
from torchpick.run import start_run

pytestmark = pytest.mark.process

MACHINE = Machine(Platform("linux", "x86_64"), Python("3.12"))


def read(home: Home, machine: Machine = MACHINE, **known: PackageFacts) -> EnvironmentUnderTest:
    here = distributions.read_environment(home.python, {})
    subject = EnvironmentUnderTest(start_run(Request(gpus=("none",)), {}), here, machine, torch_alone=False)
    subject.known = known
    return subject


def wants_torch(home: Home) -> bool:
    return any(presence.missing(read(home)))


@pytest.mark.parametrize("name", [
    "jax", "jaxlib", "jax-cuda13-plugin", "jax-cuda12-pjrt", "tensorflow", "tensorflow-cpu", "tf-nightly", "cupy",
    "cupy-cuda12x", "paddlepaddle", "paddlepaddle-gpu", "mindspore", "onnxruntime", "onnxruntime-gpu", "ctranslate2",
    "llama-cpp-python", "xgboost", "mxnet", "mxnet-cu112",
])  # fmt: skip
def test_beside_another_framework_torch_is_not_wanted_unless_something_asks(name: str, home: Home) -> None:
    home.add(name, "1.0", requires=["torchx>=1", "torch; extra == 'torch'"])
    assert not wants_torch(home)

    home.add("lib", "1.0", requires=["Torch>=2"])
    assert wants_torch(home)


@pytest.mark.parametrize("name", ["jax-tools", "myjax", "tensorflowx", "numpy"])
def test_what_is_no_framework_does_not_make_torch_spare(name: str, home: Home) -> None:
    assert wants_torch(home)
    home.add(name, "1.0")
    assert wants_torch(home)


@pytest.mark.parametrize("name", ["torch", "torchvision", "torchaudio", "torchcodec"])
def test_what_the_family_requires_is_looked_for(name: str, home: Home) -> None:
    requires = [
        "Here_It.is>=1", "gone[extra]>=2; platform_system == 'Linux'", "never; platform_system == 'Windows'",
        "not valid!", "also-gone", "optional; extra == 'more'", "-broken",
    ]  # fmt: skip
    home.add(name, "1.0", requires=requires)
    home.add("here-it-is", "1.0")
    home.add("other", "1.0", requires=["nowhere"])

    found = [(package.label, demand.name, demand.text) for package, demand in depends.missing(read(home))]

    assert found == [(f"{name} 1.0", "gone", "gone>=2"), (f"{name} 1.0", "also-gone", "also-gone")]


def test_what_conda_installed_is_condas_business(home: Home) -> None:
    home.add("torch", "1.0", requires=["gone"], installer="conda")
    assert depends.missing(read(home)) == []

    home.add("torchvision", "1.0", requires=["gone"])
    assert len(depends.missing(read(home))) == 1
    (home.root / "conda-meta").mkdir()
    (home.root / "conda-meta" / "x-1-0.json").write_text("{}", "utf-8")
    assert depends.missing(read(home)) == []


def test_who_asks_for_which_torch(home: Home) -> None:
    home.add("one", "1.0", requires=["torch<2.9,>=2.5", "torch>=3; extra == 'x'"])
    home.add("two", "1.0", requires=["torch===weird", "torch>=2.10.dev1"])
    home.add("torchvision", "1.0", requires=["torch==2.5.1"])

    asks = list(depends.on(read(home).environment, "torch"))

    assert [(package.label, ask.text) for package, ask in asks] == [
        ("one 1.0", "torch<2.9,>=2.5"), ("torchvision 1.0", "torch==2.5.1"), ("two 1.0", "torch===weird"),
        ("two 1.0", "torch>=2.10.dev1"),
    ]  # fmt: skip
    assert depends.admits(asks[0][1], "2.8.0.dev20250101")
    assert not depends.admits(asks[0][1], "2.9.0")


@pytest.mark.parametrize(("name", "has", "asked", "unmet"), [
        ("nvidia-cudnn-cu12", "9.8", "nvidia-cudnn-cu12==9.10", True),
        ("cuda-bindings", "12", "cuda-bindings>=13", True), ("triton", "3.0", "triton==3.5.1", True),
        ("pytorch-triton", "3.0", "pytorch-triton==3.5.1", True),
        ("sympy", "1.0", "sympy>=2", False),  # pip's business
        ("triton", "3.5.1", "triton==3.5.1", False),
        ("triton", "3.0", "triton==3.5.1; platform_system == 'Windows'", False), ("triton", "3.0", "triton", False),
])  # fmt: skip
def test_what_torch_requires_of_cuda_and_triton_is_held_against_what_is_there(
    name: str, has: str, asked: str, unmet: bool, home: Home
) -> None:
    # As in every torch, its own libraries link one another.
    home.torch(requires=[asked], more={"torch/lib/libtorch.so": linking(["libc10.so"])}).add(name, has)
    home.add("other", "1.0", requires=[f"{name}==99"])  # what others require of it is pip's business

    found = examine(home, "sm_86").findings

    assert [finding.seen for finding in found if finding.code == "REQUIREMENT_UNMET"] == (
        [{"package": "torch 2.9.1", "requires": asked, "has": f"{name} {has}"}] if unmet else []
    )


def test_what_asks_for_another_torch_and_is_linked_against_it(home: Home) -> None:
    home.torch()
    for name, library in (("plain", b"text"), ("one", linking(["libc10.so"])), ("two", linking(["libtorch_cpu.so"]))):
        home.add(name, "1.0", {f"{name}/_C.so": library}, requires=["torch==2.8.0"])

    found = {finding.seen["package"]: finding for finding in examine(home, "sm_86").findings}

    assert {name: finding.code for name, finding in found.items()} == {
        "plain 1.0": "REQUIREMENT_UNMET", "one 1.0": "COMPANION_MISMATCH", "two 1.0": "COMPANION_MISMATCH",
    }  # fmt: skip
    assert found["plain 1.0"].advice is None
    assert found["one 1.0"].advice == (
        "install the release of one that was built for torch 2.9.1, or the torch that it asks for"
    )


@pytest.mark.parametrize(("needed", "cuda"), [
        (("libcudart.so.13",), "13"), (("libcublas.so.13",), "13"), (("libcublasLt.so.13",), "13"),
        (("libnvrtc.so.13.0",), "13"), (("libnvJitLink.so.13",), "13"), (("libcufft.so.13",), None),
        (("libcusolver.so.13",), None), (("libcudart.so",), None), (("libcudart.so.12", "libcublas.so.13"), None),
])  # fmt: skip
def test_the_cuda_of_a_package_is_that_of_its_libraries(needed: tuple[str, ...], cuda: str | None, home: Home) -> None:
    home.torch().add("kern", "1.0", {"kern/_C.so": linking(needed)})

    found = [finding.seen for finding in examine(home, "sm_86", driver="570.124.06").findings]

    assert [seen["cuda"] for seen in found] == ([] if cuda is None else [cuda])


@pytest.mark.parametrize("version", ["4.8.5", "4.8.5+cu130"])
def test_what_a_wheel_of_the_package_would_need_is_no_matter_once_it_is_installed(version: str, home: Home) -> None:
    """Its Python, its platform, its glibc, and that it was withdrawn: only what it loads counts."""
    home.add("ctranslate2", version)
    row = Package(
        "ctranslate2", version, (), "<3", ("cp27",), ("windows-x86_64",), "9.9", "13", needs=("libcublas.so.13",),
        yanked=True,
    )  # fmt: skip
    gpu = Gpu(0, "nvidia", "GPU", Arch.parse("sm_86"))
    machine = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), Driver("580.95.05"), (gpu,))

    def troubles(driver: str) -> list[str]:
        facts = PackageFacts("ctranslate2", (row._replace(version="1"), row))
        subject = read(home, machine._replace(driver=Driver(driver)), ctranslate2=facts)
        return [finding.code for finding in gpusupport.other_cuda(subject)]

    assert troubles("580.95.05") == []
    assert troubles("570.124.06") == ["PACKAGE_DRIVER_TOO_OLD"]


def test_a_vendor_s_build_may_need_numpy_1_where_the_wheel_host_s_does_not(home: Home) -> None:
    """Of one release, backend and platform: they differ by their code."""
    home.add("numpy", "2.0.0")
    orin = {"TORCHPICK_PLATFORM": "linux-aarch64"}
    found = {}
    for flags in ("sm_87", "sm_80 sm_90"):
        home.torch("2.11.0", "12.6", flags)
        found[flags] = "NUMPY_TOO_NEW" in [
            each.code for each in examine(home, "Orin", driver="540.4.0", environ=orin).findings
        ]

    assert found == {"sm_87": True, "sm_80 sm_90": False}


def test_where_torch_cannot_be_read_its_record_is_held_against_what_is_required(home: Home) -> None:
    home.add("torch", "2.9.1")
    home.add("linked", "1.0", {"linked/_C.so": linking(["libc10.so"])}, requires=["torch==2.8.0"])

    (found,) = (each for each in examine(home, "sm_86").findings if each.code == "REQUIREMENT_UNMET")

    assert found.seen == {"package": "linked 1.0", "requires": "torch==2.8.0", "has": "torch 2.9.1"}


def test_of_what_links_torch_the_libraries_that_torch_lacks_are_no_matter(home: Home) -> None:
    """An installer has put something there, and the loader is asked for it elsewhere."""
    home.torch().add("kern", "1.0", {"kern/_C.so": linking(["libc10.so", "libnvrtc.so.12", "libnvJitLink.so.12"])})
    home.add("lone", "1.0", {"lone/_C.so": linking(["libcudart.so.12", "libcublas.so.12"])})

    assert [each for each in examine(home, "sm_86").findings if each.code == "CUDA_MAJOR_MIXED"] == []


def test_a_companion_of_another_cuda_by_its_label_hides_no_other_package_of_it(home: Home) -> None:
    other = linking(["libc10.so", "libcudart.so.13"])
    home.torch().add("torchvision", "0.24.1+cu130", {"torchvision/_C.so": other})
    home.add("unlabelled", "1.0", {"unlabelled/_C.so": other})

    found = [each for each in examine(home, "sm_86", driver="580.95.05").findings if each.code == "CUDA_MAJOR_MIXED"]

    assert [each.seen["package"] for each in found] == ["unlabelled 1.0"]


def test_what_links_torch_is_not_held_against_one_that_is_not_there(home: Home) -> None:
    home.add("kern", "1.0", {"kern/_C.so": linking(["libc10.so", "libcudart.so.12"])}, requires=["torch"])

    assert [each.code for each in examine(home, "sm_86", driver="580.95.05").findings] == ["TORCH_MISSING"]


@pytest.mark.parametrize("name", ["libtorch_python.so", "torch_python.dll", "libtorch_python.dylib"])
def test_torchs_own_list_is_read_on_each_system(name: str, home: Home) -> None:
    home.torch(flags="sm_80 sm_90")
    lib = home.site / "torch" / "lib"
    (lib / "libtorch_python.so").rename(lib / name)
    (lib / "libtorch_cuda.so").unlink()

    (found,) = (each for each in examine(home, "sm_61", driver="580.1").findings if each.code == "NO_KERNELS")

    assert (found.seen["arches"], found.seen["evidence"]) == (["sm_80", "sm_90"], "measured")


@pytest.mark.parametrize(
    ("name", "counts"),
    [("libtorch_cuda.so", True), ("torch_cuda.dll", True), ("libtorch_cuda.so.bak", False), ("libtorch.txt", False)],
)  # fmt: skip
def test_of_torchs_files_libraries_alone_hold_code(name: str, counts: bool, home: Home) -> None:
    home.torch(flags=None).write(f"torch/lib/{name}", making.library(making.module("sm_90")))

    found = examine(home, "sm_61", driver="580.1").subject.torch

    assert found is not None
    assert found.verdict is not None
    assert (found.measured, found.verdict.build.evidence.kind) == (counts, "measured" if counts else "declared")
