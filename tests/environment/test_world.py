"""The files of a computer, or of a folder that stands for one: what is absent, forbidden or no file is a value."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchpick.environment import world
from torchpick.environment.world import World


@pytest.fixture
def there(tmp_path: Path) -> World:
    """A folder that stands for a computer."""
    return World(f"{tmp_path}/", {}, "/", "linux")


@pytest.mark.parametrize("path", ["/none", "/none/x", "/\0"])
def test_what_is_not_there_is_none(there: World, path: str) -> None:
    assert (there.read(path), there.bytes(path), there.names(path), there.link(path)) == (None, None, [], None)


def test_a_file_is_neither_a_folder_nor_a_link(there: World, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")

    assert (there.names("/file"), there.link("/file")) == ([], None)


def test_this_computer_is_its_own_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    here = World.here()
    assert (here.path("/proc/x"), here.real, here.cwd, here.system) == ("/proc/x", True, str(tmp_path), sys.platform)

    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert World.here().cwd == "/"


@pytest.mark.parametrize("path", ["/dev/fd/0", "/proc/self/fd/0", "/dev/stdin"])
def test_a_pipe_of_the_shell_is_read_to_its_end_where_that_is_asked_for(path: str) -> None:
    if not os.path.exists(path):
        pytest.skip(f"no {path}")
    ends, before = os.pipe(), os.dup(0)
    os.write(ends[1], b"from the shell")
    os.close(ends[1])
    os.dup2(ends[0], 0)
    try:
        with pytest.raises(OSError, match="it is a pipe"):
            world.opened(path)
        with world.opened(path, pipes=True) as stream:
            assert (os.get_blocking(stream.fileno()), stream.read()) == (True, b"from the shell")
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(ends[0])


def test_two_paths_are_the_same_where_they_lead_to_one_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    assert world.is_same(str(tmp_path), str(tmp_path / "link")) is True
    assert world.is_same(str(tmp_path), str(tmp_path.parent)) is False
    assert world.is_same(str(tmp_path), str(tmp_path / "none")) is False
    assert world.is_same(str(tmp_path), "\0") is False


@pytest.mark.skipif(os.name == "nt", reason="the lists of Windows are not judged")
def test_a_group_without_a_name_is_private_to_the_user_of_its_number() -> None:
    """A container knows its user by the number alone."""
    nobody = 3_999_999_999

    assert world.is_private_group(nobody, nobody)
    assert not world.is_private_group(nobody, nobody - 1)


@pytest.mark.skipif(os.name == "nt", reason="the lists of Windows are not judged")
def test_a_group_is_private_where_it_has_its_users_name_and_no_other_member(monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    groups = {1: ("me", []), 2: ("me", ["me"]), 3: ("me", ["me", "you"]), 4: ("users", []), 5: ("users", ["me"])}
    monkeypatch.setattr(pwd, "getpwuid", lambda user: pwd.struct_passwd(("me", "x", user, 1, "", "/", "/")))
    known = {number: grp.struct_group((name, "x", number, members)) for number, (name, members) in groups.items()}
    monkeypatch.setattr(grp, "getgrgid", known.__getitem__)

    assert [world.is_private_group(1000, group) for group in groups] == [True, True, False, False, False]
