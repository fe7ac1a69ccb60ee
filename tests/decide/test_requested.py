"""Requirements that narrow a decision."""

from __future__ import annotations

import itertools

import pytest

from tests.decide.test_remarks import build
from tests.growth import in_line
from torchpick.decide import demands
from torchpick.decide.demands import PackageDemand, narrowed
from torchpick.errors import RequirementError
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.package import Package
from torchpick.model.pick import Wish

HERE = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"))


def test_a_requirement_counts_where_its_marker_holds() -> None:
    texts = ["torch<2.12; python_version<'3.9'", "torch<2.14; python_version>='3.9'"]

    assert narrowed(Wish(), texts, lambda: HERE).torch == "<2.14"


@pytest.mark.parametrize(("text", "words"), [
        ("torch==", "is not a valid requirement"), ("", "is not a valid requirement"),
        ("torch @ https://x.example/torch.whl", "has a URL"), ("torch torchvision", "is not a valid requirement"),
])  # fmt: skip
def test_what_is_no_name_with_a_specifier_is_refused(text: str, words: str) -> None:
    with pytest.raises(RequirementError, match=words) as caught:
        demands.parse_demands([text])

    assert caught.value.hint


@pytest.mark.parametrize(
    ("version", "asked", "met"),
    [
        ("2.9.1+cu128", "torch==2.9.1", True), ("2.9.1+cu128", "torch==2.9.1+cu128", True),
        ("2.9.1+cu128", "torch==2.9.1+cu126", False), ("2.9.1+cu128", "torch<2.9", False),
        ("2.9.1+cu128", "torchvision==0.24.1", True), ("2.9.1+cu128", "torchvision==0.23.*", False),
        ("2.9.1+cu128", "numpy<1", True), ("2.9.1+cu128", "nvidia-nccl-cu12==1", True),
        ("2.9.1+cu128", "triton==3.5.1", True), ("2.9.1+cu128", "triton==3.4", False),
        ("2.9.1+cpu", "triton==1.0", True),
        ("2.5.1+cu124", "nvidia-cuda-runtime-cu12==12.4.127", True), ("2.9.1+cu128", "triton==3.5.0", False),
        *(
            (version, f"nvidia-{name}-cu12{specifier}", met)
            for name in ("cuda-runtime", "cuda-nvrtc", "cuda-cupti", "nvtx", "nvjitlink")
            for version, specifier, met in (
                ("2.9.1+cu128", ">=12.8", True), ("2.9.1+cu128", ">=12.9", False), ("2.9.1+cu128", "<12.8", False),
                ("2.9.1+cu130", ">=12.9", True), ("2.4.1+cu121", ">=12.9", True), ("2.5.1+cu121", ">=12.4", False),
                ("2.9.1+cpu", ">=12.9", True),
            )
        ),
    ],
)  # fmt: skip
def test_a_build_meets_what_concerns_it(version: str, asked: str, met: bool) -> None:
    (demand,) = demands.parse_demands([asked])

    assert demands.meets(build(version), demand) is met


@pytest.mark.parametrize(("line", "extras", "holds"), [
        ("dep>=1", (), True), ("dep; sys_platform == 'linux'", (), True), ("dep; sys_platform == 'win32'", (), False),
        ("dep; platform_machine == 'x86_64'", (), True), ("dep; python_version < '3.12'", (), False),
        ("dep; implementation_name == 'pypy'", (), True), ("dep; implementation_name == 'cpython'", (), False),
        ("dep; extra == 'gpu'", (), False), ("dep; extra == 'gpu'", ("gpu",), True),
        ("dep; extra == 'gpu'", ("x",), False), ("dep; extra == 'gpu'", ("x", "gpu"), True),
        ("dep>=1", ("gpu",), True), ("dep; python_full_version < '3.12.4'", (), True),
])  # fmt: skip
def test_a_package_requires_what_holds_on_the_machine(line: str, extras: tuple[str, ...], holds: bool) -> None:
    here = HERE._replace(python=HERE.python._replace(implementation="pp", exact="3.12.4"))

    found = demands.required([line], here, extras, "lib 1.0")

    assert [(each.name, each.by) for each in found] == ([("dep", "lib 1.0")] if holds else [])


def test_beyond_torch_is_all_that_is_asked_where_anything_else_is() -> None:
    assert demands.package_demands(["torch", "TorchVision>=0.20"], lambda: HERE) == ()
    found = demands.package_demands(["torch<2.9", "Flash_Attn[x,a]>=2; python_version > '3'"], lambda: HERE)
    assert found == (PackageDemand("torch", "<2.9"), PackageDemand("flash-attn", ">=2", ("a", "x")))
    assert [each.text for each in found] == ["torch<2.9", "flash-attn[a,x]>=2"]


