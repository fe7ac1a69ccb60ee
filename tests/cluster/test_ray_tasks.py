"""What Ray is told, and what is made of what it says: the code that runs in Ray's own Python, beside a stand-in."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from torchpick.cluster import ray
from torchpick.cluster.engine import ClusterError
from torchpick.errors import UsageError


class FakeRay(ModuleType):
    """As much of it as is asked for. A task is its words, with those of its options; `results` answers for each."""

    def __init__(self, nodes: list[dict[str, object]], results: dict[str, object]) -> None:
        super().__init__("ray")
        self.__spec__ = ModuleSpec("ray", None)
        self.told: list[tuple[str, object]] = []
        self.nodes = lambda: nodes
        self.results = results
        self.waits = 0

    def init(self, **words: object) -> None:
        self.told.append(("init", words))
        if words["address"] == "nowhere":
            raise ConnectionError("Traceback\nno cluster there")

    def shutdown(self) -> None:
        self.told.append(("shutdown", None))

    def remote(self, **words: object) -> Callable[[Callable[..., object]], Task]:
        self.told.append(("remote", words))
        return lambda function: Task(function, None)

    def wait(self, tasks: list[tuple[object, ...]], **words: object) -> tuple[list[object], list[object]]:
        self.told.append(("wait", words))
        self.waits += 1
        return ([], [*tasks]) if self.waits == 1 and "num_returns" not in words else ([*tasks], [])

    def get(self, task: tuple[object, ...], **words: object) -> object:
        function, node, *given = task
        self.told.append(("get", (node, *given, words)))
        found = self.results[str(node or given[0])]
        if isinstance(found, RuntimeError):
            raise found
        assert callable(function)
        return function(*map(_thawed, given)) if found is None else found


def _thawed(word: object) -> object:
    return list(word) if isinstance(word, tuple) else word


class Task:
    """A function as Ray runs it, on the node that its strategy names and on no other."""

    def __init__(self, function: Callable[..., object], node: str | None) -> None:
        self.function, self.node = function, node

    def options(self, *, scheduling_strategy: dict[str, object]) -> Task:
        assert scheduling_strategy["soft"] is False
        return Task(self.function, str(scheduling_strategy["node_id"]))

    def remote(self, *given: object) -> tuple[object, ...]:
        return self.function, self.node, *(tuple(word) if isinstance(word, list) else word for word in given)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeRay]:
    def put(*nodes: dict[str, object], **results: object) -> FakeRay:
        made = FakeRay([*nodes], results)
        strategies = ModuleType("ray.util.scheduling_strategies")
        strategies.NodeAffinitySchedulingStrategy = lambda **words: words  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "ray", made)
        monkeypatch.setitem(sys.modules, "ray.util", ModuleType("ray.util"))
        monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)
        return made

    return put


QUIET = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
SAYS = ["sh", "-c", "echo answer; echo talk >&2"]


def node(name: str, *, alive: bool = True, **more: object) -> dict[str, object]:
    return {"NodeID": f"id_{name}", "Alive": alive, "NodeName": name, "NodeManagerAddress": "10.0.0.1", **more}


def rows(capfd: pytest.CaptureFixture[str]) -> list[list[Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines()]


def test_each_node_runs_the_command_and_says_what_it_printed_and_who_is_dead(
    install: Callable[..., FakeRay], capfd: pytest.CaptureFixture[str]
) -> None:
    died = RuntimeError("The worker died")
    fake = install(
        node("back", alive=False),
        node("dead", alive=False, DeathReasonMessage="no heartbeat"),
        node("mute", alive=False, DeathReasonMessage=""),
        node("ok"),
        node("dies"),
        node("back"),
        {**node("x"), "NodeName": "", "NodeManagerAddress": "10.0.0.7"},
        {"NodeID": "id_bare", "Alive": True},
        id_ok=None, id_dies=died, id_back=("", "b"), id_x=("", "x"), id_bare=("", "bare"),
    )  # fmt: skip

    ray.answer("1.2.3.4:6379", SAYS, 12.0)

    assert rows(capfd) == [
        ["dead", None, "Ray reports it as dead: no heartbeat"],
        ["mute", None, "Ray reports it as dead: it does not say why"],
        ["ok", "answer\n", "talk\n"],
        ["dies", "", "The worker died"],
        ["back", "", "b"],
        ["10.0.0.7", "", "x"],
        ["id_bare", "", "bare"],
    ]
    assert fake.told == [
        ("init", {"address": "1.2.3.4:6379", **QUIET}),
        ("remote", {"num_cpus": 0, "max_retries": 0}),
        ("wait", {"num_returns": 5, "timeout": 12.0}),
        *(("get", (f"id_{name}", tuple(SAYS), 10.0, {"timeout": 0})) for name in ("ok", "dies", "back", "x", "bare")),
    ]


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError) as caught:
        ray.check("x")
    assert caught.value.message == "the `ray` library is not installed for this Python"
    assert caught.value.hint == "install torchpick's `ray` extra, in the cluster's version of ray"


@pytest.mark.parametrize(("word", "address"), [("ray", "auto"), ("ray:1.2.3.4:6379", "1.2.3.4:6379"), ("ray:a", "a")])
def test_the_address_of_a_cluster_that_reads_wheels(word: str, address: str, install: Callable[..., FakeRay]) -> None:
    install()
    assert ray.address_of(word) == address


@pytest.mark.parametrize("word", ["", "ray:", "ray:-x", "rays", "slurm", "slurm:x"])
def test_an_address_that_is_none(word: str, install: Callable[..., FakeRay]) -> None:
    install()
    with pytest.raises(UsageError) as caught:
        ray.address_of(word)
    assert caught.value.message == f"`{word}` is not a valid cluster"
    assert caught.value.hint == "`--on ray`, or `--on ray:ADDRESS`"


STATUS = "`ray status` says what the cluster lacks; its Python needs httpx and packaging"


def test_a_cluster_that_cannot_be_reached_reads_no_wheel(install: Callable[..., FakeRay]) -> None:
    install()
    with pytest.raises(ClusterError) as caught, ray.reader("nowhere"):
        pass
    assert (caught.value.message, caught.value.hint) == ("ray: no cluster there", STATUS)
