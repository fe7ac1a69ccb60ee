"""CUDA packages that the table does not know: their wheels are read by ranges, and judged like all others."""

from __future__ import annotations

import re

import pytest

from tests.doctor.homes import linking
from tests.fakes.indexes import WHEEL_HOST
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from tests.process.install.test_install import kind
from tests.process.install.test_stack import A100, vllm
from tests.wheels import making

__all__ = ["vllm"]

A100_NEW = ("--gpu", "a100", "--driver", "580.95.05")
ANY = f"py3-none-{TAG.rpartition('-')[2]}"


def compiled(name: str, version: str, path: str, major: int, *arches: str, requires: tuple[str, ...]) -> TinyWheel:
    """A wheel with a library of this CUDA, and code for these architectures."""
    library = linking(["libtorch_cuda.so", f"libcudart.so.{major}"], making.module(*arches))
    return TinyWheel(name, version, ANY, requires, files={path: library})


def add(world: World, *wheels: TinyWheel) -> None:
    for wheel in wheels:
        world.wheels("127.0.0.1").setdefault(wheel.name, []).append(wheel)


@pytest.mark.parametrize(("newest", "place"), [("uv", "URL"), ("pip", "file")])
def test_a_wheel_that_is_asked_for_by_its_place_is_read_there(world: World, newest: str, place: str) -> None:
    wheel = compiled("swift-ops", "1.0", "swift_ops/_C.so", 13, "sm_80", requires=("torch",))
    (world.folder / wheel.filename).write_bytes(wheel.content)
    world.wheels("localhost")["swift-ops"] = [wheel]
    world.wheels(WHEEL_HOST)["cu132", "torch"] = [TinyWheel("torch", "2.15.0+cu132", TAG)]
    url = f"{world.private.removesuffix('simple/')}files/{wheel.filename}"
    word = url if place == "URL" else (world.folder / wheel.filename).as_uri()
    python = world.environment(newest)

    done = world.install(word, "--installer", kind(newest), python=python, gpu=A100, status=3)
    runs = world.install(word, "--dry-run", "--installer", kind(newest), python=python, gpu=A100_NEW)

    assert "swift-ops 1.0: needs libcudart.so.13, and CUDA 13 needs driver 580" in done.stderr
    assert world.installed(python) == {}
    assert re.search(r"torch(==.*\+cu13|.*/cu13\d/torch-)", runs.stdout)
    assert "has not been read" not in runs.stderr


def test_a_wheel_by_its_place_is_judged_and_not_the_one_of_its_version_in_the_table(vllm: World) -> None:
    pins = ("torch==2.10.0", "torchvision==0.25.0", "torchaudio==2.10.0")
    wheel = compiled("vllm", "0.19.1", "vllm/_C.abi3.so", 12, "sm_90", requires=pins)
    (vllm.folder / wheel.filename).write_bytes(wheel.content)
    python = vllm.environment("uv")

    done = vllm.install(f"./{wheel.filename}", python=python, gpu=A100, status=3)

    assert "holds no code for a100 (sm_80)" in done.stderr
