"""What pip can install without a network: what lies in folders, and what is there already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.installers.test_commands import TARGET, job
from torchpick.environment.requirements import Given
from torchpick.environment.toolsettings import Setting
from torchpick.errors import InstallerError
from torchpick.install import offline
from torchpick.installers.inherits import OwnSettings

NOTHING = OwnSettings()


def lacking(*words: str, own: OwnSettings = NOTHING, given: Given | None = None, **more: Any) -> str:
    """What is missed; empty where pip is let start."""
    try:
        offline.check(job(given or Given(words), **more), own)
    except InstallerError as error:
        message, code = error.message, error.code
    else:
        return ""
    assert code == "OFFLINE"
    return message.removeprefix("offline, pip has nothing to install ").removesuffix(" from")


def test_what_lies_nowhere_is_named_once() -> None:
    assert lacking("numpy", "torch", "numpy<3") == "numpy, torch 2.14.1+cu126"


def test_what_is_there_or_has_a_file_is_not_missed() -> None:
    there = TARGET._replace(installed={"numpy": "1.0", "torch": "2.14.1+cu126"})

    assert lacking("numpy", "torch", target=there) == ""
    assert lacking("torch", target=TARGET._replace(installed={"torch": "2.0.0"})) == "torch 2.14.1+cu126"
    assert lacking("torch", files={"torch": "file:///srv/torch.whl"}) == ""
    assert lacking("mine @ file:///srv/mine-1.0.whl") == ""


@pytest.mark.parametrize("as_url", [False, True])
@pytest.mark.parametrize("how", ["settings", "dashes", "file"])
def test_a_folder_of_wheels_counts_wherever_it_is_named(how: str, tmp_path: Path, *, as_url: bool) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    folder.joinpath("My_Lib-1.0-py3-none-any.whl").touch()
    place = folder.as_uri() if as_url else str(folder)
    listed = tmp_path / "r.txt"
    listed.write_text(f"my-lib\nother\n{f'--find-links {place}' if how == 'file' else '--prefer-binary'}\n")
    own = OwnSettings(pip={"find-links": Setting("find-links", (place,), "pip.conf")}) if how == "settings" else NOTHING
    words = ("--find-links", place) if how == "dashes" else ()

    assert lacking(given=Given(files=(str(listed),)), own=own, passed_on=words) == "other"


def test_a_wheel_may_be_named_and_a_folder_be_gone(tmp_path: Path) -> None:
    words = ("--find-links", str(tmp_path / "mylib-1.0-py3-none-any.whl"), "--find-links", str(tmp_path / "gone"))

    assert lacking("mylib", "other", passed_on=words) == "other"


def test_where_a_page_is_asked_or_a_project_is_read_pip_decides(tmp_path: Path) -> None:
    assert lacking("numpy", passed_on=("--find-links", "https://user.example/wheels")) == ""
    assert lacking("numpy", passed_on=("--find-links", tmp_path.as_uri())) == "numpy"
    tmp_path.joinpath("pyproject.toml").write_text("")
    assert lacking(given=Given(("numpy",), files=(str(tmp_path / "pyproject.toml"),))) == ""
