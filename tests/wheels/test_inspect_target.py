"""What a user names, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.server import Host
from tests.wheels import making
from torchpick.environment import distributions
from torchpick.environment.distributions import Environment
from torchpick.errors import (
    RequirementError,
    UsageError,
    WheelError,
    WheelLayoutError,
)
from torchpick.index.pages import ProjectFile
from torchpick.index.wheelnames import FileName, WheelTarget
from torchpick.model.address import Address
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions
from torchpick.wheels.librarycode import texts

WHEEL = making.wheel({"pkg/_C.so": making.library(making.module("sm_80"))}) + b""


def test_a_wheel_file(tmp_path: Path) -> None:
    file = tmp_path / "pkg-1.0-py3-none-any.whl"
    file.write_bytes(WHEEL)
    found = inspect_target.read_target(str(file), ReadOptions())

    assert (found.name, found.requests, texts(found.sass)) == ("pkg", 0, ["sm_80"])
    assert inspect_target.read_target(file.as_uri(), ReadOptions(offline=True)).sass == found.sass


def test_what_is_known_of_a_file_and_what_reading_it_cost(tmp_path: Path) -> None:
    file, library = tmp_path / "pkg-1.0-py3-none-any.whl", tmp_path / "lib.so"
    file.write_bytes(WHEEL)
    library.write_bytes(making.library(making.module("sm_90")))

    one, other = (
        inspect_target.read_target(str(file), ReadOptions()),
        inspect_target.read_target(str(library), ReadOptions()),
    )

    assert (one.target, one.file, one.version, one.depth) == (str(file), file.name, "1.0", "whole")
    assert one.complete
    assert (one.size, one.sha256) == (len(WHEEL), None)
    assert 0 < one.bytes_read <= 2 * len(WHEEL)
    size = library.stat().st_size
    assert (other.target, other.file, other.depth, other.complete) == (str(library), "lib.so", "whole", True)
    assert (other.size, other.bytes_read, other.requests, other.name) == (size, size, 0, None)
    assert [each.path for each in other.libraries] == ["lib.so"]


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        (f"sha256={'AB' * 32}", "ab" * 32), (f"sha256={'ab' * 31}", None), (f"sha256={'ab' * 31}a-", None),
        (f"md5={'ab' * 32}", None), ("", None), ("ab" * 32, None),
    ],
)  # fmt: skip
def test_the_hash_behind_an_address(text: str, digest: str | None) -> None:
    assert inspect_target.sha256_of(text) == digest


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


def test_a_url(host: Host) -> None:
    host.files["/pkg-1.0%2Bcu126-py3-none-any.whl"] = WHEEL
    url = f"{host.url}/pkg-1.0%2Bcu126-py3-none-any.whl#sha256={'a' * 64}"
    found = inspect_target.read_target(url, ReadOptions())

    assert (found.version, found.sha256) == ("1.0+cu126", "a" * 64)
    assert found.target == url.partition("#")[0]
    assert found.requests > 0


def test_a_bare_name_is_what_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "_C.so").write_bytes(making.library(making.module("sm_70")))
    (tmp_path / "pkg-3.0.dist-info").mkdir()
    (tmp_path / "pkg-3.0.dist-info" / "RECORD").write_text("pkg/_C.so,,\n", "utf-8")
    there = Environment(None, "", "3.12", distributions=tuple(distributions.in_folder(str(tmp_path))))
    monkeypatch.setattr(distributions, "read_environment", lambda *_, **__: there)
    found = inspect_target.read_target("Pkg", ReadOptions())

    assert (found.version, texts(found.sass)) == ("3.0", ["sm_70"])


def test_a_bare_name_that_is_not_installed_is_the_indexs(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.files["/pkg-9.0-py3-none-any.whl"] = WHEEL
    asked = []

    def locates(requirement: object, wanted: WheelTarget, _: object) -> ProjectFile:
        asked.append((str(requirement), wanted))
        file = "pkg-9.0-py3-none-any.whl"
        return ProjectFile(file, Address(f"{host.url}/{file}"), FileName("pkg", "9.0", "py3", "none", "any"), "b" * 64)

    monkeypatch.setattr(distributions, "read_environment", lambda *_, **__: Environment(None, "", "3.12"))
    monkeypatch.setattr(inspect_target, "locate", locates)
    news: list[str | int] = []
    found = inspect_target.read_target("pkg", ReadOptions(report=news.append))

    assert (found.target, found.version, found.sha256) == ("pkg", "9.0", "b" * 64)
    assert asked == [("pkg", WheelTarget())]
    assert [each for each in news if isinstance(each, str)] == [
        "pkg is not installed: looking it up on the index",
        f"the newest wheel that fits is {host.url}/pkg-9.0-py3-none-any.whl",
    ]


@pytest.mark.parametrize("text", ["--index-url=x", "-e .", "torch==", "a;b", "torch\n--pre"])
def test_requirements_that_are_not(text: str) -> None:
    with pytest.raises(RequirementError):
        inspect_target.read_target(text, ReadOptions())
