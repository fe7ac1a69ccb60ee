"""What a user names, and what becomes of it."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from tests.wheels import making
from torchpick.environment import distributions
from torchpick.environment.distributions import Environment, TorchFacts
from torchpick.errors import RequirementError, UsageError, WheelError, WheelLayoutError
from torchpick.index import pages
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Arch
from torchpick.model.fields import plain
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.wheels import inspect_target, librarycode
from torchpick.wheels.inspect_target import ReadOptions
from torchpick.wheels.readings import WHOLE, Reading

WHEEL = making.wheel({"pkg/_C.so": making.library(making.module("sm_80"))}) + b""


@pytest.mark.parametrize("data", [b"", b"text", b"\x7fEL", bytes(5000), b"BC\xc0\xde" + bytes(100)])
def test_a_file_that_is_neither(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "x.so"
    file.write_bytes(data)
    with pytest.raises(WheelError, match="neither a wheel nor a library"):
        inspect_target.read_target(str(file), ReadOptions())


@pytest.mark.parametrize("data", [b"PK", b"PK\x03\x04" + bytes(40), WHEEL[:-9]])
def test_a_damaged_wheel_is_named(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "x.whl"
    file.write_bytes(data)
    with pytest.raises(WheelLayoutError, match=r"x\.whl") as caught:
        inspect_target.read_target(str(file), ReadOptions())
    assert caught.value.hint


@pytest.mark.parametrize(
    "name", ["./gone.whl", "gone.so", "/no/such/x", "gone.dll", "a.pyd", "a.cubin", "a.fatbin", "a.zip", "A.WHL"]
)
def test_a_path_that_leads_nowhere(name: str) -> None:
    with pytest.raises(WheelError, match="no such file"):
        inspect_target.read_target(name, ReadOptions())


@pytest.mark.parametrize("name", ["pkg==1.0", "https://wheels.example/x.whl", "not-installed-anywhere"])
def test_offline_asks_nobody(name: str) -> None:
    with pytest.raises(UsageError, match=r"on the web|on an index") as caught:
        inspect_target.read_target(name, ReadOptions(offline=True))
    assert "--offline" in str(caught.value.hint)


def test_a_bare_name_is_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "_C.so").write_bytes(making.library(making.module("sm_70")))
    (tmp_path / "pkg-3.0.dist-info").mkdir()
    (tmp_path / "pkg-3.0.dist-info" / "RECORD").write_text("pkg/_C.so,,\n", "utf-8")
    there = Environment(Python("3.12"), "", distributions=tuple(distributions.in_folder(str(tmp_path))))
    monkeypatch.setattr(distributions, "read_environment", lambda *_, **__: there)
    found = inspect_target.read_target("Pkg", ReadOptions())

    assert (found.version, plain(found.sass)) == ("3.0", ["sm_70"])


def test_a_name_for_another_machine_is_looked_up_and_read_by_its_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    digest, asked = "ab" * 32, list[str]()

    def read(url: str, _how: ReadOptions) -> Reading:
        asked.append(url)
        return Reading("x", WHOLE, complete=True, size=1, bytes_read=1, requests=1)

    def environment(python: str, *_: object, **__: object) -> Environment:
        asked.append(python)
        return Environment(Python("3.12"), "")

    found = pages.locate(f"https://host.example/pkg-1.0-py3-none-any.whl#sha256={digest}", "")
    monkeypatch.setattr(distributions, "read_environment", environment)
    monkeypatch.setattr(inspect_target, "locate", lambda *_: found)
    here = Machine(Platform("linux", "x86_64"), Python("3.12", executable="/h/python"))
    for how, python in (
        (ReadOptions(), sys.executable), (ReadOptions(python="/p/python"), "/p/python"),
        (ReadOptions(here=here), "/h/python"), (ReadOptions(python="3.12"), None),
        (ReadOptions(platform="linux-s390x"), None),
        (ReadOptions(python="/p/python", platform="linux-s390x"), None), (ReadOptions(python="3.12", here=here), None),
    ):  # fmt: skip
        asked.clear()
        assert inspect_target.read_target("pkg", how._replace(elsewhere=read)).target == "pkg"
        assert asked == [*filter(None, [python]), f"https://host.example/pkg-1.0-py3-none-any.whl#sha256={digest}"]


def test_for_what_a_wheel_is_looked_up_and_what_is_a_hash() -> None:
    for platform, glibc in (("linux-s390x", "2.28"), ("windows-x86_64", None), ("macos-arm64", None)):
        assert inspect_target.target_of(ReadOptions(platform=platform, glibc="2.28")).platform.glibc == glibc
    linux = Machine(Platform("linux", "x86_64", "2.39"), Python("3.12"))
    assert inspect_target.target_of(ReadOptions(here=linux, glibc="2.28")).platform.glibc == "2.28"
    assert inspect_target.target_of(ReadOptions(here=linux)).platform.glibc == "2.39"
    digests = [f"sha256={'A' * 64}", f"md5={'a' * 64}", "sha256=abc", "", "sha256"]
    assert [inspect_target.sha256_of(text) for text in digests] == ["a" * 64, *[None] * 4]


def test_a_list_of_things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, how = tmp_path / "list", ReadOptions(offline=True, platform="linux-x86_64")
    file.write_text("b==1 # why\n# none\n\na\nb==1\nc#d\n", "utf-8")
    assert inspect_target.list_targets(str(file), how) == ["b==1", "a", "c#d"]
    monkeypatch.setattr(inspect_target, "MOST_ITEMS", 3)
    assert len(inspect_target.list_targets(str(file), how)) == 3
    monkeypatch.setattr(inspect_target, "MOST_ITEMS", 2)
    with pytest.raises(UsageError, match="3 things are more than 2"):
        inspect_target.list_targets(str(file), how)
    (tmp_path / "a-1.0-py3-none-any.whl").touch()
    assert inspect_target.list_targets(str(tmp_path), how) == [(tmp_path / "a-1.0-py3-none-any.whl").as_uri()]
    with pytest.raises(UsageError, match="`--offline` is given"):
        inspect_target.list_targets("https://host.example/a/", how)


def test_many_come_in_their_order_or_as_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for in_order, names in ((True, ["a", "b"]), (False, ["b", "a"])):
        go_on = threading.Event()

        def read(target: str, _how: ReadOptions, go_on: threading.Event = go_on) -> Reading:
            assert target != "a" or go_on.wait(60)
            return Reading(target, WHOLE, complete=True, size=1, bytes_read=1, requests=0)

        monkeypatch.setattr(inspect_target, "read_target", read)
        answers = inspect_target.read_targets(("a", "b"), ReadOptions(), 2, in_order=in_order)
        if in_order:
            go_on.set()
        first, _ = next(answers)
        go_on.set()
        assert [first, *(target for target, _ in answers)] == names


def test_a_container_by_itself_is_a_library_and_one_that_is_damaged_is_not_complete(tmp_path: Path) -> None:
    for name, data, complete in (
        ("a.fatbin", making.module("sm_80"), True),
        ("b.fatbin", making.container(making.entry("sm_80"), b"\xff" * 128), False),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(data)
        found = inspect_target.read_target(str(tmp_path / name), ReadOptions())
        assert (plain(found.sass), found.complete) == (["sm_80"], complete)


def test_the_torch_beside_a_package_is_asked_for_where_it_has_a_library_per_cuda(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str | None] = []

    def cuda(python: str | None) -> str:
        asked.append(python)
        return "12.6"

    monkeypatch.setattr(inspect_target, "torch_cuda", cuda)
    machine = Machine(Platform("linux", "x86_64"), Python("3.12"), None, (Gpu(0, "nvidia", "P", Arch.parse("sm_61")),))
    each = [
        librarycode.read_buffer(making.library(making.module(arch)), f"b/lib_cuda{cuda}.so")
        for arch, cuda in (("sm_60", "126"), ("sm_75", "128"))
    ]
    for libraries, python, word in ((each, ["/p"], "runs"), (each[1:], [], "will not run")):
        found = Reading("x", WHOLE, True, 1, 1, 0, libraries=tuple(libraries))
        [verdict] = inspect_target.judge_machines(found, (machine,), Knowledge({}).rules.drivers, "/p")
        assert (verdict.word, asked) == (word, python)
        asked.clear()


def test_each_counted_gpu_is_judged_behind_the_driver_of_its_system() -> None:
    flags = tuple(map(Arch.parse, ("sm_61", "sm_80", "sm_90")))
    torch = Reading("x", WHOLE, True, 1, 1, 0, torch=TorchFacts("2.9.0", "12.6", flags=flags))
    gpus = (Gpu(0, "nvidia", "A", Arch.parse("sm_80")), Gpu(1, "nvidia", "B", Arch.parse("sm_35"), counted=False))

    def judged(driver: Driver, os: str = "linux", gpus: tuple[Gpu, ...] = gpus) -> list[tuple[str, tuple[str, ...]]]:
        machine = Machine(Platform(os, "x86_64"), Python("3.12"), driver, gpus)
        drivers = Knowledge({}).rules.drivers
        verdicts = inspect_target.judge_machines(torch, (machine, machine._replace(name="again")), drivers)
        return [(verdict.word, verdict.notes) for verdict in verdicts]

    # CUDA 12 runs from 525.60.13 on, on Windows from 527.41.
    no = [
        ("will not run", (f"it is built with CUDA 12.6, which needs driver {floor}",))
        for floor in ("525.60.13", "527.41")
    ]
    for version, system, expected in (
        ("525.60.12", "linux", no[:1]), ("525.60.13", "linux", [("runs", ())]), ("527.40", "linux", [("runs", ())]),
        ("527.40", "windows", no[1:]), ("527.41", "windows", [("runs", ())]),
    ):  # fmt: skip
        assert judged(Driver(version), system) == judged(Driver(version, os=system)) == expected
    pascal = (Gpu(0, "nvidia", "P", Arch.parse("sm_61")),)
    [(word, notes)] = judged(Driver("595.1"), gpus=pascal)
    assert (word, notes[0].startswith("driver 595.1 does not support sm_61: ")) == ("will not run", True)
    assert judged(Driver("580.1"), gpus=(*gpus, *pascal)) == [("runs", ())] * 2


@pytest.mark.parametrize(
    "text",
    [
        "--index-url=x",
        "-e .",
        "torch==",
        "a;b",
        "torch\n--pre",
        "-r x.txt",
        "a b c",
        "pkg; os_name=='nt'",
        "p @ file:x",
    ],
)
def test_requirements_that_are_not(text: str) -> None:
    with pytest.raises(RequirementError):
        inspect_target.read_target(text, ReadOptions())
