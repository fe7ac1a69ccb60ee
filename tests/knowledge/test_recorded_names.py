"""Every name that was recorded is placed, and none wrong: what drivers report, what lists hold, what people write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.gpuindex import Names, pci_arches
from torchpick.knowledge.gpunames import Candidates, belongs, look_up, look_up_other
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, loads
from torchpick.model.machine import GpuProduct

ROOT = Path(__file__).parents[2]
INDEX = Fields(loads((ROOT / "compat" / "index" / "gpus.json").read_bytes()))
NAMES, PCI = Names.from_json(INDEX), pci_arches(INDEX)
KNOWLEDGE = Knowledge({})
OTHERS = KNOWLEDGE.other_names
EVIDENCE = ROOT / "evidence" / "gpus"
WRITTEN = json.loads((Path(__file__).parent / "names_in_use.json").read_text("utf-8"))
# One device id of 2020 that the driver still calls by the name of the generation before.
MISNAMED = {"NVIDIA GeForce GTX 1060"}


def test_the_drivers_own_names_are_those_of_their_pci_ids() -> None:
    rows = json.loads((EVIDENCE / "nvidia-reported.json").read_text("utf-8"))["names"]
    unplaced = []
    for name, *ids in rows:
        found = look_up(name, NAMES)
        if isinstance(found, Candidates):
            unplaced.append(name)
        elif name not in MISNAMED:
            assert found.arch in {PCI(int(each, 16)) for each in ids}, name
            assert not found.others, name

    assert unplaced == ["NVIDIA DRIVE P2021"]


def test_the_lists_names_since_kepler_are_placed() -> None:
    facts = json.loads((EVIDENCE / "nvidia.json").read_text("utf-8"))
    rows = [(row["name"], row["cc"]) for part in ("products", "pci", "curated") for row in facts[part]]
    known = [(name, cc) for name, cc in rows if cc is not None and float(cc) >= 3]
    unplaced = []
    for name, cc in known:
        found = look_up(name, NAMES)
        if isinstance(found, Candidates):
            unplaced.append(name)
        else:
            meant = {found.arch, *(other.arch for other in found.others)}
            assert Arch.of_capability(*map(int, cc.split("."))) in meant, name

    assert len(unplaced) <= len(rows) * 0.02
    assert len(unplaced) <= 12, unplaced


@pytest.mark.parametrize(("name", "arch"), [(name, arch) for group in WRITTEN for name, arch in group["names"].items()])
def test_a_name_in_use_is_understood(name: str, arch: str) -> None:
    given = KNOWLEDGE.gpu(name)

    assert str(given.arch) == arch


def test_every_name_of_the_other_vendors_is_placed() -> None:
    facts = json.loads((EVIDENCE / "amd-intel-apple.json").read_text("utf-8"))
    for row in facts["names"]:
        for spelling in row["spellings"]:
            found = look_up_other(spelling, OTHERS)
            assert isinstance(found, GpuProduct), spelling
            assert str(found.arch) == row["gfx"][0], spelling
            assert [str(other.arch) for other in found.others] == row["gfx"][1:], spelling
    supported = {row["generation"]: row["xpu"] for row in facts["intel"]["generations"]}
    for row in facts["intel"]["names"]:
        found = look_up_other(row["name"], OTHERS)
        assert isinstance(found, GpuProduct), row["name"]
        assert found.vendor == "intel", row["name"]
        assert found.supported is supported[row["generation"]].startswith(("validated", "not validated", "same series"))


def test_every_pci_id_of_the_other_vendors_is_known() -> None:
    facts = json.loads((EVIDENCE / "amd-intel-apple.json").read_text("utf-8"))
    for row in facts["pci"]:
        device = OTHERS.device("amd", int(row["id"].partition(":")[2], 16))
        assert device is not None
        assert str(device.arch) == row["gfx"]
    for row in facts["intel"]["pci"]:
        assert OTHERS.device("intel", int(row["id"].partition(":")[2], 16)) is not None
    assert OTHERS.device("amd", 0x1234) is None
    assert OTHERS.device("intel", 0x1234) is None


@pytest.mark.parametrize(
    "name", ["H100", "GTX 780M", "Quadro M4000", "M6", "M40", "M60", "M10", "W2000", "RTX 4090", "A770M"]
)
def test_nvidias_names_belong_to_no_other_vendor(name: str) -> None:
    assert belongs(name) is None
