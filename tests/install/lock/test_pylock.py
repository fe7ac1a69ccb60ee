"""The text of a lock."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.pylock import Pylock

from torchpick.environment import toml
from torchpick.errors import TorchpickError
from torchpick.install.lock import pylock
from torchpick.model.lock import Lock, LockedPackage, LockEnvironment, LockFile

SHA = "ab" * 32
URL = "https://host.example/torch-2.14.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"


def lock(*packages: LockedPackage) -> Lock:
    return Lock(LockEnvironment("linux-x86_64", "3.12"), packages)


def test_a_lock_is_what_the_packaging_library_reads() -> None:
    torch = LockedPackage("torch", "2.14.1+cu126", (LockFile(URL, SHA, 5),), index_url="https://host.example/whl/cu126")
    source = LockedPackage("thing", "1.0", sdist=LockFile("https://host.example/thing-1.0.tar.gz", SHA))
    direct = LockedPackage("other", "1.0", archive=LockFile("https://host.example/other.zip", SHA))
    vcs = LockedPackage("mine", None, vcs={"type": "git", "url": "https://host.example/mine", "commit-id": "c" * 40})

    text = pylock.text(lock(torch, source, direct, vcs), {"torch": "2.14.1+cu126"})

    table = toml.loads(text)
    Pylock.from_dict(table)
    assert table["packages"][0]["wheels"] == [
        {"name": unquote(URL[21:]), "url": URL, "size": 5, "hashes": {"sha256": SHA}}
    ]
    assert table["packages"][1]["sdist"]["hashes"] == {"sha256": SHA}
    assert table["packages"][2]["archive"]["url"].endswith("other.zip")
    assert table["packages"][3]["vcs"]["commit-id"] == "c" * 40
    assert table["created-by"] == "torchpick"
    assert table["tool"]["torchpick"] == {"torch": "2.14.1+cu126"}
    assert table["requires-python"] == "<3.13,>=3.12"
    assert table["environments"] == [
        'sys_platform == "linux" and platform_machine == "x86_64" and python_version == "3.12"'
    ]


@pytest.mark.parametrize(
    "package",
    [
        LockedPackage("torch", "2.14.1+cu126", (LockFile(URL),)),
        LockedPackage("torch", "2.14.1", (LockFile(URL, SHA),)),
        LockedPackage("numpy", "2.14.1+cu126", (LockFile(URL, SHA),)),
        LockedPackage("torch", "2.14.1+cu126"),
    ],
    ids=["no hash", "another version", "another name", "no file"],
)
def test_what_no_lock_can_hold_is_refused(package: LockedPackage) -> None:
    with pytest.raises(TorchpickError, match="the lock would not be one") as caught:
        pylock.text(lock(package), {})
    assert caught.value.code == "LOCK"


@given(st.dictionaries(st.text(min_size=1), st.text() | st.booleans() | st.lists(st.text(), max_size=3), max_size=4))
def test_any_word_survives_the_file(told: dict[str, object]) -> None:
    try:
        text = pylock.text(lock(), told)
        text.encode()
    except UnicodeEncodeError:  # half a character, which no file can hold
        return

    assert toml.loads(text)["tool"]["torchpick"] == told


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("pylock.toml", True), ("pylock.torch.toml", True), ("pylock.a.b.toml", False), ("pylock..toml", False),
        ("Pylock.toml", False), ("lock.toml", False), ("pylock.toml.bak", False),
    ],
)  # fmt: skip
def test_the_names_that_pip_and_uv_know(name: str, good: bool) -> None:
    assert pylock.is_name(name) == good
