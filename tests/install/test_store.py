from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from torchpick.environment.rewrite import write_json
from torchpick.errors import InstallerError, TorchpickError
from torchpick.install.command import store_folder, stored_file, write_files


def folder_of(cache: str, temporary: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", temporary)
        return store_folder(cache)


def test_a_file_is_named_by_its_content_and_written_once(tmp_path: Path) -> None:
    one, same, other = (stored_file(str(tmp_path), "limits", ".txt", text) for text in ("a", "a", "b"))
    write_files(one | other)
    (path,) = one
    before = os.stat(path).st_mtime_ns
    write_files(same)

    assert one == same != other
    assert Path(path).read_text("utf-8") == "a"
    assert os.stat(path).st_mtime_ns == before
    assert sorted(os.listdir(tmp_path)) == sorted(map(os.path.basename, one | other))


def test_a_file_that_somebody_changed_is_written_anew(tmp_path: Path) -> None:
    made = stored_file(str(tmp_path), "limits", ".txt", "a")
    (path,) = made
    Path(path).write_text("a\n--pre", "utf-8")

    write_files(made)

    assert Path(path).read_text("utf-8") == "a"


@pytest.mark.parametrize(
    ("content", "shared", "mode"),
    [
        ("torch @ https://me:secret@mirror.example/torch.whl\n", True, 0o600),
        ('<a href="https://token@mirror.example/torch.whl">torch</a>', True, 0o600),
        ("torch @ https://mirror.example/torch@2.whl\n", True, 0o644),
        ("torch==2.14.1\n", True, 0o644),
        ("torch==2.14.1\n", False, 0o600),
    ],
)
def test_a_file_is_private_but_for_what_an_environment_shares_without_a_login_in_it(
    content: str, shared: bool, mode: int, tmp_path: Path
) -> None:
    made = stored_file(str(tmp_path), "constraints", ".txt", content)
    write_files(made, shared=shared)

    (path,) = made
    assert stat.S_IMODE(os.stat(path).st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize("umask", [0o000, 0o002, 0o027, 0o077])
def test_folders_of_the_cache_are_the_users_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        stores = [folder_of(str(tmp_path / "above" / "cache"), "/nowhere") for _ in range(2)]
        write_json(tmp_path / "above" / "cache" / "pages" / "page.json", [])
    finally:
        os.umask(before)

    folders = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert stores == [str(tmp_path / "above" / "cache" / "install")] * 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert stat.S_IMODE((tmp_path / "above/cache/pages/page.json").stat().st_mode) == 0o600


def test_a_cache_that_cannot_be_written_gives_way_to_a_folder_of_ones_own(tmp_path: Path) -> None:
    tmp_path.joinpath("cache").write_text("no folder", "utf-8")

    found = folder_of(str(tmp_path / "cache"), str(tmp_path))

    assert os.path.dirname(found) == str(tmp_path)
    assert stat.S_IMODE(os.stat(found).st_mode) == 0o700


def test_somebody_elses_folder_is_not_used(tmp_path: Path) -> None:
    """A link that waits in a folder where everybody may write."""
    tmp_path.joinpath("cache").write_text("no folder", "utf-8")
    tmp_path.joinpath("theirs").mkdir()
    tmp_path.joinpath(f"torchpick-{os.getuid()}").symlink_to(tmp_path / "theirs")

    with pytest.raises(InstallerError, match="is yours alone to write"):
        folder_of(str(tmp_path / "cache"), str(tmp_path))


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    made = stored_file(str(tmp_path / "gone"), "limits", ".txt", "a")

    with pytest.raises(TorchpickError, match=r"cannot write .*gone"):
        write_files(made)


def test_where_nothing_can_be_written_the_variable_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder", "utf-8")

    with pytest.raises(
        InstallerError, match=r"neither .*/cache nor .*/torchpick-\d+ is yours alone to write"
    ) as caught:
        folder_of(str(tmp_path / "cache"), str(tmp_path / "cache"))

    assert caught.value.code == "NO_CACHE"
    assert "TORCHPICK_CACHE_DIR" in str(caught.value.hint)
