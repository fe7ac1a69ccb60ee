"""The one type of an address: what it refuses, what it encodes, and that nothing in it means more than it says."""

from __future__ import annotations

import pickle
import time
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from torchpick.environment import requirementfiles
from torchpick.environment.requirementfiles import requirement
from torchpick.model.address import Address, is_sha256

URL = "https://host.example/whl/torch-2.6.0%2Bcu126-cp312-cp312-linux_x86_64.whl"


@pytest.mark.parametrize("text", [
        URL, f"{URL}#sha256={'0' * 64}", f"{URL}#egg=torch&subdirectory=a/b",
        "https://host.example/torch-2.6.0+cu126.whl?a=b&c=d", "http://me:secret@[fe80::1%25eth0]:8080/x",
        "file:///srv/my%20wheels/a.whl", "file:/srv/a.whl", "git+ssh://git@host.example/me/it.git@v1.0#egg=it",
        "https://m\u00fcnchen.example/x", "flat+https://host.example/x",
])  # fmt: skip
def test_an_address_stays_as_it_is_spelled(text: str) -> None:
    assert Address(text) == text
    assert type(pickle.loads(pickle.dumps(Address(text)))) is Address  # noqa: S301 # made here


@pytest.mark.parametrize(("text", "why"), [
        ("", "no scheme"), ("torch.whl", "no scheme"), ("//h/x", "no scheme"), ("-r:x", "no scheme"),
        ("1a:x", "no scheme"), ("http:///x", "no host"), ("https:x", "no host"), ("HTTP://", "no host"),
        ("http://u@/x", "no host"), ("http://${NAME}/x", "host"), ("http://a\\b/x", "host"), ("http://a,b/x", "host"),
        ("http://h\u2100/x", "host"), ("http://h/\ud800", "U\\+D800"),
])  # fmt: skip
def test_what_leads_nowhere_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Address(text)


TEXTS = st.text("abZ09 \t\n\r\f\v\x85\xa0\u2028\u3000#${}NAME\\;,'\"`<>|^[]()@:/?&=+-.%~!*\u00fc", max_size=60)


@given(TEXTS)
@example(" #x")
@example("\n--extra-index-url http://evil")
@example("\\")
@example("${NAME}")
def test_as_a_requirement_it_is_read_back_whole_and_nothing_else_is(text: str) -> None:
    """By pip's rules for a file, as torchpick reads them, and by packaging, which reads a requirement for pip."""
    try:
        address = Address(f"https://h.example/x{text}")
    except ValueError:
        return
    line = requirement("torch", address=address)
    [entry] = requirementfiles.parse(f"{line}\n", {"NAME": "secret"})

    assert (entry.option, entry.value) == ("", line)
    assert Requirement(line).url == address
    assert line.isascii()


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_it_leads_where_the_text_did(text: str) -> None:
    url = f"https://h.example/{text}"
    try:
        address = Address(url)
    except ValueError:
        return

    assert unquote(address) == unquote(url)


def test_a_hash_is_put_in_the_place_of_another() -> None:
    digest = "0" * 64

    assert Address(f"{URL}#md5=1").with_hash(f"sha256={digest}") == f"{URL}#sha256={digest}"
    assert Address(URL).with_hash(None) == URL
    assert is_sha256(digest)
    assert not any(map(is_sha256, (digest[1:], digest + "0", "g" * 64, "", f"{'0' * 63} ")))


def test_a_long_one_takes_linear_time() -> None:
    began = time.process_time()
    for text in ("%", "$", "a", "/", "\u00fc", "@", "#", "%2"):
        Address(f"https://h.example/{text * 50_000}")

    assert time.process_time() - began < 5
