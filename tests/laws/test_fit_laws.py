"""What holds for all code on all GPUs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import amd, capabilities, codes, devices, machine_code, ptx
from torchpick.model.arch import Arch, Fit, best, fit

any_code = st.one_of(machine_code, ptx, amd)


@given(any_code)
def test_printing_and_parsing_an_arch_is_the_identity(arch: Arch) -> None:
    assert Arch.parse(str(arch)) == arch


@given(st.text(max_size=12))
def test_parsing_any_text_gives_an_arch_that_prints_the_same_or_a_value_error(text: str) -> None:
    try:
        arch = Arch.parse(text)
    except ValueError:
        return
    assert str(arch) == text


@given(codes, any_code, devices, st.booleans())
def test_one_more_arch_in_a_wheel_never_loses_a_gpu(
    held: tuple[Arch, ...], more: Arch, gpu: Arch, unified: bool
) -> None:
    assert best((*held, more), gpu, unified=unified)[0] >= best(held, gpu, unified=unified)[0]


@given(codes, devices, st.booleans())
def test_the_order_of_the_code_does_not_matter(held: tuple[Arch, ...], gpu: Arch, unified: bool) -> None:
    assert best(held, gpu, unified=unified) == best(held[::-1], gpu, unified=unified)


@given(codes, devices)
def test_the_unification_never_loses_a_gpu(held: tuple[Arch, ...], gpu: Arch) -> None:
    assert best(held, gpu, unified=True)[0] >= best(held, gpu, unified=False)[0]


@given(capabilities, st.booleans())
def test_a_gpu_runs_its_own_machine_code_exactly(digits: int, unified: bool) -> None:
    arch = Arch("sm", digits // 10, digits % 10)

    assert fit(arch, arch, unified=unified) is Fit.EXACT


@given(machine_code, devices, st.booleans())
def test_machine_code_never_crosses_a_major(code: Arch, gpu: Arch, unified: bool) -> None:
    if code.capability[0] != gpu.capability[0]:
        assert fit(code, gpu, unified=unified) is Fit.NONE


@given(ptx, devices, st.booleans())
def test_ptx_serves_every_gpu_that_is_not_older(code: Arch, gpu: Arch, unified: bool) -> None:
    expected = Fit.JIT if code.capability <= gpu.capability else Fit.NONE

    assert fit(code, gpu, unified=unified) is expected
