"""The nodes of a Slurm cluster: sinfo names them, srun runs one task on each and brings the answers back, by rank."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from secrets import token_hex

from torchpick.cluster.engine import ClusterError, Engine, why
from torchpick.environment.child import ChildResult

# Nodes that take a job, in sinfo's long form without its marks (`*` does not respond, `~` powered down, …).
_ABLE = ("idle", "planned", "mixed", "allocated", "completing")
_MARKS = "*~#!%$@^-+"
# How many calls of srun run at once where one for all nodes is refused: a busy one must not block the others.
_AT_ONCE = 16


def detect(partition: str, engine: Engine) -> None:
    """Detect on every node; those that are down, busy or silent are recorded as such."""
    states = _states(partition, engine)
    able = [name for name, state in states.items() if state.rstrip(_MARKS) in _ABLE and state[-1] not in "*~!%"]
    for name in states.keys() - set(able):
        engine.reader.silent(name, "NODE_DOWN", f"its state is {states[name]}", "`scontrol show node` shows why")
    asked = [(able, _srun(able, partition, engine))] if able else []
    if asked and len(able) > 1 and not asked[0][1].answer:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            alone = [[name] for name in able]
            asked = list(zip(alone, pool.map(lambda names: _srun(names, partition, engine), alone), strict=True))
    for names, ended in asked:
        answers, talk = _by_rank(ended.answer), _by_rank(ended.talk)
        for rank, name in enumerate(names):
            said = talk.get(rank, b"").decode("utf-8", "replace").strip().splitlines()
            because = said[-1][:300] if said else why(ended)
            engine.take(name, answers.get(rank, b""), because, "`srun -w NODE torchpick detect` shows more")


def _states(partition: str, engine: Engine) -> dict[str, str]:
    """Every node once, with its state; within an allocation its own alone."""
    words = ["sinfo", "--noheader", "--Node", "--format=%N|%T", *([f"--partition={partition}"] if partition else [])]
    own = engine.environ.get("SLURM_JOB_NODELIST")
    ended = engine.call([*words, *([f"--nodes={own}"] if own else [])], limit_s=30)
    if ended.status != 0:
        raise ClusterError(f"sinfo: {why(ended)}", hint="try `sinfo -N` and `srun hostname` yourself")
    lines = ended.answer.decode("utf-8", "replace").splitlines()
    rows = dict(line.strip().split("|", 1) for line in lines if "|" in line)
    if not rows:
        where = f"partition {partition}" if partition else "the cluster"
        raise ClusterError(f"sinfo lists no node of {where}", hint="`sinfo -N` shows the nodes and their partitions")
    return rows


def _srun(names: Sequence[str], partition: str, engine: Engine) -> ChildResult:
    """One task a node, whose lines srun marks with its rank; with a file of hosts the ranks are in its order."""
    limit = max(engine.left_s - 5, 1)
    job = f"torchpick-{token_hex(6)}"
    words = ["srun", "--label", f"--job-name={job}", "--distribution=arbitrary", f"--nodes={len(names)}"]
    words += [f"--ntasks={len(names)}", "--kill-on-bad-exit=0", f"--time={int(limit // 60) + 1}"]
    words += ["--overlap"] if "SLURM_JOB_ID" in engine.environ else [f"--immediate={max(int(limit / 2), 1)}"]
    words += [*([f"--partition={partition}"] if partition else []), *engine.asking.options, *engine.asking.command]
    with tempfile.TemporaryDirectory(prefix="torchpick-") as folder:
        hosts = os.path.join(folder, "hosts")
        with open(hosts, "w", encoding="utf-8") as file:
            file.writelines(f"{name}\n" for name in names)
        status = None
        try:
            ended = engine.call(words, limit_s=limit, environ={"SLURM_HOSTFILE": hosts})
            status = ended.status
        finally:
            if status is None:  # a job whose srun is gone would run until its time is over
                engine.call(["scancel", f"--name={job}"], limit_s=5)
    return ended


def _by_rank(output: bytes) -> dict[int, bytes]:
    """What each task wrote; lines of srun's own have no rank."""
    found: dict[int, bytes] = {}
    for line in output.splitlines(keepends=True):
        rank, mark, rest = line.partition(b": ")
        if mark and rank.strip().isdigit():
            found[int(rank)] = found.get(int(rank), b"") + rest
    return found
