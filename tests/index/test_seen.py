"""Pages that are known already: which wheels of them a user's index has, who reads each, and for which Python."""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from torchpick.environment import interpreter
from torchpick.errors import InstallerError
from torchpick.index import index_places, pages, user_index
from torchpick.index.pages import Link
from torchpick.index.projectfiles import IndexTarget
from torchpick.index.wheelnames import WheelTarget
from torchpick.model.machine import Platform

LINUX = Platform.parse("linux-x86_64", "2.35")
WINDOWS = Platform.parse("windows-x86_64")
TARGET = IndexTarget("cp312", LINUX)
A, B, C = "https://a.example/simple", "https://b.example/simple/", "https://c.example/wheels"


def links(*files: str, base: str = f"{A}/pkg/") -> tuple[Link, ...]:
    return pages.parse("".join(f"<a href={file}>x</a>" for file in files).encode(), base)


def wheel(version: str, name: str = "pkg", tag: str = "py3-none-any") -> str:
    return f"{name}-{version}-{tag}.whl"


ONE, TWO, OTHER = links(wheel("1.0")), links(wheel("2.0")), links(wheel("1.0", "other"))


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
