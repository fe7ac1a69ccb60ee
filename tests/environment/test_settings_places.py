"""Where pip and uv keep their settings on each system, and whether any of them may bind a decision."""

from __future__ import annotations

import os
from os.path import join
from pathlib import Path

import pytest

from torchpick.environment import toolsettings
from torchpick.environment.toolsettings import Setting, files_bind, pip_files, uv_files
from torchpick.errors import TorchpickError

NOBODY = {"XDG_CONFIG_DIRS": "/nobody", "XDG_CONFIG_HOME": "/nobody"}


def test_uvs_files_on_windows() -> None:
    assert uv_files({}, "me", "win32") == [join("me", "uv", "uv.toml"), join("C:\\ProgramData", "uv", "uv.toml")]
    assert uv_files({"APPDATA": "A", "PROGRAMDATA": "P"}, "me", "win32") == [
        join("A", "uv", "uv.toml"),
        join("P", "uv", "uv.toml"),
    ]


def test_uvs_files_on_linux_are_the_users_and_the_first_of_the_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toolsettings, "ETC", "/etc")
    for name in "bc":
        (tmp_path / name / "uv").mkdir(parents=True)
        (tmp_path / name / "uv" / "uv.toml").touch()
    system = {"XDG_CONFIG_DIRS": ":".join(str(tmp_path / name) for name in "abc")}

    assert uv_files({**system, "XDG_CONFIG_HOME": "/x"}, "/me", "linux") == [
        "/x/uv/uv.toml",
        str(tmp_path / "b" / "uv" / "uv.toml"),
    ]
    monkeypatch.setattr(os.path, "isfile", "/etc/xdg/uv/uv.toml".__eq__)
    assert uv_files({}, "/me", "linux")[1] == "/etc/xdg/uv/uv.toml"
    # A relative folder is none to uv, and one to pip.
    assert uv_files({**NOBODY, "XDG_CONFIG_HOME": "x"}, "/me", "darwin") == [
        "/me/.config/uv/uv.toml",
        "/etc/uv/uv.toml",
    ]
    assert join("x", "pip", "pip.conf") in pip_files({"XDG_CONFIG_HOME": "x"}, "/env", "/me", "linux")
    assert pip_files({"PIP_CONFIG_FILE": os.devnull}, "/env", "/me", "linux") == []
    assert pip_files({"XDG_CONFIG_DIRS": ""}, "/env", "/me", "linux")[0] == "/etc/xdg/pip/pip.conf"


def test_the_last_and_the_most_special_of_pips_settings_holds(tmp_path: Path) -> None:
    weak, strong = tmp_path / "home" / ".pip" / "pip.conf", tmp_path / "pip.conf"
    weak.parent.mkdir(parents=True)
    weak.write_text("[:env:]\nno-index = e\n[install]\npypi-url = b\npre = i\n[freeze]\npre = f\n", "utf-8")
    strong.write_text("[install]\nno-index = c\n[global]\n--INDEX_URL = a\npre = g\nfind-links =\n d\n e\n", "utf-8")

    found = toolsettings.read_pip_settings(NOBODY, str(tmp_path), str(tmp_path / "home"))

    assert {name: (setting.words, setting.source) for name, setting in found.items()} == {
        "index-url": (("b",), str(weak)), "no-index": (("e",), str(weak)), "pre": (("i",), str(weak)),
        "find-links": (("d", "e"), str(strong)),
    }  # fmt: skip
    variables = {"PIP_INDEX_URL": "a", "PIP_PyPI_URL": "b c", "PIP_PRE": "", "PIP_OTHER": "x", "pip_no_index": "1"}
    assert toolsettings.strongest(toolsettings.pip_variables(variables)) == {
        "index-url": Setting("index-url", ("b", "c"), "PIP_PyPI_URL")
    }


def test_what_uvs_tables_name_and_in_which_order() -> None:
    places = [
        {"url": "https://a", "name": "a"}, {"url": "https://b", "default": True},
        {"url": "https://c", "explicit": True}, {"name": "d"}, "https://e",
    ]  # fmt: skip
    table = {
        "index": places, "find-links": ["x y", "z"], "pip": {"extra-index-url": ["https://p"], "index": places[:1]},
    }  # fmt: skip

    assert toolsettings.uv_settings(("uv.toml", table)) == [
        Setting("extra-index-url", ("https://p",), "uv.toml"), Setting("index", ("https://a",), "uv.toml", label="a"),
        Setting("find-links", ("x y", "z"), "uv.toml"), Setting("index", ("https://a",), "uv.toml", label="a"),
        Setting("default-index", ("https://b",), "uv.toml"),
    ]  # fmt: skip
    variables = {"UV_INDEX_URL": "u", "UV_INDEX": " a=b  c ", "UV_FIND_LINKS": "a b,c", "UV_EXTRA_INDEX_URL": " "}
    assert toolsettings.uv_variables(variables) == [
        Setting("UV_INDEX", ("a=b", "c"), "UV_INDEX"),
        Setting("UV_INDEX_URL", ("u",), "UV_INDEX_URL"),
        Setting("UV_FIND_LINKS", ("a b", "c"), "UV_FIND_LINKS"),
    ]
    on = [text for text in ("1", "TRUE", "yes", "On", "y", "T", "0", "false", "no", "off", "n", "f", "2") if
          Setting("pre", (text,), "").is_on]  # fmt: skip
    assert on == ["1", "TRUE", "yes", "On", "y", "T"]
    assert not Setting("pre", (), "").is_on


@pytest.mark.parametrize("name", ["UV_CONFIG_FILE", "UV_PROJECT", "UV_WORKING_DIR"])
def test_a_variable_that_moves_uvs_files_may_bind(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert files_bind({**NOBODY, name: "x"}, str(tmp_path)) is True
    assert files_bind(NOBODY, str(tmp_path)) is False
    binds = [toolsettings.variables_bind({each: "x"}) for each in ("PIP_Constraint", "UV_OVERRIDE", name, "CONSTRAINT")]
    assert binds == [True, True, False, False]


def test_settings_that_cannot_be_read_are_none_and_what_no_settings_can_be_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    assert toolsettings.text_of_settings(str(file)) is None
    assert toolsettings.text_of_settings(str(tmp_path)) is None

    file.write_bytes(b"\xef\xbb\xbf[global]\nname = \xff\n")
    assert toolsettings.text_of_settings(str(file)) == "[global]\nname = \ufffd\n"

    file.write_bytes(b"#" * toolsettings.MOST_BYTES)
    assert len(toolsettings.text_of_settings(str(file)) or "") == toolsettings.MOST_BYTES
    file.write_bytes(b"#" * (toolsettings.MOST_BYTES + 1))
    with pytest.raises(TorchpickError, match="larger than 1 MiB") as caught:
        toolsettings.text_of_settings(str(file))
    assert caught.value.code == "CONFIGURATION"
