"""What holds for all code on all GPUs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.laws.strategies import amd, codes, devices, machine_code, ptx
from torchpick.model.arch import Arch, best

any_code = st.one_of(machine_code, ptx, amd)


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
