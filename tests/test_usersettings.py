"""What the tests take over from the settings of whoever runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import usersettings
from torchpick.environment import settingsfiles, toolsettings

AT_IMPORT = dict(os.environ)


def test_a_fetch_keeps_the_index_and_leaves_the_constraints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "config/pip/pip.conf": "[global]\nconstraint = /no/such/file\nindex-url = https://mirror.example/simple\n",
        "home/.config/pip/pip.conf": "[install]\nextra-index-url =\n  https://a.example\n  https://b.example\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    original = {
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_DIRS": str(tmp_path / "config"),
        "PIP_CONSTRAINT": "/no/such/file",
        "PIP_TARGET": "/elsewhere",
        "PIP_CERT": "/ca.pem",
        "UV_EXCLUDE_NEWER": "2020-01-01",
        "UV_INDEX": "https://c.example",
        "https_proxy": "http://proxy.example",
    }
    monkeypatch.setattr(settingsfiles, "ETC", str(tmp_path / "etc"))

    assert usersettings.index_settings(original, str(tmp_path)) == {
        "PIP_INDEX_URL": "https://mirror.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://a.example https://b.example",
        "PIP_CERT": "/ca.pem",
        "UV_INDEX": "https://c.example",
        "https_proxy": "http://proxy.example",
    }
    assert usersettings.fetching(original, str(tmp_path))["PIP_CONFIG_FILE"] == os.devnull


def test_a_test_sees_no_settings_of_anybody() -> None:
    assert toolsettings.pip(os.environ, "/nowhere", os.environ["HOME"]) == {}
    assert toolsettings.uv(os.environ, os.environ["HOME"], "/") == []
    assert not [name for name in os.environ if name.startswith(("PIP_", "UV_"))]


def test_a_test_module_is_read_without_the_settings_of_anybody() -> None:
    """What it makes of them once, as it is imported, would be the settings of whoever runs the tests."""
    assert not [name for name in AT_IMPORT if name.startswith(("PIP_", "UV_")) or name == "TORCHPICK_INDEX_BASE"]


@pytest.mark.process
def test_nor_where_somebody_has_them() -> None:
    here = f"{__file__}::{test_a_test_module_is_read_without_the_settings_of_anybody.__name__}"
    theirs = {**usersettings.ORIGINAL, "TORCHPICK_INDEX_BASE": "http://127.0.0.1:1/whl", "PIP_CONSTRAINT": "/none"}

    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", here]
    done = subprocess.run(run, cwd=Path(__file__).parents[1], env=theirs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "bound"), [("[global]\ncert = /a.pem\n", False), ("[global]\nconstraint = /a.txt\n", True)]
)
def test_what_no_variable_can_hide_is_named(text: str, *, bound: bool, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(text)

    assert ("constraint" in usersettings.binding([str(tmp_path / "pip.conf")])) is bound
