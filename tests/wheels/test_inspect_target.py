"""What a user names, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wheels import making
from torchpick.environment import distributions
from torchpick.environment.distributions import Environment
from torchpick.errors import RequirementError, UsageError, WheelError, WheelLayoutError
from torchpick.model.machine import Python
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions
from torchpick.wheels.librarycode import texts

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


@pytest.mark.parametrize("name", ["./gone.whl", "gone.so", "/no/such/folder/x", "gone.dll"])
def test_a_path_that_leads_nowhere(name: str) -> None:
    with pytest.raises(WheelError, match="no such file"):
        inspect_target.read_target(name, ReadOptions())


@pytest.mark.parametrize(
    "name",
    ["", "a\0b", "-r requirements.txt", "pkg @ https://x/y.whl", "pkg; os_name=='nt'", "a b c", "x" * 5000 + "/"],
)
def test_what_names_nothing(name: str) -> None:
    with pytest.raises((UsageError, WheelError)):
        inspect_target.read_target(name, ReadOptions())


@pytest.mark.parametrize("name", ["pkg==1.0", "https://wheels.example/x.whl", "not-installed-anywhere"])
def test_offline_asks_nobody(name: str) -> None:
    with pytest.raises(UsageError, match=r"on the web|on an index") as caught:
        inspect_target.read_target(name, ReadOptions(offline=True))
    assert "--offline" in str(caught.value.hint)


@pytest.mark.parametrize("url", ["ftp://x/y.whl", "https://[bad", "s3://bucket/x.whl"])
def test_an_address_of_another_kind(url: str) -> None:
    with pytest.raises(UsageError):
        inspect_target.read_target(url, ReadOptions())


def test_a_source_archive_is_said_to_be_one() -> None:
    with pytest.raises(WheelError, match="is source"):
        inspect_target.read_target("https://files.example/torch-1.0.tar.gz", ReadOptions())


def test_a_bare_name_is_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "_C.so").write_bytes(making.library(making.module("sm_70")))
    (tmp_path / "pkg-3.0.dist-info").mkdir()
    (tmp_path / "pkg-3.0.dist-info" / "RECORD").write_text("pkg/_C.so,,\n", "utf-8")
    there = Environment(Python("3.12"), "", distributions=tuple(distributions.in_folder(str(tmp_path))))
    monkeypatch.setattr(distributions, "read_environment", lambda *_, **__: there)
    found = inspect_target.read_target("Pkg", ReadOptions())

    assert (found.version, texts(found.sass)) == ("3.0", ["sm_70"])


@pytest.mark.parametrize("text", ["--index-url=x", "-e .", "torch==", "a;b", "torch\n--pre"])
def test_requirements_that_are_not(text: str) -> None:
    with pytest.raises(RequirementError):
        inspect_target.read_target(text, ReadOptions())
