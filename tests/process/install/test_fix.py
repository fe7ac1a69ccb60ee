"""`torchpick doctor --fix` from end to end: a broken environment, the real installer, and an examination after it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import rmtree

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, VARIABLES, World
from tests.process.install.installers import uv_and_later_pip

NO_GPU = ("--gpu", "none")


def broken(world: World, installer: str, torch: str, vision: str) -> Path:
    """An environment with these two, whatever they say of one another."""
    python = world.environment(installer, torch)
    backend = torch.rpartition("+")[2]
    words = ["--python", python, "--torch-backend", backend, "--no-deps", vision]
    world.run([world.installers.uv, "pip", "install", *words, "numpy"])
    world.server.log.clear()
    return python


def fixed(world: World, python: Path, installer: str, *machine: str) -> subprocess.CompletedProcess[str]:
    """Doctor finds errors, fixes them, and finds none any more; another run says the same."""
    doctor = [*world.torchpick_words, "doctor", "--python", python, *machine]
    environ = VARIABLES[installer]
    world.run(doctor, status=3, environ=environ)
    done = world.run([*doctor, "--fix"], status=0, environ=environ)
    world.run(doctor, status=0, environ=environ)
    world.family_is_clean()
    assert ("Using Python" in done.stderr) == (installer == "uv"), "the other installer did it"
    return done


@uv_and_later_pip("installer")
def test_a_companion_of_another_release_on_a_login_node(host: World, installer: str) -> None:
    """No GPU to judge by: the environment keeps its own backend, and nothing turns into a CPU build."""
    python = broken(host, installer, "torch==2.14.1+cu126", "torchvision==0.22.1+cu126")

    done = fixed(host, python, installer, *NO_GPU)

    assert "COMPANION_MISMATCH" in done.stdout
    there = host.installed(python)
    assert (there["torch"], there["torchvision"]) == ("2.14.1+cu126", "0.29.1+cu126")


def test_a_build_without_code_for_the_gpu(host: World) -> None:
    python = broken(host, "pip", "torch==2.14.1+cu130", "torchvision==0.29.1+cu130")

    done = fixed(host, python, "pip", *GTX_1080_TI)

    assert "NO_KERNELS" in done.stdout
    there = host.installed(python)
    assert (there["torch"], there["torchvision"]) == ("2.14.1+cu126", "0.29.1+cu126")


def test_a_torch_that_lost_a_folder(host: World) -> None:
    python = broken(host, "pip", "torch==2.14.1+cu126", "torchvision==0.29.1+cu126")
    (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
    rmtree(site / "torch" / "nn")
    before = host.installed(python)
    host.wheels("127.0.0.1")["filelock"].append(TinyWheel("filelock", "3.99"))

    done = fixed(host, python, "pip", *GTX_1080_TI)

    assert "torch/nn/" in done.stdout
    assert host.installed(python) == before, "a dependency moved to its newest"
    assert (site / "torch" / "nn" / "__init__.py").exists()
