"""A lock's CUDA packages: what the table lacks is read before it is written; it moves or refuses as an installation."""

from __future__ import annotations

import json

import pytest

from tests.fakes.indexes import SimpleIndex, WheelHost, of_table
from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.installers import uv_and_later_pip
from tests.process.install.test_unread import compiled
from tests.process.test_lock_with_tools import (
    GTX_1080_TI,
    OTHER,
    OWN,
    TOOLS,
    Flipping,
    World,
    flipping,
    installers,
    tag,
    world,
)

__all__ = ["flipping", "installers", "world"]
pytestmark = [pytest.mark.process, pytest.mark.network]
A100 = ("--gpu", "a100", "--driver", "535.183.01")
H100 = ("--gpu", "h100", "--driver", "580.95.05")
LINUX = ("--platform", "linux-x86_64", "--glibc", "2.35", "--python")


def own_index(world: World) -> SimpleIndex:
    index = world.server.sites["127.0.0.1"]
    assert isinstance(index, SimpleIndex)
    return index


@pytest.fixture
def vllm(world: World, flipping: Flipping) -> World:
    """A newer vllm than the table has, for CUDA 13, and one of CUDA 12 that it has; the torches that they pin."""
    host = flipping.site
    assert isinstance(host, WheelHost)
    for torch, vision, audio, backends in (
        ("2.14.0", "0.29.0", "2.11.0", ("cu126", "cu130")),
        ("2.10.0", "0.25.0", "2.10.0", ("cu126", "cu128")),
    ):
        for backend in backends:
            host.add(backend, TinyWheel("torch", f"{torch}+{backend}", tag(OWN), ("filelock",)))
            for name, version in (("torchvision", vision), ("torchaudio", audio)):
                host.add(backend, TinyWheel(name, f"{version}+{backend}", tag(OWN), ("torch",)))
    pins = ("torch==2.14.0", "torchvision==0.29.0", "torchaudio==2.11.0")
    own_index(world).add(
        compiled("vllm", "0.99.0", "vllm/_C.abi3.so", 13, "sm_80", "sm_90", requires=pins),
        TinyWheel("vllm", "0.19.1", requires=("torch==2.10.0", "torchvision==0.25.0", "torchaudio==2.10.0")),
        *of_table(
            "flashinfer-python",
            "humming-kernels",
            "nvidia-cutlass-dsl",
            "torchcodec",
            needed=("vllm", "flashinfer-python"),
        ),
    )
    return world


def versions(world: World, *words: str) -> dict[str, object]:
    return {name: package["version"] for name, package in world.locked(*words).items()}


@uv_and_later_pip("resolver")
def test_a_version_that_does_not_run_gives_way_to_one_that_runs(vllm: World, resolver: str) -> None:
    done = vllm.lock("vllm", *A100, "--installer", resolver)
    found = versions(vllm, "vllm", *A100, "--installer", resolver)

    assert "vllm 0.19.1 is taken, not 0.99.0: needs libcudart.so.13" in done.stderr
    assert (found["vllm"], found["torch"]) == ("0.19.1", "2.10.0+cu128")
    assert (found["torchvision"], found["torchaudio"]) == ("0.25.0+cu128", "2.10.0+cu128")


def test_a_version_that_is_asked_for_and_does_not_run_is_refused(vllm: World) -> None:
    done = vllm.lock("vllm>=0.20", *A100, status=3)

    assert "needs libcudart.so.13" in done.stderr
    assert not (vllm.folder / "pylock.torch.toml").exists()


@pytest.mark.parametrize("resolver", TOOLS)
def test_a_project_that_the_table_lacks_is_judged_too(world: World, resolver: str) -> None:
    own_index(world).add(compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, "sm_90", requires=("torch",)))

    done = world.lock("swift-ops", *GTX_1080_TI, "--installer", resolver, status=3)

    assert "holds no code for sm_61" in done.stderr


def test_the_wheel_of_each_python_is_the_one_that_is_read(world: World) -> None:
    for python, arch in ((OWN, "sm_61"), (OTHER, "sm_90")):
        wheel = compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, arch, requires=("torch",))
        own_index(world).add(wheel._replace(tag=tag(python)))

    assert versions(world, "swift-ops", *GTX_1080_TI, *LINUX, OWN)["torch"] == "2.14.1+cu126"
    assert "holds no code for sm_61" in world.lock("swift-ops", *GTX_1080_TI, *LINUX, OTHER, status=3).stderr


def test_offline_reads_no_wheel(world: World) -> None:
    own_index(world).add(compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, "sm_90", requires=("torch",)))

    world.lock("swift-ops", *GTX_1080_TI, "--offline", status=None)

    assert not [asked for asked in world.server.log if "swift_ops" in asked.path]


def test_what_cannot_be_read_is_said_with_the_reason(world: World) -> None:
    own_index(world).add(compiled("swift-ops", "1.0", "swift_ops/_C.so", 12, "sm_90", requires=("torch",)))
    site = world.server.sites["127.0.0.1"]
    world.server.sites["127.0.0.1"] = lambda path: Answer(403) if path.endswith(".whl") else site(path)

    answer = json.loads(world.lock("swift-ops", *GTX_1080_TI, "--json").stdout)

    said = [note["text"] for note in answer["lock"]["notes"] if note["code"] == "PACKAGE_UNREAD"]
    assert any("wheel of swift-ops" in text and "403" in text for text in said), said


def test_a_torch_of_the_default_index_that_is_another_file_is_refused(world: World) -> None:
    own_index(world).add(TinyWheel("torch", "2.8.0", tag("3.12"), ("filelock",)))
    words = ("torch==2.8.0", "--backend", "default", *H100, *LINUX, "3.12")

    done = world.lock(*words, status=1)

    assert "torch-2.8.0-cp312-cp312-manylinux_2_28_x86_64.whl: its page says sha256 " in done.stderr
    assert "the wheel that was read had b2aca093" in done.stderr
    assert not (world.folder / "pylock.torch.toml").exists()
