"""Plain pip and plain uv in a shell that `torchpick env` prepared."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.process.install.conftest import GTX_1080_TI, World

CU130 = "https://download.pytorch.org/whl/cu130"


def plain(world: World, python: Path, installer: str, *words: str) -> str:
    """A plain installation command for the environment, without torchpick."""
    start = [world.installers.uv, "pip", "install", "--python", python]
    return shlex.join(map(str, [*(start if installer == "uv" else [python, "-m", "pip", "install"]), *words]))


def prepared(world: World, *words: str) -> str:
    return f'eval "$({shlex.join([*world.torchpick_words, "env", *GTX_1080_TI, *words])})"'


def test_both_installers_keep_the_choice_one_after_the_other(world: World) -> None:
    python = world.environment("pip")
    line = prepared(world)
    world.run(["sh", "-c", f"{line} && {plain(world, python, 'pip', 'torch', 'torchvision')}"])
    before = world.installed(python)

    world.run(["sh", "-c", f"{line} && {plain(world, python, 'uv', '-U', 'torch', 'accelerate')}"])
    world.run(["sh", "-c", f"{line} && {plain(world, python, 'pip', '-U', 'torch', 'mylib')}"])

    after = world.installed(python)
    assert {name: after[name] for name in before} == before
    assert after["mylib"] == "1.0"
    world.family_is_clean()
    world.server.log.clear()
    world.run(["sh", "-c", line])
    assert world.server.log == [], "what was read once is known"


def test_paths_with_blanks_and_quotes_reach_both(world: World, newest: str) -> None:
    python = world.environment(newest)
    odd = world.folder / 'it\'s a "cache" $HOME'

    world.run(
        ["sh", "-c", f"{prepared(world)} && {plain(world, python, newest, 'torch')}"],
        environ={"TORCHPICK_CACHE_DIR": str(odd)},
    )

    assert world.installed(python)["torch"] == "2.14.1+cu126"
    assert list(odd.rglob("constraints-*.txt"))


def test_the_users_own_indexes_constraints_and_links_stay(world: World, newest: str) -> None:
    python = world.environment(newest)
    limits = world.folder / "own.txt"
    limits.write_text("numpy<2\n", "utf-8")
    environ = {
        "PIP_EXTRA_INDEX_URL": f"{CU130} {world.private}", "UV_INDEX": f"{world.private} {CU130}",
        "PIP_CONSTRAINT": str(limits), "UV_CONSTRAINT": str(limits),
    }  # fmt: skip

    world.run(
        ["sh", "-c", f"{prepared(world)} && {plain(world, python, newest, 'torch', 'inhouse', 'numpy')}"],
        environ=environ,
    )

    found = world.installed(python)
    assert (found["torch"], found["inhouse"], found["numpy"]) == ("2.14.1+cu126", "3.1", "1.0.0")
    world.family_is_at_home()


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
def test_fish_reads_its_lines(world: World) -> None:
    lines = world.torchpick("env", *GTX_1080_TI, "--shell", "fish").stdout

    done = subprocess.run(
        ["fish", "-c", f"{lines}\ncat (string replace file:// '' $UV_CONSTRAINT)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert "/torch-2.14.1%2Bcu126-" in done.stdout


def test_the_lines_of_an_image_write_the_files_that_they_name(world: World) -> None:
    """Each RUN line in a real shell, as a builder would run it; docker itself is not needed for that."""
    text = world.torchpick("env", *GTX_1080_TI, "--shell", "dockerfile").stdout
    runs, variables = [], {}
    for line in text.replace("\\\n", "").splitlines():
        word, _, rest = line.partition(" ")
        if word == "RUN":
            runs.append(rest.replace("/opt/torchpick", str(world.folder / "image")))
        else:
            name, _, value = rest.partition("=")
            variables[name] = value.strip('"').replace("/opt/torchpick", str(world.folder / "image"))

    for run in runs:
        world.run(["sh", "-c", run])
    python = world.environment("pip")
    world.run([python, "-m", "pip", "install", "accelerate"], environ=variables)

    assert world.installed(python)["torch"] == "2.14.1+cu126"
