from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment import settingsfiles, toolsettings
from torchpick.errors import TorchpickError

# Settings of the computer would be read with a bare environment.
NOBODY = {"XDG_CONFIG_DIRS": "/nobody"}


@pytest.fixture
def _etc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settingsfiles, "ETC", "/etc")


@pytest.mark.usefixtures("_etc")
def test_pips_files_on_three_systems() -> None:
    linux = settingsfiles.pip_files({"XDG_CONFIG_DIRS": "/a:/b"}, "/env", "/home/me", "linux")
    mac = settingsfiles.pip_files({}, "/env", "/Users/me", "darwin")
    windows = settingsfiles.pip_files({"APPDATA": "C:\\A", "PROGRAMDATA": "C:\\P"}, "C:\\env", "C:\\me", "win32")

    assert linux == [
        "/a/pip/pip.conf",
        "/b/pip/pip.conf",
        "/etc/pip.conf",
        "/home/me/.pip/pip.conf",
        "/home/me/.config/pip/pip.conf",
        "/env/pip.conf",
    ]
    assert mac[-3:] == ["/Users/me/.pip/pip.conf", "/Users/me/.config/pip/pip.conf", "/env/pip.conf"]
    assert all(path.endswith("pip.ini") for path in windows)


@pytest.mark.usefixtures("_etc")
def test_a_named_file_hides_the_users_and_devnull_hides_all(tmp_path: Path) -> None:
    named = tmp_path / "x.conf"
    named.touch()

    found = settingsfiles.pip_files({"PIP_CONFIG_FILE": str(named)}, "/env", "/home/me", "linux")

    assert found == ["/etc/xdg/pip/pip.conf", "/etc/pip.conf", "/env/pip.conf", str(named)]
    assert settingsfiles.pip_files({"PIP_CONFIG_FILE": os.devnull}, "/env", "/home/me", "linux") == []


def test_the_install_section_is_stronger_than_a_later_files_global(tmp_path: Path) -> None:
    home, env = tmp_path / "home", tmp_path / "env"
    home.joinpath(".config", "pip").mkdir(parents=True)
    env.mkdir()
    home.joinpath(".config", "pip", "pip.conf").write_text(
        "[install]\nextra-index-url = https://a\n[global]\nproxy = p\n", "utf-8"
    )
    env.joinpath("pip.conf").write_text("[global]\nextra_index_url = https://b\n  https://c\nproxy = q\n", "utf-8")

    found = toolsettings.read_pip_settings(NOBODY, str(env), str(home))

    assert found["extra-index-url"].words == ("https://a",)
    assert found["proxy"].words == ("q",)
    assert found["proxy"].source == str(env / "pip.conf")


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

    assert [dict(each.table) for each in found] == [{"no-index": True}, {"offline": True}]
    assert toolsettings.read_uv_files({**NOBODY, "UV_NO_CONFIG": "1"}, str(home), str(inner)) == []


def test_uv_begins_at_the_root_of_the_workspace_above_a_project(tmp_path: Path) -> None:
    member = tmp_path / "packages" / "m"
    member.mkdir(parents=True)
    member.joinpath("pyproject.toml").write_text("[project]\nname = 'm'\n[tool.uv]\npackage = false\n", "utf-8")
    root = tmp_path / "pyproject.toml"

    def found(workspace: str, folder: Path = member) -> str:
        root.write_text(f"[tool.uv.workspace]\n{workspace}\n", "utf-8")
        return toolsettings.read_uv_files(NOBODY, "/nobody", str(folder))[0].path

    assert found("members = ['packages/*']") == str(root)
    member.joinpath("pyproject.toml").write_text("[project]\nname = 'm'\n", "utf-8")
    assert found("members = 1") == str(root)


def test_a_project_hides_the_uv_toml_of_a_folder_in_it(tmp_path: Path) -> None:
    inner = tmp_path / "src"
    inner.mkdir()
    inner.joinpath("uv.toml").write_text("offline = true\n", "utf-8")
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\nname = 'x'\n[tool.uv]\nno-index = true\n", "utf-8")

    assert [each.path for each in toolsettings.read_uv_files(NOBODY, "/nobody", str(inner))] == [str(project)]
    assert [
        each.path for each in toolsettings.read_uv_files({**NOBODY, "UV_PROJECT": "src"}, "/nobody", str(tmp_path))
    ] == [str(project)]


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


def test_pip_has_a_section_for_its_variables_which_is_the_strongest(tmp_path: Path) -> None:
    tmp_path.joinpath("pip.conf").write_text("[:env:]\nproxy = a\n[install]\nproxy = b\n[global]\nproxy = c\n", "utf-8")

    assert toolsettings.read_pip_settings(NOBODY, str(tmp_path), str(tmp_path / "nobody"))["proxy"].words == ("a",)


