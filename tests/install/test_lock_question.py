"""Where a lock is for, and who resolves there."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from tests.install.jobs import PICK, job
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import UsageError
from torchpick.install.asking import Order, TargetQuestion, read_lock_question
from torchpick.model.pick import Request
from torchpick.run import start_run

HERE = Request(gpus=("sm_61",), driver="580.95.05", python=sys.executable)
THERE = Request(gpus=("sm_61",), driver="580.95.05", platform="windows-x86_64", python="3.12")


@pytest.fixture
def uv(tmp_path: Path) -> dict[str, str]:
    """A uv that is there and never started."""
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\nexit 99\n", "utf-8")
    program.chmod(0o755)
    return {"UV": str(program), "TORCHPICK_CACHE_DIR": str(tmp_path / "cache")}


def look(request: Request, environ: dict[str, str], installer: str = "auto", *words: str) -> TargetQuestion:
    return read_lock_question(start_run(request, environ), Order(RequirementArgs(words or ("torch",)), installer))


def test_only_this_computer_is_resolved_for_with_its_own_interpreter(uv: dict[str, str]) -> None:
    def target(request: Request, environ: dict[str, str] = uv) -> str:
        made = look(request, environ, "uv")
        return made.installer.reporter(job(pick=PICK, elsewhere=made.elsewhere)).argv[5]

    assert target(HERE) == "--python"
    assert target(HERE._replace(glibc="2.28")) == "--python-version"
    assert target(HERE, {**uv, "TORCHPICK_PLATFORM": "linux-x86_64"}) == "--python-version"
    here, there = look(HERE, uv), look(THERE, uv)
    assert ({*here.target.installed} <= {"pip"}, here.target.python.exact) == (True, platform.python_version())
    assert (there.target.python.exact, there.order.upgrade, there.order.for_lock) == (None, True, True)


def test_a_free_threaded_python_elsewhere_is_refused() -> None:
    with pytest.raises(UsageError, match=r"Python 3\.14t on windows-x86_64"):
        look(THERE._replace(python="3.14t"), {})


def test_a_folder_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for given in (RequirementArgs(words=(str(tmp_path),)), RequirementArgs(editables=(str(tmp_path),))):
        with pytest.raises(UsageError, match="is a folder or a repository, which has no hash"):
            read_lock_question(start_run(HERE, {}), Order(given))
