"""Hosts over ssh, a bounded number at once, each with a deadline of its own."""

from __future__ import annotations

import shlex
from collections import deque
from itertools import islice
from math import ceil

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


def detect(file: str, engine: Engine) -> None:
    """Detect on every host; those that refuse or hang, or for which no time is left, are recorded as such."""
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
