"""`torchpick refresh`: which indexes are read and how, and what is said of what was read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import pytest

from torchpick.cli import main
from torchpick.errors import NetworkError, TorchpickError, WheelError
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import file_at
from torchpick.knowledge.compat import Knowledge
from torchpick.wheels import refresh
from torchpick.wheels.refresh import Refreshed, RefreshJob

OWN, HOST = "https://own.example/simple", "https://download.pytorch.org/whl"
NOTHING = Refreshed((), (), (), (), (), (), (), (), 1_500_000, 3)
HERE = ("--platform", "linux-x86_64")


@pytest.fixture
def fails() -> dict[str, type[TorchpickError]]:
    """How the reading of an address ends."""
    return {}


@pytest.fixture
def jobs(fails: dict[str, type[TorchpickError]], monkeypatch: pytest.MonkeyPatch) -> dict[str, RefreshJob]:
    """What is asked to be read, by its address; no index has anything new."""
    asked: dict[str, RefreshJob] = {}

    def read(job: RefreshJob, *_: object) -> Refreshed:
        asked[job.store.base] = job
        if (error := fails.get(job.store.base)) is not None:
            raise error("no answer", hint="wait")
        return NOTHING

    monkeypatch.setenv("PIP_INDEX_URL", "https://me:secret@own.example/simple")
    monkeypatch.setattr(refresh, "refresh_table", read)
    return asked


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ((), {HOST: (False, True), OWN: (False, False)}), (("--backend", "cu126"), {HOST: (True, True)}),
        (("torch==2.14.1",), {HOST: (True, True), OWN: (True, False)}),
        (("--channel", "nightly"), {HOST: (False, False)}), (("--backend", "default"), {OWN: (True, False)}),
        (("--index-base", "https://m.example/whl"), {"https://m.example/whl": (False, False), OWN: (False, False)}),
        (("--backend", "default", "--backend", "cpu"), {HOST: (True, True), OWN: (True, False)}),
    ],
)  # fmt: skip
def test_what_is_named_is_read_again_and_only_the_wheel_hosts_releases_are_the_tables(
    words: tuple[str, ...], read: Mapping[str, tuple[bool, bool]], jobs: dict[str, RefreshJob]
) -> None:
    assert main(["refresh", *words, *HERE]) == 0
    assert {base: (job.forced, job.of_table) for base, job in jobs.items()} == read


def test_offline_says_what_it_would_read_and_of_anything_but_torch_nothing_is(
    jobs: dict[str, RefreshJob], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["refresh", "torch", "numpy"]) == 2
    monkeypatch.setenv("TORCHPICK_OFFLINE", "yes")
    assert main(["refresh"]) == 1
    assert f"refresh would read {HOST}, {OWN}\n" in capsys.readouterr().err
    assert not jobs


@pytest.mark.parametrize(
    ("words", "reads"),
    [
        ((), {"2.14.1+cu126", "2.13.0+cu126", "2.14.1+cpu"}),
        (("--backend", "cu126"), {"2.14.1+cu126", "2.13.0+cu126"}), (("torch>=2.14",), {"2.14.1+cu126", "2.14.1+cpu"}),
        (("torch>=2.15", "--channel", "test"), {"2.16.0rc1+cu126"}),
    ],
)  # fmt: skip
def test_only_wheels_of_what_is_asked_for_and_of_this_platform_are_read(
    words: tuple[str, ...], reads: set[str], jobs: dict[str, RefreshJob]
) -> None:
    build = next(build for build in Knowledge(os.environ).every_build if build.platform == "linux-x86_64")
    names = ("2.14.1+cu126", "2.13.0+cu126", "2.14.1+cpu", "2.16.0rc1+cu126")
    parts = [(name, *name.split("+")) for name in names if "rc" not in name or "test" in words]
    builds = [build._replace(version=name, torch=torch, backend=backend) for name, torch, backend in parts]
    builds += [one._replace(platform="windows-x86_64", version="of Windows") for one in builds]

    assert main(["refresh", *words, *HERE]) == 0
    (job, *_) = jobs.values()
    assert {one.version for one in builds if job.reads(one)} == reads


@pytest.mark.parametrize(
    ("words", "fails", "status"),
    [
        ((), {OWN: NetworkError}, 0), ((), {OWN: WheelError}, 0), ((), {OWN: WheelError, HOST: NetworkError}, 1),
        (("--index-base", "https://m.example/whl"), {"https://m.example/whl": NetworkError}, 1),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("jobs")
def test_an_index_that_was_not_read_is_noted_and_the_one_that_was_named_must_be(
    words: tuple[str, ...], fails: dict[str, type[TorchpickError]], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["refresh", "--json", *words, *HERE]) == status
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert "no answer" in json.dumps(answer["notes"] if len(fails) < 2 else answer["error"])


def test_what_was_found_is_a_line_each_and_of_what_is_gone_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = [build for build in Knowledge(os.environ).every_build if build.platform == "linux-x86_64"]
    cuda, cpu = (next(build for build in known if build.backend == name) for name in ("cu126", "cpu"))
    file: ProjectFile = file_at("https://h.example/torch-9-py3-none-any.whl")
    gone = tuple(cpu._replace(version=f"2.{minor}.0+cpu") for minor in range(6))
    found = NOTHING._replace(
        added=(cuda._replace(arches=None),), read=(cpu._replace(arches=()),), gone=gone, moved=(("https://a", "b"),),
        unread=((cuda, file),), failures=(((cuda, file), WheelError("it is cut", hint="")),),
    )  # fmt: skip
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(refresh, "refresh_table", lambda *_: found)

    assert main(["refresh", *HERE]) == 1
    out, err = capsys.readouterr()
    shown = ", ".join(f"{one.version} linux-x86_64" for one in gone[:4])
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        f"new {cuda.version} linux-x86_64 not read yet", f"read {cpu.version} linux-x86_64 no GPU code",
        "unread 1 builds, never picked until they are read",
        f"gone {shown} and 2 more: in the table, and not on the index",
        "read 1.5 MB in 3 requests",
    ]  # fmt: skip
    assert err.splitlines() == ["note: https://a leads to b, where pip and uv follow", f"error: {file.file}: it is cut"]
