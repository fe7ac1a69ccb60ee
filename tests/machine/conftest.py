from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.nvidia import A100, GTX_980_TI, GTX_1080_TI, RTX_3090, RTX_4090, Computer, Fakes
from torchpick.environment import guard
from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import kernel, nvidia
from torchpick.machine.kernel import LookOptions, Seen
from torchpick.model.arch import Arch
from torchpick.model.fields import plain

CAPABILITIES = {GTX_1080_TI: (6, 1), RTX_3090: (8, 6), RTX_4090: (8, 9), GTX_980_TI: (5, 2), A100: (8, 0)}


_USUAL = dict.fromkeys(("name", "arch", "uuid", "pci")) | {"vendor": "nvidia", "integrated": False}
_USUAL |= {"visible": True, "counted": True}


def brief(seen: Seen) -> dict[str, Any]:
    """What was seen, without what says nothing."""
    answer: Any = plain(seen)
    answer["gpus"] = [
        {name: value for name, value in gpu.items() if name not in _USUAL or value != _USUAL[name]}
        for gpu in answer["gpus"]
    ]
    return {name: value for name, value in answer.items() if value not in (None, [])}


class Known(Knowledge):
    """What detection may ask of the table, for a few chips."""

    def __init__(self) -> None:
        super().__init__({})

    def pci_capability(self, device: int) -> Arch | None:
        pair = CAPABILITIES.get(device)
        return Arch.of_capability(*pair) if pair else None

    def supports_amd(self, arch: Arch) -> bool:
        return str(arch) in ("gfx1100", "gfx1151")


@pytest.fixture(autouse=True)
def _own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this shell says of GPUs and environments is not what the tests are about."""
    for name in list(os.environ):
        if name.startswith(("TORCHPICK_", "CUDA_", "HSA_", "NVIDIA_")) or name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Fakes:
    if not sys.platform.startswith("linux") or shutil.which("cc") is None:
        pytest.skip("no C compiler to make the stand-in libraries with")
    return Fakes(tmp_path_factory.mktemp("fakes"))


@pytest.fixture
def computer(tmp_path: Path, fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> Computer:
    root = tmp_path / "root"
    root.mkdir()
    made = Computer(root, fakes)
    monkeypatch.setenv("FAKE_NVIDIA", str(made.config))
    return made


@pytest.fixture
def forkable() -> None:
    """For tests of the fork itself: under a test runner with threads (xdist) torchpick does not fork."""
    if not guard.can_fork():
        pytest.skip("this test process has threads")


Look = Callable[..., Seen]


@pytest.fixture
def look() -> Look:
    def ask(
        computer: Computer,
        *,
        timeout: float = 60.0,
        environ: dict[str, str] | None = None,
        trust_pci: bool = False,
        exact_order: bool = False,
    ) -> Seen:
        import time

        world: World = computer.world(**(environ or {}))
        how = LookOptions(world, time.monotonic() + timeout, Known(), trust_pci, exact_order)
        return nvidia.look(how, kernel.read_kernel(world))

    return ask
