"""Which installer is used where the user's own settings are read by one of them alone."""

from __future__ import annotations

import pytest

from torchpick.environment.distributions import Environment
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.errors import InstallerError
from torchpick.installers import choice, tools
from torchpick.installers.own_settings import OwnSettings

TARGET = Environment("/env/bin/python", "/env", "3.12")
WITH_PIP = TARGET._replace(installed={"pip": "26.3"})
UV = "/uv"
PLACE = Setting("extra-index-url", ("https://anna:hunter2@own.example/simple", "https://two.example"), "pip.conf")
OF_PIP = OwnSettings(pip={"extra-index-url": PLACE})
OF_UV = OwnSettings(uv_files=(UvFile("uv.toml", {"index": [{"url": "https://own.example/simple"}]}),))
SAME = OF_UV._replace(pip={"index-url": Setting("index-url", ("https://own.example/simple",), "pip.conf")})
NAMED = "https://anna:****@own.example/simple, https://two.example (pip.conf)"
UNSEEN = ("SETTINGS_UNSEEN", f"uv does not read pip's settings, so it does not use {NAMED}")
KEPT = ("PIP_FOR_ITS_SETTINGS", f"pip is used, as uv would not see {NAMED}")


@pytest.mark.parametrize(
    ("wanted", "target", "uv", "own", "name", "note"),
    [
        ("auto", WITH_PIP, UV, OwnSettings(), "pip", None),
        ("auto", TARGET, UV, OwnSettings(), "uv", None),
        ("auto", WITH_PIP._replace(by_uv=True), UV, OwnSettings(), "uv", None),
        ("auto", WITH_PIP._replace(by_uv=True), None, OwnSettings(), "pip", None),
        ("auto", WITH_PIP._replace(by_uv=True), UV, OF_PIP, "pip", KEPT),
        ("auto", WITH_PIP, UV, OF_PIP, "pip", None),
        ("auto", WITH_PIP, UV, OF_UV, "uv", None),
        ("auto", WITH_PIP, UV, SAME, "uv", None),
        ("auto", WITH_PIP, UV, OF_UV._replace(of_folder=("uv.toml",)), "pip", None),
        ("auto", TARGET, UV, OF_PIP, "uv", UNSEEN),
        ("uv", WITH_PIP, UV, OF_PIP, "uv", UNSEEN),
        ("uv", WITH_PIP, UV, OwnSettings(), "uv", None),
        ("uv", WITH_PIP, UV, SAME, "uv", None),
        ("pip", WITH_PIP._replace(by_uv=True), UV, OF_PIP, "pip", None),
    ],
)
def test_the_one_that_sees_the_users_settings_is_taken(
    wanted: str,
    target: Environment,
    uv: str | None,
    own: OwnSettings,
    name: str,
    note: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools, "beside", lambda: (None, None))

    found = choice.choose(wanted, target, uv, own)

    assert found.name == name
    assert [(each.code, each.text) for each in found.notes] == ([] if note is None else [note])


def test_the_pip_beside_torchpick_serves_a_target_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "beside", lambda: ("/own/python", "26.3"))

    found = choice.choose("auto", TARGET, UV, OF_PIP)

    assert found.name == "pip"
    assert [note.code for note in found.notes] == ["PIP_FOR_ITS_SETTINGS"]
    # A target's own pip is taken as it is.
    monkeypatch.setattr(tools, "beside", lambda: pytest.fail("it has a pip"))
    assert choice.choose("pip", WITH_PIP, UV, OwnSettings()).name == "pip"


@pytest.mark.parametrize(("uv", "text"), [(None, "/env has no pip, and no uv was found"), (UV, "/env has no pip")])
def test_without_any_pip_what_to_do_is_said(uv: str | None, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "beside", lambda: (None, None))

    with pytest.raises(InstallerError) as told:
        choice.choose("pip" if uv else "auto", TARGET, uv, OwnSettings())

    assert told.value.message == text
    assert told.value.code == "NO_INSTALLER"
    assert told.value.hint == "`/env/bin/python -m ensurepip`, or install uv"


def test_without_the_uv_that_was_asked_for_what_to_do_is_said() -> None:
    with pytest.raises(InstallerError, match="no uv was found: neither as a module, nor in"):
        choice.choose("uv", WITH_PIP, None, OwnSettings())
