"""The hash of every file of a lock, and what of its addresses is made public."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.install.jobs import PICK, job
from torchpick.errors import IntegrityError, UsageError, WheelError
from torchpick.index import pages
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import ProjectReader
from torchpick.install.files import Hashes
from torchpick.install.lock import hashed, with_hashes, without_credentials
from torchpick.install.reporting import ReportedPackage
from torchpick.knowledge.compat import Knowledge
from torchpick.model.address import Address
from torchpick.model.machine import Note

SHA = "ab" * 32
FILE = "torch-2.14.1+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
TORCH = f"{PICK.index_url}/{FILE.replace('+', '%2B')}"


class BuildsByRelease:
    """A wheel host with one page."""

    def __init__(self, *hrefs: str) -> None:
        self.page = "".join(f'<a href="{href}">x</a>' for href in hrefs)

    def wheels(self, name: str) -> tuple[ProjectFile, ...]:
        return tuple(
            link for link in pages.files(self.page.encode(), f"{PICK.index_url}/") if link.name.project == name
        )


def locked(package: ReportedPackage, *hrefs: str, files: dict[str, str] | None = None) -> ReportedPackage:
    host = cast(ProjectReader, BuildsByRelease(*hrefs))
    return with_hashes(package, job(pick=PICK, files=files or {}), host, Hashes(PICK, Knowledge({})))


def test_a_file_that_the_user_names_on_torchs_index_has_the_hash_of_its_page() -> None:
    item = ReportedPackage("torch", "", TORCH, "archive", ((Address(TORCH), "of a download", None),))

    assert locked(item, f"{TORCH}#sha256={SHA}").files == ((Address(TORCH), SHA, None),)
    for hrefs in ((), (TORCH,)):
        with pytest.raises(WheelError, match=r"no index gives a sha256 for https://.*torch-2\.14\.1") as missing:
            locked(item, *hrefs)
        assert missing.value.code == "NO_HASH"


def test_a_chosen_file_has_its_hash_or_there_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"")

    assert hashed(Address(f"{TORCH}#sha256={SHA}")) == f"{TORCH}#sha256={SHA}"
    assert hashed(Address((tmp_path / "a.whl").as_uri())).endswith(
        "#sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )
    with pytest.raises(WheelError, match="a lock needs it"):
        hashed(Address(TORCH))


def test_a_chosen_file_is_a_wheel_of_its_index_and_not_a_place_of_the_users() -> None:
    item = ReportedPackage("torch", "", TORCH, "archive", ((Address(TORCH), None, 5),))

    made = locked(item, files={"torch": f"{TORCH}#sha256={SHA}"})

    file = (Address(TORCH), SHA, 5)
    assert made == ReportedPackage("torch", "2.14.1+cu126", TORCH, "wheels", (file,), index_url=PICK.index_url)
    elsewhere = f"https://copies.example/{FILE.replace('+', '%2B')}#sha256={SHA}"
    assert locked(item, files={"torch": elsewhere}).index_url == ""


def test_a_folder_and_a_repository_have_no_hash() -> None:
    for source in ("directory", "vcs"):
        with pytest.raises(UsageError, match="mine is a folder or a repository, which has no hash"):
            locked(ReportedPackage("mine", "", "https://h.example/mine", source))


def test_another_file_than_the_one_that_was_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchpick.install.files.measured_hash", lambda *_: "another")
    file = (Address("https://own.example/torch-2.14.1-cp312-cp312-manylinux_2_28_x86_64.whl"), SHA, None)

    with pytest.raises(IntegrityError, match="the wheel that was read had another"):
        locked(ReportedPackage("torch", "2.14.1", file[0], files=(file,)))


def test_no_place_in_a_lock_holds_a_password() -> None:
    notes: list[Note] = []
    hidden, plain = "https://me:secret@h.example", "https://h.example"
    package = ReportedPackage(
        "a", "1", "", "wheels", ((Address(f"{hidden}/a.whl"), None, None),),
        f"{hidden}/simple",
    )  # fmt: skip

    made = without_credentials(package, notes)

    assert [url for url, _, _ in made.files] == [f"{plain}/a.whl"]
    assert made.index_url == f"{plain}/simple"
    assert [note.code for note in notes] == ["CREDENTIALS_LEFT_OUT"]
    assert without_credentials(ReportedPackage("a", "1"), notes) == ReportedPackage("a", "1")
    assert len(notes) == 1
    of_index = ReportedPackage("a", "1", files=((Address(f"{plain}/a.whl"), None, None),), index_url=hidden)
    assert without_credentials(of_index, notes).index_url == plain
    assert len(notes) == 2
