"""The wish that flags and variables state: what is taken, and what is refused with a hint."""

from __future__ import annotations

import pytest

from torchpick.decide import demands
from torchpick.errors import UsageError
from torchpick.model.pick import Request

SUCH = "such as cu126, cuda, cpu, rocm7.2, rocm or xpu; `torchpick list --all` shows all"
CPU = "`--cpu` means `--backend cpu`; `--allow-cpu` picks it only if nothing else runs"
MIRROR = "such as https://mirror.example/whl, file:///srv/whl, or flat+https://… for one flat page"
PATH = "remove what follows the path; credentials go before the host or into netrc"


@pytest.mark.parametrize("typed", ["gpu", "cu", "cpu1", "cuda12x", "cux126", "xrocm7.2", "rocmx", "7.2-rocm", "mps"])
def test_a_backend_that_no_index_has_is_refused(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        demands.wish_of(Request(backends=("cu126", typed)), {})

    assert (str(caught.value), caught.value.hint) == (f"unknown backend `{typed}`", SUCH)


def test_the_cpu_and_another_backend_contradict_each_other() -> None:
    with pytest.raises(UsageError) as caught:
        demands.wish_of(Request(cpu=True, backends=("cu126", "cpu")), {})

    assert (str(caught.value), caught.value.hint) == ("`--cpu` contradicts `--backend cu126`", CPU)


@pytest.mark.parametrize(("typed", "base"), [
        ("https://m.example/whl//", "https://m.example/whl"), ("http://127.0.0.1:9/whl", "http://127.0.0.1:9/whl"),
        ("file:///srv/whl/", "file:///srv/whl"), ("flat+https://m.example/x/?a=b#c", "flat+https://m.example/x/?a=b#c"),
        ("https://user:word@m.example/x(1)", "https://user:word@m.example/x(1)"),
        ("https://[::1]/whl", "https://[::1]/whl"),
        ("https://user:word@[fe80::1]:8080/whl", "https://user:word@[fe80::1]:8080/whl"),
])  # fmt: skip
def test_a_mirror_is_taken_as_it_is_spelled(typed: str, base: str) -> None:
    assert demands.wish_of(Request(index_base=typed), {}).index_base == base


@pytest.mark.parametrize("typed", [
        "", "m.example/whl", "https://", "https:m.example", "ftp://m.example/whl", "flat+m.example",
        "https://m.example/a b", "https://m.example/a\nb", "https://[::1/whl", "https://::1]/whl",
        "https://[nothing]/whl", "https://x[::1]/whl", "https://[::1]:port/whl", "https://[::1]:/whl",
])  # fmt: skip
def test_what_is_no_mirror_is_refused(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        demands.wish_of(Request(index_base=typed), {})

    shown = " ".join(typed.split())
    assert (str(caught.value), caught.value.hint) == (f"`{shown}` is not a valid mirror URL", MIRROR)


@pytest.mark.parametrize(("typed", "shown"), [
        ("https://m.example/whl?token=x", "https://m.example/whl?****"),
        ("https://m.example/whl#x", "https://m.example/whl#x"),
        ("https://user:word@m.example/whl#x", "https://user:****@m.example/whl#x"),
])  # fmt: skip
def test_a_mirror_to_which_no_backend_can_be_added_is_refused_without_its_password(typed: str, shown: str) -> None:
    with pytest.raises(UsageError) as caught:
        demands.wish_of(Request(index_base=typed), {})

    why = "has a query or a fragment, so no backend can be added to it"
    assert (str(caught.value), caught.value.hint) == (f"`{shown}` {why}", PATH)