def test_a_named_uv_file_is_the_only_one(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_text("offline = true\n", "utf-8")
    tmp_path.joinpath("uv.toml").write_text("no-index = true\n", "utf-8")

    (found,) = toolsettings.read_uv_files({**NOBODY, "UV_CONFIG_FILE": str(file)}, "/nobody", str(tmp_path))

    assert found.path == str(file)


def test_a_broken_uv_file_is_named(tmp_path: Path) -> None:
    tmp_path.joinpath("uv.toml").write_text("= = =\n", "utf-8")

    with pytest.raises(TorchpickError, match=r"uv\.toml"):
        toolsettings.read_uv_files(NOBODY, "/nobody", str(tmp_path))


def test_a_table_deeper_than_anybody_means_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "uv.toml"
    file.write_text("a" + ".a" * 900 + " = 1\n", "utf-8")

    with pytest.raises(TorchpickError, match="nested deeper than"):
        toolsettings.read_uv_files({**NOBODY, "UV_CONFIG_FILE": str(file)}, str(tmp_path), str(tmp_path))


@pytest.mark.parametrize("header", ["[ tool . uv ]", '["tool"."uv"]', '[tool."\\u0075v"]', "[tool.'uv']"])
def test_uvs_table_is_found_however_it_is_written(tmp_path: Path, header: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'{header}\nindex-url = "https://x"\n', "utf-8")

    (found,) = toolsettings.read_uv_files(NOBODY, str(tmp_path), str(tmp_path))

    assert found.table == {"index-url": "https://x"}


@pytest.mark.parametrize(
    ("word", "on"),
    [
        ("1", True), ("true", True), ("YES", True), ("On", True), ("y", True), ("t", True),
        ("0", False), ("no", False), ("", False), ("1x", False),
    ],
)  # fmt: skip
def test_a_switch_is_on_by_what_pip_and_uv_take_for_true(word: str, *, on: bool) -> None:
    assert toolsettings.Setting("no-index", tuple(word.split()), "x").is_on is on


def test_pips_variables_are_taken_in_any_spelling_and_an_empty_one_is_unset() -> None:
    environ = {
        "PIP_EXTRA_INDEX_URL": "https://a https://b", "PIP_pypi_url": "https://c", "PIP_FIND-LINKS": "d",
        "PIP_CONSTRAINT": "", "PIP_TIMEOUT": "60", "MY_INDEX_URL": "https://e", "PIP_PRE": "1",
    }  # fmt: skip

    found = [(each.name, each.words, each.source) for each in toolsettings.pip_variables(environ)]

    assert found == [
        ("extra-index-url", ("https://a", "https://b"), "PIP_EXTRA_INDEX_URL"),
        ("index-url", ("https://c",), "PIP_pypi_url"),
        ("find-links", ("d",), "PIP_FIND-LINKS"),
        ("pre", ("1",), "PIP_PRE"),
    ]


def test_uvs_variables_are_split_as_uv_splits_them() -> None:
    environ = {
        "UV_INDEX": "https://a  https://b", "UV_DEFAULT_INDEX": " https://c ", "UV_FIND_LINKS": "/d e,,/f",
        "UV_INDEX_URL": " ", "UV_EXTRA_INDEX_URL": "https://g", "UV_OFFLINE": "1",
    }  # fmt: skip

    assert {each.name: each.words for each in toolsettings.uv_variables(environ)} == {
        "UV_INDEX": ("https://a", "https://b"),
        "UV_DEFAULT_INDEX": ("https://c",),
        "UV_EXTRA_INDEX_URL": ("https://g",),
        "UV_FIND_LINKS": ("/d e", "/f"),
    }


def test_the_places_of_a_uv_file_with_those_of_uv_pip_first() -> None:
    table = {
        "find-links": ["/a", "/b"], "index-url": "https://c", "extra-index-url": 3,
        "pip": {"index-url": "https://d", "find-links": []},
        "index": [
            {"url": "https://e", "name": "own"}, {"url": "https://f", "default": True},
            {"url": "https://g", "explicit": True}, {"name": "no url"}, "https://h",
        ],
    }  # fmt: skip

    found = toolsettings.uv_settings(toolsettings.UvFile("uv.toml", table))

    assert [(each.name, each.words, each.label) for each in found] == [
        ("index-url", ("https://d",), ""),
        ("index-url", ("https://c",), ""),
        ("find-links", ("/a", "/b"), ""),
        ("index", ("https://e",), "own"),
        ("default-index", ("https://f",), ""),
    ]
    assert {each.source for each in found} == {"uv.toml"}
    assert toolsettings.uv_settings(toolsettings.UvFile("uv.toml", {"index": 3, "pip": 3})) == []


def test_a_plain_value_is_that_of_the_first_file_and_of_uv_pip_before_the_rest() -> None:
    one = toolsettings.UvFile("one", {"offline": True})
    other = toolsettings.UvFile("other", {"offline": False, "torch-backend": "cpu", "pip": {"torch-backend": "auto"}})

    assert toolsettings.uv_key([one, other], "offline") == toolsettings.Setting("offline", ("True",), "one")
    assert toolsettings.uv_key([one, other], "torch-backend") == toolsettings.Setting(
        "torch-backend", ("auto",), "other"
    )
    assert toolsettings.uv_key([one, other], "no-index") is None


@pytest.mark.skipif(os.name == "nt", reason="the separator of paths is another")
def test_an_environments_own_places() -> None:
    assert toolsettings.project_of("/srv/app/.venv") == "/srv/app/pyproject.toml"
    assert toolsettings.project_of("/srv/app/venv") is None
    assert toolsettings.store_of("/e") == "/e/share/torchpick"
    assert toolsettings.store_in("/c") == "/c/install"
    assert toolsettings.own_pip_file("/e") == "/e/pip.conf"


@pytest.mark.parametrize("text", ["x = 1\n", "tool = 3\n", "[tool]\nuv = 3\n", "[tool.other]\nuv = 1\n"])
def test_a_project_without_uvs_table_says_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text, "utf-8")

    assert toolsettings.toml_of(str(file), "tool", "uv") is None
    assert toolsettings.toml_of(str(tmp_path / "none.toml")) is None
