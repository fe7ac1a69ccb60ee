"""Hosts over ssh: with pdsh where it is installed, else a bounded number of connections at once."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from torchpick.cluster.engine import ClusterError, Outcome, Scratch, call, program
from torchpick.errors import UsageError
from torchpick.machine.files import Reader
from torchpick.model.fleet import expanded

# A host of a file is a word of a command line: never an option, never two words.
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,252}")
_OPTIONS = ("BatchMode=yes", "ConnectTimeout=10", "StrictHostKeyChecking=accept-new")
_AT_ONCE = 32
_MOST_HOSTS = 100_000


def hosts_of(file: str) -> tuple[str, ...]:
    """The hosts of a file, one a line or as `n[1-3]`; a # begins a comment."""
    try:
        with open(file, encoding="utf-8") as stream:
            lines = [line.partition("#")[0].strip() for line in stream]
    except (OSError, UnicodeDecodeError) as error:
        because = getattr(error, "strerror", None) or "it is not text"
        raise UsageError(f"cannot read {file}: {because}", hint="give a file with one host per line") from error
    listed = (host for line in lines if line for host in expanded(line))
    hosts = tuple(dict.fromkeys(islice(listed, _MOST_HOSTS + 1)))
    if not hosts:
        raise UsageError(f"{file} contains no host", hint="write one host per line")
    wrong = next((host for host in hosts if not _HOST.fullmatch(host)), None)
    if wrong is not None or len(hosts) > _MOST_HOSTS:
        what = f"`{wrong}` is not a valid host" if wrong is not None else f"more than {_MOST_HOSTS} hosts"
        raise UsageError(f"{file}: {what}", hint="write one host per line")
    return hosts


def detect(file: str, command: Sequence[str], reader: Reader, scratch: Scratch, environ: Mapping[str, str]) -> None:
    """Detect on every host; those that refuse or hang are recorded as such."""
    hosts = hosts_of(file)
    if shutil.which("pdsh"):
        _pdsh(hosts, command, reader, scratch, environ)
    else:
        _ssh(hosts, command, reader, scratch)


def _pdsh(
    hosts: Sequence[str], command: Sequence[str], reader: Reader, scratch: Scratch, environ: Mapping[str, str]
) -> None:
    listed = scratch.file("hosts")
    with open(listed, "w", encoding="utf-8") as stream:
        stream.writelines(f"{host}\n" for host in hosts)
    limit = str(max(int(scratch.left_s) - 3, 1))
    options = " ".join(f"-o{option}" for option in _OPTIONS)
    outcome = call(
        [
            program("pdsh", "pdsh"),
            "-R",
            "ssh",
            "-f",
            str(_AT_ONCE),
            "-u",
            limit,
            "-w",
            f"^{listed}",
            shlex.join(command),
        ],
        scratch,
        "pdsh",
        environ={**environ, "PDSH_SSH_ARGS_APPEND": options},
    )
    answers, complaints = _by_host(outcome.file), _by_host(outcome.file.removesuffix(".out") + ".err")
    if not answers and not complaints and outcome.status:
        raise ClusterError(f"pdsh: {outcome.why}", hint="try `pdsh -R ssh -w HOST hostname` yourself")
    for host in hosts:
        # pdsh names hosts without the user.
        name = host.rpartition("@")[2]
        _take(name, "\n".join(answers.get(name, [])), (complaints.get(name) or [outcome.why])[-1], reader, scratch)


def _by_host(file: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with open(file, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            # pdsh's own words are `pdsh@here: host: …`, and come after what the host itself complained of.
            own = line.startswith("pdsh@")
            host, mark, rest = (line.partition(": ")[2] if own else line).rstrip("\n").partition(": ")
            name = host.rpartition("@")[2]
            if mark and not (own and name in found):
                found.setdefault(name, []).append(rest)
    return found


def _ssh(hosts: Sequence[str], command: Sequence[str], reader: Reader, scratch: Scratch) -> None:
    ssh = program("ssh", "an ssh client")
    options = [word for option in _OPTIONS for word in ("-o", option)]

    def ask(numbered: tuple[int, str]) -> Outcome:
        number, host = numbered
        return call([ssh, *options, "--", host, shlex.join(command)], scratch, f"ssh-{number}")

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for host, outcome in zip(hosts, pool.map(ask, enumerate(hosts)), strict=True):
            with open(outcome.file, encoding="utf-8", errors="replace") as stream:
                answer = stream.read(1 << 20)
            _take(host.rpartition("@")[2], answer, outcome.why, reader, scratch)
            os.unlink(outcome.file)


def _take(host: str, answer: str, why: str, reader: Reader, scratch: Scratch) -> None:
    from io import BytesIO

    if not answer.strip() or not reader.answer(BytesIO(answer.encode()), host):
        late = " (timed out)" if scratch.left_s <= 0 else ""
        reader.silent(host, "NO_ANSWER", why + late, f"`ssh {host} torchpick detect` shows more")
