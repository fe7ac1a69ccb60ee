"""The nodes of a Slurm cluster: sinfo names them, srun runs one task on each, and each writes a file of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from torchpick.cluster.engine import ClusterError, Outcome, Scratch, call, program
from torchpick.machine.files import Reader
from torchpick.model.fleet import folded
from torchpick.model.noun import Noun

_HINT = "try `sinfo -N` and `srun hostname` yourself"
# Nodes that take a job, in sinfo's long form without its marks (`*` does not respond, `~` powered down, …).
_ABLE = ("idle", "mixed", "allocated", "completing")
_MARKS = "*~#!%$@^-+"
# Each task says first which node it is on: several slurmd on one host share its name, which is all that srun's file
# names know.
_ANNOUNCE = "torchpick-node:"
_SCRIPT = f'echo "{_ANNOUNCE}$SLURMD_NODENAME"; exec "$@"'
# How many calls of srun run at once where one for all nodes is refused.
_AT_ONCE = 16


class SlurmNode(Noun):
    """A node and the state that sinfo gives it."""

    name: str
    state: str

    @property
    def able(self) -> bool:
        return self.state.rstrip(_MARKS) in _ABLE and not self.state.endswith(("*", "~", "!", "%"))


def detect(partition: str | None, command: Sequence[str], reader: Reader, scratch: Scratch) -> None:
    """Detect on every node; those that are down, busy or silent are recorded as such."""
    listed = nodes(partition, scratch)
    for node in listed:
        if not node.able:
            reader.silent(node.name, "NODE_DOWN", f"its state is {node.state}", "`scontrol show node` shows why")
    able = [node.name for node in listed if node.able]
    folder = scratch.file("nodes")
    os.makedirs(folder, exist_ok=True)
    if not able:
        return
    ended = {"": _srun(able, partition, command, scratch, folder)}
    if not os.listdir(folder):
        ended |= _one_by_one(able, partition, command, scratch, folder)
    said = _by_node(folder)
    for name in able:
        _take(name, said.get(name), ended.get(name, ended[""]), reader)


def nodes(partition: str | None, scratch: Scratch) -> list[SlurmNode]:
    """Every node once, with its state."""
    words = [program("sinfo", "Slurm"), "--noheader", "--Node", "--format=%N|%T"]
    outcome = call([*words, *([f"--partition={partition}"] if partition else [])], scratch, "sinfo", limit_s=30)
    if outcome.status != 0:
        raise ClusterError(f"sinfo: {outcome.why}", hint=_HINT)
    with open(outcome.file, encoding="utf-8", errors="replace") as stream:
        rows = dict(line.strip().split("|", 1) for line in stream if "|" in line)
    if not rows:
        where = f"partition {partition}" if partition else "the cluster"
        raise ClusterError(f"sinfo lists no node of {where}", hint="`sinfo -N` shows the nodes and their partitions")
    return [SlurmNode(name, state) for name, state in rows.items()]


def _srun(
    names: Sequence[str], partition: str | None, command: Sequence[str], scratch: Scratch, folder: str
) -> Outcome:
    """One task a node. Slurm cuts lines of several tasks into each other, so each writes its own file."""
    job = f"torchpick-{os.path.basename(scratch.folder)}"[:60]
    words = [
        program("srun", "Slurm"),
        f"--job-name={job}",
        f"--nodelist={folded(names).text}",
        f"--nodes={len(names)}",
        f"--ntasks={len(names)}",
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=0",
        f"--immediate={max(int(scratch.left_s / 2), 1)}",
        f"--time={int(scratch.left_s // 60) + 1}",
        f"--output={folder}/%j-%t.out",
        f"--error={folder}/%j-%t.err",
        *([f"--partition={partition}"] if partition else []),
    ]
    name = "srun" if len(names) > 1 else f"srun-{names[0]}"
    try:
        outcome = call(
            [*words, "sh", "-c", _SCRIPT, "torchpick", *command], scratch, name, limit_s=max(scratch.left_s - 5, 1)
        )
    except BaseException:
        _cancel(job, scratch)
        raise
    if outcome.status is None:
        _cancel(job, scratch)
    return outcome


def _cancel(job: str, scratch: Scratch) -> None:
    """A job whose srun is gone would run until its time is over."""
    call(
        [program("scancel", "Slurm"), f"--name={job}"], scratch._replace(until=scratch.until + 10), "scancel", limit_s=5
    )


def _one_by_one(
    names: Sequence[str], partition: str | None, command: Sequence[str], scratch: Scratch, folder: str
) -> dict[str, Outcome]:
    """Each node for itself, where one job for all was refused: a busy one must not block the others."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(
            zip(names, pool.map(lambda name: _srun([name], partition, command, scratch, folder), names), strict=True)
        )


def _by_node(folder: str) -> dict[str, str]:
    """Node → the file that its task wrote."""
    found = {}
    for file in os.listdir(folder):
        if file.endswith(".out"):
            with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as stream:
                found[stream.readline(512).strip().removeprefix(_ANNOUNCE)] = os.path.join(folder, file)
    return found


def _take(name: str, file: str | None, outcome: Outcome, reader: Reader) -> None:
    lines: list[str] = []
    if file is not None:
        with open(file, "rb") as stream:
            stream.readline(512)
            if reader.answer(stream, name):
                return
        with open(file.removesuffix(".out") + ".err", encoding="utf-8", errors="replace") as text:
            lines = [line.strip() for line in text.read(4096).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("slurmstepd: ", "srun: "))]
    reader.silent(name, "NO_ANSWER", lines[-1][:300] if lines else outcome.why, f"`srun -w {name} torchpick detect`")
