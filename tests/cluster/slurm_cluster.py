"""A real Slurm on this host: one slurmctld and a slurmd for each node, on loopback, as long as the tests need it.

The nodes share nothing but the cluster's own folder: each has a mount namespace with a /tmp of its own, in which only
the Python and the checkout under test are put back where they lie there.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

CONFIG = """\
ClusterName=torchpick
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=1
UnkillableStepTimeout=600
MessageTimeout=5
SlurmdTimeout=300
GresTypes=gpu
{nodes}
PartitionName=all Nodes={default} Default=YES MaxTime=INFINITE State=UP
"""
# A slurmd whose /tmp is its own, but for these folders.
START = """\
set -e
place={folder}/shown.{name}
for path in {shown}; do mkdir -p "$place$path" && mount --bind "$path" "$place$path"; done
mount -t tmpfs none /tmp
for path in {shown}; do mkdir -p "$path" && mount --bind "$place$path" "$path"; done
[ -z "{hidden}" ] || mount -t tmpfs none {hidden}
exec slurmd -D -N {name}
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN{gres}"


def missing() -> str | None:
    """Why there can be no cluster here."""
    tools = [
        name for name in ("slurmctld", "slurmd", "srun", "sinfo", "scancel", "unshare") if shutil.which(name) is None
    ]
    if tools:
        return f"{tools[0]} is not installed"
    return None if os.geteuid() == 0 else "slurmd on one host wants to be root"


class SlurmCluster:
    """Started by `with`; `environ` is what its clients need.

    `gpus` is the type of each node's two GPUs. Nodes of `apart` are in a partition of that name alone, those of
    `absent` never start, and on those of `bare` the folder `programs` is empty.
    """

    def __init__(
        self,
        count: int,
        *,
        gpus: Mapping[str, str] = MappingProxyType({}),
        apart: Collection[str] = (),
        absent: Collection[str] = (),
        bare: Collection[str] = (),
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="torchpick-slurm-", dir="/var/tmp"))
        self.programs = self.folder / "programs"
        self.names = [f"n{number}" for number in range(1, count + 1)]
        self._absent, self._bare = absent, bare
        self._running: list[subprocess.Popen[bytes]] = []
        port, host = free_ports(count + 1), socket.gethostname()
        nodes = [
            NODE.format(name=name, host=host, port=port + number, gres=f" Gres=gpu:{gpus.get(name)}:2" * (name in gpus))
            for number, name in enumerate(self.names, 1)
        ]
        default = ",".join(name for name in self.names if name not in apart)
        text = CONFIG.format(host=host, port=port, folder=self.folder, nodes="\n".join(nodes), default=default)
        text += f"PartitionName=apart Nodes={','.join(apart)} State=UP\n" if apart else ""
        (self.folder / "state").mkdir()
        self.programs.mkdir()
        (self.folder / "slurm.conf").write_text(text, "utf-8")
        # A device has to be named, and nothing is done with it.
        devices = [f"NodeName={name} Name=gpu Type={kind} File=/dev/tty[1-2]\n" for name, kind in gpus.items()]
        (self.folder / "gres.conf").write_text("".join(devices), "utf-8")
        self.environ: Mapping[str, str] = {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> SlurmCluster:  # noqa: PYI034 # Self needs Python 3.11
        self._start("slurmctld", "-D", "-c")
        for name in self.names:
            if name not in self._absent:
                hidden = self.programs if name in self._bare else ""
                script = START.format(folder=self.folder, name=name, hidden=hidden, shown=shlex.join(_of_tmp()))
                self._start("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if self.states().count("idle") == len(self.names) - len(self._absent):
                for name in self._absent:
                    self.tool("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=never started")
                return self
            time.sleep(0.3)
        states = self.states()
        log = (self.folder / "slurmctld.log").read_text("utf-8")[-2000:] + (self.folder / "started.log").read_text(
            "utf-8"
        )[-2000:]
        self.__exit__()
        raise RuntimeError(f"the nodes did not come up: {states}\n{log}")

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in self._running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def states(self) -> list[str]:
        return self.tool("sinfo", "-h", "-N", "-o", "%T").split()

    def jobs(self) -> list[str]:
        return self.tool("squeue", "-h", "-o", "%j").split()

    def tool(self, *words: str, limit_s: float = 20) -> str:
        env = {**os.environ, **self.environ}
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=limit_s, check=False).stdout

    def _start(self, *words: str) -> None:
        log = (self.folder / "started.log").open("ab")
        env = {**os.environ, **self.environ}
        path = shutil.which(words[0]) or words[0]
        self._running.append(subprocess.Popen([path, *words[1:]], env=env, stdout=log, stderr=log))
        log.close()


def _of_tmp() -> list[str]:
    """What nodes need of /tmp: the Python and the checkout, where they lie there."""
    return [path for path in (sys.prefix, str(Path(__file__).parents[2])) if path.startswith("/tmp/")]


def free_ports(count: int) -> int:
    """The first of so many ports that are free beside each other."""
    for first in range(17000, 30000, count + 3):
        taken = False
        for port in range(first, first + count):
            with socket.socket() as probe:
                taken = taken or probe.connect_ex(("127.0.0.1", port)) == 0
        if not taken:
            return first
    raise RuntimeError("no free ports")
