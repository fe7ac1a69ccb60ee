from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from torchpick.environment.world import World
from torchpick.knowledge.compat import Knowledge
from torchpick.machine import kernel
from torchpick.model.arch import Arch


def world(root: Path, **environ: str) -> World:
    return World(str(root), environ, "/", "linux")


def put(root: Path, path: str, text: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, "utf-8")


@given(st.text(max_size=200))
def test_any_version_file_is_read(text: str) -> None:
    found = kernel.driver_version(text)
    assert found is None or found.replace(".", "").isdigit()


def test_a_jetson_is_called_what_its_device_tree_calls_the_board(tmp_path: Path) -> None:
    board = "NVIDIA Jetson Orin NX Engineering Reference Developer Kit"
    put(tmp_path, "proc/device-tree/compatible", "nvidia,p3768-0000+p3767-0000\0nvidia,p3767-0000\0nvidia,tegra234\0")
    put(tmp_path, "proc/device-tree/model", f"{board}\0")

    assert f"NVIDIA {kernel.read_kernel(world(tmp_path)).tegra}" == board
    assert Knowledge({}).gpu(board).arch == Arch.parse("sm_87")
