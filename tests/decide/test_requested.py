"""Requirements that narrow a decision."""

from __future__ import annotations

import pytest

from tests.decide.test_remarks import build
from torchpick.decide import demands
from torchpick.decide.demands import PackageDemand, narrowed
from torchpick.errors import RequirementError
from torchpick.model.machine import Machine, Platform, Python
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
        ("2.5.1+cu124", "nvidia-cuda-runtime-cu12==12.4.127", True),
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
        ("dep; extra == 'gpu'", ("x",), False),
])  # fmt: skip
def test_a_package_requires_what_holds_on_the_machine(line: str, extras: tuple[str, ...], holds: bool) -> None:
    here = HERE._replace(python=HERE.python._replace(implementation="pp"))

    found = demands.required([line], here, extras, "lib 1.0")

    assert [(each.name, each.by) for each in found] == ([("dep", "lib 1.0")] if holds else [])


def test_beyond_torch_is_all_that_is_asked_where_anything_else_is() -> None:
    assert demands.package_demands(["torch", "TorchVision>=0.20"], lambda: HERE) == ()
    found = demands.package_demands(["torch<2.9", "Flash_Attn[x,a]>=2; python_version > '3'"], lambda: HERE)
    assert found == (PackageDemand("torch", "<2.9"), PackageDemand("flash-attn", ">=2", ("a", "x")))
    assert [each.text for each in found] == ["torch<2.9", "flash-attn[a,x]>=2"]
