"""A file with other bytes behind a right page: it is installed where plain pip installs it, and nowhere else.

Whatever is swapped (torch, a companion, triton, a dependency), whoever installs, by whichever command: where the page
has a hash nothing of it gets in. Where the wheel host's page has none, pip and uv take what they are sent; torchpick
says so, and makes no lock of it.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.fakes.indexes import FILE_HOST, WHEEL_HOST
from tests.fakes.loopback import Answer, Site
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, World, wheel_host
from tests.process.install.installers import NEWEST

FAMILY = ("torch", "torchvision")
SWAPPED = (*FAMILY, "triton", "filelock")
COMMANDS = ("install", "env", "pin", "run", "lock")
# uv keeps no settings for one environment, so that there is nothing to pin for it.
MATRIX = [
    pytest.param(command, newest, marks=() if command == "install" else pytest.mark.long)
    for command in COMMANDS
    for newest in NEWEST
    if (command, newest) != ("pin", "uv")
]


def evil(wheel: TinyWheel) -> TinyWheel:
    return wheel._replace(files={**wheel.files, "evil/__init__.py": ""})


def swapped(site: Site, project: str) -> Site:
    """The site with other bytes in the files of a project; its pages stay as they are."""
    wheels = {wheel.filename: wheel for found in site.wheels.values() for wheel in found}  # type: ignore[attr-defined]

    def answer(path: str) -> Answer:
        found, wheel = site(path), wheels.get(path.rpartition("/")[2])
        is_it = wheel is not None and wheel.name == project and found.status == 200
        return Answer(200, evil(wheel).content) if wheel is not None and is_it else found

    return answer


def tried(world: World, command: str, newest: str, folder: Path) -> tuple[Path, list[CompletedProcess[str]]]:
    """The environment after torch and torchvision were to be installed in it, and what the runs said."""
    python = world.installers.environment(folder / "venv", newest)
    told = [*GTX_1080_TI, "--python", str(python)]
    pip = [str(python), "-m", "pip", "install"]
    uv = [world.installers.uv, "pip", "install", "--python", str(python)]
    plain = pip if newest == "pip" else uv
    ours = world.torchpick_words
    lock = folder / "pylock.toml"
    lines: dict[str, list[list[str]]] = {
        "install": [[*ours, "install", *FAMILY, *told, "--installer", newest]],
        "run": [[*ours, "run", *told, *plain, *FAMILY]],
        "env": [["sh", "-c", f'eval "$({shlex.join([*ours, "env", *told])})" && {shlex.join([*plain, *FAMILY])}']],
        "pin": [[*ours, "pin", *told], [*plain, *FAMILY]],
        "lock": [[*ours, "lock", *FAMILY, *told, "--installer", newest, "-o", str(lock)], [*plain, "-r", str(lock)]],
    }
    environ = {"PIP_CACHE_DIR": str(folder / "pip"), "UV_CACHE_DIR": str(folder / "uv")}
    environ["TORCHPICK_CACHE_DIR"] = str(folder / "cache")
    return python, [world.run([*line], status=None, environ=environ) for line in lines[command]]


def got_in(python: Path) -> bool:
    return any((python.parent.parent / "lib").glob("python*/site-packages/evil"))


@pytest.mark.parametrize(
    "names", [("torch", "filelock"), pytest.param(("torchvision", "triton"), marks=pytest.mark.long)]
)
@pytest.mark.parametrize(("command", "newest"), MATRIX)
def test_where_a_page_has_a_hash_no_other_file_gets_in(
    world: World,
    command: str,
    newest: str,
    names: tuple[str, ...],
    tmp_path: Path,
    count: Callable[[str, int, int], None],
) -> None:
    honest = dict(world.server.sites)
    failures = []
    for name in names:
        world.server.sites = {host: swapped(site, name) for host, site in honest.items()}
        python, done = tried(world, command, newest, tmp_path / name)
        if got_in(python) or done[-1].returncode == 0:
            failures.append(f"{name}: {world.installed(python)}\n{done[-1].stderr[-600:]}")
    world.server.sites = honest
    python, done = tried(world, command, newest, tmp_path / "honest")

    count(f"swapped files by {command} with {newest}", len(names), len(names) - len(failures))
    assert not failures, "\n\n".join(failures)
    assert [each.returncode for each in done] == [0] * len(done), done[-1].stderr
    assert {*world.installed(python)} >= {*SWAPPED}


@pytest.mark.parametrize(("command", "newest"), MATRIX)
def test_where_a_page_has_none_it_is_said_and_never_locked(
    world: World, command: str, newest: str, tmp_path: Path
) -> None:
    bare = wheel_host(hashes=False)
    for name in FAMILY:
        world.server.sites |= dict.fromkeys((WHEEL_HOST, FILE_HOST), swapped(bare, name))

        python, done = tried(world, command, newest, tmp_path / name)

        assert got_in(python) is (command != "lock"), done[-1].stderr
        said = "gives a sha256 for" if command == "lock" else "has no known sha256"
        assert f"{said}" in done[0].stderr, done[0].stderr
        assert "torch-2.14.1+cu126" in done[0].stderr.replace("%2B", "+")


@pytest.mark.parametrize(
    "command", ["install", *(pytest.param(name, marks=pytest.mark.long) for name in ("env", "lock"))]
)
def test_a_mirrors_page_that_lists_a_swapped_file_is_refused_where_others_saw_the_right_one(
    world: World, command: str, tmp_path: Path
) -> None:
    mirror = wheel_host()
    mirror.files_at = world.private.removesuffix("/simple/")
    [right] = mirror.wheels["cu126", "torch"][:1]
    known = {"cu126": {right.filename: hashlib.sha256(right.content).hexdigest()}}
    (tmp_path / "compat" / "files.json").write_text(json.dumps({"schema": 1, "files": known}), "utf-8")
    environ = world.environ
    environ["TORCHPICK_INDEX_BASE"] = f"{mirror.files_at}/whl"
    world.server.sites["localhost"] = mirror
    _, [first, *_] = tried(world, command, "pip", tmp_path / "honest")
    mirror.wheels["cu126", "torch"][0] = evil(right)

    python, done = tried(world, command, "pip", tmp_path / "swapped")

    assert first.returncode == 0, first.stderr
    assert done[-1].returncode != 0
    assert f"public locks have {known['cu126'][right.filename]}" in done[0].stderr
    assert not got_in(python)
