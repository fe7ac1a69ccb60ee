"""Pages that are known already: which wheels of them a user's index has, who reads each, and for which Python."""

from __future__ import annotations

import os
import sysconfig
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.index.server import Host
from torchpick.environment import interpreter
from torchpick.errors import InstallerError, NetworkError, WheelError
from torchpick.index import index_places, pages, user_index
from torchpick.index.client import Client, Limits
from torchpick.index.index_places import IndexPlaces
from torchpick.index.pages import Link
from torchpick.index.projectfiles import IndexTarget
from torchpick.index.user_index import UserIndex
from torchpick.index.wheelnames import WheelTarget
from torchpick.model.machine import Platform

LINUX = Platform.parse("linux-x86_64", "2.35")
WINDOWS = Platform.parse("windows-x86_64")
TARGET = IndexTarget("cp312", LINUX)
A, B, C = "https://a.example/simple", "https://b.example/simple/", "https://c.example/wheels"
NOBODY = cast("Client", object())


def links(*files: str, base: str = f"{A}/pkg/") -> tuple[Link, ...]:
    return pages.parse("".join(f"<a href={file}>x</a>" for file in files).encode(), base)


def wheel(version: str, name: str = "pkg", tag: str = "py3-none-any") -> str:
    return f"{name}-{version}-{tag}.whl"


def test_a_page_in_a_folder_is_bounded_as_one_of_the_web() -> None:
    assert Limits().page == pages.MOST_BYTES


ONE, TWO, OTHER = links(wheel("1.0")), links(wheel("2.0")), links(wheel("1.0", "other"))


