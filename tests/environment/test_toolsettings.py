from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment import toolsettings
from torchpick.errors import TorchpickError

# Settings of the computer would be read with a bare environment.
NOBODY = {"XDG_CONFIG_DIRS": "/nobody"}


@pytest.fixture
def _etc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolsettings, "ETC", "/etc")


@pytest.mark.usefixtures("_etc")
def test_pips_files_on_three_systems() -> None:
    linux = toolsettings.pip_files({"XDG_CONFIG_DIRS": "/a:/b"}, "/env", "/home/me", "linux")
    mac = toolsettings.pip_files({}, "/env", "/Users/me", "darwin")
    windows = toolsettings.pip_files({"APPDATA": "C:\\A", "PROGRAMDATA": "C:\\P"}, "C:\\env", "C:\\me", "win32")

    assert linux == [
        "/a/pip/pip.conf", "/b/pip/pip.conf", "/etc/pip.conf", "/home/me/.pip/pip.conf",
        "/home/me/.config/pip/pip.conf", "/env/pip.conf",
    ]  # fmt: skip
    named = {"XDG_CONFIG_DIRS": "/a", "PIP_CONFIG_FILE": __file__}  # in the place of the user's own
    assert toolsettings.pip_files(named, "/env", "/home/me", "linux") == [
        "/a/pip/pip.conf", "/etc/pip.conf", "/env/pip.conf", __file__,
    ]  # fmt: skip
    assert mac[-3:] == ["/Users/me/.pip/pip.conf", "/Users/me/.config/pip/pip.conf", "/env/pip.conf"]
    names = (r"C:\P/pip", r"C:\me/pip", r"C:\A/pip", r"C:\env")
    assert [path.replace(os.sep, "/") for path in windows] == [f"{name}/pip.ini".replace(os.sep, "/") for name in names]


@pytest.mark.parametrize("text", ["index-url = x\n", "[global\n", "[global]\nx\n"])
def test_a_broken_pip_conf_is_named(tmp_path: Path, text: str) -> None:
    tmp_path.joinpath("pip.conf").write_text(text, "utf-8")

    with pytest.raises(TorchpickError, match=r"pip\.conf"):
        toolsettings.read_pip_settings(NOBODY, str(tmp_path), str(tmp_path / "nobody"))


def test_uv_reads_the_nearest_project_then_the_users_file(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    home = tmp_path / "home"
    home.joinpath(".config", "uv").mkdir(parents=True)
    home.joinpath(".config", "uv", "uv.toml").write_text("offline = true\n", "utf-8")
    tmp_path.joinpath("project", "pyproject.toml").write_text(
        "[project]\nname = 'x'\n[tool.uv]\nno-index = true\n", "utf-8"
    )
    tmp_path.joinpath("project", "src", "pyproject.toml").write_text("[project]\nname = 'no uv in it'\n", "utf-8")

    found = toolsettings.read_uv_files(NOBODY, str(home), str(inner))

    assert [dict(table) for _, table in found] == [{"no-index": True}, {"offline": True}]
    moved = {**NOBODY, "UV_WORKING_DIR": "project", "UV_PROJECT": "src/deep"}
    assert toolsettings.read_uv_files(moved, str(home), str(tmp_path)) == found
    for only in ({"UV_NO_CONFIG": "TRUE"}, {"UV_CONFIG_FILE": "/nowhere/uv.toml"}):
        assert toolsettings.read_uv_files({**NOBODY, **only}, str(home), str(inner)) == []
    tmp_path.joinpath("project", "uv.toml").write_text("no-index = false\n", "utf-8")  # it hides what is beside it
    assert [dict(table) for _, table in toolsettings.read_uv_files(NOBODY, str(home), str(inner))] == [
        {"no-index": False},
        {"offline": True},
    ]


def test_uv_begins_at_the_root_of_the_workspace_above_a_project(tmp_path: Path) -> None:
    member = tmp_path / "packages" / "m"
    member.mkdir(parents=True)
    member.joinpath("pyproject.toml").write_text("[project]\nname = 'm'\n[tool.uv]\npackage = false\n", "utf-8")
    root = tmp_path / "pyproject.toml"

    def found(workspace: str, folder: Path = member) -> str:
        root.write_text(f"[tool.uv.workspace]\n{workspace}\n", "utf-8")
        return toolsettings.read_uv_files(NOBODY, "/nobody", str(folder))[0][0]

    assert found("members = ['packages/*']") == str(root)
    member.joinpath("pyproject.toml").write_text("[project]\nname = 'm'\n", "utf-8")
    assert found("members = 1") == str(root)


def test_what_is_too_large_for_settings_or_a_pipe_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "uv.toml"
    file.write_text("# x\n" * 300_000, "utf-8")
    with pytest.raises(TorchpickError, match="larger than 1 MiB"):
        toolsettings.read_uv_files(
            {**NOBODY, "UV_NO_CONFIG": "1", "UV_CONFIG_FILE": str(file)}, "/nobody", str(tmp_path)
        )
    if hasattr(os, "mkfifo"):
        file.unlink()
        os.mkfifo(file)
        with pytest.raises(TorchpickError, match="is a pipe"):
            toolsettings.read_uv_files(NOBODY, "/nobody", str(tmp_path))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_a_pin_wrote_is_nobodys_will_however_lines_end(tmp_path: Path, end: str) -> None:
    lines = ("[tool.uv]", 'constraint-dependencies = ["torch==2.9.1"] # torchpick pin', "offline = true", "")
    (tmp_path / "pyproject.toml").write_bytes(end.join(lines).encode())

    assert toolsettings.toml_of(str(tmp_path / "pyproject.toml"), "tool", "uv") == {"offline": True}


def test_a_broken_uv_file_is_named(tmp_path: Path) -> None:
    tmp_path.joinpath("uv.toml").write_text("= = =\n", "utf-8")

    with pytest.raises(TorchpickError, match=r"uv\.toml"):
        toolsettings.read_uv_files(NOBODY, "/nobody", str(tmp_path))


def test_a_table_deeper_than_anybody_means_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "uv.toml"
    file.write_text("a" + ".a" * 900 + " = 1\n", "utf-8")

    with pytest.raises(TorchpickError, match="nested deeper than"):
        toolsettings.read_uv_files({**NOBODY, "UV_CONFIG_FILE": str(file)}, str(tmp_path), str(tmp_path))


def test_a_plain_value_is_that_of_the_first_file_and_of_uv_pip_before_the_rest() -> None:
    one = ("one", {"offline": True})
    other = ("other", {"offline": False, "torch-backend": "cpu", "pip": {"torch-backend": "auto"}})

    assert toolsettings.uv_key([one, other], "offline") == toolsettings.Setting("offline", ("True",), "one")
    assert toolsettings.uv_key([one, other], "torch-backend") == toolsettings.Setting(
        "torch-backend", ("auto",), "other"
    )
    assert toolsettings.uv_key([one, other], "no-index") is None
