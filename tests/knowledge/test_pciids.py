"""A PCI device id gives the capability of its chip, or nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.knowledge.gpuindex import pci_arches
from torchpick.model.fields import Fields, loads

COMPAT = Path(__file__).parents[2] / "compat"
IDS = pci_arches(Fields(loads((COMPAT / "index" / "gpus.json").read_bytes())))


@pytest.mark.parametrize(("device", "arch"), [
        (0x1B06, "sm_61"),  # GeForce GTX 1080 Ti
        (0x20B0, "sm_80"),  # A100 SXM4: torchruntime says 8.6
        (0x13AE, "sm_52"),  # a GM204 sold as GM107
        (0x2901, "sm_100"),  # B200: torchruntime says 12.0
        (0x3182, "sm_103"),  # B300
        (0x2E12, "sm_121"),  # GB10
        (0x2B85, "sm_120"),  # GeForce RTX 5090
        (0x2BFF, "sm_120"),  # not listed, within its chip's range
        (0x102E, "sm_35"),  # Tesla K40d, outside every range
        (0x06C0, "sm_20"),  # GeForce GTX 480, listed one by one
        (0x29BC, None),  # B100: its capability is not published
        (0x22D1, None),  # a bridge
        (0x3041, None),  # Rubin: no capability yet
        (0xFFFF, None),
])  # fmt: skip
def test_a_device_id_finds_its_chip(device: int, arch: str | None) -> None:
    found = IDS(device)

    assert (None if found is None else str(found)) == arch


def test_every_listed_device_agrees_with_the_readable_file() -> None:
    devices = json.loads((COMPAT / "gpus.json").read_text("utf-8"))["pci"]["devices"]

    for device in devices:
        found = IDS(int(device["id"], 16))
        assert (None if found is None else f"{found.major}.{found.minor}") == device["capability"], device
