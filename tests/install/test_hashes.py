"""The hash that a file must have, whatever its page says of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.fakes.indexes import serve
from tests.install.jobs import PICK
from torchpick.environment import toolsettings
from torchpick.errors import InstallerError, IntegrityError, NetworkError, UsageError
from torchpick.index import pages, wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.install.env import list_files
from torchpick.install.files import Hashes, check_mirror
from torchpick.install.question import pick_build
from torchpick.install.user_settings import UserSettings
from torchpick.knowledge.compat import Knowledge
from torchpick.model.address import Address
from torchpick.model.build import Evidence, VendorIndex
from torchpick.model.pick import Pick, Request
from torchpick.run import Run, start_run

FILE = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
FILE_WORDS = f"{re.escape(FILE)}: its page says sha256 "
A, B = "a" * 64, "b" * 64
MIRROR = PICK._replace(wish=PICK.wish._replace(index_base="https://mirror.example/whl"))
FLAT = PICK._replace(wish=PICK.wish._replace(index_base="flat+https://mirror.example/files"))


def hashes(monkeypatch: pytest.MonkeyPatch, pick: Pick = PICK, *, seen: str | None = None) -> Hashes:
    known = {} if seen is None else {FILE: seen}
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda _, backend: known if backend == "cu126" else {})
    return Hashes(pick, Knowledge({}))


def wheel(listed: str | None) -> ProjectFile:
    name = wheelnames.parse(FILE)
    assert name is not None
    return ProjectFile(FILE, Address(f"https://host.example/{FILE}"), name, listed and f"sha256={listed}")


def read(pick: Pick) -> Pick:
    first = pick.verdicts[0]
    build = first.build._replace(evidence=Evidence("measured", f"{FILE} sha256:{A}"))
    return pick._replace(verdicts=(first._replace(build=build), *pick.verdicts[1:]))


@pytest.mark.parametrize(
    ("seen", "listed", "expected", "codes"),
    [
        (None, A, A, []), (A, A, A, []), (A, None, A, []), (A, B, B, ["HASH_CHANGED"]),
        (None, None, None, ["UNHASHED"]),
    ],
)  # fmt: skip
def test_on_the_wheel_host(
    seen: str | None, listed: str | None, expected: str | None, codes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = hashes(monkeypatch, seen=seen)

    found = known.check(wheel(listed))

    assert (found.sha256, [note.code for note in known.notes([found])]) == (expected, codes)
    assert all(FILE in note.text for note in known.notes([found]))
    if codes == ["UNHASHED"]:
        where = f"so it is taken from https://host.example/{FILE} unchecked"
        assert known.notes([found])[0].text == f"{FILE} has no known sha256, {where}"


@pytest.mark.parametrize("pick", [MIRROR, FLAT])
def test_a_mirror_may_not_say_otherwise_than_public_locks(pick: Pick, monkeypatch: pytest.MonkeyPatch) -> None:
    known = hashes(monkeypatch, pick, seen=A)

    assert known.check(wheel(None)).sha256 == A
    with pytest.raises(IntegrityError, match=rf"^{FILE_WORDS}{B}, public locks have {A} \(https://host\.example/"):
        known.check(wheel(B))


@pytest.mark.parametrize("pick", [PICK, MIRROR])
def test_nobody_may_say_otherwise_than_the_wheel_that_was_read(pick: Pick, monkeypatch: pytest.MonkeyPatch) -> None:
    known = hashes(monkeypatch, read(pick), seen=B)

    assert known.check(wheel(None)).sha256 == A
    with pytest.raises(IntegrityError, match=f"{B}, the wheel that was read had {A}"):
        known.check(wheel(B))


def test_public_locks_speak_for_releases_of_the_wheel_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    first = PICK.verdicts[0]
    vendors = first.build._replace(vendor=VendorIndex("AMD", "https://v.example/whl", "--index-url"))
    declared = first.build._replace(evidence=Evidence("declared", f"{FILE} sha256:{A}"))
    others = [PICK._replace(wish=PICK.wish._replace(channel=channel)) for channel in ("nightly", "test")]
    others += [PICK._replace(verdicts=(first._replace(build=build),)) for build in (vendors, declared)]

    found = [hashes(monkeypatch, pick, seen=B).check(wheel(None)) for pick in others]

    assert [file.sha256 for file in found] == [None, None, None, B]  # of what was not read a name is no proof
    assert hashes(monkeypatch).notes([wheel(None)._replace(hash="sha512=0")]) == []


@pytest.mark.parametrize(
    "index",
    [
        "https://m.test/whl/cu126", "file:///srv/whl", "http://localhost:8000/whl", "http://127.1.2.3/whl",
        "http://[::1]/whl", "",
    ],
)  # fmt: skip
def test_a_mirror_with_tls_or_on_this_computer_needs_nobodys_word(index: str) -> None:
    check_mirror(UserSettings(), index)


def test_a_name_that_looks_like_this_computer_and_a_computer_nearby_are_not() -> None:
    nearby = ("192.168.1.5", "10.0.0.1", "172.16.0.9", "169.254.1.1", "[fe80::1]", "[fd00::1]", "nas.local")
    for host in ("127.0.0.1.evil.test", "localhost.evil.test", "127.evil.test", *nearby):
        with pytest.raises(UsageError, match="is not secure"):
            check_mirror(UserSettings(), f"http://{host}/whl")


@pytest.mark.parametrize("said", ["", "other.test", "m.test:80", "x.m.test", "https://m.test"])
def test_a_mirror_without_tls_is_refused_as_pip_refuses_it(said: str) -> None:
    spoken = toolsettings.strongest(toolsettings.pip_variables({"PIP_TRUSTED_HOST": said}))

    with pytest.raises(UsageError, match=r"http://me:\*+@M\.test:8080/whl is not secure") as caught:
        check_mirror(UserSettings(pip=spoken), "http://me:secret@M.test:8080/whl", ("--trusted-host",))
    assert "PIP_TRUSTED_HOST=m.test" in str(caught.value.hint)


@pytest.mark.parametrize("said", ["m.test", "M.TEST:8080"])
def test_whoever_names_it_vouches_for_it(said: str) -> None:
    spoken = toolsettings.strongest(toolsettings.pip_variables({"PIP_TRUSTED_HOST": f"other.test {said}"}))
    file = ("uv.toml", {"allow-insecure-host": [said]})
    for own, words in (
        (UserSettings(pip=spoken), ()),
        (UserSettings({"UV_INSECURE_HOST": f"http://{said}"}), ()),
        (UserSettings(uv_files=(file,)), ()),
        (UserSettings(), ("-v", "--trusted-host", said)),
        (UserSettings(), (f"--allow-insecure-host={said}",)),
    ):
        check_mirror(own, "http://m.test:8080/whl/cu126", words)


A100 = Request(
    gpus=("sm_80",), driver="535.183.01", python="3.12", platform="linux-x86_64", glibc="2.35",
    requirements=("torch==2.10.0",),
)  # fmt: skip


def family(run: Run) -> dict[str, str]:
    """The version of each project whose page is read: torch, its companions and its triton."""
    build = pick_build(run).build
    return {**build.pins, **({"triton": build.libraries["triton"]} if "triton" in build.libraries else {})}


def page_of_one(run: Run, url: str, folder: str = "", python: str = "cp312") -> tuple[ProjectFile, ...]:
    """A project's page with the one wheel that is picked of it, which lies in a folder of its own."""
    name = url.rstrip("/").rpartition("/")[2]
    version = family(run)[name].replace("+", "%2B")
    href = f"{folder}{name}-{version}-{python}-{python}-manylinux_2_28_x86_64.whl#sha256={B}"
    return pages.files(f'<a href="{href}">x</a>'.encode(), url)


