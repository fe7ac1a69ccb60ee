"""The wheel host's pages and hashes, on loopback and in folders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.indexes import WheelHost
from tests.fakes.loopback import Loopback
from tests.fakes.tinywheel import TinyWheel
from torchpick.errors import UsageError
from torchpick.index.user_index import Host, sha256_of, shown

TORCH = TinyWheel("torch", "2.14.1+cu126", "cp312-cp312-manylinux_2_28_x86_64")
SHA = hashlib.sha256(TORCH.content).hexdigest()


@pytest.fixture
def host(server: Loopback) -> Iterator[Host]:
    made = Host(f"{server.url}/whl/cu126")
    yield made
    made.close()


@pytest.fixture
def server() -> Iterator[Loopback]:
    site = WheelHost(files_at="")
    site.add("cu126", TORCH)
    with Loopback({"127.0.0.1": site}).running() as running:
        yield running


def test_a_page_is_read_once_and_what_the_host_lacks_has_no_links(server: Loopback, host: Host) -> None:
    for _ in range(2):
        [link] = host.links("torch")
        assert host.links("torchvision") == ()

        assert (link.sha256, link.wheel.version) == (SHA, "2.14.1+cu126")

    assert len(server.log) == 2


def test_offline_asks_nobody(server: Loopback) -> None:
    made = Host(f"{server.url}/whl/cu126", offline=True)
    with pytest.raises(UsageError, match="`--offline` forbids it"):
        made.links("torch")
    assert server.log == []


@pytest.mark.parametrize("layout", ["cu126/torch", "cu126"])
def test_a_folder_of_wheels_is_a_mirror(tmp_path: Path, layout: str) -> None:
    folder = tmp_path / layout
    folder.mkdir(parents=True)
    (folder / TORCH.filename).write_bytes(TORCH.content)
    made = Host(f"{tmp_path.as_uri()}/cu126", offline=True)

    [link] = made.links("torch")

    assert link.wheel.version == "2.14.1+cu126"
    assert sha256_of(link.url) == SHA
    assert not made.links("torchvision")


@pytest.mark.parametrize(
    ("url", "said", "hidden"),
    [
        ("https://me:secret@host.example/a.whl#sha256=00", "https://host.example/a.whl", True),
        ("https://host.example/a%2Bb.whl", "https://host.example/a%2Bb.whl", False),
        ("file:///srv/a.whl", "file:///srv/a.whl", False),
    ],
)
def test_a_lock_shows_no_credentials(url: str, said: str, hidden: bool) -> None:
    assert shown(url) == (said, hidden)
