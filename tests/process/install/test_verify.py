"""`--verify` with a stand-in for torch that computes or fails per GPU; no real GPU is used here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from torchpick.machine import verify
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu

# What a GPU does, read from the environment: one word a GPU.
TORCH = """\
import os
__version__ = "2.14.1+cu126"
WORDS = os.environ.get("STAND_IN_GPUS", "").split(",") if os.environ.get("STAND_IN_GPUS") else []
print("noise on stdout")
if WORDS and WORDS[0] == "broken":
    raise OSError("libcudart.so.12: cannot open shared object file")
class version:
    cuda = "12.6"
class Tensor:
    def __init__(self, device, value):
        self.device, self.value = device, value
    def __matmul__(self, other):
        index = int(self.device.partition(":")[2] or 0)
        word = WORDS[index] if WORDS else "good"
        if word == "no-kernel":
            raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
        return Tensor(self.device, 1048575.0 if word == "wrong" else 1048576.0)
    def sum(self):
        return self
    def item(self):
        return self.value
def compile(function):
    raise RuntimeError("Cannot find a working triton installation")
def full(shape, value, device):
    return Tensor(device, value)
def ones(*shape, device):
    return Tensor(device, 324.0)
class nn:
    class functional:
        @staticmethod
        def conv2d(image, kernel):
            return image
class cuda:
    @staticmethod
    def is_available():
        return True
    @staticmethod
    def device_count():
        return len(WORDS)
    @staticmethod
    def get_device_name(device):
        return f"Stand-in {device}"
    @staticmethod
    def synchronize():
        pass
"""


def gpus(count: int) -> tuple[Gpu, ...]:
    return tuple(Gpu(place, "nvidia", f"Card {place}", Arch.parse("sm_61")) for place in range(count))


@pytest.fixture
def python(world: World) -> Path:
    """An environment whose torch is the stand-in."""
    found = world.environment("uv")
    (site,) = found.parent.parent.glob("lib/python*/site-packages")
    site.joinpath("torch").mkdir()
    site.joinpath("torch", "__init__.py").write_text(TORCH, "utf-8")
    return found


def ran(world: World, python: Path, words: str, count: int, deadline_s: float = 20.0) -> verify.Results:
    environ = {**world.environ, "STAND_IN_GPUS": words}
    return verify.run_kernels(str(python), "cuda", gpus(count), environ, deadline_s)


def test_the_gpu_that_fails_is_named_and_the_others_still_run(world: World, python: Path) -> None:
    """`is_available()` says true all the time."""
    found = ran(world, python, "good,no-kernel,good,wrong", 4)

    assert [each.ok for each in found[1]] == [True, False, True, False]
    assert "no kernel image" in found[1][1].text
    assert "1048575.0" in found[1][3].text


def test_a_torch_that_cannot_be_imported(world: World, python: Path) -> None:
    found = ran(world, python, "broken", 1)

    assert not found[1][0].ok
    assert found[0] is None
    assert "libcudart" in found[1][0].text


def test_a_folder_named_torch_where_one_stands_is_not_taken_for_it(world: World, python: Path) -> None:
    world.folder.joinpath("torch").mkdir()

    assert all(each.ok for each in ran(world, python, "good", 1)[1])


@pytest.fixture
def published(world: World) -> World:
    """The stand-in as the wheel host's own file."""
    wheels = world.wheels("download.pytorch.org")
    wheels["cu126", "torch"] = [
        TinyWheel("torch", "2.14.1+cu126", TAG, ("filelock",), files={"torch/__init__.py": TORCH})
    ]
    return world


def test_install_verifies(published: World) -> None:
    python = published.environment("uv")

    done = published.install("torch", "--verify", python=python, environ={"STAND_IN_GPUS": "good"})

    assert "verified: GPU 0, Stand-in cuda:0: computes" in done.stderr
    assert "verified: torch.compile does not work here: it lacks " in done.stderr


def test_install_says_what_torch_says_where_it_does_not_compute(published: World) -> None:
    python = published.environment("uv")
    done = published.install(
        "torch", "--verify", "--json", python=python, status=3,
        environ={"STAND_IN_GPUS": "no-kernel", "UV": published.installers.uv},
    )  # fmt: skip

    answer = json.loads(done.stdout)
    assert answer["exit"] == 3
    assert answer["verify"]["torch"] == "2.14.1+cu126"
    assert answer["verify"]["ran"][0]["gpu"] == 0
    error = answer["error"]
    assert (error["code"], error["hint"]) == (
        "VERIFY",
        "`torchpick doctor` looks for the cause, `torchpick explain` knows such errors",
    )
    assert error["text"].startswith("torch 2.14.1+cu126 does not compute here: GPU 0, Stand-in cuda:0: ")
    assert "no kernel image" in error["text"]
