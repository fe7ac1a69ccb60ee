"""Where pip and uv keep their settings on each system, and whether any of them may bind a decision."""

from __future__ import annotations

from os.path import join
from pathlib import Path

import pytest

from torchpick.environment import toolsettings
from torchpick.environment.toolsettings import files_bind, uv_files
from torchpick.errors import TorchpickError

NOBODY = {"XDG_CONFIG_DIRS": "/nobody", "XDG_CONFIG_HOME": "/nobody"}


def test_uvs_files_on_windows() -> None:
    assert uv_files({}, "me", "win32") == [join("me", "uv", "uv.toml"), join("C:\\ProgramData", "uv", "uv.toml")]
    assert uv_files({"APPDATA": "A", "PROGRAMDATA": "P"}, "me", "win32") == [
        join("A", "uv", "uv.toml"),
        join("P", "uv", "uv.toml"),
    ]


@pytest.mark.parametrize("name", ["UV_CONFIG_FILE", "UV_PROJECT", "UV_WORKING_DIR"])
def test_a_variable_that_moves_uvs_files_may_bind(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert files_bind({**NOBODY, name: "x"}, str(tmp_path)) is True
    assert files_bind(NOBODY, str(tmp_path)) is False


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
