"""What a person calls a GPU finds that GPU's architecture, or is said to be ambiguous; never another's."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scripts.table import gpus as table
from torchpick.knowledge.gpuindex import Names
from torchpick.knowledge.gpunames import Candidates, look_up
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
