"""On a computer that has an NVIDIA GPU: the sources agree with one another. Skipped everywhere else."""

from __future__ import annotations

import shutil
import subprocess
import time
from functools import partial

import pytest

from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import computer, kernel, probe
from torchpick.machine.given import MachineOverrides
from torchpick.machine.probe import DriverReading

FACTS = kernel.read_kernel(World.here())
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not (FACTS.nodes and shutil.which("nvidia-smi")), reason="no NVIDIA GPU here"),
]


@pytest.fixture(autouse=True)
def _no_gpu() -> None:
    """Here it is seen, as nowhere else."""


def ask(source: str) -> DriverReading:
    here = World.here()
    name = {"nvml": kernel.NVML, "cuda": kernel.CUDA}[source]
    start = partial(probe.start, source, kernel.candidates(name, here))
    [reading] = probe.ask({source: start}, time.monotonic() + 60, bool)
    return reading


def test_every_source_tells_the_same_of_every_gpu() -> None:
    readings = [ask(source) for source in ("nvml", "cuda")]
    told = [{device.uuid: (device.capability, device.pci) for device in reading.devices} for reading in readings]
    assert told[0]
    assert told[0] == told[1]


def test_detection_finds_what_nvidia_smi_lists() -> None:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True, timeout=60).stdout
    found = computer.detect(MachineOverrides(timeout=60), knowledge=Knowledge({}))
    assert found.trouble is None
    assert len(found.counted) == sum(line.startswith("GPU ") for line in listed.splitlines())
    assert all(gpu.arch and gpu.source == "nvml" for gpu in found.counted)
    assert found.driver is not None
    assert found.driver.version
    assert found.driver.cuda
