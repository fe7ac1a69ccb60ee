"""Which host each file comes from: checked before the installer starts wherever a resolution has named the files."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, TAG, World
from tests.process.install.installers import UV_AND_LATER_PIP
from tests.process.install.test_install import kind

# A GPU for which the first resolution finds the pick itself, so that no second one is run.
NUMBERED = """
import sys
from torchpick.install import reporting
real = reporting.capture_command
def counted(*words, **more):
    print("RESOLVED", file=sys.stderr)
    return real(*words, **more)
reporting.capture_command = counted
from torchpick.cli import main
raise SystemExit(main())
"""


def resolutions(world: World, *words: str, python: Path) -> int:
    """How often the installer's resolver was run for this installation."""
    command = [sys.executable, "-c", NUMBERED, "install", *words, *GTX_1080_TI, "--python", str(python)]
    return world.run([*command]).stderr.splitlines().count("RESOLVED")


@UV_AND_LATER_PIP
def test_a_proof_costs_one_resolution(world: World, newest: str) -> None:
    python = world.environment(newest)
    words = ("accelerate", "--dry-run", "--quiet", "--installer", kind(newest))

    bare = resolutions(world, *words, python=python)
    proven = resolutions(world, *words, "--prove", python=python)

    assert (bare, proven) == (0, 1)


def test_torch_alone_is_named_by_its_address_and_resolves_nothing(world: World, installer: str) -> None:
    python = world.environment(installer)
    words = ("torch", "torchvision", "--dry-run", "--quiet", "--installer", kind(installer))

    assert resolutions(world, *words, python=python) == 0


@UV_AND_LATER_PIP
def test_a_library_that_names_a_torch_of_its_own_by_address_is_refused(world: World, newest: str) -> None:
    """Where the installer itself would take it: uv refuses such an address by itself."""
    python = world.environment(newest)
    bad = TinyWheel("torch", "2.14.1+cu126", TAG, ("filelock",))
    world.wheels("localhost")["torch"] = [bad]
    address = f"{world.private.replace('/simple/', '/files/')}{bad.filename}"
    world.wheels("127.0.0.1")["leading"] = [TinyWheel("leading", "1.0", requires=(f"torch @ {address}",))]

    done = world.install("leading", "--installer", kind(newest), python=python, status=None)

    assert done.returncode in (1, 3)
    assert world.installed(python) == {}


@UV_AND_LATER_PIP
def test_a_file_of_the_wheel_host_that_the_user_names_is_the_users(world: World, newest: str) -> None:
    python = world.environment(newest)
    shadow = TinyWheel("numpy", "9999.0.0")
    words = (f"numpy @ https://download.pytorch.org/whl/cu126/{shadow.filename}", "accelerate")

    world.install(*words, "--installer", kind(newest), python=python)

    assert world.installed(python)["numpy"] == "9999.0.0"
