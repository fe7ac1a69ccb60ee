"""Where pip and uv keep their settings on each system, and whether any of them may bind a decision."""

from __future__ import annotations

from os.path import join
from pathlib import Path

import pytest

from torchpick.environment import settingsfiles
from torchpick.environment.settingsfiles import files_bind, pip_files, uv_files, variables_bind
from torchpick.errors import TorchpickError

NOBODY = {"XDG_CONFIG_DIRS": "/nobody", "XDG_CONFIG_HOME": "/nobody"}


def test_pips_files_on_windows_are_the_computers_the_users_and_the_environments() -> None:
    moved = pip_files({"APPDATA": "A", "PROGRAMDATA": "P"}, "env", "me", "win32")
    usual = pip_files({}, "env", "me", "win32")

    user, own = join("me", "pip", "pip.ini"), join("env", "pip.ini")
    assert moved == [join("P", "pip", "pip.ini"), user, join("A", "pip", "pip.ini"), own]
    assert usual == [join("C:\\ProgramData", "pip", "pip.ini"), user, user, own]


def test_pips_file_of_a_mac_lies_in_the_library_where_that_folder_is(tmp_path: Path) -> None:
    shared, old, own = "/Library/Application Support/pip/pip.conf", str(tmp_path / ".pip" / "pip.conf"), "/env/pip.conf"

    before = pip_files({}, "/env", str(tmp_path), "darwin")
    library = tmp_path / "Library" / "Application Support" / "pip"
    library.mkdir(parents=True)

    assert before == [shared, old, str(tmp_path / ".config" / "pip" / "pip.conf"), own]
    assert pip_files({}, "/env", str(tmp_path), "darwin") == [shared, old, str(library / "pip.conf"), own]


def test_pips_files_on_linux_move_with_their_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settingsfiles, "ETC", "/etc")
    environ = {"XDG_CONFIG_DIRS": "/a::/b", "XDG_CONFIG_HOME": "rel", "PIP_CONFIG_FILE": "/not/there"}

    assert pip_files(environ, "/env", "/me", "linux") == [
        "/a/pip/pip.conf", "/b/pip/pip.conf", "/etc/pip.conf", "/me/.pip/pip.conf", "rel/pip/pip.conf",
        "/env/pip.conf", "/not/there",
    ]  # fmt: skip


def test_uvs_files_are_the_users_and_the_first_of_the_system_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settingsfiles, "ETC", "/etc")
    (tmp_path / "b" / "uv").mkdir(parents=True)
    (tmp_path / "b" / "uv" / "uv.toml").touch()
    folders = {"XDG_CONFIG_DIRS": f"{tmp_path}/a::{tmp_path}/b"}

    assert uv_files({"XDG_CONFIG_DIRS": "/nobody"}, "/me", "linux") == ["/me/.config/uv/uv.toml", "/etc/uv/uv.toml"]
    assert uv_files({**folders, "XDG_CONFIG_HOME": "/c"}, "/me", "linux") == [
        "/c/uv/uv.toml",
        f"{tmp_path}/b/uv/uv.toml",
    ]
    relative = {**folders, "XDG_CONFIG_HOME": "c"}  # its specification says to ignore it
    assert uv_files(relative, "/me", "darwin")[0] == "/me/.config/uv/uv.toml"


def test_uvs_files_on_windows() -> None:
    assert uv_files({}, "me", "win32") == [join("me", "uv", "uv.toml"), join("C:\\ProgramData", "uv", "uv.toml")]
    assert uv_files({"APPDATA": "A", "PROGRAMDATA": "P"}, "me", "win32") == [
        join("A", "uv", "uv.toml"),
        join("P", "uv", "uv.toml"),
    ]


@pytest.mark.parametrize(
    ("name", "binds"),
    [
        ("PIP_CONSTRAINT", True), ("PIP_constraint", True), ("PIP_BUILD_CONSTRAINT", True), ("UV_OVERRIDE", True),
        ("UV_CONSTRAINT", True), ("PIP_INDEX_URL", False), ("TOX_OVERRIDE", False), ("MY_CONSTRAINT", False),
        ("UV_OVERRIDES", False),
    ],
)  # fmt: skip
def test_a_variable_of_pip_or_uv_may_bind(name: str, *, binds: bool) -> None:
    assert variables_bind({"PATH": "/bin", name: "x"}) is binds


@pytest.mark.parametrize(
    ("file", "text", "binds"),
    [
        ("env/pip.conf", "[global]\nConstraint = c.txt\n", True),
        ("env/pip.conf", "[global]\ntimeout = 60\n", False),
        ("project/uv.toml", 'constraint-dependencies = ["a"]\n', True),
        ("project/pyproject.toml", '[tool.uv]\noverride-dependencies = ["a"]\n', True),
        ("pyproject.toml", '[tool.uv]\n"\\u0063onstraint-dependencies" = ["a"]\n', True),
        ("project/pyproject.toml", '[project]\nname = "x"\n', False),
        ("project/other.toml", 'constraint-dependencies = ["a"]\n', False),
        ("config/uv/uv.toml", 'override-dependencies = ["a"]\n', True),
    ],
)
def test_a_file_of_pip_or_uv_may_bind(
    file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, binds: bool
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path / "project")

    environ = {**NOBODY, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert files_bind(environ, str(tmp_path / "env")) is binds


def test_a_file_in_the_users_home_may_bind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home" / ".pip").mkdir(parents=True)
    (tmp_path / "home" / ".pip" / "pip.conf").write_text("[install]\nconstraint = c.txt\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert files_bind(NOBODY, str(tmp_path)) is False

    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))

    assert files_bind(NOBODY, str(tmp_path)) is True


@pytest.mark.parametrize("name", ["UV_CONFIG_FILE", "UV_PROJECT", "UV_WORKING_DIR"])
def test_a_variable_that_moves_uvs_files_may_bind(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert files_bind({**NOBODY, name: "x"}, str(tmp_path)) is True
    assert files_bind(NOBODY, str(tmp_path)) is False


def test_settings_that_cannot_be_read_are_none_and_what_no_settings_can_be_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    assert settingsfiles.text_of_settings(str(file)) is None
    assert settingsfiles.text_of_settings(str(tmp_path)) is None

    file.write_bytes(b"\xef\xbb\xbf[global]\nname = \xff\n")
    assert settingsfiles.text_of_settings(str(file)) == "[global]\nname = \ufffd\n"

    file.write_bytes(b"#" * settingsfiles.MOST_BYTES)
    assert len(settingsfiles.text_of_settings(str(file)) or "") == settingsfiles.MOST_BYTES
    file.write_bytes(b"#" * (settingsfiles.MOST_BYTES + 1))
    with pytest.raises(TorchpickError, match="larger than 1 MiB") as caught:
        settingsfiles.text_of_settings(str(file))
    assert caught.value.code == "CONFIGURATION"
