"""The nodes of a Slurm cluster: scontrol describes them, an srun for all that are alike brings the answers, by rank."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from secrets import token_hex

from torchpick.cluster.engine import Call, ClusterError, Engine, why
from torchpick.environment.child import ChildResult
from torchpick.model.versions import grouped

# Of a node's states, joined by `+`: those in which it takes a job.
_ABLE = {"IDLE", "MIXED", "PLANNED", "COMPLETING", "RESERVED", "CLOUD", "DYNAMIC_NORM"}
_FACT = re.compile(r"(\w+)=(\S+)")
_GPUS = re.compile(r"gpu:([^:,()]+):(\d{1,2})\b")
_RANKED = re.compile(r"^ *(\d+): (.*)", re.MULTILINE)  # lines of srun's own have no rank
_HELD = "ALLOCATED"
_OWN = "SLURM_JOB_NODELIST"  # set within an allocation

Node = dict[str, str]


def detect(partition: str, engine: Engine) -> None:
    """Detect on every node; those that are down, busy or silent are recorded as such."""
    nodes = _nodes(partition, engine)
    able = _ABLE | {_HELD} if engine.environ.get(_OWN) else _ABLE
    alike: dict[tuple[str, str], list[str]] = {}
    for name, node in nodes.items():
        hindered = {*node["State"].split("+")} - able
        if not hindered:
            alike.setdefault((node["Partitions"], node["State"]), []).append(name)
        elif hindered == {_HELD}:
            _busy(name, node, "other jobs have all of its processors", engine)
        else:
            engine.reader.unanswered(name, "NODE_DOWN", f"its state is {node['State'].lower()}")
    job = f"torchpick-{token_hex(6)}"
    asked = deque(_srun(names, nodes, job, engine) for names in alike.values())
    try:
        for names, ended in engine.calls(asked, max(engine.left_s - 5, 1)):
            if ended.answer or ended.status is None or len(names) == 1:
                _take(names, ended, nodes, engine)
            else:  # one that cannot be had must not stand for the others
                asked += [_srun([name], nodes, job, engine) for name in names]
    finally:  # a job whose srun is gone would run until its time is over
        engine.call(["scancel", f"--name={job}"], limit_s=5)


def _nodes(partition: str, engine: Engine) -> dict[str, Node]:
    """Every node with what the controller says of it, in one partition; within an allocation its own alone."""
    words = ["scontrol", "show", "node", "--oneliner", *engine.environ.get(_OWN, "").split()]
    listed = engine.output(words, "try `scontrol show node` and `srun hostname` yourself", limit_s=30)
    rows = (dict(_FACT.findall(line)) for line in listed.decode("utf-8", "replace").splitlines())
    nodes: dict[str, Node] = {}
    for row in rows:
        among = row.get("Partitions", "").split(",")
        if among != [""] and (not partition or partition in among):
            nodes[row["NodeName"]] = {**row, "Partitions": partition or among[0]}
    if not nodes:
        raise ClusterError(
            f"scontrol shows no node{f' of partition {partition}' if partition else ''}",
            hint="`sinfo -N` shows the nodes and their partitions",
        )
    return nodes


def _srun(names: Sequence[str], nodes: Mapping[str, Node], job: str, engine: Engine) -> Call:
    """One task a node, whose lines srun marks with its rank, which is its place among these."""
    words = ["srun", "--label", f"--job-name={job}", "--distribution=arbitrary", f"--nodelist={','.join(names)}"]
    words += [f"--nodes={len(names)}", f"--ntasks={len(names)}", "--kill-on-bad-exit=0"]
    words += [f"--time={int(engine.left_s // 60) + 1}", f"--immediate={min(int(engine.left_s / 3) + 1, 10)}"]
    words += ["--overlap"] if engine.environ.get(_OWN) else [f"--partition={nodes[names[0]]['Partitions']}"]
    return names, [*words, *engine.asking.options, *engine.asking.command]


def _take(names: Sequence[str], ended: ChildResult, nodes: Mapping[str, Node], engine: Engine) -> None:
    asked = any("gpu" in word or word.startswith("-G") for word in engine.asking.options)
    answers, talk = _by_rank(ended.answer), _by_rank(ended.talk)
    # The last words of an srun that was not refused are another task's.
    end = why(ended._replace(talk=b"") if answers else ended)
    for rank, name in enumerate(names):
        # Of a task that was stopped with its srun, only that it never began says why.
        said = [line for line in talk.get(rank, ()) if ended.status is not None or "execve()" in line] or [end]
        if not answers and "nodes are busy" in said[-1]:
            _busy(name, nodes[name], said[-1], engine)
        else:
            gres = nodes[name].get("Gres", "")
            answer = "\n".join(answers.get(rank, ())).encode()
            engine.take(name, answer, said[-1], gres if "gpu" in gres and not asked else "")


def _busy(name: str, node: Node, why: str, engine: Engine) -> None:
    """A node that others hold is answered from what the controller knows, where that is enough."""
    gpus = _GPUS.search(node.get("Gres", ""))
    if not gpus or not engine.reader.described(name, node.get("Arch", "x86_64"), gpus[1], int(gpus[2])):
        engine.reader.unanswered(name, "BUSY", why)


def _by_rank(output: bytes) -> dict[int, list[str]]:
    """The lines that each task wrote."""
    return grouped((int(rank), line) for rank, line in _RANKED.findall(output.decode("utf-8", "replace")))
