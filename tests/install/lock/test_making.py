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
from torchpick.index.source import Tell
from torchpick.install.lock import family, ground, making, spots
from torchpick.install.lock.family import Taken
from torchpick.install.lock.resolution import Aim
from torchpick.install.lock.spots import LockAgreed
from torchpick.installers.command import Command
from torchpick.model.arch import Arch
from torchpick.model.lock import LockedPackage, LockFile
from torchpick.model.machine import Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pick import Pick
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


class Deaf:
    def say(self, text: str) -> None:
        """Nobody listens."""

    def progress(self, name: str) -> Tell:  # noqa: ARG002 # the name that callers use
        return lambda _: None


@pytest.mark.parametrize(
    ("told", "names"),
    [
        (["node-1", "node.2", None], ["node-1", "node-2", "machine-3"]),
        (["a", "A", "a"], ["a", "A-2", "a-3"]),
        (["a-2", "a", "a"], ["a-2", "a", "a-3"]),
        (["../../etc", "\u202e", " "], ["etc", "machine-2", "machine-3"]),
        (["a", "a-3", "a"], ["a", "a-3", "a-4"]),
        (["x" * 500], ["x" * 80]),
        (["X 1X", "-X"], ["X-1X", "X"]),
    ],
)
def test_a_machines_name_becomes_a_files(told: list[str | None], names: list[str]) -> None:
    assert making.names(told) == names


def test_machines_are_alike_where_all_that_decides_is() -> None:
    gpu = Gpu(0, "nvidia", "RTX 3090", Arch.parse("sm_86"))
    here = MACHINE._replace(gpus=(gpu,), driver=Driver("580.95.05", "13.0"))
    others = [
        here._replace(platform=Platform("linux", "x86_64", "2.28")),
        here._replace(python=Python("3.13")),
        here._replace(driver=None),
        here._replace(driver=Driver("580.95.05", "12.8")),
        here._replace(driver=Driver("570.86.10", "13.0")),
        here._replace(gpus=(gpu, gpu)),
        *(
            here._replace(gpus=(each,))
            for each in (
                gpu._replace(vendor="amd"),
                gpu._replace(arch=Arch.parse("sm_90")),
                gpu._replace(counted=False),
                gpu._replace(integrated=True),
            )
        ),
    ]
    named = here._replace(name="node-1", gpus=(gpu._replace(name="RTX A6000", uuid="GPU-1"),))

    assert ground.kind_of(named) == ground.kind_of(here)
    assert len({ground.kind_of(each) for each in (here, *others)}) == len(others) + 1


def test_who_waits_for_a_lock_hears_of_wheels_that_are_read_and_of_each_byte() -> None:
    said: list[object] = []

    class Hearing:
        def say(self, text: str) -> None:
            said.append(text)

        def progress(self, name: str) -> Tell:
            said.append(name)
            return said.append

    watcher = making._watcher(Hearing())
    watcher.report(1)
    watcher.talk("reading vllm")
    watcher.report(5)

    assert said == ["reading vllm", "read", 5]


def test_a_folder_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    for given in (Given(words=(str(tmp_path),)), Given(editables=(str(tmp_path),))):
        with pytest.raises(UsageError, match="is a folder, which has no hash"):
            making.make(Session(PASCAL, {}), order(given), Deaf())


def test_pip_is_not_asked_for_what_it_would_misjudge() -> None:
    request = PASCAL._replace(platform="windows-x86_64", glibc=None, python="3.12")
    with pytest.raises(UsageError, match="pip resolves for its own machine only") as caught:
        making.make(Session(request, {}), order(installer="pip"), Deaf())
    assert "--installer pip" in str(caught.value.hint)


def test_a_free_threaded_python_elsewhere_is_refused() -> None:
    request = PASCAL._replace(platform="windows-x86_64", glibc=None, python="3.14t")
    with pytest.raises(UsageError, match=r"Python 3\.14t on windows-x86_64"):
        making.make(Session(request, {}), order(), Deaf())


