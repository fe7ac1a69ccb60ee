"""CUDA packages that the table does not know: their wheels are read by ranges, and judged like all others."""

from __future__ import annotations

import json
import re

import pytest

from tests.doctor.homes import linking
from tests.fakes.indexes import WHEEL_HOST
from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, TAG, World
from tests.process.install.installers import uv_and_later_pip
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


def fetched(world: World, project: str) -> list[str]:
    return [asked.path for asked in world.server.log if asked.path.endswith(".whl") and project in asked.path]


@pytest.mark.parametrize(
    ("major", "arch", "says"),
    [(13, "sm_61", "links CUDA 13, and torch 2.14.1+cu126 is for CUDA 12.6"), (12, "sm_90", "holds no code for sm_61")],
)
def test_a_project_that_the_table_lacks_is_judged_too(world: World, major: int, arch: str, says: str) -> None:
    add(world, compiled("swift-ops", "1.0", "swift_ops/_C.so", major, arch, requires=("torch",)))
    python = world.environment("uv")

    done = world.install("swift-ops", python=python, status=3)

    assert says in done.stderr
    assert world.installed(python) == {}


@uv_and_later_pip("installer")
def test_torch_moves_to_the_one_whose_own_libraries_a_read_wheel_takes(world: World, installer: str) -> None:
    needs = ("torch", "nvidia-nvjitlink-cu12>=12.9")
    add(world, compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, "sm_75", requires=needs))
    add(world, TinyWheel("nvidia-nvjitlink-cu12", "12.9.86", ANY))
    world.wheels(WHEEL_HOST)["cu129", "torch"] = [TinyWheel("torch", "2.13.0+cu129", TAG)]
    words = ("swift-ops", "--dry-run", "--json", "--installer", installer)

    done = world.install(*words, python=world.environment(installer), gpu=("--gpu", "T4", "--driver", "550.127.08"))

    assert json.loads(done.stdout)["pick"]["version"] == "2.13.0+cu129"


def test_a_wheel_is_read_once_ever(world: World) -> None:
    add(world, compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, "sm_61", requires=("torch",)))
    python = world.environment("uv")
    world.install("swift-ops", "--dry-run", python=python)
    assert fetched(world, "swift_ops")
    world.server.log.clear()

    done = world.install("swift-ops", "--dry-run", python=python)

    assert "torch-2.14.1%2Bcu126" in done.stdout
    assert fetched(world, "swift_ops") == []


@pytest.mark.parametrize("gone", [True, False])
def test_what_cannot_be_read_is_said(world: World, *, gone: bool) -> None:
    wheel = compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, "sm_61", requires=("torch",))
    add(world, wheel if gone else wheel._replace(files={"swift_ops/_C.so": b"\x7fELF"}, tag=ANY))
    site = world.server.sites["127.0.0.1"]
    if gone:
        world.server.sites["127.0.0.1"] = lambda path: (
            Answer(403) if path.endswith(".whl") and "swift_ops" in path else site(path)
        )
    python = world.environment("uv")

    done = world.install("swift-ops", "--dry-run", python=python, gpu=GTX_1080_TI)

    said = "no wheel of swift-ops 1.0 was read: "
    assert (said in done.stderr) == gone


def test_a_project_that_is_pure_python_is_not_opened(world: World) -> None:
    python = world.environment("uv")

    world.install("accelerate", "--dry-run", python=python)

    assert fetched(world, "accelerate") == []


PLACES = ("file", "path", "name @ URL", "URL")


@pytest.mark.parametrize(
    ("newest", "place"),
    [
        *(("uv", place) for place in PLACES),
        *(pytest.param("pip", place, marks=() if place == "file" else pytest.mark.long) for place in PLACES),
    ],
)
def test_a_wheel_that_is_asked_for_by_its_place_is_read_there(world: World, newest: str, place: str) -> None:
    wheel = compiled("swift-ops", "1.0", "swift_ops/_C.so", 13, "sm_80", requires=("torch",))
    (world.folder / wheel.filename).write_bytes(wheel.content)
    world.wheels("localhost")["swift-ops"] = [wheel]
    world.wheels(WHEEL_HOST)["cu132", "torch"] = [TinyWheel("torch", "2.15.0+cu132", TAG)]
    url = f"{world.private.removesuffix('simple/')}files/{wheel.filename}"
    word = {
        "file": (world.folder / wheel.filename).as_uri(),
        "path": f"./{wheel.filename}",
        "name @ URL": f"swift-ops @ {url}",
        "URL": url,
    }[place]
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
