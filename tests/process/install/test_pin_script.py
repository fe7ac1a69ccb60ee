"""Scripts with inline metadata in the hands of real uv, pinned and put back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.process.install.conftest import GTX_1080_TI, World

SCRIPT = """\
#!/usr/bin/env python
# /// script
# requires-python = ">=3.10"
# dependencies = {dependencies}
#{blank}
# [tool.other]
# x = 1 # mine
{more}# ///
import importlib.metadata as m
print(m.version("torch"), m.version("numpy"))
"""


def script(world: World, dependencies: str, more: str = "", blank: str = " ") -> Path:
    file = world.folder / "train.py"
    file.write_text(SCRIPT.format(dependencies=dependencies, more=more, blank=blank), "utf-8")
    return file


def ran(world: World, file: Path) -> str:
    return world.run([world.installers.uv, "run", "--python", sys.executable, str(file)]).stdout.strip()


@pytest.mark.parametrize(
    ("dependencies", "torch", "more"),
    [
        ('["torch<2.12", "torchvision"]', "2.9.1+cu126", "# [tool.uv]\n# compile-bytecode = false # mine\n"),
        ('["accelerate"]', "2.14.1+cu126", ""),
    ],
)
def test_uv_run_takes_the_pick_and_unpin_leaves_no_byte(world: World, dependencies: str, torch: str, more: str) -> None:
    file = script(world, dependencies, more)
    before = file.read_bytes()
    # The stand-in for the wheel host has not every release that the table knows.
    narrowed = [f"torch=={torch.partition('+')[0]}"] if "<" in dependencies else []

    done = world.torchpick("pin", str(file), *narrowed, *GTX_1080_TI)
    pinned = file.read_bytes()
    again = world.torchpick("pin", str(file), *narrowed, *GTX_1080_TI)

    assert done.stdout == again.stdout == f"{file}\n"
    assert file.read_bytes() == pinned
    assert ran(world, file) == f"{torch} 2.0.0"
    world.family_is_clean(triton=False)

    world.torchpick("unpin", str(file))
    assert file.read_bytes() == before
    assert "nothing was pinned" in world.torchpick("unpin", str(file)).stderr


def test_from_a_mirror_and_below_somebody_elses_package(world: World) -> None:
    file = script(world, '["accelerate"]')
    base = f"{world.server.url}/whl"
    world.server.sites["127.0.0.1"] = _both(world)

    world.torchpick("pin", str(file), *GTX_1080_TI, "--index-base", base)

    assert ran(world, file) == "2.14.1+cu126 2.0.0"


def _both(world: World):  # type: ignore[no-untyped-def]  # noqa: ANN202 # a site
    user, host = world.server.sites["127.0.0.1"], world.server.sites["download.pytorch.org"]
    return lambda path: host(path) if path.startswith("/whl/") else user(path)


def test_lines_that_end_as_on_windows_stay_so(world: World) -> None:
    file = script(world, '["torch"]')
    before = file.read_bytes().replace(b"\n", b"\r\n")
    file.write_bytes(before)

    world.torchpick("pin", str(file), *GTX_1080_TI)
    assert b"+cu126" in file.read_bytes()
    world.torchpick("unpin", str(file))

    assert file.read_bytes() == before
