"""`slurm:gpu`, `kubernetes`, `ray:ADDRESS`, `ssh:HOSTS`, a folder, a file or `-`: where a fleet is detected or read."""

from __future__ import annotations

import os
import shlex
from collections import deque
from collections.abc import Sequence
from itertools import islice
from math import ceil

from torchpick.cluster import kubernetes_nodes, ray, slurm
from torchpick.cluster.engine import AT_ONCE, Call, Engine, failure_words
from torchpick.environment.requirementfiles import text_of
from torchpick.errors import UsageError
from torchpick.model.fleet import expanded, is_name

# What a login that ended says first, before torchpick is started.
_MARK = "torchpick-begins"
# What a host gets at least: a login and a detection take a few seconds.
_LEAST_S = 5.0
_MOST_HOSTS = 100_000


def hosts_of(file: str) -> tuple[str, ...]:
    """The hosts of a file, one a line or as `n[1-3]`; a # begins a comment."""
    lines = text_of(file, f"ssh:{file}").splitlines()
    names = (host for line in lines for host in expanded(line.partition("#")[0].strip()))
    hosts = tuple(dict.fromkeys(islice(names, _MOST_HOSTS + 1)))
    wrong = (f"`{host}` is not a valid host" for host in hosts if not is_name(host))
    count = f"more than {_MOST_HOSTS} hosts" if len(hosts) > _MOST_HOSTS else "" if hosts else "it contains no host"
    if what := next(wrong, count):
        raise UsageError(f"{file}: {what}", hint="write one host per line")
    return hosts


def detect_over_ssh(file: str, engine: Engine) -> None:
    """Detect on every host, a bounded number at once, each with a deadline of its own.

    Those that refuse or hang, or for which no time is left, are recorded as such.
    """
    hosts = hosts_of(file)
    # Hosts that hang must leave time for those that come after them.
    limit = max((engine.left_s - 1) / ceil(len(hosts) / AT_ONCE), _LEAST_S)
    words = ["ssh", "-oBatchMode=yes", f"-oConnectTimeout={min(int(limit) - 1, 10)}", *engine.options, "--"]
    command = f"echo {_MARK} && {shlex.join(engine.command)}"
    waiting: deque[Call] = deque(([host.rpartition("@")[2]], [*words, host, command]) for host in hosts)
    for (host,), ended in engine.calls(waiting, limit):
        before, begun, answer = ended.answer.partition(_MARK.encode())
        if begun or before or ended.status is not None:
            engine.take(host, answer if begun else before, failure_words(ended))
        else:
            engine.reader.unanswered(host, "LOGIN_HANGS", "it was reached, and its login did not end in time")


_ENGINES = {"slurm": slurm.detect, "kubernetes": kubernetes_nodes.detect, "ray": ray.detect, "ssh": detect_over_ssh}


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
