"""What is decided before an installer is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.fakes.tinywheel import TinyWheel
from tests.install.lock.test_ground import order
from torchpick.environment.requirements import Given
from torchpick.errors import InstallerError, TorchpickError, UsageError
from torchpick.install.lock import making
from torchpick.model.lock import LockedPackage, LockFile
from torchpick.model.machine import Machine, Note, Platform, Python
from torchpick.model.request import Request
from torchpick.session import Session

MACHINE = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"))
PYTHON = f"cp{sys.version_info[0]}{sys.version_info[1]}"
OWN = f"{PYTHON}-{PYTHON}-manylinux_2_28_x86_64"
TORCH = LockedPackage("torch", "1.0", (LockFile("https://h.example/torch-1.0-py3-none-any.whl", "0" * 64),))
PASCAL = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", glibc="2.35")


@pytest.fixture
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A uv that is there and never started: what is tested comes before it."""
    program = tmp_path_factory.mktemp("bin") / "uv"
    program.write_text("#!/bin/sh\nexit 99\n")
    program.chmod(0o755)
    return {"UV": str(program), "TORCHPICK_CACHE_DIR": str(program.parent / "cache")}


def test_a_folder_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for given in (Given(words=(str(tmp_path),)), Given(editables=(str(tmp_path),))):
        with pytest.raises(UsageError, match="is a folder, which has no hash"):
            making.make(Session(PASCAL, {}), order(given))


def test_pip_is_not_asked_for_what_it_would_misjudge() -> None:
    request = PASCAL._replace(platform="windows-x86_64", glibc=None, python="3.12")
    with pytest.raises(UsageError, match="pip resolves for its own machine only") as caught:
        making.make(Session(request, {}), order(installer="pip"))
    assert "--installer pip" in str(caught.value.hint)


def test_a_free_threaded_python_elsewhere_is_refused() -> None:
    request = PASCAL._replace(platform="windows-x86_64", glibc=None, python="3.14t")
    with pytest.raises(UsageError, match=r"Python 3\.14t on windows-x86_64"):
        making.make(Session(request, {}), order())


def test_an_offline_lock_without_a_folder_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(TorchpickError, match="`--offline` forbids it"):
        making.make(Session(PASCAL._replace(offline=True), environ), order(installer="uv"))


def test_a_wheel_that_the_mirror_lacks_is_missed_by_its_name(tmp_path: Path, environ: dict[str, str]) -> None:
    shelf = tmp_path / "cu126"
    shelf.mkdir()
    (shelf / TinyWheel("torch", "2.7.1+cu126", OWN).filename).write_bytes(b"")
    request = PASCAL._replace(index_base=tmp_path.as_uri())
    with pytest.raises(
        InstallerError, match=r"torch 2\.14\.1\+cu126 for .*: .* has no such wheel, but 2\.7\.1\+cu126"
    ) as caught:
        making.make(Session(request, environ), order(installer="uv", no_deps=True))
    assert caught.value.code == "NOT_ON_PAGE"


def test_a_mirror_without_the_project_is_told_so(tmp_path: Path, environ: dict[str, str]) -> None:
    request = PASCAL._replace(index_base=tmp_path.as_uri())
    with pytest.raises(InstallerError, match="has no page of it"):
        making.make(Session(request, environ), order(installer="uv", no_deps=True))


def test_a_lock_is_for_one_machine(tmp_path: Path, environ: dict[str, str]) -> None:
    fleet = tmp_path / "fleet.jsonl"
    here = {"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12"}}
    lines = ({**here, "driver": {"version": "580.95.05"}, "gpus": [{"arch": arch}]} for arch in ("sm_86", "sm_90"))
    fleet.write_text("".join(json.dumps(line) + "\n" for line in lines))

    with pytest.raises(UsageError, match="a lock is for one machine, and 2 were given"):
        making.make(Session(Request(machine=(str(fleet),)), environ), order(installer="uv"))


def test_no_place_in_a_lock_holds_a_password() -> None:
    notes: list[Note] = []
    hidden, plain = "https://me:secret@h.example", "https://h.example"
    package = LockedPackage(
        "a", "1", (LockFile(f"{hidden}/a.whl"),), LockFile(f"{hidden}/a.tar.gz"), LockFile(f"{hidden}/a.zip"),
        {"type": "git", "url": f"{hidden}/a.git", "commit-id": "5"}, f"{hidden}/simple",
    )  # fmt: skip

    made = making._public(package, notes)

    assert [file.url for file in made.files] == [f"{plain}/a.whl", f"{plain}/a.tar.gz", f"{plain}/a.zip"]
    assert (made.vcs, made.index_url) == (
        {"type": "git", "url": f"{plain}/a.git", "commit-id": "5"}, f"{plain}/simple",
    )  # fmt: skip
    assert [note.code for note in notes] == ["CREDENTIALS_LEFT_OUT"]
    assert making._public(LockedPackage("a", "1"), notes) == LockedPackage("a", "1")
    assert len(notes) == 1
