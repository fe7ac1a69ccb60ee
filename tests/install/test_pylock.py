"""The text of a lock."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from packaging.pylock import Pylock

from torchpick.environment import toml
from torchpick.errors import TorchpickError
from torchpick.install.lock import lock_text
from torchpick.install.reporting import ReportedPackage
from torchpick.model.address import Address
from torchpick.model.machine import Machine, Platform, Python

SHA = "ab" * 32
URL = "https://host.example/torch-2.14.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"


HERE = Machine(Platform.parse("linux-x86_64"), Python("3.12"))


def test_a_lock_is_what_the_packaging_library_reads() -> None:
    torch = ReportedPackage(
        "torch", "2.14.1+cu126", files=((Address(URL), SHA, 5),), index_url="https://host.example/whl/cu126"
    )
    source = ReportedPackage(
        "thing", "1.0", "", "sdist", ((Address("https://host.example/thing-1.0.tar.gz"), SHA, None),)
    )
    direct = ReportedPackage("other", "1.0", "", "archive", ((Address("https://host.example/other.zip"), SHA, None),))

    text = lock_text(HERE, (torch, source, direct))

    table = toml.loads(text)
    Pylock.from_dict(table)
    assert table["packages"][0]["wheels"] == [
        {"name": unquote(URL[21:]), "url": URL, "size": 5, "hashes": {"sha256": SHA}}
    ]
    assert table["packages"][1]["sdist"]["hashes"] == {"sha256": SHA}
    assert table["packages"][2]["archive"] == {"url": direct.files[0][0], "hashes": {"sha256": SHA}}
    assert table["created-by"] == "torchpick"
    assert table["requires-python"] == "<3.13,>=3.12"
    assert table["environments"] == [
        'sys_platform == "linux" and platform_machine == "x86_64" and python_version == "3.12"'
    ]


@pytest.mark.parametrize(
    "package",
    [
        ReportedPackage("torch", "2.14.1+cu126", files=((Address(URL), None, None),)),
        ReportedPackage("torch", "2.14.1", files=((Address(URL), SHA, None),)),
        ReportedPackage("numpy", "2.14.1+cu126", files=((Address(URL), SHA, None),)),
        ReportedPackage("torch", "2.14.1+cu126", "", "wheels"),
    ],
    ids=["no hash", "another version", "another name", "no file"],
)
def test_what_no_lock_can_hold_is_refused(package: ReportedPackage) -> None:
    with pytest.raises(TorchpickError, match="the lock would not be one") as caught:
        lock_text(HERE, (package,))
    assert caught.value.code == "LOCK"
