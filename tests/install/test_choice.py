"""Which installer is used where the user's own settings are read by one of them alone."""

from __future__ import annotations

import pytest

from torchpick.environment.distributions import Environment
from torchpick.errors import InstallerError
from torchpick.install import installers
from torchpick.install.installers import choose_installer
from torchpick.install.user_settings import UserSettings
from torchpick.model.machine import Python

TARGET = Environment(Python("3.12", executable="/env/bin/python"), "/env")
WITH_PIP = TARGET._replace(installed={"pip": "26.3"})
UV = "/uv"


@pytest.mark.parametrize(("uv", "text"), [(None, "/env has no pip, and no uv was found"), (UV, "/env has no pip")])
def test_without_any_pip_what_to_do_is_said(uv: str | None, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installers, "pip_beside", lambda: (None, None))

    with pytest.raises(InstallerError) as told:
        choose_installer("pip" if uv else "auto", TARGET, uv, UserSettings())

    assert told.value.message == text
    assert told.value.code == "NO_INSTALLER"
    assert told.value.hint == "`/env/bin/python -m ensurepip`, or install uv"


def test_without_the_uv_that_was_asked_for_what_to_do_is_said() -> None:
    with pytest.raises(InstallerError, match="no uv was found: neither as a module, nor in"):
        choose_installer("uv", WITH_PIP, None, UserSettings())


OWN, HOST = "https://own.example/simple", "https://download.pytorch.org/whl/cu126"


@pytest.mark.parametrize(
    ("index", "of_folder", "name"),
    [([OWN], False, "uv"), ([OWN], True, "pip"), ([HOST], False, "pip"), ([HOST, OWN], False, "uv")],
)
def test_an_index_of_ones_own_that_uv_knows_chooses_it_but_for_one_of_this_folder(
    index: list[str], of_folder: bool, name: str
) -> None:
    settings = UserSettings(uv_files=(("uv.toml", {"extra-index-url": index}),), of_folder=("uv.toml",) * of_folder)

    assert choose_installer("auto", WITH_PIP, UV, settings).name == name


@pytest.mark.parametrize(("pip", "oldest", "name"), [("22.3", (25, 3), "uv"), ("22.3", (22, 2), "pip")])
def test_a_pip_that_is_too_old_for_the_work_gives_way_to_uv(pip: str, oldest: tuple[int, int], name: str) -> None:
    target = TARGET._replace(installed={"pip": pip})

    assert choose_installer("auto", target, UV, UserSettings(), oldest).name == name
    assert choose_installer("auto", target, None, UserSettings(), oldest).name == "pip"
