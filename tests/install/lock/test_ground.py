"""Which environments a lock is for."""

from __future__ import annotations

import sys

from torchpick.environment import requirements
from torchpick.environment.requirements import Given, Requirements
from torchpick.install.lock.ground import Ground, LockOrder, _applies, _wanted, aim_of
from torchpick.install.lock.resolution import Aim
from torchpick.model.lock import LockEnvironment
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.request import Request
from torchpick.session import Session


def machine(platform: str, python: str, glibc: str | None = None, executable: str | None = None) -> Machine:
    return Machine(Platform.parse(platform, glibc), Python(python, executable=executable), Driver("580.95.05"))


def order(given: Given = Given(("torch",)), installer: str = "auto", *, no_deps: bool = False) -> LockOrder:  # noqa: B008
    return LockOrder(given, installer, no_deps=no_deps, most=0)


def ground(**request: str) -> Ground:
    given = Given(("torch",))
    return Ground(Session(Request(**request), {}), order(given), Requirements(given))  # type: ignore[arg-type]  # words


def test_only_this_computer_is_resolved_for_with_its_own_interpreter() -> None:
    mine = machine("linux-x86_64", "3.12", "2.35", sys.executable)

    assert aim_of(mine, ground()).python == sys.executable
    assert aim_of(mine, ground(machine="fleet")).python is None
    assert aim_of(mine, ground(glibc="2.28")).python is None
    gone = machine("linux-x86_64", "3.12", "2.35", "/nowhere/python")
    assert aim_of(gone, ground()).python is None


def test_a_marker_is_judged_for_the_environment_of_the_lock() -> None:
    asked = requirements.read(Given(("torch; sys_platform == 'win32'", "numpy; sys_platform == 'darwin'")), {})

    found = _applies(asked, LockEnvironment("windows-x86_64", "3.12"), None)

    assert found == {'sys_platform == "win32"': True, 'sys_platform == "darwin"': False}


def test_uv_resolves_for_an_environment_elsewhere() -> None:
    here = ground()
    able = here._replace(session=Session(here.session.request, {"UV": sys.executable}))

    assert _wanted(able, Aim(LockEnvironment("windows-x86_64", "3.12"))) == "uv"
    assert _wanted(able, Aim(LockEnvironment("linux-x86_64", "3.12"), python=sys.executable)) == "auto"


def test_windows_and_macs_are_called_as_python_calls_them() -> None:
    def named(platform: str) -> str:
        return LockEnvironment(platform, "3.13").marker

    assert named("windows-arm64").startswith("sys_platform == 'win32' and platform_machine == 'ARM64'")
    assert named("macos-arm64").startswith("sys_platform == 'darwin' and platform_machine == 'arm64'")
