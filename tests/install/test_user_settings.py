"""What of the user's settings binds, what after `--` is refused, and which indexes are named in a note."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import requirementfiles, toolsettings
from torchpick.environment.toolsettings import UvFile
from torchpick.errors import UsageError
from torchpick.install.user_settings import UserSettings, check_passed_on, note_indexes, unasked_constraints
from torchpick.model.machine import Note

PT = "https://download.pytorch.org/whl/cu130"
OWN = "https://own.example/simple"
CORP = "https://pypi.company.example/whl/simple"


def of_pip(environ: dict[str, str], file: Path, text: str) -> UserSettings:
    """What these variables and this pip.conf say."""
    file.write_text(text, "utf-8")
    said = [*toolsettings.read_pip_file(str(file)), *toolsettings.pip_variables(environ)]
    return UserSettings(environ, toolsettings.strongest(said))


def wheel_index(notes: tuple[Note, ...]) -> str:
    (note,) = (note for note in notes if note.code == "WHEEL_INDEX")
    return note.text


def test_what_names_no_wheel_index_is_no_news(tmp_path: Path) -> None:
    own = of_pip({"PIP_EXTRA_INDEX_URL": CORP}, tmp_path / "pip.conf", f"[global]\nindex-url = {OWN}\n")
    lines = {"r.txt": requirementfiles.parse(f"--extra-index-url {OWN}\ntorch\n", {})}

    assert note_indexes(own, ("pip", "uv"), lines, ("--index-url", OWN)) == ()


def test_every_place_that_names_a_wheel_index_is_in_one_note_with_its_line(tmp_path: Path) -> None:
    conf = tmp_path / "pip.conf"
    own = of_pip({"PIP_FIND_LINKS": f"/opt/wheels {PT}/numpy/"}, conf, f"[global]\n# ours\nextra-index-url = {PT}\n")
    lines = {"/a/r.txt": requirementfiles.parse(f"torch\n\n--extra-index-url {PT}\n", {})}
    passed_on = (f"-i{PT}", "--extra-index-url", PT, f"--index={PT}", "-v")

    said = wheel_index(note_indexes(own, ("pip",), lines, passed_on))

    for place in (f"{PT}/numpy/ (PIP_FIND_LINKS)", f"{PT} ({conf}:3)", f"{PT} (/a/r.txt:3)", f"{PT} (after `--`)"):
        assert place in said
    assert "/opt/wheels" not in said
    assert said.count("after `--`") == 1


def test_the_settings_of_the_installer_that_runs_count_and_its_rule_is_said(tmp_path: Path) -> None:
    file = tmp_path / "uv.toml"
    file.write_text(f'[[index]]\nname = "torch"\nurl = "{PT}"\n', "utf-8")
    uv = UvFile(str(file), toolsettings.toml_of(str(file)) or {})
    own = UserSettings({"UV_INDEX": f"t={PT}"}, uv_files=(uv,))

    said = wheel_index(note_indexes(own, ("uv",)))

    assert f"{file}:3" in said
    assert "UV_INDEX" in said
    assert "uv takes the first index that has a name" in said
    assert "pip" not in said
    assert note_indexes(own, ("pip",)) == ()


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


def test_an_explicit_index_of_uv_supplies_nothing_unasked() -> None:
    table = {"index": [{"url": PT, "explicit": True, "name": "e"}]}

    assert note_indexes(UserSettings(uv_files=(UvFile("uv.toml", table),)), ("uv",)) == ()


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
