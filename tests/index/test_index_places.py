"""Where the user's packages come from: what pip's and uv's settings say, and all that follows from it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from torchpick.environment import distributions
from torchpick.environment.distributions import Environment
from torchpick.index import index_places
from torchpick.index.index_places import IndexPlaces
from torchpick.model.machine import Python

A, B, C = "https://a.example/simple", "https://b.example/simple", "https://c.example/simple"
DEFAULT = "https://default.example/simple"


@pytest.fixture(autouse=True)
def _pip_with_a_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The only pip there is has this default index, and the folder with the settings is the current one."""
    module = tmp_path / "sites" / "pip" / "_internal" / "models" / "index.py"
    module.parent.mkdir(parents=True)
    module.write_text(f'PyPI = PackageIndex("{DEFAULT.removesuffix("simple")}", file_storage_domain="f")\n', "utf-8")
    sites = (str(tmp_path / "sites"),)
    monkeypatch.setattr(
        distributions,
        "read_environment",
        lambda *_, **__: Environment(Python("3.12", executable="python"), "/env", sites=sites),
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def uri(name: str) -> str:
    return Path(name).absolute().as_uri()


@pytest.mark.parametrize(
    ("environ", "pip_conf", "uv_toml", "expected"),
    [
        ({}, "", "", IndexPlaces((DEFAULT,))),
        ({"PIP_INDEX_URL": A}, "", "", IndexPlaces((A,))),
        ({"PIP_INDEX_URL": f"{A} {B}", "PIP_EXTRA_INDEX_URL": f"{B} {C}"}, "", "", IndexPlaces((A, B, C))),
        ({"PIP_EXTRA_INDEX_URL": B}, "", "", IndexPlaces((DEFAULT, B))),
        ({"PIP_FIND_LINKS": f"{C}/x ./wheels ~/w"}, "", "",
         IndexPlaces((DEFAULT,), (f"{C}/x", "file wheels", "file w"))),
        ({"PIP_NO_INDEX": "1", "PIP_INDEX_URL": A}, "", "", IndexPlaces(())),
        ({"PIP_NO_INDEX": "0", "PIP_INDEX_URL": A}, "", "", IndexPlaces((A,))),
        ({"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "w"}, "", "", IndexPlaces((), ("file w",))),
        ({"PIP_NO_INDEX": "0"}, "", f'[[index]]\nurl = "{B}"\n', IndexPlaces((DEFAULT,))),
        ({}, f"[global]\nindex-url = {A}\nextra-index-url = {B}", "", IndexPlaces((A, B))),
        ({"PIP_INDEX_URL": C}, f"[global]\nindex-url = {A}\nextra-index-url = {B}", "", IndexPlaces((C, B))),
        ({"PIP_TIMEOUT": "9"}, "[global]\ntimeout = 5", f'index-url = "{A}"',
         IndexPlaces((A,), (), first_only=True, source="uv")),
        ({}, "", f'[[index]]\nname = "b"\nurl = "{B}"\n', IndexPlaces((B, DEFAULT), (), first_only=True, source="uv")),
        ({"UV_INDEX": f"{B} {A}", "UV_DEFAULT_INDEX": A}, "", "", IndexPlaces((B, A), first_only=True, source="uv")),
        ({"UV_INDEX_URL": B, "UV_DEFAULT_INDEX": A}, "", f'index-url = "{C}"',
         IndexPlaces((A,), first_only=True, source="uv")),
        ({"UV_EXTRA_INDEX_URL": B, "UV_INDEX": C}, "", 'index-strategy = "unsafe-best-match"',
         IndexPlaces((C, B, DEFAULT), source="uv")),
        ({"UV_EXTRA_INDEX_URL": B, "UV_INDEX_STRATEGY": "first-index"}, "", 'index-strategy = "unsafe-best-match"',
         IndexPlaces((B, DEFAULT), first_only=True, source="uv")),
        ({"UV_INDEX": B, "UV_INDEX_STRATEGY": "unsafe-first-match"}, "", "", IndexPlaces((B, DEFAULT), source="uv")),
        ({"UV_FIND_LINKS": f"{C}/x,w"}, "", "",
         IndexPlaces((DEFAULT,), (f"{C}/x", "file w"), first_only=True, source="uv")),
        ({"UV_NO_INDEX": "True", "UV_INDEX": B, "UV_FIND_LINKS": "w"}, "", "",
         IndexPlaces((), ("file w",), source="uv")),
        ({"UV_NO_INDEX": "0", "UV_INDEX": B}, "", "", IndexPlaces((B, DEFAULT), first_only=True, source="uv")),
        ({}, "", f'no-index = true\nindex-url = "{A}"\nfind-links = ["w"]', IndexPlaces((), ("file w",), source="uv")),
        ({}, "", f'index-url = "{C}"\n[[index]]\nname = "b"\nurl = "{A}"\ndefault = true\n',
         IndexPlaces((A,), first_only=True, source="uv")),
        ({}, "", f'extra-index-url = ["{B}"]', IndexPlaces((B, DEFAULT), first_only=True, source="uv")),
        ({}, "", f'no-index = false\nindex-url = "{A}"', IndexPlaces((A,), first_only=True, source="uv")),
        ({}, "", f'[pip]\nno-index = true\nextra-index-url = ["{A}"]', IndexPlaces((), source="uv")),
    ],
)  # fmt: skip
def test_what_the_settings_name_is_where_packages_come_from(
    environ: dict[str, str], pip_conf: str, uv_toml: str, expected: IndexPlaces
) -> None:
    Path("pip.conf").write_text(pip_conf, "utf-8")
    Path("uv.toml").write_text(uv_toml, "utf-8")
    files = {"PIP_CONFIG_FILE": "pip.conf", "UV_CONFIG_FILE": "uv.toml"}
    links = tuple(uri(link.removeprefix("file ")) if link.startswith("file ") else link for link in expected.links)

    assert index_places.of_user({**files, **environ}) == expected._replace(links=links)


USER, PASSWORD = "_USERNAME", "_PASSWORD"


@pytest.mark.parametrize(("word", "variables", "url"), [
    (f"my-own.x={A}", {}, f"my-own.x={A}"), (f"mine={A}", {}, A), ("wheels", {"UV_INDEX__USERNAME": "u"}, "wheels"),
    (f"mine={A}", {"UV_INDEX_MINE_USERNAME": "u", "UV_INDEX_MINE_PASSWORD": "p/@"}, A.replace("//", "//u:p%2F%40@")),
    (f"my_own-2={A}", {"UV_INDEX_MY_OWN_2_USERNAME": "a/b"}, A.replace("//", "//a%2Fb:@")),
    (f"mine={A}", {"UV_INDEX_MINE_PASSWORD": "p"}, A.replace("//", "//:p@")),
    ("mine=https://me:mine@a.example/simple", {"UV_INDEX_MINE_USERNAME": "u"}, "https://me:mine@a.example/simple"),
    (f"{A}?a=b", {"UV_INDEX__USERNAME": "u"}, f"{A}?a=b"),
])  # fmt: skip
def test_an_index_has_the_login_that_uv_has_for_its_name(word: str, variables: dict[str, str], url: str) -> None:
    environ = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_DEFAULT_INDEX": C, "UV_INDEX": word}

    assert index_places.of_user({**environ, **variables}).indexes == (url, C)


def test_a_name_in_uvs_file_has_its_login_too() -> None:
    Path("uv.toml").write_text(f'[[index]]\nname = "in.ner"\nurl = "{A}?a=b"\n', "utf-8")
    environ = {"PIP_CONFIG_FILE": os.devnull, "UV_CONFIG_FILE": "uv.toml", "UV_INDEX_IN_NER_USERNAME": "u"}

    assert index_places.of_user(environ).indexes == (A.replace("//", "//u:@") + "?a=b", DEFAULT)


@pytest.mark.parametrize(("places", "base"), [
    (IndexPlaces((A, B), (C,)), f"{A} {B} {C}"),
    (IndexPlaces(("https://me:secret@a.example/simple",), ("https://you@b.example/",)), f"{A} https://b.example/"),
    (IndexPlaces(()), None),
])  # fmt: skip
def test_what_is_learnt_is_kept_by_the_places_without_their_passwords(places: IndexPlaces, base: str | None) -> None:
    assert places.base == base


def test_the_pip_of_the_python_that_is_asked_about_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def found(path: str, _environ: object, *, metadata: bool) -> Environment:  # noqa: ARG001
        asked.append(path)
        return Environment(
            Python("3.12", executable=path), "/env", sites=(str(tmp_path / "sites"),) if path == "/b/python" else ()
        )

    monkeypatch.setattr(distributions, "read_environment", found)

    assert index_places.default("/b/python") == DEFAULT
    assert asked == ["/b/python"]
    monkeypatch.setattr(index_places, "bundled", lambda: iter(['PyPI = PackageIndex("https://kept.example/")\n']))
    assert index_places.default("/a/python") == "https://kept.example/simple"
    assert asked[1:] == ["/a/python", sys.executable]
