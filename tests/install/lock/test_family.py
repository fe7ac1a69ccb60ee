"""The files of torch's family in a lock: whose hash each gets, and which it is held to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.installers.test_commands import PICK
from torchpick.environment import requirements
from torchpick.environment.requirements import Given, Requirements
from torchpick.errors import InstallerError, IntegrityError
from torchpick.index import listing
from torchpick.index.host import Host
from torchpick.index.listing import Link
from torchpick.install.lock import family
from torchpick.install.lock.family import Want
from torchpick.install.lock.resolution import Aim
from torchpick.installers import links
from torchpick.model.lock import LockedPackage, LockEnvironment, LockFile
from torchpick.model.machine import Machine, Platform

FILES = [f"torch-2.14.1+cu126-cp{minor}-cp{minor}-manylinux_2_28_x86_64.whl" for minor in (311, 312, 313)]
PAGE = "https://download.pytorch.org/whl/cu126/torch/"
OTHER = "https://download-r2.pytorch.org/whl/cu126/"


class Shelf:
    """A host that tells the hashes 000…, 111…, 222… of torch for three Pythons."""

    def links(self, _index: str, name: str, **_how: object) -> tuple[Link, ...]:
        hrefs = "".join(f'<a href="{file}#sha256={str(place) * 64}">x</a>' for place, file in enumerate(FILES))
        return listing.parse(hrefs.encode(), PAGE) if name == "torch" else ()


def work(**more: Any) -> family._Work:
    want = Want(Requirements(Given()), ("torch",), PICK.build, PICK, PICK.machine, "/store", 0)
    aim = Aim(LockEnvironment("linux-x86_64", "3.12"), glibc="2.35")
    made = family._Work(want._replace(**more), aim, cast(Host, Shelf()))
    made.pin("torch", "2.14.1+cu126")
    return made


def test_a_file_under_another_name_of_the_host_has_the_hash_of_its_page() -> None:
    for place, file in enumerate(FILES):
        for name in (file, file.replace("+", "%2B")):
            assert work()._told(LockFile(OTHER + name)).sha256 == str(place) * 64
    told = (
        LockFile(OTHER + FILES[0], "f" * 64),
        LockFile(f"https://user.example/{FILES[0]}"),
        LockFile(f"{OTHER}a.zip"),
    )

    assert [work()._told(each) for each in told] == [*told]
    assert work()._told(LockFile(OTHER + FILES[0].replace("2.14.1", "2.0.0"))).sha256 is None


def test_a_judged_member_is_held_where_its_file_is_not() -> None:
    page, limits = work(held={"torch": "2.14.1", "xformers": "0.0.35"}).limits()

    assert limits.content == "torch==2.14.1+cu126\nxformers==0.0.35\n"
    assert page.private
    assert limits.private


def test_a_member_that_the_host_lacks_is_said_to_come_from_the_users_index() -> None:
    made = work(family=("torch", "xformers"))
    made.needed = {"xformers": "0.0.35"}

    assert not made.strays()
    assert [(note.code, note.text.partition(" for ")[0]) for note in made.notes] == [
        ("FAMILY_FROM_INDEX", "the wheel host has no xformers")
    ]


@pytest.mark.parametrize(("found", "measured"), [(None, "a"), ("a", None), (None, None), ("a", "a")])
def test_a_hash_is_compared_with_one_that_is_known(found: str | None, measured: str | None) -> None:
    family._check_hash("torch.whl", found, measured)


def test_another_hash_than_the_one_that_was_read_is_refused() -> None:
    with pytest.raises(IntegrityError, match=r"torch\.whl: the index says sha256 b, the wheel that was read had a"):
        family._check_hash("torch.whl", "b", "a")


def test_a_file_for_a_newer_system_than_the_machines_is_not_usable() -> None:
    machine = PICK.machine._replace(platform=Platform("linux", "x86_64", "2.17"))
    aim = Aim(LockEnvironment("linux-x86_64", "3.12"))

    def usable(here: Machine) -> int:
        want = Want(Requirements(Given()), ("torch",), PICK.build, PICK, here, "/store", 0)
        return len(family._Work(want, aim, cast(Host, Shelf())).usable("torch") or ())

    assert (usable(machine), usable(machine._replace(platform=Platform("linux", "x86_64", "2.35")))) == (0, 1)


@pytest.mark.parametrize("said", ["", "f" * 64])
def test_the_hash_of_a_pages_file_is_compared_with_the_tables(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = work()
    made.needed = {"torch": "2.14.1+cu126"}
    (link,) = made.links["torch"]
    table = [] if said == "" else [link._replace(sha256=said)]
    monkeypatch.setattr(links, "wheels", lambda *_: table)

    if table:
        with pytest.raises(IntegrityError, match="the index says sha256"):
            made.hash_family()
    else:
        made.hash_family()


def test_a_package_of_the_users_index_gets_the_hashes_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = work()
    monkeypatch.setattr(made, "_computed", lambda url: f"of {url}")
    told, bare = LockFile("https://h.example/a.whl", "told"), LockFile("https://h.example/b.whl")

    done = made.finished(LockedPackage("numpy", "2.0", (told, bare), sdist=LockFile("https://h.example/c.tar.gz")))

    assert [file.sha256 for file in done.files] == [
        "told", "of https://h.example/b.whl", "of https://h.example/c.tar.gz",
    ]  # fmt: skip
    assert made.finished(LockedPackage("numpy", "2.0", (told,))).sdist is None


def test_only_a_torch_of_the_users_index_is_compared_with_the_wheel_that_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = work()
    made.pins.clear()
    monkeypatch.setattr(links, "measured", lambda *_: "another")
    file = LockFile("https://h.example/a.whl", "told")

    assert made.finished(LockedPackage("numpy", "2.0", (file,))).wheels == (file,)
    with pytest.raises(IntegrityError, match="the wheel that was read had another"):
        made.finished(LockedPackage("torch", "2.14.1", (file,)))


def test_a_page_of_links_says_which_have_metadata_of_their_own() -> None:
    marks = (f' data-core-metadata="sha256={"5" * 64}"', ' data-core-metadata="true"', "")
    hrefs = "".join(f'<a href="{file}"{mark}>x</a>' for file, mark in zip(FILES, marks, strict=True))

    page = family.page_of([listing.parse(hrefs.encode(), PAGE)])

    lines = [line for line in page.splitlines() if "href" in line]
    assert ["sha256=5" in lines[0], 'metadata="true"' in lines[1], "metadata" in lines[2]] == [True, True, False]


def test_of_a_member_the_newest_that_was_asked_for_is_taken() -> None:
    names = [f"torchcodec-{version}-cp312-cp312-manylinux_2_28_x86_64.whl" for version in ("0.9", "0.11+cu126", "0.12")]
    there = listing.parse("".join(f'<a href="{name}">x</a>' for name in names).encode(), PAGE)

    def chosen(version: str, *words: str) -> str:
        return work(asked=requirements.read(Given(words), {}))._chosen("torchcodec", version, there)

    assert chosen("0.9", "torchcodec") == "0.9"
    assert chosen("0.11", "torchcodec") == chosen("0.11+cpu", "torchcodec") == "0.11+cu126"
    assert chosen("0.13", "torchcodec", "torch<3") == "0.12"
    assert chosen("0.13", "torchcodec<0.12", "torch<3") == "0.11+cu126"
    with pytest.raises(InstallerError, match=r"has no torchcodec>1 for .*: it has 0\.12, 0\.11\+cu126, 0\.9") as caught:
        chosen("2.0", "torchcodec>1")
    assert caught.value.code == "NOT_ON_PAGE"


def test_a_member_in_a_lock_has_the_files_of_the_host_alone() -> None:
    own = LockFile("https://user.example/torch.tar.gz", "f" * 64)

    found = work().finished(LockedPackage("torch", "2.14.1", wheels=(own,), sdist=own))

    assert (found.version, found.sdist, found.archive) == ("2.14.1+cu126", None, None)
    assert [(file.name, file.sha256) for file in found.wheels] == [(FILES[1], "1" * 64)]
    assert found.index_url == PICK.index_url
