"""Which environments a lock is for."""

from __future__ import annotations

import sys

from torchpick.environment import requirements
from torchpick.environment.requirements import Given, Requirements
from torchpick.install.lock.ground import Ground, LockOrder, _applies, _wanted, aims_of
from torchpick.install.lock.resolution import Aim
from torchpick.model.lock import LockEnvironment
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.request import Request
from torchpick.session import Session


def machine(platform: str, python: str, glibc: str | None = None, executable: str | None = None) -> Machine:
    return Machine(Platform.parse(platform, glibc), Python(python, executable=executable), Driver("580.95.05"))


def order(given: Given = Given(("torch",)), installer: str = "auto", *, no_deps: bool = False) -> LockOrder:  # noqa: B008
    return LockOrder(given, installer, no_deps=no_deps, each=False, most=0)


def ground(**request: str) -> Ground:
    given = Given(("torch",))
    return Ground(Session(Request(**request), {}), order(given), Requirements(given))  # type: ignore[arg-type]  # words


def test_machines_that_are_alike_share_an_environment_with_the_oldest_glibc() -> None:
    fleet = (
        machine("linux-x86_64", "3.12", "2.35"),
        machine("windows-x86_64", "3.12"),
        machine("linux-x86_64", "3.12", "2.9"),
        machine("linux-x86_64", "3.13", "2.39"),
    )

    found = aims_of(fleet, ground(machine="fleet"))

    assert [(place, aim.environment.label, aim.glibc) for place, aim in found] == [
        (0, "Python 3.12 on linux-x86_64", "2.9"),
        (1, "Python 3.12 on windows-x86_64", None),
        (3, "Python 3.13 on linux-x86_64", "2.39"),
    ]
    assert not any(aim.python for _, aim in found)


def test_only_this_computer_is_resolved_for_with_its_own_interpreter() -> None:
    mine = (machine("linux-x86_64", "3.12", "2.35", sys.executable),)

    assert aims_of(mine, ground())[0][1].python == sys.executable
    assert aims_of(mine, ground(machine="fleet"))[0][1].python is None
    assert aims_of(mine, ground(glibc="2.28"))[0][1].python is None
    gone = (machine("linux-x86_64", "3.12", "2.35", "/nowhere/python"),)
    assert aims_of(gone, ground())[0][1].python is None


def test_a_marker_holds_where_it_holds_for_any_environment() -> None:
    asked = requirements.read(Given(("torch; sys_platform == 'win32'", "numpy; sys_platform == 'darwin'")), {})
    there = [LockEnvironment(name, "3.12") for name in ("linux-x86_64", "windows-x86_64")]

    assert _applies(asked, there, None) == {'sys_platform == "win32"': True, 'sys_platform == "darwin"': False}
    assert not any(_applies(asked, there[:1], None).values())


def test_uv_resolves_for_an_environment_elsewhere() -> None:
    elsewhere = [(0, Aim(LockEnvironment("windows-x86_64", "3.12")))]
    here = ground()
    able = here._replace(session=Session(here.session.request, {"UV": sys.executable}))

    assert _wanted(able, elsewhere) == "uv"
    assert _wanted(able, [(0, Aim(LockEnvironment("linux-x86_64", "3.12"), python=sys.executable))]) == "auto"
