"""A Ray cluster: a task pinned to each of its nodes detects, and wheels are read by a task for each.

Detection runs in a program of its own, so that its deadline can be kept.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from torchpick.cluster.engine import ClusterError, Engine, failure_words
from torchpick.environment import guard
from torchpick.errors import TorchpickError, UsageError
from torchpick.index.projects import NO_LIMITS, Web
from torchpick.knowledge.locations import PACKAGE
from torchpick.wheels.inspect_target import ReadOptions, read_target
from torchpick.wheels.readings import Reading

_STATUS = "`ray status` says what the cluster lacks; its Python needs httpx and packaging"


def detect(address: str, engine: Engine) -> None:
    """Detect on every node; those that are dead or silent are recorded as such."""
    arguments = {"address": check(address), "command": engine.command, "limit_s": max(engine.left_s - 5, 1)}
    ended = engine.call(guard.python(__name__, arguments))
    for name, answer, words in ended.values:
        if answer is None:
            engine.reader.unanswered(name, "NODE_DOWN", words)
        else:
            engine.take(name, answer.encode(), last_line(words))
    if not ended.values:
        raise ClusterError(f"ray: {failure_words(ended)}", hint="`ray status` shows whether the cluster can be reached")


def check(address: str) -> str:
    """The cluster's address, where this Python can ask it."""
    if find_spec("ray") is None:
        hint = "install torchpick's `ray` extra, in the cluster's version of ray"
        raise ClusterError("the `ray` library is not installed for this Python", hint=hint)
    return address or "auto"


def last_line(words: object) -> str:
    """What an exception or a program says at its end."""
    return str(words).strip().rpartition("\n")[2] or "it did not answer"


def connect(address: str, **options: object) -> ModuleType:
    """The `ray` library, as a client of the cluster that says nothing of its own."""
    import ray

    ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False, **options)
    module: ModuleType = ray
    return module


def answer(address: str, command: list[str], limit_s: float) -> None:  # pragma: no cover # in a process of its own
    """A line of JSON for each node as it answers: its name, its answer, and what else it said."""
    channel = guard.answer_apart()
    ray = connect(address)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Defined here, so that Ray sends the code itself: the workers need no torchpick in their Python.
    def look(command: list[str], limit_s: float) -> tuple[str, str]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        return done.stdout, done.stderr

    def say(*row: str | None) -> None:
        guard.write_all(channel, (json.dumps(row) + "\n").encode())

    task = ray.remote(num_cpus=0, max_retries=0)(look)
    running = {}
    for node in sorted(ray.nodes(), key=lambda node: not node["Alive"]):
        # Ray's own name of the node, which is its address where nobody gave one.
        name = node.get("NodeName") or node.get("NodeManagerAddress") or node["NodeID"]
        if node["Alive"]:
            pinned = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
            running[task.options(scheduling_strategy=pinned).remote(command, limit_s - 2)] = name
        elif name not in running.values():  # one that came back is listed twice
            say(name, None, f"Ray reports it as dead: {node.get('DeathReasonMessage') or 'it does not say why'}")
    if running:
        ray.wait(list(running), num_returns=len(running), timeout=limit_s)
    for reference, name in running.items():
        try:
            say(name, *ray.get(reference, timeout=0))
        except Exception as error:  # noqa: BLE001 # a task that ended late or was killed is that node's result
            say(name, "", str(error))


def address_of(word: str) -> str:
    """The cluster's address in `ray` or `ray:ADDRESS`."""
    engine, mark, address = word.partition(":")
    if engine != "ray" or (mark and not address) or address.startswith("-"):
        raise UsageError(f"`{word}` is not a valid cluster", hint="`--on ray`, or `--on ray:ADDRESS`")
    return check(address)


@contextmanager
def reader(address: str) -> Iterator[Callable[[str, ReadOptions], Reading]]:
    """What reads a wheel at an address as a task of the cluster, for many threads at once."""
    try:  # Ray carries our code to the workers
        ray = connect(address, runtime_env={"py_modules": [PACKAGE]})
    except Exception as error:
        raise ClusterError(f"ray: {last_line(error)}", hint=_STATUS) from error
    task = ray.remote(num_cpus=1, max_retries=2)(read_on_node)

    def read(url: str, how: ReadOptions) -> Reading:
        running = task.remote(url, how.depth)
        while not ray.wait([running], timeout=1)[0]:
            how.report(0)  # which raises where the run was given up
        try:
            reading: Reading | TorchpickError = ray.get(running)
        except Exception as error:  # a task that a node killed is that wheel's result
            raise ClusterError(last_line(error), hint=_STATUS) from error
        if isinstance(reading, TorchpickError):
            raise reading
        return reading

    try:
        yield read
    finally:
        ray.shutdown()


def read_on_node(url: str, depth: str | None) -> Reading | TorchpickError:
    """A reading, or what went wrong; this runs on a node."""
    try:
        return read_target(url, ReadOptions(depth, web=_web()))
    except TorchpickError as error:
        return error


# The one of this worker, which reads wheel after wheel.
_web = cache(lambda: Web(os.environ, NO_LIMITS))
