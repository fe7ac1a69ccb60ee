"""The nodes of a Slurm cluster: an srun for all that are alike brings their answers, by rank.

What Slurm's controller knows says which can take a job, and the GPUs of those that cannot.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from secrets import token_hex

from torchpick.cluster.engine import Call, ClusterError, Engine, failure_words
from torchpick.environment.child import ChildResult
from torchpick.model.versions import grouped

# Of a node's states, joined by `+`: those in which it takes a job.
_ABLE = {"IDLE", "MIXED", "PLANNED", "COMPLETING", "RESERVED", "CLOUD", "DYNAMIC_NORM"}
_HELD = "ALLOCATED"
_FACT = re.compile(r"(\w+)=(\S+)")
_GPUS = re.compile(r"gpu:([^:,()]+):(\d{1,2})\b")
_RANKED = re.compile(r"^ *(\d+): (.*)", re.MULTILINE)  # lines of srun's own have no rank


# A node: its name, a partition that it is in, its state, what it has for jobs (GRES), and its processor.
Node = tuple[str, str, str, str, str]


def detect(partition: str, engine: Engine) -> None:
    """Detect on every node; those that are down, busy or silent are recorded as such."""
    able = [node for node in list_nodes(partition, engine) if is_able(node, engine)]
    nodes = {name: node for node in able for name, *_ in [node]}
    job = f"torchpick-{token_hex(6)}"
    alike = grouped(((partition, state), node) for node in able for _, partition, state, _, _ in [node])
    waiting = deque(_srun(crowd, job, engine) for crowd in alike.values())
    try:
        for names, ended in engine.calls(waiting, max(engine.left_s - 5, 1)):
            crowd = [nodes[name] for name in names]
            if ended.answer or ended.status is None or len(crowd) == 1:
                _take(crowd, ended, engine)
            else:  # one that cannot be had must not stand for the others
                waiting += [_srun([node], job, engine) for node in crowd]
    finally:  # a job whose srun is gone would run until its time is over
        engine.call(["scancel", f"--name={job}"], limit_s=5)


def list_nodes(partition: str, engine: Engine) -> list[Node]:
    """Every node, in one partition; within an allocation its own alone."""
    words = ["scontrol", "show", "node", "--oneliner", *_allocated(engine).split()]
    output = engine.output(words, "try `scontrol show node` and `srun hostname` yourself")
    nodes: list[Node] = []
    for line in output.decode("utf-8", "replace").splitlines():
        facts = dict(_FACT.findall(line))
        partitions = facts.get("Partitions", "").split(",")
        if partitions != [""] and (not partition or partition in partitions):
            state, gres, cpu = facts["State"], facts.get("Gres", ""), facts.get("Arch", "x86_64")
            nodes.append((facts["NodeName"], partition or partitions[0], state, gres, cpu))
    if not nodes:
        message = f"scontrol shows no node{f' of partition {partition}' if partition else ''}"
        raise ClusterError(message, hint="`sinfo -N` shows the nodes and their partitions")
    return nodes


def _allocated(engine: Engine) -> str:
    """The nodes of the allocation that this runs in; empty without one."""
    return engine.environ.get("SLURM_JOB_NODELIST", "")


def is_able(node: Node, engine: Engine) -> bool:
    """Whether it can be asked; one that is down or busy is recorded as such."""
    name, _, state, _, _ = node
    hindered = {*state.split("+")} - _ABLE
    if not hindered or (hindered == {_HELD} and _allocated(engine)):
        return True
    if hindered == {_HELD}:
        record_busy(node, "other jobs have all of its processors", engine)
    else:
        engine.reader.unanswered(name, "NODE_DOWN", f"its state is {state.lower()}")
    return False


def record_busy(node: Node, words: str, engine: Engine) -> None:
    """One that others hold is answered from what the controller knows, where that is enough."""
    name, _, _, gres, cpu = node
    gpus = _GPUS.search(gres)
    if not gpus or not engine.reader.described(name, cpu, gpus[1], int(gpus[2])):
        engine.reader.unanswered(name, "BUSY", words)


def _srun(crowd: Sequence[Node], job: str, engine: Engine) -> Call:
    """One task a node, whose lines srun marks with its rank, which is its place among these."""
    names = [name for name, *_ in crowd]
    words = ["srun", "--label", f"--job-name={job}", "--distribution=arbitrary", f"--nodelist={','.join(names)}"]
    words += [f"--nodes={len(names)}", f"--ntasks={len(names)}", "--kill-on-bad-exit=0"]
    words += [f"--time={int(engine.left_s // 60) + 1}", f"--immediate={min(int(engine.left_s / 3) + 1, 10)}"]
    words += ["--overlap"] if _allocated(engine) else [f"--partition={crowd[0][1]}"]
    return names, [*words, *engine.options, *engine.command]


def _take(crowd: Sequence[Node], ended: ChildResult, engine: Engine) -> None:
    wants_gpus = any("gpu" in word or word.startswith("-G") for word in engine.options)
    answers, talk = _by_rank(ended.answer), _by_rank(ended.talk)
    # The last words of an srun that was not refused are another task's.
    end = failure_words(ended._replace(talk=b"") if answers else ended)
    for rank, node in enumerate(crowd):
        # Of a task that was stopped with its srun, only that it never began says why.
        lines = [line for line in talk.get(rank, ()) if ended.status is not None or "execve()" in line] or [end]
        if not answers and "nodes are busy" in lines[-1]:
            record_busy(node, lines[-1], engine)
        else:
            answer = "\n".join(answers.get(rank, ())).encode()
            name, _, _, gres, _ = node
            engine.take(name, answer, lines[-1], gres if "gpu" in gres and not wants_gpus else "")


def _by_rank(output: bytes) -> dict[int, list[str]]:
    return grouped((int(rank), line) for rank, line in _RANKED.findall(output.decode("utf-8", "replace")))
