"""What an sdist says of its requirements, by what lies in it: read from its start, and no further than need be."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
import zipfile
from pathlib import Path
from socket import socket
from typing import Any

import pytest

from tests.fakes.rude import rude
from tests.index.server import Host
from tests.wheels import making
from torchpick.errors import TorchpickError, WheelError
from torchpick.index import filemetadata
from torchpick.index.index_places import IndexPlaces
from torchpick.index.projectfiles import file_at
from torchpick.index.projects import ProjectReader, ReadingLimits
from torchpick.model.metadata import Metadata

ROOT = "pkg-1.0"
INFO = "Metadata-Version: {}\nName: pkg\nVersion: 1.0\nRequires-Python: >=3.8\n{}"
FINAL = INFO.format("2.2", "Requires-Dist: numpy\n")
DYNAMIC = INFO.format("2.4", "Requires-Dist: guessed\nDynamic: Requires-Dist\n")
OLD = INFO.format("2.1", "")
PROJECT = (
    '[project]\nname = "pkg"\ndependencies = ["scipy>=1"]\noptional-dependencies = {Dev_X = ["a; os_name == \'nt\'"]}\n'
)
REQUIRES = "requests\n\n[dev]\npytest>=8\n\n[:python_version < '3.11']\ntomli\n\n[dev:os_name == 'nt']\ncolorama\n"


def tar(files: dict[str, str | bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w", format=form) as archive:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(path)
            member.type = tarfile.AREGTYPE if form == tarfile.GNU_FORMAT else tarfile.REGTYPE
            member.size, member.mtime = len(data), 1.5  # a mtime that PAX says in a header of its own
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(body.getvalue(), mtime=0)


def zipped(files: dict[str, str | bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return body.getvalue()


def read(place: str, folder: Path, **limits: Any) -> Metadata | TorchpickError:
    file = file_at(place)
    environ = {"TORCHPICK_CACHE_DIR": str(folder)}
    with ProjectReader(IndexPlaces(()), environ, limits=ReadingLimits()._replace(**limits)) as reader:
        return reader.metadata([file])[file]


SDIST, GUESSED = False, True
EGG = (
    "requests",
    'pytest>=8; extra == "dev"',
    'tomli; python_version < "3.11"',
    'colorama; os_name == "nt" and extra == "dev"',
)
CASES = {
    "final PKG-INFO": ({"PKG-INFO": FINAL}, ("numpy",), (), SDIST),
    "final PKG-INFO before all else": (
        {"pkg.egg-info/requires.txt": REQUIRES, "PKG-INFO": FINAL}, ("numpy",), (), SDIST,
    ),
    "a static project": (
        {"PKG-INFO": DYNAMIC, "pyproject.toml": PROJECT},
        ("scipy>=1", 'a; os_name == "nt" and extra == "dev-x"'), ("dev-x",), SDIST,
    ),
    "a project without dependencies": ({"PKG-INFO": OLD, "pyproject.toml": "[project]\nname='pkg'"}, (), (), SDIST),
    "a dynamic project and an egg": (
        {
            "PKG-INFO": OLD, "pyproject.toml": "[project]\nname = 'pkg'\ndynamic = ['dependencies']\n",
            "pkg.egg-info/requires.txt": REQUIRES,
        },
        EGG, ("dev",), GUESSED,
    ),
    "dynamic extras alone": (
        {"PKG-INFO": DYNAMIC, "pyproject.toml": PROJECT.partition("optional")[0] + "dynamic=['optional-dependencies']"},
        ("guessed",), (), GUESSED,
    ),
    "an egg in src": ({"PKG-INFO": OLD, "src/pkg.egg-info/requires.txt": REQUIRES}, EGG, ("dev",), GUESSED),
    "an egg that requires nothing": ({"PKG-INFO": OLD, "pkg.egg-info/SOURCES.txt": "x"}, (), (), GUESSED),
    "an old PKG-INFO with requirements": ({"PKG-INFO": FINAL.replace("2.2", "2.1")}, ("numpy",), (), GUESSED),
    "a project that is not TOML": ({"PKG-INFO": DYNAMIC, "pyproject.toml": "[project\n"}, ("guessed",), (), GUESSED),
}  # fmt: skip
UNKNOWN = {
    "nothing": {"setup.py": "x"},
    "an old PKG-INFO": {"PKG-INFO": OLD},
    "another's egg": {"PKG-INFO": OLD, "vendored.egg-info/requires.txt": REQUIRES},
    "files deeper in it": {"PKG-INFO": OLD, "tests/PKG-INFO": FINAL, "tests/pyproject.toml": PROJECT},
}


@pytest.mark.parametrize("form", ["pax", "gnu", "ustar", "local"])
@pytest.mark.parametrize("case", CASES)
def test_what_an_sdist_requires(host: Host, tmp_path: Path, case: str, form: str) -> None:
    files, requires, extras, source = CASES[case]
    found = _read_as(host, tmp_path, files, form)

    assert isinstance(found, Metadata), found
    assert (found.requires, found.provides_extra, found.guessed) == (requires, extras, source)


def test_an_egg_is_for_the_pythons_of_its_pkg_info(host: Host, tmp_path: Path) -> None:
    found = _read_as(host, tmp_path, {"PKG-INFO": OLD, "pkg.egg-info/requires.txt": REQUIRES}, "pax")
    assert isinstance(found, Metadata)
    assert found.requires_python == ">=3.8"


@pytest.mark.parametrize("form", ["pax", "local"])
@pytest.mark.parametrize("case", UNKNOWN)
def test_what_only_a_build_can_say(host: Host, tmp_path: Path, case: str, form: str) -> None:
    for _ in range(2):  # kept, and read again
        found = _read_as(host, tmp_path, UNKNOWN[case], form)
        assert isinstance(found, WheelError)
        assert found.code == "REQUIREMENTS_UNKNOWN"
        assert found.message == "pkg-1.0.tar.gz: its source does not say what it requires"


def test_an_sdist_of_another_form_says_nothing_and_is_not_fetched(host: Host, tmp_path: Path) -> None:
    found = read(f"{host.url}/{ROOT}.zip", tmp_path)

    assert isinstance(found, WheelError)
    assert (found.code, host.seen) == ("REQUIREMENTS_UNKNOWN", [])


def test_a_long_path_of_ustar_is_put_together(host: Host, tmp_path: Path) -> None:
    found = _read_as(host, tmp_path, {f"{'s' * 90}/pkg.egg-info/requires.txt": REQUIRES}, "ustar")
    assert isinstance(found, Metadata)
    assert found.requires == EGG


def _read_as(host: Host, tmp_path: Path, files: dict[str, str], form: str) -> Metadata | TorchpickError:
    below: dict[str, str | bytes] = {f"{ROOT}/{path}": text for path, text in files.items()}
    below[f"{ROOT}/pad.bin"] = making.noise(1, 1000)
    forms = {"gnu": tarfile.GNU_FORMAT, "ustar": tarfile.USTAR_FORMAT}
    data, name = tar(below, forms.get(form, tarfile.PAX_FORMAT)), f"{ROOT}.tar.gz"
    if form == "local":
        (tmp_path / name).write_bytes(data)
        return read(str(tmp_path / name), tmp_path / "cache")
    host.files[f"/{name}"] = data
    return read(f"{host.url}/{name}", tmp_path / "cache")


@pytest.mark.parametrize("bound", ["MOST_PACKED", "MOST_UNPACKED"])
def test_behind_the_bound_nothing_is_read(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(filemetadata, bound, 1 << 20)
    files: dict[str, str | bytes] = {f"{ROOT}/PKG-INFO": DYNAMIC, f"{ROOT}/pad.bin": making.noise(1, 3 << 20)}
    host.files[f"/{ROOT}.tar.gz"] = tar({**files, f"{ROOT}/pyproject.toml": PROJECT})
    found = read(f"{host.url}/{ROOT}.tar.gz", tmp_path)

    assert isinstance(found, Metadata)
    assert (found.requires, found.guessed) == (("guessed",), GUESSED)


def test_a_bomb_is_unpacked_piece_by_piece_and_given_up(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filemetadata, "MOST_UNPACKED", 8 << 20)
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 40
    host.files[f"/{ROOT}.tar.gz"] = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + bytes(64 << 20))
    found = read(f"{host.url}/{ROOT}.tar.gz", tmp_path)

    assert isinstance(found, WheelError)
    assert found.code == "REQUIREMENTS_UNKNOWN"


WHOLE = tar({f"{ROOT}/PKG-INFO": DYNAMIC, f"{ROOT}/pad.bin": making.noise(1, 100_000)})
HEADER = tarfile.TarInfo(f"{ROOT}/x").tobuf()


@pytest.mark.parametrize(("data", "says"), [
    (b"no gzip at all", "is not gzip"),
    (WHOLE[:50_000], "stopped in the middle"),
    (gzip.compress(b"x" * 5000), "a member whose header is damaged"),
    (gzip.compress(HEADER[:124] + b"\xff" * 12 + HEADER[136:]), "a member whose header is damaged"),
    (gzip.compress(HEADER[:148] + b"0001234\0" + HEADER[156:]), "a member whose header is damaged"),
    (tar({f"{ROOT}/PKG-INFO": FINAL.replace("pkg", "other")}), "its metadata is that of other 1.0"),
    (tar({f"{ROOT}/PKG-INFO": FINAL.replace("1.0", "one")}), "its metadata is not valid"),
    (tar({f"{ROOT}/pkg.egg-info/requires.txt": "[a b!]\nx\n"}), "an extra of it has no name"),
], ids=map(str, range(8)))  # fmt: skip
def test_a_damaged_sdist_is_an_error(host: Host, tmp_path: Path, data: bytes, says: str) -> None:
    host.files[f"/{ROOT}.tar.gz"] = data
    found = read(f"{host.url}/{ROOT}.tar.gz", tmp_path)

    assert isinstance(found, TorchpickError)
    assert says in found.message


def test_a_connection_that_is_lost_once_is_taken_up_again(tmp_path: Path) -> None:
    data = tar({f"{ROOT}/pad.bin": making.noise(1, 100_000), f"{ROOT}/PKG-INFO": FINAL})
    parts = iter([data[:50_000], data])

    def manner(connection: socket) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode() + next(parts))

    with rude(manner) as url:
        assert isinstance(read(f"{url}{ROOT}.tar.gz", tmp_path), Metadata)


def test_a_bound_on_bytes_holds_within_a_file(host: Host, tmp_path: Path) -> None:
    host.files[f"/{ROOT}.tar.gz"] = tar({f"{ROOT}/pad.bin": making.noise(1, 3_000_000), f"{ROOT}/PKG-INFO": FINAL})
    found = read(f"{host.url}/{ROOT}.tar.gz", tmp_path, bytes=1_000_000)

    assert isinstance(found, TorchpickError)
    assert found.code == "READING_LIMIT"


def test_of_large_archives_that_come_whole_one_at_a_time_is_in_memory(host: Host, tmp_path: Path) -> None:
    host.mood = "no ranges"
    data = zipped({f"{ROOT}.dist-info/METADATA": FINAL, "pkg/pad.bin": making.noise(1, 6 << 20)})
    places = [f"/{number}/{ROOT}-py3-none-any.whl" for number in range(8)]
    host.files |= dict.fromkeys(places, data)
    files = [file_at(f"{host.url}{place}") for place in places]
    with ProjectReader(IndexPlaces(()), {"TORCHPICK_CACHE_DIR": str(tmp_path)}) as reader:
        tracemalloc.start()
        answers = reader.metadata(files)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert all(isinstance(answer, Metadata) for answer in answers.values())
    assert peak < 5 * len(data)