@pytest.mark.parametrize(
    ("on_a", "on_b", "on_c", "first_only", "found"),
    [
        (None, None, None, False, None),
        (None, None, OTHER, False, None),
        (None, None, ONE, False, ONE),
        ((), None, None, False, ()),
        (None, OTHER, None, False, ()),
        (ONE, TWO, None, False, (*ONE, *TWO)),
        (ONE, TWO, None, True, ONE),
        ((), TWO, None, True, ()),
        (None, TWO, None, True, TWO),
        (TWO, None, ONE, True, (*ONE, *TWO)),
        ((*OTHER, *ONE), None, (*OTHER, *TWO), False, (*TWO, *ONE)),
    ],
)
def test_the_wheels_of_a_name_on_two_indexes_and_a_page_of_links(
    on_a: tuple[Link, ...] | None,
    on_b: tuple[Link, ...] | None,
    on_c: tuple[Link, ...] | None,
    first_only: bool,
    found: tuple[Link, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    there = {f"{A}/pkg/": on_a, f"{B}pkg/": on_b, C: on_c}
    monkeypatch.setattr(pages, "fetch", lambda url, *_: there[url])
    index = UserIndex(IndexPlaces((A, B), (C,), first_only), NOBODY)

    assert index.links("Pkg") == found


def test_each_page_is_read_once_and_also_one_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(url: str, *_: object) -> tuple[Link, ...]:
        asked.append(url)
        if url.startswith(B):
            raise NetworkError("refused", hint="x")
        return ONE

    monkeypatch.setattr(pages, "fetch", fetch)
    good, bad = UserIndex(IndexPlaces((A,)), NOBODY), UserIndex(IndexPlaces((B,)), NOBODY)
    for _ in range(2):
        assert good.links("pkg") == ONE
        with pytest.raises(NetworkError, match="refused"):
            bad.links("pkg")

    assert asked == [f"{A}/pkg/", f"{B}pkg/"]


@pytest.mark.parametrize(
    ("said", "version", "fits"),
    [
        ("", None, True),
        (">=3.12.4", None, True),
        (">=3.12.4", "3.12.3", False),
        (">=3.14", "3.15.0rc1", True),
        ("<3.12", None, False),
        ("what is this", None, True),
    ],
)
def test_which_pythons_a_wheel_says_it_is_for(said: str, version: str | None, fits: bool) -> None:
    [link] = links(wheel("1.0"))
    found = user_index.fitting([link._replace(requires_python=said)], "", TARGET._replace(version=version))

    assert found == ([link._replace(requires_python=said)] if fits else [])


@pytest.mark.parametrize(
    ("here", "wanted", "platform"),
    [
        (LINUX, WheelTarget(), LINUX),
        (LINUX, WheelTarget(glibc="2.17"), Platform.parse("linux-x86_64", "2.17")),
        (WINDOWS, WheelTarget(glibc="2.17"), WINDOWS),
        (WINDOWS, WheelTarget(platform="linux-aarch64", glibc="2.17"), Platform.parse("linux-aarch64", "2.17")),
        (LINUX, WheelTarget(platform="windows-x86_64"), WINDOWS),
        (WINDOWS, WheelTarget(platform="linux-x86_64"), Platform.parse("linux-x86_64")),
    ],
)
def test_the_platform_that_wheels_are_for(
    here: Platform, wanted: WheelTarget, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = SimpleNamespace(platform=here, python=SimpleNamespace(tag="cp399"))
    monkeypatch.setattr(interpreter, "running", lambda: own)

    assert user_index.target_of(wanted) == IndexTarget("cp399", platform)


def test_a_wheel_is_located_by_the_settings_that_are_given(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own client has the user's login, and the pip that is asked is that of the Python in question."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password p\n", "utf-8")
    host.files["/pkg/"], host.types["/pkg/"] = f"<a href={wheel('1.0')}>x</a>".encode(), "text/html"
    asked: list[tuple[object, ...]] = []

    def of_user(*given: object) -> IndexPlaces:
        asked.append(given)
        return IndexPlaces((host.url,))

    monkeypatch.setattr(index_places, "of_user", of_user)
    environ = {"NETRC": str(tmp_path / "netrc")}
    found = user_index.locate("pkg<2", WheelTarget(platform="linux-x86_64"), environ)
    with Client(environ={}) as client:
        user_index.locate("pkg", WheelTarget(), {"NETRC": os.devnull}, client)

    assert found.url == f"{host.url}/pkg/{wheel('1.0')}"
    assert asked == [(environ, None), ({"NETRC": os.devnull}, None)]
    assert [seen.authorization is not None for seen in host.seen] == [True, False]


@pytest.mark.parametrize(
    ("specifier", "mine", "message"),
    [
        ("==9", links(*(wheel(f"1.{minor}", "pkg") for minor in range(7))),
         "has no pkg==9 that fits: it has 1.2, 1.3, 1.4, 1.5, 1.6 for this Python"),
        ("==9", links(wheel("1.0", tag="cp311-cp311-any")), "has no pkg==9 that fits: it has none for this Python"),
        ("", (), "has no pkg that fits: no file of it is listed there"),
    ],
)  # fmt: skip
def test_what_the_wheel_hosts_page_has_in_place_of_what_was_asked(
    specifier: str, mine: tuple[Link, ...], message: str
) -> None:
    with pytest.raises(InstallerError) as caught:
        user_index.best("pkg", specifier, mine, "https://me:secret@m.example/pkg/", TARGET)
    assert caught.value.message == f"https://me:****@m.example/pkg/ {message}"
    assert (caught.value.code, caught.value.hint) == (
        "NOT_ON_PAGE",
        "`--index-base URL` names a mirror, `torchpick refresh` reads what the index has; or leave pkg out",
    )


def test_the_metadata_of_torch_names_its_tritons(tmp_path: Path) -> None:
    (tmp_path / "torch.whl.metadata").write_bytes(
        b"Author: J\xf6rg\nrequires-dist: Triton==3.5.1 ; sys_platform == 'linux'\n"
        b"Requires-Dist: triton-xpu (>=3.4)\nRequires-Dist:pytorch-triton-rocm\nRequires-Dist: my-triton (==1)\n"
    )
    made = user_index.Host(tmp_path.as_uri())

    assert made.tritons(f"{tmp_path.as_uri()}/torch.whl#sha256=00") == {
        "triton": "==3.5.1", "triton-xpu": ">=3.4", "pytorch-triton-rocm": "",
    }  # fmt: skip
    made.close()


def test_bundled_pips_are_read_in_order_and_those_that_are_none_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ensurepip" / "_bundled"
    folder.mkdir(parents=True)
    for name, inside in (("pip-2", "pip/_internal/models/index.py"), ("pip-1", "else"), ("setuptools-1", "x")):
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as archive:
            archive.writestr(inside, b"of \xff " + name.encode())
    (folder / "pip-0-py3-none-any.whl").write_bytes(b"no archive")
    (folder / "pip-3-py3-none-any.whl").symlink_to("nowhere")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path) if name == "stdlib" else "")

    assert next(index_places.bundled()) == "of \ufffd pip-2"


def test_a_file_that_has_no_hash_because_it_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(WheelError) as caught:
        user_index.sha256_of((tmp_path / "none").as_uri())
    assert (caught.value.message, caught.value.hint) == (
        f"{tmp_path / 'none'}: cannot be read: No such file or directory", "check the path",
    )  # fmt: skip
