"""Pages that are known already: which wheels of them a user's index has, who reads each, and for which Python."""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from torchpick.environment import interpreter
from torchpick.index import index_places, pages
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import IndexTarget, best_wheels
from torchpick.index.wheelnames import WheelTarget
from torchpick.model.machine import Platform
from torchpick.wheels import inspect_target

LINUX = Platform.parse("linux-x86_64", "2.35")
WINDOWS = Platform.parse("windows-x86_64")
TARGET = IndexTarget("cp312", LINUX)
A, B, C = "https://a.example/simple", "https://b.example/simple/", "https://c.example/wheels"


def links(*files: str, base: str = f"{A}/pkg/") -> tuple[ProjectFile, ...]:
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
    found = best_wheels([link._replace(requires_python=said)], "", TARGET._replace(version=version))

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

    assert inspect_target.target_of(wanted) == IndexTarget("cp399", platform)


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
