"""Requests as users write them: libraries that need torch, extras that pin it, files, projects, wheels."""

from __future__ import annotations

import hashlib

from tests.fakes.backend import project
from tests.process.install.conftest import World
from tests.process.install.installers import UV_AND_LATER_PIP
from tests.process.install.test_install import kind


def test_a_requirements_file_with_markers_nesting_and_an_index_line(world: World, newest: str) -> None:
    python = world.environment(newest)
    world.folder.joinpath("more.txt").write_text(
        "--extra-index-url https://download.pytorch.org/whl/cu130\nnumpy\n", "utf-8"
    )
    file = world.folder / "requirements with blank.txt"
    file.write_text(
        "# what we need\n"
        'torch<2.8 ; python_version < "3"\n'
        'torch>=2.0,<2.10 ; python_version >= "3"  # the other\n'
        "-r more.txt\n",
        "utf-8",
    )

    done = world.install("-r", str(file), "--installer", kind(newest), python=python)

    found = world.installed(python)
    assert found["torch"] == "2.9.1+cu126"
    world.family_is_at_home()
    assert f"https://download.pytorch.org/whl/cu130 ({world.folder / 'more.txt'}:1)" in done.stderr


def test_a_file_with_hashes_stays_in_force(world: World, newest: str) -> None:
    python = world.environment(newest)
    host, index = world.wheels("download.pytorch.org"), world.wheels("127.0.0.1")
    pinned = [
        next(wheel for wheel in host["cu126", "torch"] if wheel.version == "2.14.1+cu126"),
        *index["filelock"],
        next(
            each for each in (host["cu126", "triton"] if newest == "uv" else index["triton"]) if each.version == "3.8.0"
        ),
    ]
    lines = [f"{each.name}=={each.version} --hash=sha256:{hashlib.sha256(each.content).hexdigest()}" for each in pinned]
    file = world.folder / "locked.txt"
    file.write_text("\n".join(lines), "utf-8")

    world.install("-r", str(file), "--installer", kind(newest), python=python)

    assert world.installed(python)["torch"] == "2.14.1+cu126"


@UV_AND_LATER_PIP
def test_an_editable_project_and_its_sources_do_not_lead_elsewhere(world: World, newest: str) -> None:
    python = world.environment(newest)
    sources = (
        '[tool.uv.sources]\ntorch = { index = "other" }\n'
        '[[tool.uv.index]]\nname = "other"\nurl = "https://download.pytorch.org/whl/cu130"\nexplicit = true\n'
    )
    project(world.folder / "app", "app", ("torch>=2.0", "numpy"), sources)

    world.install("-e", "./app", "--installer", kind(newest), python=python)

    found = world.installed(python)
    assert (found["torch"], found["app"]) == ("2.14.1+cu126", "1.0")
    world.family_is_clean()


@UV_AND_LATER_PIP
def test_a_wheel_of_torch_itself_is_judged_and_taken(world: World, newest: str) -> None:
    python = world.environment(newest)
    host = world.wheels("download.pytorch.org")
    wheel = next(each for each in host["cu126", "torch"] if each.version == "2.9.1+cu126")
    file = world.folder / wheel.filename
    file.write_bytes(wheel.content)

    world.install(str(file), "--installer", kind(newest), python=python)

    assert world.installed(python)["torch"] == "2.9.1+cu126"


def test_a_wheel_of_torch_that_cannot_run_here_is_refused(world: World) -> None:
    python = world.environment("uv")
    host = world.wheels("download.pytorch.org")
    wheel = next(each for each in host["cu130", "torch"] if each.version == "2.14.1+cu130")

    done = world.install(f"torch @ https://download.pytorch.org/whl/cu130/{wheel.filename}", python=python, status=3)

    assert "sm_61" in done.stderr
