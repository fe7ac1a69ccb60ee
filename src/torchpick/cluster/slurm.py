"""The nodes of a Slurm cluster: an srun for all that are alike brings their answers, by rank."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from secrets import token_hex

from torchpick.cluster import slurm_nodes
from torchpick.cluster.engine import Call, Engine
from torchpick.cluster.programs import why
from torchpick.cluster.slurm_nodes import Node
from torchpick.environment.child import ChildResult
from torchpick.model.versions import grouped

_RANKED = re.compile(r"^ *(\d+): (.*)", re.MULTILINE)  # lines of srun's own have no rank


def detect(partition: str, engine: Engine) -> None:
    """Detect on every node; those that are down, busy or silent are recorded as such."""
    able = [*slurm_nodes.able(slurm_nodes.listed(partition, engine), engine)]
    nodes = {node.name: node for node in able}
    job = f"torchpick-{token_hex(6)}"
    alike = grouped(((node.partition, node.state), node) for node in able)
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


def _srun(crowd: Sequence[Node], job: str, engine: Engine) -> Call:
    """One task a node, whose lines srun marks with its rank, which is its place among these."""
    names = [node.name for node in crowd]
    words = ["srun", "--label", f"--job-name={job}", "--distribution=arbitrary", f"--nodelist={','.join(names)}"]
    words += [f"--nodes={len(names)}", f"--ntasks={len(names)}", "--kill-on-bad-exit=0"]
    words += [f"--time={int(engine.left_s // 60) + 1}", f"--immediate={min(int(engine.left_s / 3) + 1, 10)}"]
    words += ["--overlap"] if slurm_nodes.allocated(engine) else [f"--partition={crowd[0].partition}"]
    return names, [*words, *engine.options, *engine.command]


def _take(crowd: Sequence[Node], ended: ChildResult, engine: Engine) -> None:
    asked = any("gpu" in word or word.startswith("-G") for word in engine.options)
    answers, talk = _by_rank(ended.answer), _by_rank(ended.talk)
    # The last words of an srun that was not refused are another task's.
    end = why(ended._replace(talk=b"") if answers else ended)
    for rank, node in enumerate(crowd):
        # Of a task that was stopped with its srun, only that it never began says why.
        said = [line for line in talk.get(rank, ()) if ended.status is not None or "execve()" in line] or [end]
        if not answers and "nodes are busy" in said[-1]:
            slurm_nodes.busy(node, said[-1], engine)
        else:
            answer = "\n".join(answers.get(rank, ())).encode()
            engine.take(node.name, answer, said[-1], node.gres if "gpu" in node.gres and not asked else "")


def _by_rank(output: bytes) -> dict[int, list[str]]:
    """The lines that each task wrote."""
    return grouped((int(rank), line) for rank, line in _RANKED.findall(output.decode("utf-8", "replace")))
