"""What Slurm's controller knows of its nodes: which can take a job, and the GPUs of those that cannot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchpick.cluster.engine import Engine
from torchpick.cluster.programs import ClusterError
from torchpick.model.noun import Noun

# Of a node's states, joined by `+`: those in which it takes a job.
_ABLE = {"IDLE", "MIXED", "PLANNED", "COMPLETING", "RESERVED", "CLOUD", "DYNAMIC_NORM"}
_HELD = "ALLOCATED"
_FACT = re.compile(r"(\w+)=(\S+)")
_GPUS = re.compile(r"gpu:([^:,()]+):(\d{1,2})\b")


class Node(Noun):
    """A node; `partition` is one that it is in, `gres` what it has for jobs."""

    name: str
    partition: str
    state: str
    gres: str
    cpu: str


def allocated(engine: Engine) -> str:
    """The nodes of the allocation that this runs in; empty without one."""
    return engine.environ.get("SLURM_JOB_NODELIST", "")


def listed(partition: str, engine: Engine) -> list[Node]:
    """Every node, in one partition; within an allocation its own alone."""
    words = ["scontrol", "show", "node", "--oneliner", *allocated(engine).split()]
    said = engine.output(words, "try `scontrol show node` and `srun hostname` yourself")
    nodes: list[Node] = []
    for line in said.decode("utf-8", "replace").splitlines():
        facts = dict(_FACT.findall(line))
        among = facts.get("Partitions", "").split(",")
        if among != [""] and (not partition or partition in among):
            state, gres, cpu = facts["State"], facts.get("Gres", ""), facts.get("Arch", "x86_64")
            nodes.append(Node(facts["NodeName"], partition or among[0], state, gres, cpu))
    if not nodes:
        raise ClusterError(
            f"scontrol shows no node{f' of partition {partition}' if partition else ''}",
            hint="`sinfo -N` shows the nodes and their partitions",
        )
    return nodes


def able(nodes: Iterable[Node], engine: Engine) -> Iterator[Node]:
    """Those that can be asked; those that are down or busy are recorded as such."""
    for node in nodes:
        hindered = {*node.state.split("+")} - _ABLE
        if not hindered or (hindered == {_HELD} and allocated(engine)):
            yield node
        elif hindered == {_HELD}:
            busy(node, "other jobs have all of its processors", engine)
        else:
            engine.reader.unanswered(node.name, "NODE_DOWN", f"its state is {node.state.lower()}")


def busy(node: Node, why: str, engine: Engine) -> None:
    """One that others hold is answered from what the controller knows, where that is enough."""
    gpus = _GPUS.search(node.gres)
    if not gpus or not engine.reader.described(node.name, node.cpu, gpus[1], int(gpus[2])):
        engine.reader.unanswered(node.name, "BUSY", why)
