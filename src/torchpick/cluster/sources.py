"""`slurm:gpu`, `kubernetes`, `ray:ADDRESS`, `ssh:HOSTS`, a folder, a file or `-`: where a fleet is detected or read."""

from __future__ import annotations

import os
from collections.abc import Mapping

from torchpick.cluster import kubernetes_nodes, ray, slurm, ssh
from torchpick.cluster.engine import Asking, Engine
from torchpick.errors import UsageError
from torchpick.machine.machinefiles import Reader

_ENGINES = {"slurm": slurm.detect, "kubernetes": kubernetes_nodes.detect, "ray": ray.detect, "ssh": ssh.detect}


def is_engine(source: str) -> bool:
    """Whether the source is a cluster, and no file."""
    engine, _, name = source.partition(":")
    return engine in _ENGINES and (bool(name) or not os.path.exists(source))


def check(source: str, asking: Asking) -> None:
    """UsageError for a source that is not valid."""
    if not source:
        raise UsageError("a SOURCE is empty", hint="such as `torchpick fleet slurm`, a folder, a file, or `-`")
    engine, _, name = source.partition(":")
    if asking.run and (engine != "kubernetes" or not asking.image):
        message = "`--run` starts Jobs on Kubernetes, and needs an image that has torchpick"
        raise UsageError(message, hint="`torchpick fleet kubernetes --run --image IMAGE`")
    if asking.options and (engine == "ray" or not is_engine(source)):
        raise UsageError(f"`{source}` takes no options after `--`", hint="they are for srun, kubectl or ssh")
    if engine == "ssh" and not name:
        raise UsageError("`ssh` needs a file of hosts", hint="`torchpick fleet ssh:HOSTFILE`")


def read(source: str, reader: Reader, asking: Asking, environ: Mapping[str, str]) -> None:
    """Give the reader every machine of this source."""
    if not is_engine(source):
        reader.place(source)
        return
    engine, _, name = source.partition(":")
    _ENGINES[engine](name, Engine(asking, reader, environ))
