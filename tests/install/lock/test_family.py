"""The files of torch's family in a lock: whose hash each gets, and which it is held to."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.install.lock.test_making import Deaf
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
from torchpick.model.lock import LockedPackage, LockEnvironment, LockFile

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
    made = family._Work(want._replace(**more), aim, cast(Host, Shelf()), Deaf())
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


@pytest.mark.parametrize(("found", "measured"), [(None, "a"), ("a", None), (None, None), ("a", "a")])
def test_a_hash_is_compared_with_one_that_is_known(found: str | None, measured: str | None) -> None:
    family._check_hash("torch.whl", found, measured)


def test_another_hash_than_the_one_that_was_read_is_refused() -> None:
    with pytest.raises(IntegrityError, match=r"torch\.whl: the index says sha256 b, the wheel that was read had a"):
        family._check_hash("torch.whl", "b", "a")


def test_of_a_member_the_newest_that_was_asked_for_is_taken() -> None:
    names = [f"torchcodec-{version}-cp312-cp312-manylinux_2_28_x86_64.whl" for version in ("0.9", "0.11+cu126", "0.12")]
    there = listing.parse("".join(f'<a href="{name}">x</a>' for name in names).encode(), PAGE)

    def chosen(version: str, *words: str) -> str:
        return work(asked=requirements.read(Given(words), {}))._chosen("torchcodec", version, there)

    assert chosen("0.9", "torchcodec") == "0.9"
    assert chosen("0.11", "torchcodec") == "0.11+cu126"
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
