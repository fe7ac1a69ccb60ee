"""A real sshd on loopback under real ssh and pdsh: who answers, who hangs, each by the name it was asked by."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import torchpick
from tests.cluster.slurm_cluster import free_ports

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.skipif(not SSHD or not shutil.which("ssh"), reason="sshd is not installed"),
    pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="sshd wants to be root here"),
]
SOURCE = str(Path(torchpick.__file__).parents[1])
# A port for each kind of host: it answers, its login hangs, torchpick hangs there, torchpick is not there.
KINDS = ("ok", "hangs", "stuck", "bare")
SERVER = """\
{ports}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/id.pub
PidFile {folder}/pid
UsePAM no
StrictModes no
MaxStartups 200
Match LocalPort {ok}
  ForceCommand env - PATH={folder}/bin:/usr/bin:/bin /bin/sh -c "$SSH_ORIGINAL_COMMAND"
Match LocalPort {hangs}
  ForceCommand {folder}/bin/hang
Match LocalPort {stuck}
  ForceCommand env - STUCK=1 PATH={folder}/bin:/usr/bin:/bin /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"""
CLIENT = """\
{hosts}
Host *
  HostName 127.0.0.1
  Port 1
  User root
  IdentityFile {folder}/id
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""
# As long as there is the server: a login that its client left would go on.
HANG = """\
#!/bin/sh
while kill -0 "$(cat {folder}/pid)" 2>/dev/null; do sleep 1; done
"""
PROGRAM = """\
#!/bin/sh
[ -z "$STUCK" ] || exec {folder}/bin/hang
export PYTHONPATH={source} TORCHPICK_GPU=v100 TORCHPICK_DRIVER=580.95.05
exec {python} -m torchpick "$@"
"""


class Hosts(NamedTuple):
    """Where the client's settings are; the hosts are `ok…`, `hangs…`, `stuck…` and `bare…`."""

    folder: Path

    def ask(self, hosts: str, *words: str) -> subprocess.CompletedProcess[str]:
        file = self.folder / "hosts.txt"
        file.write_text(hosts, "utf-8")
        return fleet(f"ssh:{file}", "--program", "tp", *words, "--", "-F", str(self.folder / "client"))


def fleet(*words: str, said: str | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "torchpick", "fleet", "--python", "3.12", "--json", *words]
    env = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.run(argv, env=env, input=said, capture_output=True, text=True, timeout=90, check=False)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("sshd")
    for key in ("host", "id"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    first = free_ports(len(KINDS))
    ports = {kind: first + place for place, kind in enumerate(KINDS)}
    listed = "\n".join(f"Port {port}" for port in ports.values())
    (folder / "server").write_text(SERVER.format(folder=folder, ports=listed, **ports), "utf-8")
    each = "\n".join(f"Host {kind}*\n  Port {port}" for kind, port in ports.items())
    (folder / "client").write_text(CLIENT.format(folder=folder, hosts=each), "utf-8")
    (folder / "bin").mkdir()
    for name, text in (("tp", PROGRAM), ("hang", HANG)):
        (folder / "bin" / name).write_text(text.format(folder=folder, source=SOURCE, python=sys.executable), "utf-8")
        (folder / "bin" / name).chmod(0o755)
    Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([str(SSHD), "-D", "-e", "-f", folder / "server"], stdout=log, stderr=log)
    try:
        over = time.monotonic() + 20
        while b"listening" not in (folder / "log").read_bytes():
            assert server.poll() is None
            assert time.monotonic() < over
            time.sleep(0.1)
        yield Hosts(folder)
    finally:
        server.terminate()
        server.wait(10)


def test_thirty_three_that_hang_and_four_that_answer(hosts: Hosts) -> None:
    begun = time.monotonic()
    done = hosts.ask("hangs[1-33].cluster.example\nok[1-4].cluster.example\n", "--timeout", "20")
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert time.monotonic() - begun < 25
    assert [(group["hosts"], group["count"]) for group in answer["plan"]] == [("ok[1-4].cluster.example", 4)]
    [left] = answer["left_out"]
    assert (left["hosts"], left["count"], left["code"]) == ("hangs[1-33].cluster.example", 33, "LOGIN_HANGS")
    assert "ssh -v HOST" in left["hint"]


def test_each_cause_by_its_own_name(hosts: Hosts) -> None:
    done = hosts.ask("ok1\nroot@ok2\nbare\nstuck\nnowhere\n", "--timeout", "9")
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert [group["hosts"] for group in answer["plan"]] == ["ok[1-2]"]
    codes = {part["hosts"]: part["code"] for part in answer["left_out"]}
    assert codes == {"bare": "NO_TORCHPICK", "stuck": "NO_ANSWER", "nowhere": "NO_ANSWER"}


@pytest.mark.skipif(shutil.which("pdsh") is None, reason="pdsh is not installed")
def test_pdsh_with_the_names_that_were_asked(hosts: Hosts) -> None:
    env = {**os.environ, "PDSH_SSH_ARGS": f"-F {shlex.quote(str(hosts.folder / 'client'))} -l%u %h"}
    asked = "ok[1-2].a.example,ok1.b.example"
    # As docs/clusters.md has it.
    command = "printf '%h: ' && tp detect --json --compact"
    done = subprocess.run(
        ["pdsh", "-R", "ssh", "-N", "-w", asked, command], env=env, capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    answer = json.loads(fleet("-", said=done.stdout).stdout)

    assert [crowd["hosts"] for crowd in answer["machines"]] == ["ok[1-2].a.example,ok1.b.example"]
