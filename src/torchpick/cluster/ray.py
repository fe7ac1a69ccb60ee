"""The nodes of a Ray cluster, one task pinned to each; a program of its own, so that its deadline can be kept."""

from __future__ import annotations

import json
from importlib.util import find_spec

from torchpick.cluster.engine import Engine
from torchpick.cluster.programs import ClusterError, why
from torchpick.environment import child


def found(address: str) -> str:
    """The cluster's address, where this Python can ask it."""
    if find_spec("ray") is None:
        hint = "install torchpick's `ray` extra, in the cluster's version of ray"
        raise ClusterError("the `ray` library is not installed for this Python", hint=hint)
    return address or "auto"


def detect(address: str, engine: Engine) -> None:
    """Detect on every node; those that are dead or silent are recorded as such."""
    arguments = {"address": found(address), "command": engine.command, "limit_s": max(engine.left_s - 5, 1)}
    ended = engine.call(child.python(__name__, arguments))
    for name, answer, said in ended.values:
        if answer is None:
            engine.reader.unanswered(name, "NODE_DOWN", said)
        else:
            engine.take(name, answer.encode(), last_line(said))
    if not ended.values:
        raise ClusterError(f"ray: {why(ended)}", hint="`ray status` shows whether the cluster can be reached")


def last_line(said: object) -> str:
    """What an exception or a program says at its end."""
    return str(said).strip().rpartition("\n")[2] or "it did not answer"


def connect(address: str, **more: object) -> None:
    """Make this process a client of the cluster; it says nothing of its own."""
    import ray

    ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=False, **more)


def answer(address: str, command: list[str], limit_s: float) -> None:  # pragma: no cover # in a process of its own
    """A line of JSON for each node as it answers: its name, its answer, and what else it said."""
    channel = child.answer_apart()
    import ray

    connect(address)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Defined here, so that Ray sends the code itself: the workers need no torchpick in their Python.
    def look(command: list[str], limit_s: float) -> tuple[str, str]:
        import subprocess

        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        return done.stdout, done.stderr

    def say(*row: str | None) -> None:
        child.write_all(channel, (json.dumps(row) + "\n").encode())

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