def addresses(files: Mapping[str, Sequence[ProjectFile]]) -> dict[str, list[str]]:
    return {name: [file.with_hash for file in of_project] for name, of_project in files.items()}


def test_what_was_read_on_a_page_needs_no_network_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def fetch(url: str) -> tuple[ProjectFile, ...]:
        asked.append(url)
        return page_of_one(run, url)

    serve(monkeypatch, fetch)
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})
    environ = {"TORCHPICK_CACHE_DIR": str(tmp_path)}
    run = start_run(A100, environ)

    first = list_files(run, pick_build(run))
    again = list_files(start_run(A100, environ), pick_build(run))
    offline = list_files(start_run(A100._replace(offline=True), environ), pick_build(run))

    assert addresses(first[0]) == addresses(again[0]) == addresses(offline[0])
    assert {wheel.sha256 for wheels in first[0].values() for wheel in wheels} == {B}
    assert len(asked) == len(set(asked)) == len(family(run))
    elsewhere = start_run(A100._replace(platform="linux-aarch64"), environ)
    with pytest.raises(InstallerError, match=r"has no torch==2\.10\.0\+cu\d+ that fits"):  # of the same page
        list_files(elsewhere, pick_build(elsewhere))


def test_a_companion_that_is_asked_for_must_be_on_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = A100._replace(requirements=("torch==2.10.0", "torchvision"))
    run = start_run(request, {"TORCHPICK_CACHE_DIR": str(tmp_path)})
    serve(monkeypatch, lambda url: () if "vision" in url else page_of_one(run, url))
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})

    with pytest.raises(InstallerError, match="no file of it is listed there"):
        list_files(run, pick_build(run))


