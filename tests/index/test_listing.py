"""Index pages as they are found in the wild."""

from __future__ import annotations

import json

import pytest

from torchpick.errors import WheelLayoutError
from torchpick.index import pages

DIGEST = "86107f52ff49e63a75c9d345374cac30140e053a12ffa728d676fee836e69022"
BASE = "https://wheels.example/whl/cu128/torch/"
FILE = "torch-2.9.0-cp312-cp312-win_amd64.whl"
# Lines of the wheel host: one without a hash, one with, one of the later hosts with a full address and a date.
PAGE = f"""<!DOCTYPE html>
<html>
  <body>
    <h1>Links for torch</h1>
    <a href="/whl/cu128/torch-2.7.0%2Bcu128-cp310-cp310-manylinux_2_28_aarch64.whl" data-dist-info-metadata="sha256={"0" * 64}" data-core-metadata="sha256={DIGEST}">torch-2.7.0+cu128-cp310-cp310-manylinux_2_28_aarch64.whl</a><br/>
    <a href="/whl/cu128/torch-2.7.0%2Bcu128-cp313-cp313t-win_amd64.whl#sha256={DIGEST}" data-dist-info-metadata>torch-2.7.0+cu128-cp313-cp313t-win_amd64.whl</a><br/>
    <a href="https://files.example/whl/cu128/torch-2.15.0%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl#sha256={DIGEST}" data-upload-time="2026-10-28T15:20:23Z" data-core-metadata="sha256:{DIGEST}">x</a><br/>
    <a href="torch-2.6.0-cp312-none-macosx_11_0_arm64.whl" data-requires-python="&gt;=3.9" data-yanked="broken &amp; gone">x</a>
    <A HREF='torch-2.5.0-cp312-cp312-win_amd64.whl' data-yanked>x</A>
    <!-- <a href="torch-9.9.9-cp312-cp312-win_amd64.whl">a comment</a> -->
    <a href="torch-2.5.0.tar.gz">source</a> <a name="top">no link</a> <a href="http://[bad">bad</a>
  </body>
</html>
<!--TIMESTAMP 1745000000-->
"""  # noqa: E501


def test_the_wheel_hosts_page() -> None:
    aarch64, windows, moved, mac, old, source = pages.files(PAGE.encode(), BASE)

    assert (source.name.is_wheel, source.version) == (False, "2.5.0")
    assert aarch64.file == "torch-2.7.0+cu128-cp310-cp310-manylinux_2_28_aarch64.whl"
    assert aarch64.url == "https://wheels.example/whl/cu128/torch-2.7.0%2Bcu128-cp310-cp310-manylinux_2_28_aarch64.whl"
    assert (aarch64.sha256, aarch64.metadata) == (None, DIGEST)
    assert (windows.name.abi, windows.sha256, windows.metadata) == ("cp313t", DIGEST, "")
    assert moved.url.startswith("https://files.example/")
    assert (moved.uploaded, moved.metadata) == ("2026-10-28T15:20:23Z", DIGEST)
    assert moved.name.version == "2.15.0+cu128"
    assert (mac.requires_python, mac.yanked, mac.metadata) == (">=3.9", "broken & gone", None)
    assert (old.yanked, old.url) == ("", BASE + "torch-2.5.0-cp312-cp312-win_amd64.whl")


def listed(page: str | list[dict[str, object]], base: str = BASE) -> list[str]:
    """The addresses of the wheels of a page."""
    text = page if isinstance(page, str) else json.dumps({"files": page})
    links = pages.files(text.encode(), base, "text/html" if isinstance(page, str) else "application/json")
    return [link.with_hash for link in links]


@pytest.mark.parametrize("mark", ["&#32;", "&#x0c;", "&#10;", "&#x2028;", "&nbsp;", "\x85", "\x1f", "\ufeff"])
def test_a_file_whose_address_ends_early_is_passed_over(mark: str) -> None:
    page = f'<a href="{FILE}{mark}#x">x</a><a href="{FILE}#sha256={DIGEST}">x</a>'

    assert listed(page) == [f"{BASE}{FILE}#sha256={DIGEST}"]


@pytest.mark.parametrize("base", ["https://h.example/a b/", "https://h.example/&#10;/", "https://h.example/&#x2028;/"])
def test_what_is_relative_to_a_base_that_is_no_address_is_passed_over(base: str) -> None:
    absolute = f"https://h.example/{FILE}"

    assert listed(f'<base href="{base}"><a href="{FILE}">x</a>') == []
    assert listed(f'<base href=" /a/ "><a href=" {FILE} "><a href={absolute}>') == [
        f"https://wheels.example/a/{FILE}",
        absolute,
    ]


def test_what_pip_and_uv_would_expand_is_encoded() -> None:
    page = f'<a href="${{NAME}}/a,b;c/{FILE}?t=${{NAME}}">x</a>'
    assert listed(page) == [f"{BASE}%24%7BNAME%7D/a%2Cb%3Bc/{FILE}?t=%24%7BNAME%7D"]


@pytest.mark.parametrize(
    "fragment",
    ["sha256=abc", "sha256=", f"sha256={DIGEST}0", f"sha256={'g' * 64}", "sha512=5", "md5=", "x&sha256=5 6",
     f"sha1={'a' * 40}", f"sha224={'a' * 56}", "sha1=", "sha1=${A}"],
)  # fmt: skip
def test_a_hash_that_not_both_pip_and_uv_would_check_is_no_file_without_a_hash(fragment: str) -> None:
    assert listed(f"<a href='{FILE}#{fragment}'>x</a>") == []
    kind, _, digest = fragment.rpartition("&")[2].partition("=")
    assert listed([{"filename": FILE, "url": FILE, "hashes": {kind: digest}}]) == []


def test_a_hash_of_another_kind_is_passed_on_and_a_sha256_wins() -> None:
    sha512, md5 = f"sha512={'a' * 128}", f"md5={'b' * 32}"

    assert listed(f"<a href={FILE}#{md5}>x</a>") == [f"{BASE}{FILE}#{md5}"]
    assert listed(f"<a href='{FILE}#{md5}&{sha512}'>x</a>") == [f"{BASE}{FILE}#{sha512}"]
    assert listed(f"<a href='{FILE}#{md5}&sha256={DIGEST}'>x</a>") == [f"{BASE}{FILE}#sha256={DIGEST}"]
    for fragment in (f"x#sha256={DIGEST}", f"x;sha256={DIGEST}", f"sha256:{DIGEST}", f"sha256={DIGEST}#x"):
        assert listed(f"<a href='{FILE}#{fragment}'>x</a>") == [f"{BASE}{FILE}#sha256={DIGEST}"]
    hashes = {"sha1": "a" * 40, "md5": "b" * 32, "blake2b": "x"}
    assert listed([{"filename": FILE, "url": FILE, "hashes": hashes}]) == [f"{BASE}{FILE}#{md5}"]


@pytest.mark.parametrize("page", [b"{", b"[]", b'{"files": 5}', b"[" * 100_000, b"null"])
def test_json_that_is_no_page_is_refused(page: bytes) -> None:
    with pytest.raises(WheelLayoutError):
        pages.files(page, BASE, "application/json")
