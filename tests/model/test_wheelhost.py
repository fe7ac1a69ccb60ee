"""The one definition of the wheel host."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.model.address import WHEEL_HOST, is_on_host_of, is_wheel_host

CU130 = "https://download.pytorch.org/whl/cu130"
MIRROR = "https://mirror.example:8443/pytorch/whl/"


@pytest.mark.parametrize("url", [
        CU130, "https://download.pytorch.org/whl/", "https://download-r2.pytorch.org/whl/cpu/torch/", f"torch={CU130}",
        f"a.b={CU130}", "HTTPS://Download.PyTorch.ORG/whl/", "https://download.pytorch.org./whl/",
        "https://me:pass@word@download.pytorch.org:443/whl/",
])  # fmt: skip
def test_pytorch_s_own_host_in_every_spelling(url: str) -> None:
    assert is_wheel_host(url)
    assert is_wheel_host(url, MIRROR)
    assert is_on_host_of(url.partition("=")[2] or url, WHEEL_HOST)


@pytest.mark.parametrize(("url", "base"), [
        (MIRROR, MIRROR), ("https://me:secret@Mirror.example:8443/pytorch/wh%6C/cu126", MIRROR),
        ("https://mirror.example/whl/cu126/torch/", "flat+https://mirror.example:443/whl"),
        ("file:///srv/wheels/cu126", "file:///srv/wheels"),
        ("https://mirror.example/%C3%A9%zz/cu126", "https://mirror.example/\u00e9%zz"),
])  # fmt: skip
def test_what_is_below_the_given_base_is_the_wheel_host(url: str, base: str) -> None:
    assert is_wheel_host(url, base)


@pytest.mark.parametrize(("url", "base"), [
        ("https://mirror.example:8443/pytorch/whlx", MIRROR), ("https://mirror.example:8443/pypi/simple", MIRROR),
        ("https://mirror.example/pytorch/whl", MIRROR), ("http://mirror.example:8443/pytorch/whl", MIRROR),
        ("https://mirror.example/x", ""), ("https://mirror.example/a/x", "https://mirror.example/a%zz"),
        ("https://mirror.example/azz/x", "https://mirror.example/a%zz"),
])  # fmt: skip
def test_what_lies_beside_the_base_is_not(url: str, base: str) -> None:
    assert not is_wheel_host(url, base)


def test_a_file_may_lie_anywhere_on_the_host_of_its_index() -> None:
    assert is_on_host_of("https://mirror.example:8443/files/torch.whl", MIRROR)
    assert is_on_host_of("https://download-r2.pytorch.org/whl/torch.whl", WHEEL_HOST)
    assert not is_on_host_of("https://mirror.example/files/torch.whl", MIRROR)
    assert not is_on_host_of("http://download.pytorch.org/whl/torch.whl", WHEEL_HOST)
    assert not is_on_host_of("torch.whl", WHEEL_HOST)
    assert not is_on_host_of("file:///srv/torch.whl", "file:")


@given(st.text(), st.text())
def test_any_text_has_an_answer(url: str, base: str) -> None:
    is_wheel_host(url, base)
    is_on_host_of(url, base)
