"""Which cluster of Ray is meant, and what is said where there is none; its tasks are in test_recorded and test_ray."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from torchpick.cluster import ray
from torchpick.cluster.engine import ClusterError
from torchpick.errors import UsageError


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """One that can be imported and reaches no cluster."""

    def init(**_: object) -> None:
        raise ConnectionError("Traceback\nno cluster there")

    made = ModuleType("ray")
    made.__spec__ = ModuleSpec("ray", None)
    made.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", made)
    return made


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError) as caught:
        ray.check("x")
    assert caught.value.message == "the `ray` library is not installed for this Python"
    assert caught.value.hint == "install torchpick's `ray` extra, in the cluster's version of ray"


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("word", "address"), [("ray", "auto"), ("ray:1.2.3.4:6379", "1.2.3.4:6379"), ("ray:a", "a")])
def test_the_address_of_a_cluster_that_reads_wheels(word: str, address: str) -> None:
    assert ray.address_of(word) == address


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("word", ["", "ray:", "ray:-x", "rays", "slurm", "slurm:x"])
def test_an_address_that_is_none(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        ray.address_of(word)
    assert caught.value.message == f"`{word}` is not a valid cluster"
    assert caught.value.hint == "`--on ray`, or `--on ray:ADDRESS`"


@pytest.mark.usefixtures("library")
def test_a_cluster_that_cannot_be_reached_reads_no_wheel() -> None:
    with pytest.raises(ClusterError) as caught, ray.reader("nowhere"):
        pass
    status = "`ray status` says what the cluster lacks; its Python needs httpx and packaging"
    assert (caught.value.message, caught.value.hint) == ("ray: no cluster there", status)
