"""A lock's CUDA packages: what the table lacks is read before it is written; it moves or refuses as an installation."""

from __future__ import annotations

import pytest

from tests.fakes.indexes import SimpleIndex, WheelHost, of_table
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.installers import uv_and_later_pip
from tests.process.install.test_unread import compiled
from tests.process.test_lock_with_tools import (
    OWN,
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


def test_a_torch_of_the_default_index_that_is_another_file_is_refused(world: World) -> None:
    own_index(world).add(TinyWheel("torch", "2.8.0", tag("3.12"), ("filelock",)))
    words = ("torch==2.8.0", "--backend", "default", *H100, *LINUX, "3.12")

    done = world.lock(*words, status=1)

    assert "torch-2.8.0-cp312-cp312-manylinux_2_28_x86_64.whl: its page says sha256 " in done.stderr
    assert "the wheel that was read had b2aca093" in done.stderr
    assert not (world.folder / "pylock.torch.toml").exists()