TOOLKIT = (
    "cublas cudnn cufft cufile curand cusolver cusparse cusparselt nccl npp nvfatbin nvjitlink nvjpeg nvptxcompiler "
    "nvshmem nvtx nvvm cuda-runtime cuda-nvrtc cuda-cupti cuda-nvcc cuda-sanitizer-api"
)


def test_nvidia_s_own_wheels_of_cuda_are_known_by_their_names() -> None:
    for part in TOOLKIT.split():
        for name in (f"nvidia-{part}", f"nvidia-{part}-cu11", f"nvidia-{part}-cu13"):
            assert (demands.brings_cuda(name), demands.is_leaf(name)) == (True, True), name
    for name in ("cuda-toolkit", "cuda-pathfinder", "cuda-bindings"):
        assert demands.brings_cuda(name)
    others = (
        "nvidia-dali-cuda120 nvidia-ml-py nvidia-nvcomp-cu12 cuda-python nvidia-cublas-cu nvidia-cudnn-frontend numpy"
    )
    assert not any(demands.is_leaf(name) for name in others.split())
    tritons = [f"{name}{end}" for name in ("triton", "pytorch-triton") for end in ("", "-rocm", "-xpu")]
    for name in ("torch", "torchvision", "torchaudio", *tritons):
        assert (demands.is_leaf(name), demands.brings_cuda(name)) == (True, False), name


@pytest.mark.parametrize(("asked", "fits"), [
    ([""], "3 2"), (["<3"], "2"), (["<2"], "1"), (["==1"], "1"), (["<3", "==1"], "1"), ([">=1,==1"], "1"),
    ([">3"], "4rc1"), ([">=1,<3"], "2"),
    (["==1", ">=1"], "1"), (["!=3,<=3"], "2"), ([">=4rc1"], "4rc1"), ([">5"], ""), (["~=1.0"], "1"),
    (["<=1", "!=0"], "1"),
])  # fmt: skip
def test_what_was_withdrawn_is_taken_by_its_number_or_where_nothing_else_is(asked: list[str], fits: str) -> None:
    versions = [Package("x", "4rc1"), Package("x", "3"), Package("x", "2"), Package("x", "1", yanked=True)]

    found = demands.fitting(versions, [PackageDemand("x", specifier) for specifier in asked])

    assert [package.version for package in found] == fits.split()


def test_each_line_of_an_override_takes_the_place_of_what_is_asked() -> None:
    asked = PackageDemand("a", "==1", by="x 1"), PackageDemand("b", ">2"), PackageDemand("c", ">3")

    found = demands.overridden(asked, {"a": (">=1", "<3"), "b": ()})

    assert found == (asked[0]._replace(specifier=">=1"), asked[0]._replace(specifier="<3"), asked[2])


@pytest.mark.parametrize(("specifiers", "compatible"), [
    ("<1 <2", True), ("<1 >=1", False), (">1 <1.1", True), (">1 <1.0.1", True), (">=1rc1 <1", False),
    (">1rc1 <=1", True),
    ("==1.* >1", True), ("==1.* >=2", False), ("==1.* !=1", True), ("==1 !=1", False), (">1.post1 <1.1", True),
    ("<0.1", True), ("!=0 <1", True), ("==2.* >2.0 <2.1", True), ("~=1.4 <2", True), ("~=1.4 >=2", False),
    ("==1.* ==1.2.*", True),
])  # fmt: skip
def test_some_version_could_meet_all_demands(specifiers: str, compatible: bool) -> None:
    assert demands.are_compatible(PackageDemand("x", specifier) for specifier in specifiers.split()) is compatible


def test_demands_cost_time_in_line_with_their_number() -> None:
    turns = itertools.count()  # what was answered is remembered

    def ask(size: int) -> None:
        turn = next(turns)
        assert demands.are_compatible(PackageDemand("x", f"!={number}.{turn}") for number in range(size))

    in_line(ask, (500, 2000), floor=0.02)


def test_what_torch_pins_of_cuda_binds_on_linux_alone() -> None:
    (demand,) = demands.parse_demands(["nvidia-cuda-nvrtc-cu12>=12.9"])
    one = build("2.9.1+cu128")

    platforms = ("linux-x86_64", "linux-aarch64", "windows-x86_64")
    assert [demands.meets(one._replace(platform=name), demand) for name in platforms] == [False, False, True]
    assert demands.meets(one._replace(platform="linux-x86_64"), PackageDemand("nvidia-cublas-cu12", "<1"))
