"""Which installer is used where the user's own settings are read by one of them alone."""

from __future__ import annotations

import pytest

from torchpick.environment.distributions import Environment
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.errors import InstallerError
from torchpick.install import installers
from torchpick.install.installers import choose_installer
from torchpick.install.user_settings import UserSettings

TARGET = Environment("/env/bin/python", "/env", "3.12")
WITH_PIP = TARGET._replace(installed={"pip": "26.3"})
UV = "/uv"
PLACE = Setting("extra-index-url", ("https://anna:hunter2@own.example/simple", "https://two.example"), "pip.conf")
OF_PIP = UserSettings(pip={"extra-index-url": PLACE})
OF_UV = UserSettings(uv_files=(UvFile("uv.toml", {"index": [{"url": "https://own.example/simple"}]}),))
SAME = OF_UV._replace(pip={"index-url": Setting("index-url", ("https://own.example/simple",), "pip.conf")})
NAMED = "https://anna:****@own.example/simple, https://two.example (pip.conf)"
UNSEEN = ("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it does not use {NAMED}")
KEPT = ("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {NAMED}")


@pytest.mark.parametrize(
    ("wanted", "target", "uv", "own", "name", "note"),
    [
        ("auto", WITH_PIP, UV, UserSettings(), "pip", None),
        ("auto", TARGET, UV, UserSettings(), "uv", None),
        ("auto", WITH_PIP._replace(by_uv=True), UV, UserSettings(), "uv", None),
        ("auto", WITH_PIP._replace(by_uv=True), None, UserSettings(), "pip", None),
        ("auto", WITH_PIP._replace(by_uv=True), UV, OF_PIP, "pip", KEPT),
        ("auto", WITH_PIP, UV, OF_PIP, "pip", None),
        ("auto", WITH_PIP, UV, OF_UV, "uv", None),
        ("auto", WITH_PIP, UV, SAME, "uv", None),
        ("auto", WITH_PIP, UV, OF_UV._replace(of_folder=("uv.toml",)), "pip", None),
        ("auto", TARGET, UV, OF_PIP, "uv", UNSEEN),
        ("uv", WITH_PIP, UV, OF_PIP, "uv", UNSEEN),
        ("uv", WITH_PIP, UV, UserSettings(), "uv", None),
        ("uv", WITH_PIP, UV, SAME, "uv", None),
        ("pip", WITH_PIP._replace(by_uv=True), UV, OF_PIP, "pip", None),
    ],
)
def test_the_one_that_sees_the_users_settings_is_taken(
    wanted: str,
    target: Environment,
    uv: str | None,
    own: UserSettings,
    name: str,
    note: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(installers, "pip_beside", lambda: (None, None))

    found = choose_installer(wanted, target, uv, own)

    assert found.name == name
    assert [(each.code, each.text) for each in found.notes] == ([] if note is None else [note])


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
