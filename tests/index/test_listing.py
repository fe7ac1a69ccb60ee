"""Index pages as they are found in the wild."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.errors import WheelLayoutError
from torchpick.index import listing

DIGEST = "86107f52ff49e63a75c9d345374cac30140e053a12ffa728d676fee836e69022"
BASE = "https://wheels.example/whl/cu128/torch/"
# Lines of the wheel host: one without a hash, one with, one of the later hosts with a full address and a date.
PAGE = f"""<!DOCTYPE html>
<html>
  <body>
    <h1>Links for torch</h1>
    <a href="/whl/cu128/torch-2.7.0%2Bcu128-cp310-cp310-manylinux_2_28_aarch64.whl" data-dist-info-metadata="sha256={DIGEST}" data-core-metadata="sha256={DIGEST}">torch-2.7.0+cu128-cp310-cp310-manylinux_2_28_aarch64.whl</a><br/>
    <a href="/whl/cu128/torch-2.7.0%2Bcu128-cp313-cp313t-win_amd64.whl#sha256={DIGEST}">torch-2.7.0+cu128-cp313-cp313t-win_amd64.whl</a><br/>
    <a href="https://files.example/whl/cu128/torch-2.15.0%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl#sha256={DIGEST}" data-upload-time="2026-10-28T15:20:23Z">x</a><br/>
    <a href="torch-2.6.0-cp312-none-macosx_11_0_arm64.whl" data-requires-python="&gt;=3.9" data-yanked="broken &amp; gone">x</a>
    <A HREF='torch-2.5.0-cp312-cp312-win_amd64.whl' data-yanked>x</A>
    <!-- <a href="torch-9.9.9-cp312-cp312-win_amd64.whl">a comment</a> -->
    <a href="torch-2.5.0.tar.gz">source</a> <a name="top">no link</a> <a href="http://[bad">bad</a>
  </body>
</html>
<!--TIMESTAMP 1745000000-->
"""  # noqa: E501


def test_the_wheel_hosts_page() -> None:
    aarch64, windows, moved, mac, old = listing.parse(PAGE.encode(), BASE)

    assert aarch64.file == "torch-2.7.0+cu128-cp310-cp310-manylinux_2_28_aarch64.whl"
    assert aarch64.url == "https://wheels.example/whl/cu128/torch-2.7.0%2Bcu128-cp310-cp310-manylinux_2_28_aarch64.whl"
    assert (aarch64.sha256, aarch64.metadata) == (None, DIGEST)
    assert (windows.wheel.abi, windows.sha256, windows.metadata) == ("cp313t", DIGEST, None)
    assert moved.url.startswith("https://files.example/")
    assert moved.uploaded == "2026-10-28T15:20:23Z"
    assert moved.wheel.version == "2.15.0+cu128"
    assert (mac.requires_python, mac.yanked) == (">=3.9", "broken & gone")
    assert (old.yanked, old.url) == ("", BASE + "torch-2.5.0-cp312-cp312-win_amd64.whl")


def test_a_page_in_json() -> None:
    files = [
        {"filename": "torch-2.9.0-cp312-cp312-win_amd64.whl", "url": "../../torch-2.9.0-cp312-cp312-win_amd64.whl",
         "hashes": {"sha256": DIGEST}, "size": 5, "yanked": True, "requires-python": ">=3.10",
         "core-metadata": {"sha256": DIGEST}, "upload-time": "2026-01-01T00:00:00Z"},
        {"filename": "torch-2.9.0.tar.gz", "url": "torch-2.9.0.tar.gz", "hashes": {}},
        {"filename": "torch-2.9.0-cp313-cp313-win_amd64.whl", "url": "x.whl", "hashes": [], "core-metadata": True,
         "size": "big"},
        {"url": 5}, "nonsense",
    ]  # fmt: skip
    page = json.dumps({"meta": {"api-version": "1.1"}, "name": "torch", "files": files}).encode()
    first, second = listing.parse(page, BASE, "application/vnd.pypi.simple.v1+json")

    assert first.url == "https://wheels.example/whl/torch-2.9.0-cp312-cp312-win_amd64.whl"
    assert (first.sha256, first.yanked, first.metadata) == (DIGEST, "", DIGEST)
    assert (second.sha256, second.yanked, second.metadata) == (None, None, "")


def test_base_is_obeyed() -> None:
    page = b'<base href="https://other.example/x/"><a href="torch-2.9.0-cp312-cp312-win_amd64.whl">t</a>'

    assert listing.parse(page, BASE)[0].url == "https://other.example/x/torch-2.9.0-cp312-cp312-win_amd64.whl"


@pytest.mark.parametrize(
    "page", [b"", b"\xff\xfe\x00", b"<html>", b"{}", b"<a href=", b"<a href='x", b"<!--", b'<base href="http://[">']
)
def test_a_page_without_wheels_has_none(page: bytes) -> None:
    assert listing.parse(page, BASE, "text/html") == ()


@pytest.mark.parametrize("page", [b"{", b"[]", b'{"files": 5}', b"[" * 100_000, b"null"])
def test_json_that_is_no_page_is_refused(page: bytes) -> None:
    with pytest.raises(WheelLayoutError):
        listing.parse(page, BASE, "application/json")


def test_a_thousand_links_are_quick() -> None:
    line = PAGE.splitlines()[4].encode()
    began = time.process_time()

    assert len(listing.parse(line * 10_000, BASE)) == 10_000
    assert time.process_time() - began < 5


@given(st.binary(max_size=300) | st.text("<a href='torch-1-c-c-any.whl'=\"{}[]>!-\\ ", max_size=200).map(str.encode))
def test_any_page_will_do(page: bytes) -> None:
    for kind in ("text/html", "application/json"):
        try:
            listing.parse(page, BASE, kind)
        except WheelLayoutError:
            assert kind == "application/json"
