"""A real Slurm on this host: one slurmctld and a slurmd for each node, on loopback, as long as the tests need it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

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
MessageTimeout=5
SlurmdTimeout=300
NodeName={nodes} NodeHostname={host} NodeAddr=127.0.0.1 Port={first}-{last} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str | None:
    """Why there can be no cluster here."""
    tools = [name for name in ("slurmctld", "slurmd", "srun", "sinfo", "scancel") if shutil.which(name) is None]
    if tools:
        return f"{tools[0]} is not installed"
    return None if os.geteuid() == 0 else "slurmd on one host wants to be root"


class SlurmCluster:
    """Started by `with`; `environ` is what its clients need."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder = folder
        self.names = [f"n{number}" for number in range(1, count + 1)]
        self._running: list[subprocess.Popen[bytes]] = []
        port = _free_ports(count + 1)
        text = CONFIG.format(
            host=socket.gethostname(),
            port=port,
            folder=folder,
            nodes=f"n[1-{count}]",
            first=port + 1,
            last=port + count,
        )
        (folder / "state").mkdir()
        (folder / "slurm.conf").write_text(text)
        self.environ: Mapping[str, str] = {"SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self) -> SlurmCluster:  # noqa: PYI034 # Self needs Python 3.11
        self._start("slurmctld", "-D", "-c")
        for name in self.names:
            self._start("slurmd", "-D", "-N", name)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if self.states().count("idle") == len(self.names):
                return self
            time.sleep(0.3)
        states = self.states()
        self.__exit__()
        raise RuntimeError(
            f"the nodes did not come up: {states}\n{(self.folder / 'slurmctld.log').read_text()[-2000:]}"
        )

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running):
            process.terminate()
        for process in self._running:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()

    def states(self) -> list[str]:
        return self.tool("sinfo", "-h", "-N", "-o", "%T").split()

    def jobs(self) -> list[str]:
        return self.tool("squeue", "-h", "-o", "%j").split()

    def tool(self, *words: str) -> str:
        env = {**os.environ, **self.environ}
        return subprocess.run(words, env=env, capture_output=True, text=True, timeout=20, check=False).stdout

    def _start(self, *words: str) -> None:
        log = (self.folder / "started.log").open("ab")
        env = {**os.environ, **self.environ}
        path = shutil.which(words[0]) or words[0]
        self._running.append(subprocess.Popen([path, *words[1:]], env=env, stdout=log, stderr=log))
        log.close()


def _free_ports(count: int) -> int:
    """The first of so many ports that are free beside each other."""
    for first in range(17000, 30000, count + 3):
        taken = False
        for port in range(first, first + count):
            with socket.socket() as probe:
                taken = taken or probe.connect_ex(("127.0.0.1", port)) == 0
        if not taken:
            return first
    raise RuntimeError("no free ports")