def test_an_offline_lock_without_a_folder_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(TorchpickError, match="`--offline` forbids it"):
        making.make(Session(PASCAL._replace(offline=True), environ), order(installer="uv"), Deaf())


def test_a_wheel_that_the_mirror_lacks_is_missed_by_its_name(tmp_path: Path, environ: dict[str, str]) -> None:
    shelf = tmp_path / "cu126"
    shelf.mkdir()
    (shelf / TinyWheel("torch", "2.7.1+cu126", OWN).filename).write_bytes(b"")
    request = PASCAL._replace(index_base=tmp_path.as_uri())
    with pytest.raises(
        InstallerError, match=r"torch 2\.14\.1\+cu126 for .*: .* has no such wheel, but 2\.7\.1\+cu126"
    ) as caught:
        making.make(Session(request, environ), order(installer="uv", no_deps=True), Deaf())
    assert caught.value.code == "NOT_ON_PAGE"


def test_a_mirror_without_the_project_is_told_so(tmp_path: Path, environ: dict[str, str]) -> None:
    request = PASCAL._replace(index_base=tmp_path.as_uri())
    with pytest.raises(InstallerError, match="has no page of it"):
        making.make(Session(request, environ), order(installer="uv", no_deps=True), Deaf())


def test_each_of_machines_that_are_alike_has_a_lock_under_its_own_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, environ: dict[str, str]
) -> None:
    fleet = tmp_path / "fleet.jsonl"
    here = {"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12"}}
    facts = {**here, "driver": {"version": "580.95.05"}}
    cards = {
        "n1": "NVIDIA GeForce RTX 3090",
        "n2": "NVIDIA GeForce RTX 3090",
        "two": "NVIDIA RTX A6000",
        "": "RTX 3090",
    }
    lines = ({"name": name or None, **facts, "gpus": [{"arch": "sm_86", "name": card}]} for name, card in cards.items())
    fleet.write_text("".join(json.dumps(line) + "\n" for line in lines))
    resolved = []

    def resolve(*_: object) -> Taken:
        resolved.append(1)
        return Taken((TORCH,))

    monkeypatch.setattr(family, "resolve", resolve)
    monkeypatch.setattr(spots, "agreed", agreed)
    asked = order(installer="uv")._replace(each=True)

    made = making.make(Session(Request(machine=(str(fleet),)), environ), asked, Deaf())

    assert [each.names for each in made] == [("n1", "n2"), ("two",), ("machine-4",)]
    assert [each.pick.machine.name for each in made] == ["n1", "two", None]
    assert len(resolved) == 1
    monkeypatch.setattr(making, "_MOST_EACH", 3)
    with pytest.raises(UsageError, match="no more than 3 locks are written at once, and there are 4 machines"):
        making.make(Session(Request(machine=(str(fleet),)), environ), asked, Deaf())


def agreed(_: object, _installer: object, pick: Pick, aims: list[tuple[int, Aim]]) -> LockAgreed:
    return LockAgreed(pick, {aim.environment: {} for _, aim in aims}, (), ())


def test_a_mac_is_resolved_for_as_old_as_the_build_needs_it_and_a_hash_is_told_once(
    monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], tmp_path: Path
) -> None:
    fleet = tmp_path / "fleet.jsonl"
    macs = [
        {"platform": {"os": "macos", "cpu": "arm64", "macos": "15.0"}, "python": {"version": version}}
        for version in ("3.12", "3.13")
    ]
    fleet.write_text("".join(json.dumps(mac) + "\n" for mac in macs))
    seen = []

    def resolve(_want: object, aim: Aim, resolver: Command, *_: object) -> Taken:
        seen.append((aim.macos, resolver.set.get("MACOSX_DEPLOYMENT_TARGET")))
        return Taken((TORCH,), computed=("torch.whl",))

    monkeypatch.setattr(family, "resolve", resolve)
    monkeypatch.setattr(spots, "agreed", agreed)

    (made,) = making.make(Session(Request(machine=(str(fleet),)), environ), order(installer="uv"), Deaf())

    assert [macos == told and macos is not None for macos, told in seen] == [True, True]
    assert made.computed == ("torch.whl",)


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
