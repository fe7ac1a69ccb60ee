"""The nodes of a Ray cluster, one task pinned to each; a program of its own, so that its deadline can be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec

from torchpick.cluster.engine import ClusterError, Engine, why
from torchpick.environment import child

_INSTALL = "install torchpick's `ray` extra, in the cluster's version of ray"


def found(address: str) -> str:
    """The cluster's address, where this Python can ask it."""
    if find_spec("ray") is None:
        raise ClusterError("the `ray` library is not installed for this Python", hint=_INSTALL)
    return address or "auto"


def detect(address: str, engine: Engine) -> None:
    """Detect on every node; those that are dead or silent are recorded as such."""
    arguments = {"address": found(address), "command": engine.asking.command, "limit_s": max(engine.left_s - 5, 1)}
    ended = engine.call(child.python(__name__, arguments))
    for name, answer, said in ended.values:
        if answer is None:
            engine.reader.unanswered(name, "NODE_DOWN", said)
            continue
        engine.take(name, answer.encode(), last_line(said))
    if not ended.values:
        raise ClusterError(f"ray: {why(ended)}", hint="`ray status` shows whether the cluster can be reached")


def last_line(said: object) -> str:
    """What an exception or a program says at its end."""
    return str(said).strip().rpartition("\n")[2] or "it did not answer"


def answer(address: str, command: list[str], limit_s: float) -> None:  # pragma: no cover # in a process of its own
    """A line of JSON for each node as it answers: its name, its answer, and what else it said."""
    channel = child.answer_apart()
    for row in _asked(address, command, limit_s):
        child.write_all(channel, (json.dumps(row) + "\n").encode())


def _asked(
    address: str, command: list[str], limit_s: float
) -> Iterator[tuple[str, str | None, str]]:  # pragma: no cover
    import ray

    ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Defined here, so that Ray sends the code itself: the workers need no torchpick in their Python.
    def look(command: list[str], limit_s: float) -> tuple[str, str]:
        import subprocess

        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return "", str(error)
        return done.stdout, done.stderr

    task = ray.remote(num_cpus=0, max_retries=0)(look)
    running = {}
    for node in sorted(ray.nodes(), key=lambda node: not node["Alive"]):
        # Ray's own name of the node, which is its address where nobody gave one.
        name = node.get("NodeName") or node.get("NodeManagerAddress") or node["NodeID"]
        if node["Alive"]:
            pinned = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
            running[task.options(scheduling_strategy=pinned).remote(command, limit_s - 2)] = name
        elif name not in running.values():  # one that came back is listed twice
            yield name, None, f"Ray reports it as dead: {node.get('DeathReasonMessage') or 'it does not say why'}"
    if running:
        ray.wait(list(running), num_returns=len(running), timeout=limit_s)
    for reference, name in running.items():
        try:
            yield (name, *ray.get(reference, timeout=0))
        except Exception as error:  # noqa: BLE001 # a task that ended late or was killed is that node's result
            yield name, "", str(error)
