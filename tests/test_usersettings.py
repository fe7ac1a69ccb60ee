"""What the tests take over from the settings of whoever runs them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import hostile, usersettings
from torchpick.environment import toolsettings


def test_a_fetch_keeps_the_index_and_leaves_the_constraints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "config/pip/pip.conf": "[global]\nconstraint = /no/such/file\nindex-url = https://mirror.example/simple\n",
        "home/.config/pip/pip.conf": "[install]\nextra-index-url =\n  https://a.example\n  https://b.example\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(text, "utf-8")
    original = {
        "HOME": str(tmp_path / "home"), "XDG_CONFIG_DIRS": str(tmp_path / "config"),
        "PIP_CONSTRAINT": "/no/such/file", "PIP_TARGET": "/elsewhere", "PIP_CERT": "/ca.pem",
        "UV_EXCLUDE_NEWER": "2020-01-01", "UV_INDEX": "https://c.example", "https_proxy": "http://proxy.example",
    }  # fmt: skip
    monkeypatch.setattr(toolsettings, "ETC", str(tmp_path / "etc"))

    assert usersettings.index_settings(original, str(tmp_path)) == {
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://a.example https://b.example", "PIP_CERT": "/ca.pem",
        "UV_INDEX": "https://c.example", "https_proxy": "http://proxy.example",
    }  # fmt: skip
    assert usersettings.fetching(original, str(tmp_path))["PIP_CONFIG_FILE"] == os.devnull


def test_a_test_sees_no_settings_of_anybody() -> None:
    assert toolsettings.read_pip_settings(os.environ, "/nowhere", os.environ["HOME"]) == {}
    assert toolsettings.read_uv_files(os.environ, os.environ["HOME"], "/") == []
    assert not [name for name in os.environ if name.startswith(("PIP_", "UV_"))]


LEFT_AT_COLLECTION = {*os.environ}
SEEN_AT_COLLECTION = (
    toolsettings.read_pip_settings(os.environ, "/nowhere", os.environ["HOME"]),
    toolsettings.read_uv_files(os.environ, os.environ["HOME"], "/"),
)


def test_what_is_planted_binds_whoever_reads_it_and_no_test(tmp_path: Path) -> None:
    """Also while tests are collected, when some modules ask already."""
    environ = hostile.variables(tmp_path)
    found = toolsettings.read_pip_settings(environ, "/nowhere", environ["HOME"])

    assert found["index-url"].words == (hostile.NOWHERE,)
    assert found["constraint"].words == ("/nowhere/constraints.txt",)
    assert toolsettings.read_uv_files(environ, environ["HOME"], "/") != []
    assert SEEN_AT_COLLECTION == ({}, [])
    assert {*hostile.variables(tmp_path)} - LEFT_AT_COLLECTION >= {"TORCHPICK_INDEX_BASE", "PIP_CONSTRAINT"}
    assert not {*environ} & {name for name in os.environ if environ.get(name) == os.environ[name]}


@pytest.mark.parametrize(
    ("text", "bound"), [("[global]\ncert = /a.pem\n", False), ("[global]\nconstraint = /a.txt\n", True)]
)
def test_what_no_variable_can_hide_is_named(text: str, *, bound: bool, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(text, "utf-8")

    assert ("constraint" in usersettings.binding([str(tmp_path / "pip.conf")])) is bound
