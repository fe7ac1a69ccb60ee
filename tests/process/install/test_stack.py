"""CUDA packages beside torch: one environment that agrees, or a refusal; with real pip and uv."""

from __future__ import annotations

import json

import pytest

from tests.fakes.indexes import of_table
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from tests.process.install.installers import UV_AND_LATER_PIP
from tests.process.install.test_install import kind
from tests.skips import made_for_2_15

A100 = ("--gpu", "a100", "--driver", "535.183.01")


@pytest.fixture
def vllm(world: World) -> World:
    """Vllm as the table knows it: the newest for CUDA 13, 0.19.1 for CUDA 12."""
    host = world.wheels("download.pytorch.org")
    for torch, vision, audio, backends in (
        ("2.14.0", "0.29.0", "2.11.0", ("cu126", "cu130")),
        ("2.10.0", "0.25.0", "2.10.0", ("cu126", "cu128")),
    ):
        for each in backends:
            host.setdefault((each, "torch"), []).append(TinyWheel("torch", f"{torch}+{each}", TAG, ("filelock",)))
            for name, version in (("torchvision", vision), ("torchaudio", audio)):
                wheel = TinyWheel(name, f"{version}+{each}", TAG, ("torch",))
                host.setdefault((each, name), []).append(wheel)
    world.wheels("127.0.0.1")["vllm"] = [
        TinyWheel("vllm", "0.33.0", requires=("torch==2.14.0", "torchvision==0.29.0", "torchaudio==2.11.0")),
        TinyWheel("vllm", "0.19.1", requires=("torch==2.10.0", "torchvision==0.25.0", "torchaudio==2.10.0")),
    ]
    beside = of_table(
        "flashinfer-python", "humming-kernels", "nvidia-cutlass-dsl", "torchcodec", needed=("vllm", "flashinfer-python")
    )
    for wheel in beside:
        world.wheels("127.0.0.1").setdefault(wheel.name, []).append(wheel)
    return world


@made_for_2_15
@UV_AND_LATER_PIP
def test_a_package_moves_to_the_cuda_that_the_driver_carries(vllm: World, newest: str) -> None:
    python = vllm.environment(newest)

    done = vllm.install("vllm", "--installer", kind(newest), python=python, gpu=A100)

    found = vllm.installed(python)
    assert (found["vllm"], found["torch"]) == ("0.19.1", "2.10.0+cu128")
    assert (found["torchvision"], found["torchaudio"]) == ("0.25.0+cu128", "2.10.0+cu128")
    assert "vllm 0.19.1 is taken, not 0.33.0: needs libcudart.so.13" in done.stderr
    vllm.family_is_clean()


@UV_AND_LATER_PIP
def test_what_the_index_lacks_moves_the_run_as_it_moves_its_dry_run(world: World, newest: str) -> None:
    """A mirror that is days behind: the table's newest needs what it does not have yet."""
    host = world.wheels("download.pytorch.org")
    for torch, vision in (("2.14.0", "0.29.0"), ("2.13.0", "0.28.0")):
        for name, version in (("torch", torch), ("torchvision", vision), ("torchaudio", "2.11.0")):
            host.setdefault(("cu130", name), []).append(TinyWheel(name, f"{version}+cu130", TAG))
    world.wheels("127.0.0.1")["late"] = [
        TinyWheel("late", "0.33.0", requires=("torch==2.14.0", "filelock>=9999")),
        TinyWheel("late", "0.32.0", requires=("torch==2.13.0",)),
    ]
    python, a100 = world.environment(newest), ("--gpu", "a100", "--driver", "580.95.05")

    shown = world.install("late", "--installer", kind(newest), "--dry-run", python=python, gpu=a100)
    world.install("late", "--installer", kind(newest), python=python, gpu=a100)

    assert "late==0.32.0" in shown.stdout
    found = world.installed(python)
    assert (found["late"], found["torch"]) == ("0.32.0", "2.13.0+cu130")
    world.family_is_clean()


@pytest.mark.parametrize(
    ("newest", "words", "label"),
    [("uv", ("torch", "torchcodec"), "+cu126"), ("pip", ("torchcodec", "accelerate"), "")],
)
def test_what_is_installed_beside_torch_is_what_plan_says(
    world: World, newest: str, words: tuple[str, ...], label: str
) -> None:
    """Whether the wheel host has the judged version or your own index alone, and whatever newer ones lie there."""
    python = world.environment(newest)
    host, index = world.wheels("download.pytorch.org"), world.wheels("127.0.0.1")
    index["torchcodec"] = [TinyWheel("torchcodec", version, TAG, ("torch",)) for version in ("0.17.0", "0.13.0")]
    there = ("0.17.0+cu126", "0.13.0+cu126") if label else ("0.17.0+cu126",)
    host["cu126", "torchcodec"] = [TinyWheel("torchcodec", version, TAG, ("torch",)) for version in there]

    plan = world.torchpick("plan", "torch", "torchcodec", *A100, "--json", python=python)
    world.install(*words, "--installer", kind(newest), python=python, gpu=A100)

    assert json.loads(plan.stdout)["stack"]["requirements"] == ["torchcodec==0.13.0", "torch==2.14.1+cu126"]
    found = world.installed(python)
    assert (found["torchcodec"], found["torch"]) == (f"0.13.0{label}", "2.14.1+cu126")


def test_a_wheel_that_no_index_has_is_named_with_its_page_before_an_installer_starts(world: World) -> None:
    python = world.environment("uv")

    done = world.install("torch", "flash-attn", python=python, gpu=A100, status=1)

    assert "is on no index of yours: https://github.com/" in done.stderr
    assert {asked.path for asked in world.server.log} == {"/simple/flash-attn/"}
