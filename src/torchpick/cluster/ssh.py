"""Hosts over ssh, a bounded number at once, each with a deadline of its own."""

from __future__ import annotations

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from math import ceil

from torchpick.cluster.engine import Engine, why
from torchpick.environment.child import ChildResult
from torchpick.environment.world import content
from torchpick.errors import UsageError
from torchpick.model.fleet import expanded

# A host of a file is a word of a command line: never an option, never two words.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,252}")
# Nobody is there to answer a question; all else is as the user's own ssh is set up.
_OPTIONS = ("-oBatchMode=yes", "-oConnectTimeout=10")
_AT_ONCE = 32
# What a host gets at least: a login and a detection take a few seconds.
_LEAST_S = 5.0
_MOST_HOSTS = 100_000
_MOST_BYTES = 16 << 20


def hosts_of(file: str) -> tuple[str, ...]:
    """The hosts of a file, one a line or as `n[1-3]`; a # begins a comment."""
    try:
        text = content(file, _MOST_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        because = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"cannot read {file}: {because}", hint="give a file with one host per line") from error
    listed = (host for line in text.splitlines() for host in expanded(line.partition("#")[0].strip()))
    hosts = tuple(dict.fromkeys(islice(listed, _MOST_HOSTS + 1)))
    if not hosts:
        raise UsageError(f"{file} contains no host", hint="write one host per line")
    wrong = next((host for host in hosts if not _HOST.fullmatch(host)), None)
    if wrong is not None or len(hosts) > _MOST_HOSTS:
        what = f"`{wrong}` is not a valid host" if wrong is not None else f"more than {_MOST_HOSTS} hosts"
        raise UsageError(f"{file}: {what}", hint="write one host per line")
    return hosts


def detect(file: str, engine: Engine) -> None:
    """Detect on every host; those that refuse or hang, or for which no time is left, are recorded as such."""
    hosts = hosts_of(file)
    words = ["ssh", *_OPTIONS, *engine.asking.options, "--"]
    # Hosts that hang must leave time for those that come after them.
    limit = max((engine.left_s - 1) / ceil(len(hosts) / _AT_ONCE), _LEAST_S)

    def ask(host: str) -> ChildResult | None:
        left = engine.left_s
        return (
            engine.call([*words, host, shlex.join(engine.asking.command)], limit_s=min(limit, left)) if left else None
        )

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for host, ended in zip(hosts, pool.map(ask, hosts), strict=True):
            name = host.rpartition("@")[2]
            if ended is None:
                engine.reader.silent(name, "NOT_ASKED", "no time was left to ask it", "allow more by `--timeout`")
            else:
                engine.take(name, ended.answer, why(ended), "`ssh HOST torchpick detect` shows more")
