"""Hosts over ssh, with a stand-in for ssh; nothing leaves this computer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import torchpick

pytestmark = pytest.mark.process
SOURCE = str(Path(torchpick.__file__).parents[1])
# The last words are the host and the command, as ssh has them.
SSH = """\
#!/bin/sh
case "$*" in *StrictHostKeyChecking*) exit 9 ;; esac
# It must neither ask for a password nor wait for a host longer than its turn.
case "$*" in "-oBatchMode=yes -oConnectTimeout="[1-9]*) ;; *) exit 8 ;; esac
while :; do case "$1" in --) shift; break ;; -*) shift ;; *) break ;; esac; done
host=${{1##*@}}
case "$host" in
  v*) export TORCHPICK_GPU=v100 TORCHPICK_DRIVER=580.95.05 ;;
  refuses) echo "ssh: connect to host refuses port 22: Connection refused" >&2; exit 255 ;;
  lacks) echo "bash: torchpick: command not found" >&2; exit 127 ;;
  hangs*) exec sleep 300 ;;
  endless*) exec yes ;;
esac
PYTHONPATH={source} SLURMD_NODENAME=localhost exec {python} -m torchpick detect --json --compact
"""


def ask(folder: Path, hosts: str, *words: str) -> subprocess.CompletedProcess[str]:
    binaries = folder / "bin"
    binaries.mkdir()
    (binaries / "ssh").write_text(SSH.format(source=SOURCE, python=sys.executable), "utf-8")
    (binaries / "ssh").chmod(0o755)
    for name in ("sh", "sleep", "yes"):
        (binaries / name).symlink_to(str(shutil.which(name)))
    (folder / "hosts.txt").write_text(hosts, "utf-8")
    env = {**os.environ, "PATH": str(binaries), "PYTHONPATH": SOURCE}
    argv = [
        sys.executable,
        "-m",
        "torchpick",
        "fleet",
        f"ssh:{folder / 'hosts.txt'}",
        "--python",
        "3.12",
        "--json",
        *words,
    ]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=90, check=False)


def test_who_answers_and_who_does_not_by_the_name_it_was_asked_by(tmp_path: Path) -> None:
    done = ask(tmp_path, "v[1-3]  # the old ones\nme@v4\nrefuses\nlacks\n")
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stderr
    assert [group["hosts"] for group in answer["plan"]] == ["v[1-4]"]
    assert {part["hosts"]: part["text"].split(":")[-1].strip() for part in answer["left_out"]} == {
        "refuses": "Connection refused",
        "lacks": "command not found",
    }


@pytest.mark.long
def test_hosts_that_hang_leave_time_for_those_behind_them(tmp_path: Path) -> None:
    done = ask(tmp_path, "hangs[1-33]\nv[1-2]\n", "--timeout", "14")
    answer = json.loads(done.stdout)

    assert [group["hosts"] for group in answer["plan"]] == ["v[1-2]"]
    assert [(part["hosts"], part["code"]) for part in answer["left_out"]] == [("hangs[1-33]", "LOGIN_HANGS")]


def test_what_follows_two_dashes_is_for_ssh(tmp_path: Path) -> None:
    done = ask(tmp_path, "v1\n", "--", "-oStrictHostKeyChecking=no")

    assert "status 9" in json.loads(done.stdout)["error"]["text"]


@pytest.mark.parametrize("hosts", ["-oProxyCommand=x", "a b", "", "# nothing\n"])
def test_hosts_that_are_none(tmp_path: Path, hosts: str) -> None:
    done = ask(tmp_path, hosts)

    assert done.returncode == 2


def test_nobody_answers(tmp_path: Path) -> None:
    done = ask(tmp_path, "refuses\nlacks\n")

    assert done.returncode == 1
    assert "Connection refused" in json.loads(done.stdout)["error"]["text"]


def test_a_host_that_prints_without_end_is_stopped_and_the_others_count(tmp_path: Path) -> None:
    done = ask(tmp_path, "endless[1-3]\nv1\n")
    answer = json.loads(done.stdout)

    assert [group["hosts"] for group in answer["plan"]] == ["v1"]
    assert [(part["hosts"], part["text"]) for part in answer["left_out"]] == [
        ("endless[1-3]", "it prints more than 65536 bytes")
    ]
