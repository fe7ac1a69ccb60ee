"""The wish that flags and variables state: what is taken, and what is refused with a hint."""

from __future__ import annotations

import pytest

from tests.decide.test_buildfit import build
from torchpick.decide import demands
from torchpick.errors import UsageError
from torchpick.model.pick import MACHINE_FIELDS, Request, Wish

SUCH = "such as cu126, cuda, cpu, rocm7.2, rocm or xpu; `torchpick list --all` shows all"
CPU = "`--cpu` means `--backend cpu`; `--allow-cpu` picks it only if nothing else runs"
MIRROR = "such as https://mirror.example/whl, file:///srv/whl, or flat+https://… for one flat page"
PATH = "remove what follows the path; credentials go before the host or into netrc"


@pytest.mark.parametrize("typed", ["gpu", "cu", "cpu1", "cuda12x", "cux126", "xrocm7.2", "rocmx", "7.2-rocm", "mps"])
def test_a_backend_that_no_index_has_is_refused(typed: str) -> None:
    with pytest.raises(UsageError) as caught:
        demands.wish_of(Request(backends=("cu126", typed, "nobodys")), {})

    assert (str(caught.value), caught.value.hint) == (f"unknown backend `{typed}`", SUCH)


def test_the_cpu_and_another_backend_contradict_each_other() -> None:
    with pytest.raises(UsageError) as caught:
        demands.wish_of(Request(cpu=True, backends=("cu126", "cpu")), {})

    assert (str(caught.value), caught.value.hint) == ("`--cpu` contradicts `--backend cu126`", CPU)


@pytest.mark.parametrize(("typed", "base"), [
        ("https://m.example/whl//", "https://m.example/whl"), ("http://127.0.0.1:9/whl", "http://127.0.0.1:9/whl"),
        ("file:///srv/whl/", "file:///srv/whl"), ("flat+https://m.example/x/?a=b#c", "flat+https://m.example/x/?a=b#c"),
        ("https://user:word@m.example/x(1)", "https://user:word@m.example/x(1)"),
        ("https://[::1]/whl", "https://[::1]/whl"), ("https://m.example:65535/x", "https://m.example:65535/x"),
        ("https://[::1]:65535/x", "https://[::1]:65535/x"),
        ("https://user:word@[fe80::1]:8080/whl", "https://user:word@[fe80::1]:8080/whl"),
])  # fmt: skip
def test_a_mirror_is_taken_as_it_is_spelled(typed: str, base: str) -> None:
    assert demands.wish_of(Request(index_base=typed), {}).index_base == base


@pytest.mark.parametrize("typed", [
        "", "m.example/whl", "https://", "https:m.example", "ftp://m.example/whl", "flat+m.example",
        "https://m.example/a b", "https://m.example/a\nb", "https://[::1/whl", "https://::1]/whl",
        "https://[::1]:port/whl", "https://[::1]:65536/x", "https://m.example:65536/x",
        "https://m.example:100000/x", "flat+https://m.example:65536/x",
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


@pytest.mark.parametrize(("request_", "environ", "backends"), [
    (Request(), {}, ()), (Request(), {"TORCHPICK_BACKEND": " cu126 , cpu,"}, ("cu126", "cpu")),
    (Request(backends=("rocm7.2",)), {"TORCHPICK_BACKEND": "cu126"}, ("rocm7.2",)),
    (Request(cpu=True), {"TORCHPICK_BACKEND": "cu126"}, ("cpu",)), (Request(cpu=True, backends=("cpu",)), {}, ("cpu",)),
    (Request(backends=("cu126", "cuda", "rocm", "xpu", "default")), {}, ("cu126", "cuda", "rocm", "xpu", "default")),
])  # fmt: skip
def test_the_backends_are_those_of_the_flags_else_of_the_variable(
    request_: Request, environ: dict[str, str], backends: tuple[str, ...]
) -> None:
    assert demands.wish_of(request_, environ).backends == backends


def test_each_flag_is_part_of_the_wish() -> None:
    assert demands.wish_of(Request(), {}) == Wish()
    given = {"channel": "test", "allow_cpu": True, "allow_unconfirmed": True, "whole": True}
    for name, value in given.items():
        assert demands.wish_of(Request(**{name: value}), {}) == Wish(**{name: value})  # type: ignore[arg-type]
    assert not demands.is_backend("rocm")  # a family
    flags = Request(
        gpus=("a", "b"), machine=("m",), backends=("cu126",), driver="580", cuda_driver="13.0", platform="p",
        glibc="2.28", macos="14.0", python="3.12", visible_only=True, only="0", index_base="x", channel="test",
        cpu=True, allow_cpu=True, allow_unconfirmed=True, whole=True, trust_pci=True, offline=True,
    )  # fmt: skip
    shown = (
        "--gpu a --gpu b --machine m --backend cu126 --driver 580 --cuda-driver 13.0 --platform p --glibc 2.28 "
        "--macos 14.0 --python 3.12 --gpus visible --only 0 --index-base x --channel test --cpu --allow-cpu "
        "--allow-unconfirmed --whole --trust-pci --offline"
    )
    of_wish = "strict backends channel cpu allow_cpu allow_unconfirmed whole index_base offline"
    assert {*Request._fields} - {*MACHINE_FIELDS} == {"requirements", *of_wish.split()}  # the rest is of a machine
    assert (" ".join(flags.flags), Request(channel="stable").flags) == (shown, ())
    mirror = {"TORCHPICK_INDEX_BASE": "https://m.example/"}
    assert demands.wish_of(Request(), mirror).index_base == "https://m.example"
    assert demands.wish_of(Request(index_base="https://other.example"), mirror).index_base == "https://other.example"
    assert demands.wish_of(Request(), {"TORCHPICK_INDEX_BASE": ""}) == Wish()


@pytest.mark.parametrize(("backends", "takes"), [
    ((), "cu128 cpu rocm7.2"), (("cu128",), "cu128"), (("cuda",), "cu128"), (("rocm",), "rocm7.2"),
    (("cu126", "rocm7.2"), "rocm7.2"), (("cpu",), "cpu"),
])  # fmt: skip
def test_a_build_is_taken_by_its_backend_or_its_family(backends: tuple[str, ...], takes: str) -> None:
    builds = [build(backend=backend, arches="") for backend in ("cu128", "cpu", "rocm7.2")]

    for allow_cpu in (False, True):
        wish = Wish(backends=backends, allow_cpu=allow_cpu)
        taken = {one.backend for one in builds if demands.takes(wish, one)}
        assert taken == {*takes.split(), *(["cpu"] if allow_cpu else [])}
