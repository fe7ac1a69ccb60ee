"""Real pip and real uv against the wheel host on loopback: what comes from where, and what it replaces."""

from __future__ import annotations

import json

import pytest

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import TAG, World
from tests.process.install.installers import NAMES, UV_AND_LATER_PIP


def kind(installer: str) -> str:
    return "uv" if installer == "uv" else "pip"


@pytest.mark.parametrize("installer", NAMES)  # the oldest pip too, which elsewhere takes part in the long runs
def test_a_fresh_environment_gets_the_pick_and_its_companions(world: World, installer: str) -> None:
    python = world.environment(installer)

    world.install("torch", "torchvision", "numpy", "--installer", kind(installer), python=python)

    found = world.installed(python)
    assert found["torch"] == "2.14.1+cu126"
    assert found["torchvision"] == "0.29.1+cu126"
    assert found["numpy"] == "2.0.0"
    assert found["filelock"] == "3.20.0"
    assert world.sources()["torch"] == {"wheel host"}
    assert world.sources()["numpy"] == {"user"}
    world.family_is_clean()


def test_another_build_of_the_same_version_is_replaced_and_then_left_alone(world: World, installer: str) -> None:
    python = world.environment(installer, "torch==2.14.1+cu130", "torchvision==0.29.1+cu130")

    world.install("torch", "--installer", kind(installer), python=python)

    assert world.installed(python)["torch"] == "2.14.1+cu126"
    assert world.installed(python)["torchvision"] == "0.29.1+cu126", "its companion was left behind"
    before = world.installed(python)
    world.server.log.clear()

    world.install("torch", "--installer", kind(installer), python=python)

    assert world.installed(python) == before
    assert world.sources() == {}


def test_pip_takes_triton_from_the_wheel_host_wherever_that_is_asked_anyway(world: World) -> None:
    world.wheels("127.0.0.1")["triton"] = [TinyWheel("triton", "3.8.0", f"9evil-{TAG}")]
    for word in ("torch", "accelerate"):
        python = world.installers.environment(world.folder / f"venv-{word}", "pip")
        world.server.log.clear()

        world.install(word, "--installer", "pip", python=python)

        assert world.sources()["triton"] == {"wheel host"}, word
        world.family_is_clean()


@UV_AND_LATER_PIP
def test_the_command_of_a_dry_run_can_be_run_as_it_is(world: World, newest: str) -> None:
    python = world.environment(newest)
    words = ("torch", "torchvision", "--dry-run", "--installer", kind(newest))
    line = world.install(*words, python=python).stdout.splitlines()[0]

    world.run(["sh", "-c", line])

    installed = world.installed(python)
    assert (installed["torch"], installed["torchvision"]) == ("2.14.1+cu126", "0.29.1+cu126")
    world.family_is_clean(triton=False)


@UV_AND_LATER_PIP
def test_json_is_one_object_and_the_installer_talks_on_stderr(world: World, newest: str) -> None:
    python = world.environment(newest)

    done = world.install("torch", "--json", "--installer", kind(newest), python=python)

    answer = json.loads(done.stdout)
    assert answer["installer"] == {"name": kind(newest), "status": 0}
    assert answer["pick"]["version"] == "2.14.1+cu126"
    assert "torch" in done.stderr


@UV_AND_LATER_PIP
def test_the_triton_of_a_rocm_build_comes_from_the_wheel_host_alone(world: World, newest: str) -> None:
    """Somebody else may publish that name on another index, in the very version that torch asks for."""
    python = world.environment(newest)
    wheels = world.wheels("download.pytorch.org")
    wheels["rocm7.1", "torch"] = [TinyWheel("torch", "2.13.0+rocm7.1", TAG, ("filelock", "triton-rocm==3.7.0"))]
    wheels["rocm7.1", "triton-rocm"] = [TinyWheel("triton-rocm", "3.7.0", TAG)]
    world.wheels("127.0.0.1")["triton-rocm"] = [TinyWheel("triton-rocm", "3.7.0")]

    world.install(
        "torch<2.14", "--installer", kind(newest), python=python, gpu=("--gpu", "gfx1100", "--backend", "rocm7.1")
    )

    assert world.installed(python)["torch"] == "2.13.0+rocm7.1"
    assert world.sources()["triton-rocm"] == {"wheel host"}
