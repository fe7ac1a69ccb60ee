"""What a person calls a GPU finds that GPU's architecture, or is said to be ambiguous; never another's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.table import gpus as table
from torchpick.knowledge.gpuindex import Names
from torchpick.knowledge.gpunames import MOST_CLOSE, Candidates, look_up
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, loads

COMPAT = Path(__file__).parents[2] / "compat"
NAMES = Names.from_json(Fields(loads((COMPAT / "index" / "gpus.json").read_bytes())))
GPUS = json.loads((COMPAT / "gpus.json").read_text("utf-8"))

PRODUCTS = [(row["name"], row["capability"]) for row in GPUS["products"]]
SOLD = PRODUCTS + [(row["name"], row["capability"]) for row in table.sold(GPUS["pci"]["devices"])]


def told(text: str) -> str | None:
    """The architecture as text, or None where the name is not understood."""
    found = look_up(text, NAMES)
    return None if isinstance(found, Candidates) else str(found.arch)


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("GTX 1080 Ti", "sm_61"),
        ("NVIDIA GeForce GTX 1080 Ti", "sm_61"),
        ("1080", "sm_61"),
        ("gtx1080ti", "sm_61"),
        ("MX330", "sm_61"),
        ("a100", "sm_80"),
        ("NVIDIA A100-SXM4-40GB", "sm_80"),
        ("NVIDIA A100 80GB PCIe", "sm_80"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "sm_80"),
        ("A10", "sm_86"),
        ("NVIDIA A10G", "sm_86"),
        ("h200", "sm_90"),
        ("NVIDIA H100 80GB HBM3", "sm_90"),
        ("NVIDIA GH200 480GB", "sm_90"),
        ("rtx4090", "sm_89"),
        ("RTX 6000 Ada", "sm_89"),
        ("NVIDIA RTX 6000 Ada Generation", "sm_89"),
        ("Quadro RTX 6000", "sm_75"),
        ("Quadro 6000", "sm_20"),
        ("RTX PRO 6000", "sm_120"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "sm_120"),
        ("NVIDIA GeForce RTX 5090", "sm_120"),
        ("GeForce RTX 4060 Laptop GPU", "sm_89"),
        ("Quadro RTX 3000 with Max-Q Design", "sm_75"),
        ("RTX 3050", "sm_86"),
        ("t4", "sm_75"),
        ("Tesla T4", "sm_75"),
        ("K80", "sm_37"),
        ("V100", "sm_70"),
        ("Tesla V100-SXM2-16GB", "sm_70"),
        ("TITAN V", "sm_70"),
        ("NVIDIA TITAN X (Pascal)", "sm_61"),
        ("GeForce GTX TITAN X", "sm_52"),
        ("Quadro GP100", "sm_60"),
        ("B200", "sm_100"),
        ("GB200", "sm_100"),
        ("B300", "sm_103"),
        ("GB10", "sm_121"),
        ("DGX Spark", "sm_121"),
        ("orin", "sm_87"),
        ("Orin (nvgpu)", "sm_87"),
        ("AGX Orin", "sm_87"),
        ("thor", "sm_110"),
        ("NVIDIA Thor", "sm_110"),
        ("jetson nano", "sm_53"),
        ("GP102", "sm_61"),
        ("GeForce(R) GTX(TM) 1080", "sm_61"),
    ],
)
def test_a_name_in_use_finds_its_architecture(text: str, arch: str) -> None:
    assert told(text) == arch


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("61", "sm_61"),
        ("6.1", "sm_61"),
        ("sm_61", "sm_61"),
        (" SM_61 ", "sm_61"),
        ("sm_90a", "sm_90"),
        ("90", "sm_90"),
        ("120", "sm_120"),
        ("12.0", "sm_120"),
        ("compute_120", "sm_120"),
        ("10.1", "sm_101"),
    ],
)
def test_a_capability_is_itself(text: str, arch: str) -> None:
    assert told(text) == arch


@pytest.mark.parametrize(
    ("text", "reason", "among"),
    [
        ("6000", "AMBIGUOUS", {"sm_20", "sm_75", "sm_89", "sm_120"}),
        ("RTX 6000", "AMBIGUOUS", {"sm_75", "sm_89", "sm_120"}),
        ("RTX 4000", "AMBIGUOUS", {"sm_75", "sm_89", "sm_120"}),
        ("titan", "AMBIGUOUS", {"sm_52", "sm_61", "sm_70", "sm_75"}),
        ("nano", "UNKNOWN_NAME", {"sm_53", "sm_87"}),
        ("GTX 600", "UNKNOWN_NAME", {"sm_21"}),
        ("RTX 9090", "UNKNOWN_NAME", {"sm_120"}),
        ("geforce", "UNKNOWN_NAME", set()),
        ("Radeon RX 7900 XTX", "UNKNOWN_NAME", set()),
        ("", "UNKNOWN_NAME", set()),
        ("…", "UNKNOWN_NAME", set()),
        ("750", "NO_SUCH_CAPABILITY", {"sm_50"}),
        ("12", "NO_SUCH_CAPABILITY", {"sm_120", "sm_121"}),
        ("1.2", "NO_SUCH_CAPABILITY", {"sm_120"}),
        ("sm_99", "NO_SUCH_CAPABILITY", set()),
        ("x" * 100_000, "UNKNOWN_NAME", set()),
    ],
)
def test_what_is_not_certain_is_not_guessed(text: str, reason: str, among: set[str]) -> None:
    found = look_up(text, NAMES)

    assert isinstance(found, Candidates)
    assert found.reason == reason
    assert among <= {str(each.arch) for each in found.close()}
    assert len(found.close()) <= MOST_CLOSE


@given(st.sampled_from(SOLD))
def test_a_full_name_finds_its_own_capability_or_is_ambiguous(product: tuple[str, str | None]) -> None:
    name, capability = product

    found = look_up(name, NAMES)

    if isinstance(found, Candidates):
        assert found.reason == "AMBIGUOUS"
    else:
        meant = {found.arch, *(each.arch for each in found.others)}
        assert capability is None or Arch.of_capability(*map(int, capability.split("."))) in meant


@given(st.data(), st.sampled_from(SOLD))
def test_case_and_spacing_never_change_the_answer(data: st.DataObject, product: tuple[str, str | None]) -> None:
    name = product[0]
    letters = [data.draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in name if not letter.isspace()]
    gaps = data.draw(
        st.lists(st.sampled_from(["", "", " ", "-", "  ", "_"]), min_size=len(letters), max_size=len(letters))
    )
    respelled = "".join(gap + letter for gap, letter in zip(gaps, letters, strict=True))

    assert told(respelled) == told(name)


@given(st.sampled_from(NAMES.capabilities))
def test_every_spelling_of_a_capability_means_the_same(capability: str) -> None:
    digits = capability.replace(".", "")

    assert {told(form) for form in (capability, digits, f"sm_{digits}", f"SM_{digits}")} == {f"sm_{digits}"}