@pytest.mark.parametrize(("place", "more"), [(1, " #x"), (1, "\n--pre"), (0, f"sha256={B} #x"), (0, "0")])
def test_a_record_with_what_no_page_can_have_said_is_not_believed(
    place: int, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})
    run = start_run(A100, {"TORCHPICK_CACHE_DIR": str(tmp_path)})
    serve(monkeypatch, lambda url: page_of_one(run, url))
    first = list_files(run, pick_build(run))[0]
    for kept in tmp_path.rglob("pages/*.json"):
        record = json.loads(kept.read_text("utf-8"))
        for row in record["files"]:
            row[place] = more if place == 0 else f"{row[1]}{more}"
        kept.write_text(json.dumps(record), "utf-8")

    assert addresses(list_files(run, pick_build(run))[0]) == addresses(first)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_page_without_use_is_not_asked_for_at_every_start(
    is_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A companion's that has nothing for this Python is believed for a day, one that cannot be reached for an hour."""
    now, asked = [1_800_000_000.0], list[str]()

    def fetch(url: str) -> tuple[ProjectFile, ...]:
        asked.append(url)
        if not is_there:
            raise NetworkError("no such host", hint="")
        other = page_of_one(start_run(A100, {}), url, python="cp311")
        if url.endswith("/torch/"):
            return (*other, *page_of_one(start_run(A100, {}), url))
        return other if url.endswith("/torchaudio/") else ()

    def start(seconds: int) -> tuple[set[str], int]:
        now[0] += seconds
        asked.clear()
        run = start_run(A100, {"TORCHPICK_CACHE_DIR": str(tmp_path)})
        return set(list_files(run, pick_build(run))[0]), len(asked)

    monkeypatch.setattr("time.time", lambda: now[0])
    serve(monkeypatch, fetch)
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})
    pins = set(family(start_run(A100, {})))
    named, reads = (pins, len(pins)) if is_there else (set(), 1)  # the first that fails speaks for its host

    believed_s, again = (86400, reads - 1) if is_there else (3600, reads)
    for seconds, expected in ((0, reads), (believed_s - 1, 0), (1, again), (believed_s - 1, 0)):
        assert start(seconds) == (named, expected)


@pytest.mark.parametrize(
    ("base", "link", "place"),
    [
        ("https://mirror.example/whl", "https://download-r2.pytorch.org/whl/", "https://mirror.example/whl/cu126/"),
        ("https://mirror.example/whl", "https://files.example/whl/", "https://files.example/whl/"),
        ("https://mirror.example/whl", "https://notpytorch.org/whl/", "https://notpytorch.org/whl/"),
        ("https://download.pytorch.org/whl", "https://download-r2.pytorch.org/whl/", "https://download-r2.pytorch.org/whl/"),
    ],
)  # fmt: skip
def test_what_a_copied_page_names_on_the_wheel_host_is_the_mirrors_own_file(
    base: str, link: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(url: str) -> tuple[ProjectFile, ...]:
        return page_of_one(run, url, link)

    serve(monkeypatch, fetch)
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {})
    request = A100._replace(requirements=("torch==2.9.1+cu126",), driver="580.95.05", index_base=base)
    run = start_run(request, {"TORCHPICK_CACHE_DIR": str(tmp_path)})

    found, _ = list_files(run, pick_build(run))

    every = [wheel for wheels in found.values() for wheel in wheels]
    assert every
    assert [wheel.url for wheel in every] == [place + wheel.file.replace("+", "%2B") for wheel in every]
    records = [*tmp_path.rglob("pages/*.json")]
    assert len(records) == len(found)
    if os.name != "nt":
        assert {path.stat().st_mode & 0o077 for path in records} == {0}  # an address may hold a password


@pytest.mark.parametrize(("seen", "named"), [(True, {"torch"}), (False, set[str]())])
def test_without_a_network_only_a_hash_that_is_known_names_a_file(
    seen: bool, named: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start_run(A100._replace(offline=True), {"TORCHPICK_CACHE_DIR": str(tmp_path)})
    file = f"torch-{pick_build(run).version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    monkeypatch.setattr(Knowledge, "hashes_in_public_locks", lambda *_: {file: A} if seen else {})

    found, _ = list_files(run, pick_build(run))

    assert set(found) == named
    assert all(wheel.sha256 for wheels in found.values() for wheel in wheels)


@pytest.mark.parametrize("offline", [True, False])
def test_no_page_is_read_on_a_mirror_that_nobody_vouches_for(offline: bool, tmp_path: Path) -> None:
    request = A100._replace(index_base="http://mirror.example/whl", offline=offline)
    run = start_run(request, {"TORCHPICK_CACHE_DIR": str(tmp_path), "PIP_TRUSTED_HOST": "other.example"})

    with pytest.raises(UsageError, match=r"http://mirror\.example/whl/cu\d+ is not secure"):
        list_files(run, pick_build(run))
