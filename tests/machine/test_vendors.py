"""AMD, Intel and Apple, and whose GPUs count where several vendors' are there."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.knowledge.compat import Knowledge
from torchpick.machine import computer
from torchpick.machine.kernel import KernelFacts, PciGpu
from torchpick.model.arch import Arch
from torchpick.model.machine import Platform

KNOWLEDGE = Knowledge({})


@pytest.mark.parametrize(("version", "name"), [
    (90010, "gfx90a"), (90402, "gfx942"), (100302, "gfx1032"), (110501, "gfx1151"), (120001, "gfx1201"), (0, None),
    (9999, None), (1000000, None), (111600, None), (110016, None), (111515, "gfx11ff"),
])  # fmt: skip
def test_gfx_names(version: int, name: str | None) -> None:
    found = computer.gfx(version)
    assert (None if found is None else str(found)) == name
    assert found is None or Arch.parse(str(found)) == found


@given(st.text(alphabet="gfx_target_version simd_count 0123456789\n-.\u0661", max_size=200))
def test_any_properties_are_read(text: str) -> None:
    found = computer.amd_node(text, 0)
    assert found is None or (found.arch is not None and Arch.parse(str(found.arch)) == found.arch)


def test_processor_graphics_that_amd_does_not_list_count_nowhere() -> None:
    assert KNOWLEDGE.supports_amd(Arch.parse("gfx1151"))
    assert KNOWLEDGE.supports_amd(Arch.parse("gfx1152")), "AMD lists it"
    assert not KNOWLEDGE.supports_amd(Arch.parse("gfx1036")), "its packages exist, and AMD does not list it"


@pytest.mark.parametrize(
    ("device", "served"), [(0x56A0, True), (0xE20B, True), (0x7D55, True), (0x46A6, False), (0x9BC5, False)]
)
def test_intel_by_the_devices_that_xpu_builds_support(device: int, served: bool) -> None:
    facts = KernelFacts(pci=(PciGpu("0000:00:02.0", 0x8086, device, "i915"),))
    gpus, _, notes, _ = computer.look_for_intel(facts, 0, KNOWLEDGE, alone=False)
    assert (len(gpus), len(notes)) == ((1, 1) if served else (0, 0))
    assert not any(each.counted for each in gpus)
    alone = computer.look_for_intel(facts, 0, KNOWLEDGE, alone=True).gpus
    assert [each.counted for each in alone] == ([True] if served else [])


def test_an_intel_python_on_apple_silicon_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = "Darwin Kernel Version 23.5.0: Wed May  1 20:12:58 PDT 2024; root:xnu-10063.121.3~5"
    for end, codes in (("RELEASE_ARM64_T6000", ["ROSETTA"]), ("RELEASE_X86_64", [])):
        system = SimpleNamespace(version=f"{kernel}/{end}")
        monkeypatch.setattr(os, "uname", lambda system=system: system)
        seen = computer.look_for_apple(Platform("macos", "x86_64"))
        assert (seen.gpus, [note.code for note in seen.notes]) == ((), codes)
