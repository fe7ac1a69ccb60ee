from __future__ import annotations

import os

from torchpick.environment import inherited, toml, toolsettings
from torchpick.environment.toolsettings import Setting, UvFile

PT = "https://download.pytorch.org/whl/cu130"
OWN = "https://own.example/simple"


def of_pip(environ: dict[str, str], files: dict[str, str]) -> inherited.Inherited:
    below = {name: Setting(name, tuple(value.split()), "pip.conf") for name, value in files.items()}
    return inherited.of_pip({**below, **toolsettings.strongest(toolsettings.pip_of_environ(environ))}, environ, below)


def test_what_names_no_wheel_index_is_not_touched() -> None:
    assert of_pip({"PIP_EXTRA_INDEX_URL": OWN}, {"index-url": OWN}) == inherited.Inherited()


def test_a_blank_displaces_what_an_empty_variable_does_not() -> None:
    assert of_pip({}, {"extra-index-url": PT}).set == {"PIP_EXTRA_INDEX_URL": " "}


def test_a_file_below_speaks_again_unless_it_names_a_wheel_index_too() -> None:
    assert of_pip({"PIP_EXTRA_INDEX_URL": PT}, {"extra-index-url": OWN}).unset == ("PIP_EXTRA_INDEX_URL",)
    assert of_pip({"PIP_EXTRA_INDEX_URL": PT}, {"extra-index-url": PT}).set == {"PIP_EXTRA_INDEX_URL": " "}


def test_a_variable_speaks_again_where_a_later_one_by_another_name_is_left_out() -> None:
    found = of_pip({"PIP_INDEX_URL": OWN, "PIP_PYPI_URL": PT}, {})

    assert found.set == {"PIP_INDEX_URL": OWN}
    assert found.unset == ("PIP_PYPI_URL",)
    assert of_pip({"PIP_PYPI_URL": PT}, {}).unset == ("PIP_INDEX_URL", "PIP_PYPI_URL")


def test_an_index_url_of_a_file_is_unsaid_by_saying_all_else_anew() -> None:
    found = of_pip({"PIP_TIMEOUT": "5"}, {"index-url": PT, "timeout": "60", "cert": "/ca.pem", "extra-index-url": OWN})

    assert found.set == {"PIP_CERT": "/ca.pem", "PIP_EXTRA_INDEX_URL": OWN, "PIP_CONFIG_FILE": os.devnull}
    assert found.unset == ("PIP_INDEX_URL",)


def test_notes_hide_passwords() -> None:
    (note,) = of_pip({"PIP_EXTRA_INDEX_URL": "https://me:secret@download.pytorch.org/whl/cu126"}, {}).notes

    assert "secret" not in note.text
    assert "me:****@download.pytorch.org" in note.text


def test_uv_variables() -> None:
    environ = {"UV_INDEX": f"torch={PT} own={OWN}", "UV_FIND_LINKS": f"{PT}/torch/,{OWN}", "UV_DEFAULT_INDEX": PT}

    found = inherited.of_uv(environ, [])

    assert found.set == {"UV_INDEX": f"own={OWN}", "UV_FIND_LINKS": OWN}
    assert found.unset == ("UV_DEFAULT_INDEX",)


def test_uv_files_are_replaced_by_one_without_wheel_indexes() -> None:
    project = UvFile(
        "p", {"index": [{"url": PT}, {"url": PT, "explicit": True, "name": "e"}], "sources": {"torch": {}}}
    )
    user = UvFile(
        "u", {"index": [{"url": OWN, "default": True}], "pip": {"extra-index-url": [PT, OWN]}, "offline": False}
    )

    found = inherited.of_uv({}, [project, user])

    assert found.uv_file is not None
    assert toml.loads(found.uv_file) == {
        "offline": False,
        "index": [{"url": PT, "explicit": True, "name": "e"}, {"url": OWN, "default": True}],
        "pip": {"extra-index-url": [OWN]},
    }


def test_own_places_are_those_of_the_user() -> None:
    found = [
        Setting("index-url", (PT,), "a"),
        Setting("extra-index-url", (PT, OWN), "b"),
        Setting("timeout", ("6",), "c"),
    ]

    assert [said.source for said in inherited.own_places(found)] == ["b"]
