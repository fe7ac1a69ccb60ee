"""Who may write a cache, an environment or a record: what is another's is not used, and what is one's own always is.

For root, and for an ordinary user where root runs the tests: each world is asked by a process of that user, which runs
all its commands and says what came of them.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement

import torchpick
from tests.attacks.project import GPU
from tests.skips import needs_root
from torchpick.knowledge import locations

USER, STRANGER = 4242, 4243
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
pytestmark = [pytest.mark.process, needs_root]
# Runs command lines and prints, for each, its status and what it said.
ASKER = """
import contextlib, io, json, os, sys
os.umask(int(sys.argv[2], 8))
from torchpick.cli import main
answers = []
for words in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    answers.append((status, out.getvalue(), err.getvalue()))
json.dump(answers, sys.stdout)
"""
LINES = {
    "url": ["url", *GPU], "plan": ["plan", "torch", "--offline", *GPU], "doctor": ["doctor", *GPU],
    "install": ["install", "torch", "--dry-run", "--offline", "--installer", "pip", *GPU],
    "lock": ["lock", "torch", "--offline", "-o", "pylock.toml", *GPU],
    "pin": ["pin", "--project", "pyproject.toml", "--offline", *GPU],
    "unpin": ["unpin", "--project", "pyproject.toml"],
    "env": ["env", "--offline", *GPU],
    "run": ["run", "--offline", *GPU, "true"],
}  # fmt: skip


class Said(NamedTuple):
    status: int
    out: str
    err: str


@cache
def python_of_all() -> str:
    """A Python of this version that an ordinary user may start, too."""
    for program in (sys.executable, f"/usr/bin/python{VERSION}"):
        line = [program, "-c", "import sys, json; print(sys.version_info[:2])"]
        try:
            done = subprocess.run(
                line, user=USER, group=USER, extra_groups=[], capture_output=True, text=True, check=False
            )
        except OSError:
            continue
        if done.stdout.strip() == str(sys.version_info[:2]):
            return program
    pytest.skip("no Python here that an ordinary user may start")


@cache
def packages() -> Path:
    """torchpick, what it needs, and pip, where every user may read: those of the tests may lie in a private folder."""
    folder = Path(tempfile.mkdtemp(prefix="torchpick-test-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder)
    shutil.copytree(str(Path(torchpick.__file__).parent), folder / "torchpick")
    for distribution in requirements("torchpick-cli", "pip"):
        for file in distribution.files or ():
            if file.parts[0] not in ("..", "torchpick"):
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), folder / file)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return folder


def requirements(*names: str) -> list[metadata.Distribution]:
    """The distributions of these names here, and of all that they require."""
    found: dict[str, metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found[name] = metadata.distribution(name)
            required = map(Requirement, found[name].requires or ())
            waiting += [each.name for each in required if not each.marker or each.marker.evaluate({"extra": ""})]
    return list(found.values())


def ask(
    who: int,
    folder: Path,
    *commands: str,
    umask: str = "022",
    words: Mapping[str, list[str]] = LINES,
    environ: Mapping[str, str] | None = None,
) -> dict[str, Said]:
    given = {
        "PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
        "TORCHPICK_CACHE_DIR": str(folder / "cache"), "TORCHPICK_COMPAT_DIR": str(folder / "compat"),
        "PYTHONPATH": str(packages()), "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": os.environ["SOURCE_DATE_EPOCH"],
        **(environ or {}),
    }  # fmt: skip
    done = subprocess.run(
        [python_of_all(), "-c", ASKER, json.dumps([words[name] for name in commands]), umask],
        cwd=folder / "project", env=given, user=who, group=who, extra_groups=[],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, (Said(*each) for each in json.loads(done.stdout)), strict=True))


def given_to(path: Path, owner: int) -> None:
    os.lchown(path, owner, owner)
    if path.is_dir() and not path.is_symlink():
        for each in path.iterdir():
            given_to(each, owner)


def environment(folder: Path) -> Path:
    """One whose interpreter leaves a mark."""
    site = folder / "lib" / f"python{VERSION}" / "site-packages"
    (folder / "bin").mkdir(parents=True)
    site.mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {VERSION}.4\n", "utf-8")
    program = folder / "bin" / "python"
    program.write_text(
        f'#!/bin/sh\necho "$(id -u)" >> "{folder.parent.parent}/tmp/started"\nexec "{python_of_all()}" "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    return folder


@pytest.fixture(params=[0, USER], ids=["root", "user"])
def who(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def world(who: int) -> Iterator[Path]:
    """A home, a project with an environment, and a cache, all of them one's own, where everybody may look."""
    folder = Path(tempfile.mkdtemp(prefix="torchpick-test-", dir="/tmp"))
    shutil.copytree(locations.shipped_dir(), folder / "compat")
    for name in ("home", "tmp", "cache/install", "project"):
        (folder / name).mkdir(parents=True)
    (folder / "project" / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch"]\n', "utf-8"
    )
    environment(folder / "project" / ".venv")
    given_to(folder, who)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def started(world: Path) -> bool:
    return (world / "tmp" / "started").exists()


