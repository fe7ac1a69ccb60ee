"""`slurm:gpu`, `kubernetes`, `ray:ADDRESS`, `ssh:HOSTS`, a folder, a file or `-`: where a fleet is detected or read."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping

from torchpick.cluster.engine import Asking, Scratch
from torchpick.errors import UsageError
from torchpick.machine.files import Reader

ENGINES = ("slurm", "kubernetes", "ray", "ssh")


def check(source: str, asking: Asking) -> None:
    """UsageError for a source that is not valid."""
    if not source:
        raise UsageError("a SOURCE is empty", hint="such as `torchpick fleet slurm`, a folder, a file, or `-`")
    engine, mark, name = source.partition(":")
    if asking.run and engine != "kubernetes":
        raise UsageError("`--run` starts Jobs on Kubernetes", hint="`torchpick fleet kubernetes --run --image IMAGE`")
    if asking.run and not asking.image:
        raise UsageError("`--run` needs an image that has torchpick", hint="specify it with `--image`")
    if engine == "ssh" and not name:
        raise UsageError("`ssh` needs a file of hosts", hint="`torchpick fleet ssh:HOSTFILE`")
    if mark and engine in ENGINES and name.startswith("-"):
        raise UsageError(f"`{source}`: a name cannot begin with `-`", hint=f"such as `{engine}:NAME`")


def read(source: str, reader: Reader, asking: Asking, environ: Mapping[str, str]) -> None:
    """Give the reader every machine of this source."""
    engine, _, name = source.partition(":")
    if engine not in ENGINES or (not name and os.path.exists(source)):
        reader.place(source)
        return
    with tempfile.TemporaryDirectory(prefix="torchpick-fleet-") as folder:
        scratch = Scratch(folder, time.monotonic() + asking.limit_s)
        if engine == "slurm":
            from torchpick.cluster import slurm

            slurm.detect(name or None, asking.command, reader, scratch)
        elif engine == "ssh":
            from torchpick.cluster import ssh

            ssh.detect(name, asking.command, reader, scratch, environ)
        elif engine == "ray":
            from torchpick.cluster import ray

            ray.detect(name or None, asking.command, reader, scratch)
        else:
            from torchpick.cluster import kubernetes_nodes

            if asking.run:
                kubernetes_nodes.run(name or None, asking, reader, scratch)
            else:
                kubernetes_nodes.detect(name or None, reader, scratch)
