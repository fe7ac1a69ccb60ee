"""What of the user's settings binds, what after `--` is refused, and which indexes are named in a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import toolsettings
from torchpick.environment.toolsettings import UvFile
from torchpick.errors import UsageError
from torchpick.install.user_settings import UserSettings, check_passed_on, note_indexes, unasked_constraints
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


def test_the_packages_that_lie_there_too_are_named() -> None:
    own = UserSettings({"UV_INDEX": PT})

    assert " has numpy, pillow too: " in wheel_index(note_indexes(own, ("uv",), projects=("numpy", "pillow")))


def test_notes_hide_passwords(tmp_path: Path) -> None:
    own = of_pip(
        {}, tmp_path / "pip.conf", "[install]\nextra-index-url = https://me:secret@download.pytorch.org/whl/cu126\n"
    )

    said = wheel_index(note_indexes(own, ("pip",)))

    assert "secret" not in said
    assert "****@download.pytorch.org" in said


def test_an_index_that_a_folder_names_is_said() -> None:
    files = (UvFile("0.toml", {"index": [{"url": OWN, "default": True}]}),)

    (note,) = note_indexes(UserSettings(uv_files=files, of_folder=("0.toml",)), ("uv",))

    assert (note.code, note.text) == ("INDEX_OF_FOLDER", f"0.toml names {OWN}")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-r", "x.txt"), "`-r`"),
        (("--req=x.txt",), "`--req=x.txt`"),
        (("-Urx.txt",), "after `--`"),
        (("-c", "x.txt"), "`-c`"),
        (("-qcx.txt",), "after `--`"),
        (("--constr", "x.txt"), "`--constr`"),
        (("--torch-backend", "cu130"), "`--torch-backend`"),
        (("numpy",), "`numpy`"),
    ],
)
def test_what_asks_for_packages_behind_the_dashes_is_refused(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_passed_on(words)

    assert says in caught.value.message


def test_what_else_stands_behind_the_dashes_is_passed_on() -> None:
    words = (
        "--no-cache-dir",
        "--timeout",
        "5",
        "-v",
        "--python-version",
        "3.12",
        "--pre",
        "--index-url",
        OWN,
        f"-Ui{PT}",
    )

    check_passed_on(words)


def test_the_constraints_of_both_tools_variables_bind_and_the_files_of_one(tmp_path: Path) -> None:
    (tmp_path / "limits.txt").write_text("torch<2.13\nnumpy<2; python_version < '3'\n", "utf-8")
    environ = {"UV_CONSTRAINT": str(tmp_path / "limits.txt"), "PIP_CONSTRAINT": str(tmp_path / "none.txt")}
    own = UserSettings(
        environ,
        toolsettings.strongest(toolsettings.pip_variables(environ)),
        uv_files=(UvFile("uv.toml", {"constraint-dependencies": ["torchvision<0.28"]}),),
    )

    def names(installer: str) -> list[str]:
        return [each.name for each in unasked_constraints(own, installer, "3.12", ())]

    assert names("pip") == ["torch"]
    assert names("uv") == ["torch", "torchvision"]
    assert unasked_constraints(own, "uv", "3.12", (str(tmp_path),))[0].name == "torchvision"
