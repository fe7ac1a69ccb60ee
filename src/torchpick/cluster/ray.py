"""The nodes of a Ray cluster, one task pinned to each; a program of its own, so that its deadline can be kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from torchpick.cluster.engine import ClusterError, Scratch, call
from torchpick.machine.files import Reader

_INSTALL = "install torchpick's `ray` extra, in the cluster's version of ray"


def detect(address: str | None, command: Sequence[str], reader: Reader, scratch: Scratch) -> None:
    """Detect on every node; those that are dead or silent are recorded as such."""
    if find_spec("ray") is None:
        raise ClusterError("the `ray` library is not installed for this Python", hint=_INSTALL)
    limit = max(scratch.left_s - 5, 1)
    question = json.dumps({"address": address or "auto", "command": list(command), "limit_s": limit})
    outcome = call([sys.executable, "-m", "torchpick.cluster.ray", question], scratch, "ray")
    names: set[str] = set()
    with open(outcome.file, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            host, mark, rest = line.partition(" ")
            if not mark or not host.startswith("torchpick:"):
                continue
            name = host.removeprefix("torchpick:")
            names.add(name)
            _take(name, json.loads(rest), reader)
    if not names:
        raise ClusterError(f"ray: {outcome.why}", hint="`ray status` shows whether the cluster can be reached")


def _take(name: str, said: dict[str, str], reader: Reader) -> None:
    from io import BytesIO

    answer = said.get("answer", "")
    if not answer.strip() or not reader.answer(BytesIO(answer.encode()), name):
        why = said.get("why", "").strip().splitlines()[-1:] or ["it did not answer"]
        reader.silent(name, "NO_ANSWER", why[0][:300], "run `torchpick detect` there")


def main(question: str) -> None:  # pragma: no cover # in a process of its own
    """Print a line for each node as it answers."""
    asked = json.loads(question)
    import ray

    ray.init(address=asked["address"], log_to_driver=False, logging_level="ERROR", configure_logging=False)
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # Defined here, so that Ray sends the code itself: the workers need no torchpick in their Python.
    def look(command: list[str], limit_s: float) -> dict[str, str]:
        import subprocess

        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"answer": "", "why": str(error)}
        return {"answer": done.stdout, "why": done.stderr}

    task = ray.remote(num_cpus=0, max_retries=0)(look)
    running = {}
    for node in ray.nodes():
        name = node.get("NodeName") or node.get("NodeManagerHostname") or node["NodeID"]
        if not node["Alive"]:
            _say(name, {"why": "Ray reports it as dead"})
            continue
        pinned = NodeAffinitySchedulingStrategy(node_id=node["NodeID"], soft=False)
        running[task.options(scheduling_strategy=pinned).remote(asked["command"], asked["limit_s"] - 2)] = name
    waiting = list(running)
    ready, _ = ray.wait(waiting, num_returns=len(waiting), timeout=asked["limit_s"]) if waiting else ([], [])
    for reference in waiting:
        if reference not in ready:
            _say(running[reference], {"why": "it did not answer in time"})
            continue
        try:
            _say(running[reference], ray.get(reference))
        except Exception as error:  # noqa: BLE001 # a task that a node killed is that node's result
            _say(running[reference], {"why": str(error)})


def _say(name: str, said: dict[str, str]) -> None:
    sys.stdout.write(f"torchpick:{name.replace(' ', '_')} {json.dumps(said)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
