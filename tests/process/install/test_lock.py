"""Locks by real uv and real pip against the wheel host on loopback, installed by both with nothing else in reach."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests import envelope
from tests.fakes.indexes import FILE_HOST, WHEEL_HOST
from tests.fakes.loopback import Answer
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, TAG, World
from tests.process.install.installers import NEWEST, uv_and_later_pip
from torchpick.model.address import is_wheel_host

HOSTS = (WHEEL_HOST, FILE_HOST)
FILE = "pylock.torch.toml"


def packages_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    """The packages of a lock by name."""
    answer = json.loads(done.stdout)
    assert envelope.faults(answer) == []
    return {package["name"]: package for package in answer["lock"]["packages"]}


def locked(world: World, *words: str) -> dict[str, dict[str, Any]]:
    return packages_of(world.torchpick("lock", *words, "--json"))


def installed(world: World, tool: str, *, status: int | None = 0) -> tuple[str, dict[str, str]]:
    """What the tool says and what it installs from the lock into a fresh environment; no index is named to it."""
    python = world.environment(tool)
    nowhere = dict.fromkeys(("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), "http://127.0.0.1:9/simple")
    with_uv = (world.installers.uv, "pip", "install", "--python", python)
    command = (*(with_uv if tool == "uv" else (python, "-m", "pip", "install")), "-r", FILE)
    done = world.run(command, status=status, environ={**nowhere, "PYTHONPATH": "", "NO_PROXY": "127.0.0.1"})
    return done.stderr, world.installed(python)


def urls(package: Mapping[str, Any]) -> list[str]:
    assert all(len(file["sha256"]) == 64 for file in package["files"])
    return [file["url"] for file in package["files"]]


def change(world: World, changed: Callable[[str, Answer], Answer]) -> None:
    """The wheel host answers so instead."""
    site = world.server.sites[WHEEL_HOST]
    world.server.sites.update(dict.fromkeys(HOSTS, lambda path: changed(path, site(path))))


@pytest.mark.parametrize("resolver", NEWEST)
def test_a_lock_of_either_resolver_installs_with_both_tools(world: World, resolver: str) -> None:
    done = world.torchpick("lock", "torch", "torchvision", *GTX_1080_TI, "--installer", resolver, "-o", FILE)

    assert done.stdout == f"{FILE}\n"
    expected = {
        "torch": "2.14.1+cu126", "torchvision": "0.29.1+cu126", "triton": "3.8.0", "numpy": "2.0.0",
        "filelock": "3.20.0",
    }  # fmt: skip
    for tool in NEWEST:
        _, found = installed(world, tool)
        assert found == expected
        family = {asked.path.rpartition("/")[2].partition("-")[0] for asked in world.server.log if asked.host in HOSTS}
        assert family == {"torch", "torchvision", "triton"}
        assert not [asked for asked in world.server.log if asked.path.endswith("/")], "an index was asked"


@pytest.mark.parametrize("resolver", NEWEST)
def test_the_family_comes_from_the_wheel_host_and_all_else_from_the_users_index(world: World, resolver: str) -> None:
    found = locked(world, "torch", "torchcodec", "numpy", *GTX_1080_TI, "--installer", resolver)

    assert found["torchcodec"]["version"] == "0.13.0+cu126"
    for name, package in found.items():
        (url,) = urls(package)
        assert is_wheel_host(url) == (name in ("torch", "torchcodec", "triton")), url


@uv_and_later_pip("tool")
def test_a_flipped_byte_in_a_wheel_is_refused(world: World, tool: str) -> None:
    def flipped(path: str, answer: Answer) -> Answer:
        if not path.endswith(".whl") or "/torch-" not in path:
            return answer
        place = 10  # the time of the first member: the archive is as good as before, and only its hash is another
        return answer._replace(body=answer.body[:place] + bytes([answer.body[place] ^ 1]) + answer.body[place + 1 :])

    world.torchpick("lock", "torch", *GTX_1080_TI)
    change(world, flipped)

    said, found = installed(world, tool, status=None)

    assert "torch" not in found
    assert "hash" in said.lower()


def test_a_build_without_a_label_is_the_wheel_hosts_and_not_another_indexs(world: World) -> None:
    tag = "cp312-cp312-{}_aarch64"
    world.wheels(WHEEL_HOST)["cu124", "torch"] = [TinyWheel("torch", "2.5.1", tag.format("linux"), ("filelock",))]
    world.wheels("127.0.0.1")["torch"] = [TinyWheel("torch", "2.5.1", tag.format("manylinux2014"), ("numpy",))]
    gh200 = ("--gpu", "sm_90", "--driver", "560.28.03", "--platform", "linux-aarch64", "--python", "3.12")

    found = locked(world, "torch==2.5.1", "--backend", "cu124", *gh200)

    assert set(found) == {"torch", "filelock"}, "the other build's needs"
    assert is_wheel_host(urls(found["torch"])[0])
    assert found["torch"]["version"] == "2.5.1"


@uv_and_later_pip("resolver")
def test_the_default_indexs_own_torch_is_locked_from_the_users_index(world: World, resolver: str) -> None:
    world.wheels("127.0.0.1")["torchvision"] = [TinyWheel("torchvision", "0.22.1", TAG, ("torch==2.7.1",))]
    words = ("torch", "torchvision", "mylib", "--backend", "default", *GTX_1080_TI)

    found = locked(world, *words, "--installer", resolver, "-o", FILE)

    versions = {name: package["version"] for name, package in found.items()}
    assert versions == {"torch": "2.7.1", "torchvision": "0.22.1", "filelock": "3.20.0", "mylib": "1.0"}
    assert all(url.startswith(world.server.url) for package in found.values() for url in urls(package))
    assert installed(world, resolver)[1] == versions
    assert not [asked for asked in world.server.log if asked.host in HOSTS]


def test_a_lock_is_refused_in_an_environment_it_is_not_for(world: World) -> None:
    windows = TAG.replace("manylinux_2_28_x86_64", "win_amd64")
    world.wheels(WHEEL_HOST)["cu126", "torch"] = [TinyWheel("torch", "2.14.1+cu126", windows, ("filelock",))]
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    world.torchpick("lock", "torch", "--platform", "windows-x86_64", "--python", python, *GTX_1080_TI)

    for tool in NEWEST:
        said, found = installed(world, tool, status=None)
        assert found == {}
        assert "environments specified" in said or "target environment is not supported" in said


def test_a_folder_of_wheels_is_a_mirror_and_needs_no_network(world: World) -> None:
    shelf = world.folder / "mirror" / "cu126"
    shelf.mkdir(parents=True)
    for (_, name), wheels in world.wheels(WHEEL_HOST).items():
        for wheel in wheels if name in ("torch", "triton") else ():
            (shelf / wheel.filename).write_bytes(wheel.content)
    base = shelf.parent.as_uri()

    for tool in NEWEST:
        found = locked(world, "torch", *GTX_1080_TI, "--index-base", base, "--installer", tool, "-o", FILE)
        assert urls(found["torch"])[0].startswith(f"{base}/cu126/torch-2.14.1")
        assert installed(world, tool)[1]["torch"] == "2.14.1+cu126"
