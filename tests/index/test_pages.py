"""Pages of an index: what is asked of a server, what a page says of its wheels, and pages that are folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.fakes.rude import once, rude
from tests.index.server import Host
from torchpick.errors import UsageError, WheelError, WheelLayoutError
from torchpick.index import pages
from torchpick.index.index_places import IndexPlaces
from torchpick.index.projects import ProjectReader
from torchpick.model.pick import Request
from torchpick.run import start_run

DIGEST = "86107f52ff49e63a75c9d345374cac30140e053a12ffa728d676fee836e69022"
FILE = "torch-2.9.0-cp312-cp312-win_amd64.whl"
BASE = "https://wheels.example/whl/torch/"


def wheels_of(url: str) -> list[str]:
    with ProjectReader(IndexPlaces((), (url,)), {}, anew=True) as reader:
        return [wheel.url for wheel in reader.linked_wheels()]


def test_the_hash_of_a_wheel_is_the_pages_before_that_of_its_address() -> None:
    url = f"{FILE}#sha256={DIGEST.upper()}"
    entry = {"filename": FILE, "url": url}
    own = {**entry, "hashes": {"sha256": "A" * 64}}
    yanked = [{**entry, "yanked": why} for why in ("bad", True, False)]
    page = json.dumps({"files": [entry, own, *yanked]}).encode()
    links = pages.files(page, BASE, "application/json")

    assert [link.with_hash for link in links[:2]] == [
        f"{BASE}{FILE}#sha256={DIGEST}",
        f"{BASE}{FILE}#sha256={'a' * 64}",
    ]
    assert [link.yanked for link in links] == [None, None, "bad", "", None]
    assert pages.files(f"<a href={FILE}>".encode(), BASE)[0].with_hash == BASE + FILE


def test_what_a_page_of_json_says_of_the_metadata_beside_a_file_and_of_its_day() -> None:
    said = [None, False, "", "false", True, "true", {}, {"sha256": DIGEST.upper()}, f"sha256={DIGEST}", "x"]
    days = {"2024-01-02T03:04:05+00:00": True, "2024-01-02": True, "2024-01-02T03:04:05+01:00": False, "2024": False}
    entries = [
        *({"url": FILE, "core-metadata": value, "dist-info-metadata": "0" * 64} for value in said),
        {"url": FILE, "dist-info-metadata": DIGEST},
        *({"url": FILE, "upload-time": day, "size": 0} for day in days),
    ]
    for kind in ("application/json", "", "text/plain"):
        links = pages.files(json.dumps({"files": entries}).encode(), BASE, kind)
        found = [None] * 4 + [""] * 3 + [DIGEST, DIGEST, "", DIGEST] + [None] * 4
        assert [link.metadata for link in links] == found
        assert [link.uploaded for link in links[-4:]] == [day if valid else None for day, valid in days.items()]
        assert [link.size for link in links[-5:]] == [None, 0, 0, 0, 0]
    assert pages.files(json.dumps({"files": entries}).encode(), BASE, "text/html; charset=utf-8") == ()


@pytest.mark.parametrize(("page", "message"), [
    (b"{", "the page is not JSON: "), (b"[]", "the page lists no files"), (b'{"files": {}}', "the page lists no files"),
])  # fmt: skip
def test_what_is_no_page_is_said_with_its_address(page: bytes, message: str) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + page
    with rude(once(answer)) as url, pytest.raises(WheelLayoutError) as caught:
        wheels_of(url.replace("//", "//me:secret@"))

    assert caught.value.message.startswith(f"{url.replace('//', '//me:****@')}: {message}")
    assert caught.value.hint == "check that the address is an index of Python packages"


def test_the_first_base_and_the_first_of_two_attributes_count() -> None:
    page = b"<base href=/a/><base href=/b/><a href=torch-1.0-py3-none-any.whl href=torch-2.0-py3-none-any.whl>"

    for kind in ("text/html", "", "application/octet-stream"):
        urls = [link.url for link in pages.files(page, BASE, kind)]
        assert urls == ["https://wheels.example/a/torch-1.0-py3-none-any.whl"]


def test_a_page_that_is_not_there_has_no_links(host: Host, tmp_path: Path) -> None:
    assert wheels_of(f"{host.url}/none/") == wheels_of((tmp_path / "none").as_uri()) == []


@pytest.mark.parametrize("name", ["b%2B c/", "b%2B c", "b%2B c/index.html"])
def test_a_page_in_a_folder(tmp_path: Path, name: str) -> None:
    """Its index.html is the page; without one its wheels are."""
    folder = tmp_path / "b+ c"
    folder.mkdir()
    url = f"{tmp_path.as_uri()}/{name.replace(' ', '%20')}"
    (folder / "torch-2.0+cu118-py3-none-any.whl").touch()
    (folder / "torch-1.0-py3-none-any.whl").touch()
    (folder / "torch-1.0.tar.gz").touch()
    place = f"{tmp_path.as_uri()}/b%2B%20c/"
    if not name.endswith("html"):
        assert wheels_of(url) == [
            f"{place}torch-1.0-py3-none-any.whl",
            f"{place}torch-2.0%2Bcu118-py3-none-any.whl",
        ]
    (folder / "index.html").write_text("<a href=sub/torch-3.0-py3-none-any.whl>x</a>", "utf-8")

    assert wheels_of(url) == [f"{place}sub/torch-3.0-py3-none-any.whl"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders on Windows")
def test_a_page_that_is_no_file_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(WheelError, match=r"cannot read .*pipe: .+") as caught:
        pages.page_in_folder((tmp_path / "pipe").as_uri())
    assert caught.value.hint == "check its permissions"


def test_a_file_of_requirements_elsewhere_is_read_where_the_network_may_be_used(host: Host) -> None:
    host.files["/r.txt"] = b"torch\n"

    assert start_run(Request(), {}).fetch(f"{host.url}/r.txt") == b"torch\n"
    url = f"{host.url.replace('//', '//me:secret@')}/r.txt"
    with pytest.raises(
        UsageError, match=r"//me:\*\*\*\*@.*is not on this computer, and `--offline` is given"
    ) as caught:
        start_run(Request(offline=True), {}).fetch(url)
    assert caught.value.hint == "download it"
    assert len(host.seen) == 1
