"""The wheel host's pages and hashes, on loopback and in folders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.indexes import WheelHost
from tests.fakes.loopback import Loopback
from tests.fakes.tinywheel import TinyWheel
from tests.install.jobs import PICK
from torchpick.errors import UsageError
from torchpick.index.projects import ProjectReader
from torchpick.install.files import open_host
from torchpick.install.lock import hashed

TORCH = TinyWheel("torch", "2.14.1+cu126", "cp312-cp312-manylinux_2_28_x86_64")
SHA = hashlib.sha256(TORCH.content).hexdigest()


def host(base: str, *, offline: bool = False) -> ProjectReader:
    return open_host(PICK._replace(wish=PICK.wish._replace(index_base=base)), offline=offline)


@pytest.fixture
def server() -> Iterator[Loopback]:
    site = WheelHost(files_at="")
    site.add("cu126", TORCH)
    with Loopback({"127.0.0.1": site}).running() as running:
        yield running


def test_a_page_is_read_once_and_what_the_host_lacks_has_no_links(server: Loopback) -> None:
    with host(f"{server.url}/whl") as made:
        for _ in range(2):
            [link] = made.wheels("torch") or []
            assert not made.wheels("torchvision")

            assert (link.sha256, link.name.version) == (SHA, "2.14.1+cu126")

    assert len(server.log) == 2


def test_offline_asks_nobody(server: Loopback) -> None:
    with host(f"{server.url}/whl", offline=True) as made, pytest.raises(UsageError, match="`--offline` is given"):
        made.wheels("torch")
    assert server.log == []


@pytest.mark.parametrize("layout", ["cu126/torch", "cu126"])
def test_a_folder_of_wheels_is_a_mirror(tmp_path: Path, layout: str) -> None:
    folder = tmp_path / layout
    folder.mkdir(parents=True)
    (folder / TORCH.filename).write_bytes(TORCH.content)
    with host(tmp_path.as_uri(), offline=True) as made:
        [link] = made.wheels("torch") or []

        assert link.name.version == "2.14.1+cu126"
        assert hashed(link.url).endswith(f"#sha256={SHA}")
        assert not made.wheels("torchvision")
