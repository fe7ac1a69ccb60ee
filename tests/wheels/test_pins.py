"""What of a torch's METADATA and libraries goes into the table's row."""

from __future__ import annotations

import pytest

from torchpick.wheels import librarycode, refresh
from torchpick.wheels.readings import FLAGS, Reading, TorchFacts

METADATA = """\
Metadata-Version: 2.1
Name: torch
Requires-Dist: numpy==2.0
Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == "Linux"
Requires-Dist: NVIDIA_cublas==1
Requires-Dist: nvidia-nccl-cu12>=2.20
Requires-Dist: nvidia-cusparselt-cu13==0.8.0; platform_system == "Linux"
Requires-Dist: triton==3.1.0
"""


def reading(torch: TorchFacts | None, *libraries: librarycode.Library) -> Reading:
    return Reading("x", FLAGS, True, 1, 1, 1, torch=torch, libraries=libraries, metadata=METADATA)


def test_the_exact_versions_that_a_cuda_build_asks_for_are_its_pins() -> None:
    assert refresh.pins(reading(TorchFacts("2.9.1+cu128", "12.8"))) == {
        "nvidia-cudnn-cu12": "9.1.0.70",
        "nvidia-cusparselt-cu13": "0.8.0",
        "triton": "3.1.0",
    }


@pytest.mark.parametrize("torch", [None, TorchFacts("2.9.1+cpu"), TorchFacts("2.9.1+rocm6.4", None, "6.4")])
def test_what_is_built_without_cuda_pins_nothing_although_its_metadata_names_linux_s(torch: TorchFacts | None) -> None:
    assert refresh.pins(reading(torch)) == {}
