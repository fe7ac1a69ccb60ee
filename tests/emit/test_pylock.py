"""The text of a lock."""

from __future__ import annotations

import sys
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.pylock import Pylock

from torchpick.emit import pylock
from torchpick.errors import TorchpickError
from torchpick.model.lock import Entry, File, Lock, Package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SHA = "ab" * 32
URL = "https://host.example/torch-2.14.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"
MARKER = "sys_platform == 'linux'"


def lock(*packages: Package) -> Lock:
    return Lock((MARKER,), ">=3.12,<3.13", tuple(Entry(each, MARKER) for each in packages))


def test_a_lock_is_what_the_packaging_library_reads() -> None:
    torch = Package("torch", "2.14.1+cu126", (File(URL, SHA, 5),), index_url="https://host.example/whl/cu126")
    source = Package("thing", "1.0", sdist=File("https://host.example/thing-1.0.tar.gz", SHA))
    direct = Package("other", "1.0", archive=File("https://host.example/other.zip", SHA))
    vcs = Package("mine", None, vcs={"type": "git", "url": "https://host.example/mine", "commit-id": "c" * 40})

    text = pylock.text(lock(torch, source, direct, vcs), {"torch": "2.14.1+cu126"})

    table = tomllib.loads(text)
    Pylock.from_dict(table)
    assert table["packages"][0]["wheels"] == [
        {"name": unquote(URL[21:]), "url": URL, "size": 5, "hashes": {"sha256": SHA}}
    ]
    assert table["packages"][1]["sdist"]["hashes"] == {"sha256": SHA}
    assert table["packages"][2]["archive"]["url"].endswith("other.zip")
    assert table["packages"][3]["vcs"]["commit-id"] == "c" * 40
    assert table["created-by"] == "torchpick"
    assert table["tool"]["torchpick"] == {"torch": "2.14.1+cu126"}
    assert "marker = 'sys_platform == \"linux\"'" in text


@pytest.mark.parametrize(
    "package",
    [
        Package("torch", "2.14.1+cu126", (File(URL),)),
        Package("torch", "2.14.1", (File(URL, SHA),)),
        Package("numpy", "2.14.1+cu126", (File(URL, SHA),)),
        Package("torch", "2.14.1+cu126"),
    ],
    ids=["no hash", "another version", "another name", "no file"],
)
def test_what_no_lock_can_hold_is_refused(package: Package) -> None:
    with pytest.raises(TorchpickError, match="the lock would not be one"):
        pylock.text(lock(package), {})


@given(st.dictionaries(st.text(min_size=1), st.text() | st.booleans() | st.lists(st.text(), max_size=3), max_size=4))
def test_any_word_survives_the_file(told: dict[str, object]) -> None:
    try:
        text = pylock.text(lock(), told)
        text.encode()
    except UnicodeEncodeError:  # half a character, which no file can hold
        return

    assert tomllib.loads(text)["tool"]["torchpick"] == told


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("pylock.toml", True), ("pylock.torch.toml", True), ("pylock.a.b.toml", False), ("pylock..toml", False),
        ("Pylock.toml", False), ("lock.toml", False), ("pylock.toml.bak", False),
    ],
)  # fmt: skip
def test_the_names_that_pip_and_uv_know(name: str, good: bool) -> None:
    assert pylock.is_name(name) == good
