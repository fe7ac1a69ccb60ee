"""What of the user's settings binds, what after `--` is refused, and which indexes are named in a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import requirements, toolsettings
from torchpick.errors import UsageError
from torchpick.install.user_settings import (
    UserSettings,
    as_limits,
    check_passed_on,
    note_indexes,
    options_of,
    read_user_settings,
    unasked_constraints,
)
from torchpick.model.machine import Note

PT = "https://download.pytorch.org/whl/cu130"
OWN = "https://own.example/simple"


def of_pip(environ: dict[str, str], file: Path, text: str) -> UserSettings:
    """What these variables and this pip.conf say."""
    file.write_text(text, "utf-8")
    said = [*toolsettings.read_pip_file(str(file)), *toolsettings.pip_variables(environ)]
    return UserSettings(environ, toolsettings.strongest(said))


def wheel_index(notes: tuple[Note, ...]) -> str:
    (note,) = (note for note in notes if note.code == "WHEEL_INDEX")
    return note.text


def test_notes_hide_passwords(tmp_path: Path) -> None:
    own = of_pip(
        {}, tmp_path / "pip.conf", "[install]\nextra-index-url = https://me:secret@download.pytorch.org/whl/cu126\n"
    )

    said = wheel_index(note_indexes(own, ("pip",)))

    assert "secret" not in said
    assert "****@download.pytorch.org" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-r", "x.txt"), "`-r`"), (("--req=x.txt",), "`--req=x.txt`"), (("-Urx.txt",), "after `--`"),
        (("-c", "x.txt"), "`-c`"), (("-qcx.txt",), "after `--`"), (("--constr", "x.txt"), "`--constr`"),
        (("--torch-backend", "cu130"), "`--torch-backend`"),
        *(
            ((word, "x"), f"`{word}`")
            for word in ("-e", "-p", "-b", "--edit", "--over", "--excl", "--build-c", "--config-f")
        ),
        *(((word,), f"`{word}`") for word in ("--proj=x", "--dir=x", "--python=x", "-Invrx", "--pyt=3")),
        (("numpy",), "`numpy`"),
        (("--timeout=5", "numpy"), "`numpy`"),
    ],
)  # fmt: skip
def test_what_asks_for_packages_behind_the_dashes_is_refused(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_passed_on(words)

    assert says in caught.value.message


def test_what_else_stands_behind_the_dashes_is_passed_on() -> None:
    words = (
        "--no-cache-dir", "--timeout", "5", "-v", "--python-version", "3.12", "--pre", "--prefer-binary", "--prefix",
        "/x", "--no-config", "--python-platform", "linux", "-n", "--index-url", OWN, f"-Ui{PT}",
    )  # fmt: skip

    check_passed_on(words)


def test_a_file_of_this_folder_is_told_from_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uv.toml").write_text(f'index-url = "{OWN}"\n', "utf-8")
    own = [
        read_user_settings({"XDG_CONFIG_DIRS": "/nobody", **more}, str(tmp_path / "env"))
        for more in ({}, {"UV_CONFIG_FILE": str(tmp_path / "uv.toml")})
    ]

    assert [one.of_folder for one in own] == [(str(tmp_path / "uv.toml"),), ()]
    assert [[note.code for note in note_indexes(one, ("uv",))] for one in own] == [["INDEX_OF_FOLDER"], []]
    assert [*options_of(("--a=", "b", "-c"))] == [("--a", ""), ("b", "-c"), ("-c", "")]


def test_variables_bind_whoever_installs_and_files_the_installer_that_reads_them(tmp_path: Path) -> None:
    paths = {name: str(tmp_path / f"{name}.txt") for name in ("pip", "uv", "over", "ours")}
    for name, path in paths.items():
        Path(path).write_text(f"{name}<1\nold-{name}<1 ; python_version < '3.12'\n", "utf-8")
    environ = {"UV_CONSTRAINT": f"{paths['uv']} {tmp_path}/own/c.txt", "UV_OVERRIDE": paths["over"]}
    table = {"constraint-dependencies": ["limit<1", "a??"], "override-dependencies": ["put<1"]}

    def names(installer: str | None, source: str = "pip.conf", python: str = "3.12") -> list[str]:
        pip = {"constraint": toolsettings.Setting("constraint", (paths["pip"],), source)}
        settings = UserSettings(environ, pip, (("uv.toml", table),))
        return [each.name for each in unasked_constraints(settings, installer, python, (str(tmp_path / "own"),))]

    assert names(None) == ["uv", "over"]
    assert names("pip") == names(None, "PIP_Constraint") == ["pip", "uv", "over"]
    assert names("uv") == ["uv", "over", "limit", "put"]
    assert names("pip", python="3.11") == ["pip", "old-pip", "uv", "old-uv", "over", "old-over"]
    for name in ("over", "pip"):
        Path(paths[name]).unlink()
        with pytest.raises(UsageError, match=f"{name}.txt: cannot be read"):
            names("pip")


@pytest.mark.parametrize("name", ["torch", "torchvision", "torchaudio"])
def test_a_constraint_on_the_family_by_its_place_is_of_the_wheel_host_or_its_mirror(name: str) -> None:
    def limits(host: str, project: str = name) -> list[tuple[str, str]]:
        text = f"{project} @ {host}/{project}-2.9.1-py3-none-any.whl"
        found = as_limits(
            [requirements.parse(text, "c.txt line 1"), requirements.parse("numpy")], "https://mirror.example/whl"
        )
        return [(limit.name, limit.specifier) for limit in found]

    for host in ("https://download.pytorch.org/whl", "https://mirror.example/files"):
        assert limits(host) == [(name, "==2.9.1")]
    assert limits("https://own.example", "numpy") == [("numpy", "==2.9.1")]
    with pytest.raises(UsageError, match=f"line 1 leads {name} to https://own.example"):
        limits("https://own.example")
