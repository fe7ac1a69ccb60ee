"""Where a lock is for, and who resolves there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.installers.test_commands import PICK, job
from torchpick.environment.requirements import Given
from torchpick.errors import InstallerError, UsageError
from torchpick.install.lock import ground
from torchpick.install.lock.ground import LockInstallation, LockInstaller
from torchpick.install.plan import Order
from torchpick.installers.command import Command
from torchpick.installers.uv import UvInstaller
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.request import Request
from torchpick.session import Session

HERE = Request(gpus=("sm_61",), driver="580.95.05", python=sys.executable)
THERE = Request(gpus=("sm_61",), driver="580.95.05", platform="windows-x86_64", python="3.12")


def machine(platform: str, glibc: str | None = None) -> Machine:
    return Machine(Platform.parse(platform, glibc), Python("3.12"), Driver("580.95.05"))


@pytest.fixture
def uv(tmp_path: Path) -> dict[str, str]:
    """A uv that is there and never started."""
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\nexit 99\n")
    program.chmod(0o755)
    return {"UV": str(program), "TORCHPICK_CACHE_DIR": str(tmp_path / "cache")}


def look(request: Request, environ: dict[str, str], installer: str = "auto", *words: str) -> LockInstallation:
    return ground.look(Session(request, environ), Order(Given(words or ("torch",)), installer))


@pytest.mark.parametrize(
    ("platform", "glibc", "said"),
    [
        ("linux-x86_64", "2.35", "x86_64-manylinux_2_35"),
        ("linux-x86_64", "2.30", "x86_64-manylinux_2_28"),
        ("linux-x86_64", "2.31", "x86_64-manylinux_2_31"),
        ("linux-aarch64", None, "aarch64-manylinux_2_28"),
        ("linux-x86_64", "2.99", "x86_64-manylinux_2_40"),
        ("linux-x86_64", "2.5", "x86_64-manylinux_2_17"),
        ("windows-x86_64", None, "x86_64-pc-windows-msvc"),
        ("windows-arm64", None, "aarch64-pc-windows-msvc"),
        ("macos-arm64", None, "aarch64-apple-darwin"),
        ("macos-x86_64", None, "x86_64-apple-darwin"),
    ],
)
def test_uv_is_given_the_platform_with_no_newer_glibc(platform: str, glibc: str | None, said: str) -> None:
    assert ground.uv_platform(machine(platform, glibc)) == said


@pytest.mark.parametrize(
    ("tags", "oldest"),
    [
        (("macosx_14_0_arm64",), "14.0"),
        (("manylinux_2_28_x86_64", "macosx_11_3_x86_64"), "11.3"),
        (("manylinux_2_28_x86_64",), None),
        (("xmacosx_14_0_arm64",), None),
        ((), None),
    ],
)
def test_the_oldest_macos_stands_in_a_builds_tag(tags: tuple[str, ...], oldest: str | None) -> None:
    assert ground.macos_of(PICK.build._replace(tags=tags)) == oldest


def resolver(target: Machine, *, here: bool) -> Command:
    chosen = UvInstaller("/bin/uv")
    installer = LockInstaller(chosen, "uv", (), chosen.inherited, target, here)
    return installer.resolver(job(pick=PICK))


def test_an_environment_elsewhere_replaces_the_interpreter() -> None:
    words = " ".join(resolver(machine("macos-arm64"), here=False).argv)

    assert " --python-version 3.12 --python-platform aarch64-apple-darwin " in words
    assert " --python " not in words
    assert " --python " in " ".join(resolver(machine("macos-arm64"), here=True).argv)


def test_only_this_computer_is_resolved_for_with_its_own_interpreter(uv: dict[str, str]) -> None:
    def target(request: Request, environ: dict[str, str] = uv) -> str:
        return look(request, environ, "uv").installer.resolver(job(pick=PICK)).argv[5]

    assert target(HERE) == "--python"
    assert target(HERE._replace(glibc="2.28")) == "--python-version"
    assert target(HERE, {**uv, "TORCHPICK_PLATFORM": "linux-x86_64"}) == "--python-version"


def test_nothing_that_is_installed_binds_a_lock(uv: dict[str, str]) -> None:
    made = look(HERE, uv)

    assert set(made.target.installed) <= {"pip"}
    assert made.staying is None


def test_a_marker_is_judged_for_the_environment_of_the_lock(uv: dict[str, str]) -> None:
    made = look(THERE, uv, "auto", "torch; sys_platform == 'win32'", "numpy; sys_platform == 'darwin'")

    assert made.applies == {'sys_platform == "win32"': True, 'sys_platform == "darwin"': False}


def test_uv_resolves_for_an_environment_elsewhere(uv: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uv", None)
    assert look(THERE, uv).installer.name == "uv"
    with pytest.raises(InstallerError, match=r"only uv resolves for Python 3\.12 on windows-x86_64"):
        _ = look(THERE, {"PATH": ""}).installer
    with pytest.raises(UsageError, match="pip resolves for its own machine only") as caught:
        _ = look(THERE, uv, "pip").installer
    assert "--installer pip" in str(caught.value.hint)


def test_a_free_threaded_python_elsewhere_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Python 3\.14t on windows-x86_64"):
        look(THERE._replace(python="3.14t"), {})


def test_a_folder_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for given in (Given(words=(str(tmp_path),)), Given(editables=(str(tmp_path),))):
        with pytest.raises(UsageError, match="is a folder, which has no hash"):
            ground.look(Session(HERE, {}), Order(given))