def writable(path: Path) -> None:
    path.chmod(0o777)


def foreign(path: Path) -> None:
    given_to(path, STRANGER)


def of_a_group(path: Path) -> None:
    """A group that is nobody's own."""
    os.chown(path, -1, STRANGER)
    path.chmod(0o775)


LONG_GROUP = pytest.param(of_a_group, marks=pytest.mark.long)


def behind_a_link(path: Path) -> None:
    kept = path.with_name("elsewhere")
    path.rename(kept)
    path.symlink_to(kept)
    os.lchown(path, STRANGER, STRANGER)


@pytest.mark.parametrize("spoilt", [writable, foreign, LONG_GROUP])
@pytest.mark.parametrize("place", ["cache", pytest.param("cache/install", marks=pytest.mark.long)])
def test_a_foreign_cache_is_not_used(
    world: Path, who: int, place: str, spoilt: Callable[[Path], None], count: Callable[[str, int, int], None]
) -> None:
    spoilt(world / place)

    said = ask(who, world, "url", "install", "pin", "env", "run")

    used = [name for name, each in said.items() if f"{world / 'cache'}/install/" in each.out.replace("file://", "")]
    count(
        f"foreign {place} ({spoilt.__name__}) as {'root' if who == 0 else 'a user'}", len(said), len(said) - len(used)
    )
    assert used == []
    assert [said[name].status for name in ("url", "install", "pin")] == [0, 0, 0], said
    for name in ("env", "run"):
        assert said[name].status == 1
        assert f"others may write to {world / 'cache'}" in said[name].err
        assert "TORCHPICK_CACHE_DIR" in said[name].err


@pytest.mark.parametrize("spoilt", [writable, foreign, LONG_GROUP, behind_a_link])
def test_nothing_runs_in_a_foreign_environment(
    world: Path, who: int, spoilt: Callable[[Path], None], count: Callable[[str, int, int], None]
) -> None:
    spoilt(world / "project" / ".venv")

    said = ask(who, world, "url", "plan", "doctor", "install", "lock", "pin", "env", "run")

    count(
        f"foreign .venv ({spoilt.__name__}) as {'root' if who == 0 else 'a user'}",
        len(said),
        len(said) - started(world),
    )
    assert not started(world)
    for name in ("install", "lock", "pin"):
        assert said[name].status == 2, (name, said[name])
        assert f"{world / 'project' / '.venv'}, in which nothing is run" in said[name].err
        assert "`--python PATH`" in said[name].err
    for name in ("url", "plan", "env", "run"):
        assert said[name].status == 0, (name, said[name])


# ---- no false alarms ----


def all_work(said: dict[str, Said], world: Path) -> None:
    assert {name: each.status for name, each in said.items()} == dict.fromkeys(said, 0), said
    assert "others may write" not in "".join(each.err for each in said.values())
    assert "install" not in said or f"{world}/project/.venv/bin/python" in said["install"].out


EVERY = ("url", "plan", "install", "env", "run", "pin", "unpin")


def test_with_umask_002_and_a_private_group_all_is_ones_own(world: Path, who: int) -> None:
    for path in (world, *world.rglob("*")):
        if path.is_dir():
            path.chmod(0o775)
        elif not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o020)

    all_work(ask(who, world, *EVERY, umask="002"), world)
    all_work(ask(who, world, *EVERY, umask="002"), world)  # what the first wrote is group-writable, too


def test_ones_own_environment_in_a_project_of_a_group(world: Path, who: int) -> None:
    of_a_group(world / "project")

    all_work(ask(who, world, *EVERY), world)


def test_a_containers_root_takes_the_environment_of_a_user_that_it_is_given(world: Path, who: int) -> None:
    given_to(world / "project", USER)
    venv = str(world / "project" / ".venv")
    words = {name: [*line[:1], "--python", venv, *line[1:]] for name, line in LINES.items()}

    all_work(ask(who, world, *EVERY, words=words), world)


def test_a_module_clusters_pythonpath_and_user_site(world: Path, who: int) -> None:
    modules = world / "home" / "modules"
    modules.mkdir()
    (modules / "cluster.py").write_text("", "utf-8")
    given_to(modules, who)
    environ = {"PYTHONUSERBASE": str(world / "home" / ".local"), "LOADEDMODULES": "python/3.12:cuda/12.6"}
    path = os.pathsep.join([str(modules), str(packages())])

    all_work(ask(who, world, *EVERY, environ={**environ, "PYTHONPATH": path}), world)


def test_a_uv_project_with_an_index_of_its_own(world: Path, who: int) -> None:
    index = '\n[[tool.uv.index]]\nname = "own"\nurl = "https://own.example/simple"\n'
    with (world / "project" / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(index)

    said = ask(who, world, *EVERY)

    all_work(said, world)
    assert "pyproject.toml names https://own.example/simple" in said["env"].err
    assert index in (world / "project" / "pyproject.toml").read_text("utf-8")
