"""`slurm:gpu`, `kubernetes`, `ray:ADDRESS`, `ssh:HOSTS`, a folder, a file or `-`: where a fleet is detected or read."""

from __future__ import annotations

import os
from collections.abc import Sequence

from torchpick.cluster import kubernetes_nodes, ray, slurm, ssh
from torchpick.cluster.engine import Engine
from torchpick.errors import UsageError

_ENGINES = {"slurm": slurm.detect, "kubernetes": kubernetes_nodes.detect, "ray": ray.detect, "ssh": ssh.detect}


def split_source(source: str) -> tuple[str, str]:
    """The cluster's engine and what stands behind its colon; for a file no engine, and its name."""
    engine, _, name = source.partition(":")
    return (engine, name) if engine in _ENGINES and (name or not os.path.exists(source)) else ("", source)


def check_source(source: str, options: Sequence[str], image: str | None) -> None:
    """UsageError for a source that is not valid, that runs no image, or has no program to take options."""
    engine, name = split_source(source)
    if not source:
        raise UsageError("a SOURCE is empty", hint="such as `torchpick fleet slurm`, a folder, a file, or `-`")
    if image and engine != "kubernetes":
        hint = "`torchpick fleet kubernetes --run --image IMAGE`"
        raise UsageError(f"`--run` starts Jobs on Kubernetes, and not on `{source}`", hint=hint)
    if options and engine in ("", "ray"):
        raise UsageError(f"`{source}` takes no options after `--`", hint="they are for srun, kubectl or ssh")
    if engine == "ssh" and not name:
        raise UsageError("`ssh` needs a file of hosts", hint="`torchpick fleet ssh:HOSTFILE`")


def read_source(source: str, engine: Engine) -> None:
    """Give the engine's reader every machine of this source."""
    kind, name = split_source(source)
    if kind:
        _ENGINES[kind](name, engine)
    else:
        engine.reader.read(name)
