"""What of the user's settings is left out of a run, what is refused, and what binds."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchpick.environment import toolsettings
from torchpick.environment.toolsettings import Setting, UvFile
from torchpick.errors import UsageError
from torchpick.index import index_places
from torchpick.installers import own_settings
from torchpick.installers.own_settings import OwnSettings, SettingChanges
from torchpick.model.build import WHEEL_HOST

PT = "https://download.pytorch.org/whl/cu130"
OWN = "https://own.example/simple"
CORP = "https://pypi.company.example/whl/simple"


def of_pip(environ: dict[str, str], files: dict[str, str]) -> SettingChanges:
    below = {name: Setting(name, tuple(value.split()), "pip.conf") for name, value in files.items()}
    spoken = toolsettings.strongest(toolsettings.pip_of_environ(environ))
    return own_settings.for_pip(OwnSettings(environ, {**below, **spoken}, below))


def of_uv(environ: dict[str, str], *tables: dict[str, object]) -> SettingChanges:
    files = tuple(UvFile(f"{place}.toml", table) for place, table in enumerate(tables))
    return own_settings.for_uv(OwnSettings(environ, uv_files=files, of_folder=("0.toml",)), "cu126")


def test_what_names_no_wheel_index_is_not_touched() -> None:
    assert of_pip({"PIP_EXTRA_INDEX_URL": CORP}, {"index-url": OWN}) == SettingChanges()


def test_a_blank_displaces_what_an_empty_variable_does_not() -> None:
    assert of_pip({}, {"extra-index-url": PT}).set == {"PIP_EXTRA_INDEX_URL": " "}
    assert of_pip({}, {"find-links": f"{PT} {OWN}"}).set == {"PIP_FIND_LINKS": OWN}


def test_a_file_below_speaks_again_unless_it_names_a_wheel_index_too() -> None:
    assert of_pip({"PIP_EXTRA_INDEX_URL": PT}, {"extra-index-url": OWN}).set == {"PIP_EXTRA_INDEX_URL": OWN}
    assert of_pip({"PIP_EXTRA_INDEX_URL": PT}, {}).unset == ("PIP_EXTRA_INDEX_URL",)
    assert of_pip({"PIP_EXTRA_INDEX_URL": PT}, {"extra-index-url": PT}).set == {"PIP_EXTRA_INDEX_URL": " "}


def test_a_variable_speaks_again_where_a_later_one_by_another_name_is_left_out() -> None:
    changes = of_pip({"PIP_INDEX_URL": OWN, "PIP_PYPI_URL": PT}, {})

    assert changes.set == {"PIP_INDEX_URL": OWN}
    assert changes.unset == ("PIP_PYPI_URL",)
    assert of_pip({"PIP_PYPI_URL": PT}, {}).unset == ("PIP_PYPI_URL",)


def test_another_index_of_the_user_takes_the_place_of_a_wheel_index_in_a_file() -> None:
    changes = of_pip({}, {"index-url": PT, "extra-index-url": f"{PT} {OWN} {CORP}"})

    assert changes.set == {"PIP_INDEX_URL": OWN, "PIP_EXTRA_INDEX_URL": CORP}
    assert of_pip({}, {"index-url": PT, "extra-index-url": OWN}).set["PIP_EXTRA_INDEX_URL"] == " "


def test_pips_default_index_takes_the_place_of_a_wheel_index_that_is_alone_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_places, "default", lambda _: "https://default.example/simple")

    assert of_pip({"PIP_INDEX_URL": PT}, {"index-url": PT}).set == {"PIP_INDEX_URL": "https://default.example/simple"}
    assert of_pip({"PIP_INDEX_URL": PT}, {"index-url": OWN}).set == {"PIP_INDEX_URL": OWN}
    assert of_pip({"PIP_INDEX_URL": PT}, {}).unset == ("PIP_INDEX_URL",)


def test_notes_hide_passwords() -> None:
    (note,) = of_pip({"PIP_EXTRA_INDEX_URL": "https://me:secret@download.pytorch.org/whl/cu126"}, {}).notes

    assert "secret" not in note.text
    assert "me:****@download.pytorch.org" in note.text or "****" in note.text


def test_uv_variables_lose_the_wheel_index_alone() -> None:
    environ = {"UV_INDEX": f"torch={PT} own={OWN}", "UV_FIND_LINKS": f"{PT}/torch/,{OWN}", "UV_DEFAULT_INDEX": PT}

    changes = of_uv({**environ, "UV_TORCH_BACKEND": "cu130"})

    assert changes.set == {"UV_INDEX": f"own={OWN}", "UV_FIND_LINKS": OWN}
    assert set(changes.unset) == {"UV_TORCH_BACKEND", "UV_DEFAULT_INDEX"}


def test_an_explicit_index_of_uv_stays_and_an_open_one_is_refused() -> None:
    assert of_uv({}, {"index": [{"url": PT, "explicit": True, "name": "e"}]}) == SettingChanges()
    with pytest.raises(UsageError, match=r"1\.toml lets a PyTorch wheel index supply every package"):
        of_uv({}, {}, {"pip": {"extra-index-url": [PT]}})


def test_an_index_that_a_folder_names_is_said_and_its_backend_is_the_answers() -> None:
    changes = of_uv({}, {"index": [{"url": OWN, "default": True}], "torch-backend": "cu130"})

    assert [note.code for note in changes.notes] == ["BACKEND_LEFT_OUT", "INDEX_OF_FOLDER"]
    assert changes.set == {"UV_TORCH_BACKEND": "cu126"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--extra-index-url", PT), "wheel index"),
        ((f"-Ui{PT}",), "wheel index"),
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
        own_settings.check_passed(words, WHEEL_HOST)

    assert says in caught.value.message


def test_what_else_stands_behind_the_dashes_is_passed_on() -> None:
    words = ("--no-cache-dir", "--timeout", "5", "-v", "--python-version", "3.12", "--pre", "--index-url", OWN)

    own_settings.check_passed(words, WHEEL_HOST)


def test_the_constraints_of_both_tools_variables_bind_and_the_files_of_one(tmp_path: Path) -> None:
    (tmp_path / "limits.txt").write_text("torch<2.13\nnumpy<2; python_version < '3'\n", "utf-8")
    environ = {"UV_CONSTRAINT": str(tmp_path / "limits.txt"), "PIP_CONSTRAINT": str(tmp_path / "none.txt")}
    own = OwnSettings(
        environ,
        toolsettings.strongest(toolsettings.pip_of_environ(environ)),
        uv_files=(UvFile("uv.toml", {"constraint-dependencies": ["torchvision<0.28"]}),),
    )

    def names(installer: str) -> list[str]:
        return [each.name for each in own_settings.limits(own, installer, "3.12", ())]

    assert names("pip") == ["torch"]
    assert names("uv") == ["torch", "torchvision"]
    assert own_settings.limits(own, "uv", "3.12", (str(tmp_path),))[0].name == "torchvision"
