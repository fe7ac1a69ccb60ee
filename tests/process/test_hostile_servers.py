"""Commands that read a page of somebody else's, against servers that mean no good: an error of ours, soon and small."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import usersettings
from tests.fakes import venvs
from tests.fakes.rude import HEAD, Manner, forever, once, packed, rude, silent, trickle

pytestmark = [pytest.mark.long, pytest.mark.process]

ROOT = Path(__file__).parents[2]
MOST_S = 60.0
START_S = 15.0  # of an interpreter, on a machine with much else to do
MOST_MB = 400
GPU = ("--gpu", "sm_61", "--driver", "580.95.05")


def page(piece: bytes, times: int, kind: str = "text/html", ends: tuple[bytes, bytes] = (b"", b"")) -> Manner:
    """A page that is small on the wire, made where it is asked for."""

    def manner(connection: socket.socket) -> None:
        body = _packed(piece, times, ends)
        fields = f"Content-Type: {kind}\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
        once(b"HTTP/1.1 200 OK\r\n" + fields.encode() + body)(connection)

    return manner


@cache
def _packed(piece: bytes, times: int, ends: tuple[bytes, bytes]) -> bytes:
    return gzip.compress(ends[0] + piece * times + ends[1], 1)


def thrice(connection: socket.socket) -> None:
    once(packed(bytes(50 << 20), 3))(connection)


LINK = b'<a href="a-1-py3-none-any.whl">'
FILE = b'{"filename": "a-1-py3-none-any.whl", "url": "a-1-py3-none-any.whl", "hashes": {}},'
MANNERS = {
    "silent": silent, "trickled headers": trickle(b"HTTP/1.1 200 OK\r\nX: "),
    "trickled body": trickle(HEAD + b"Content-Length: 5000000\r\n\r\n"),
    "endless headers": forever(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 4000 + b"\r\n"),
    "endless 100 Continue": forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "endless body": forever(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + bytes(4096) + b"\r\n"),
    "triple gzip": thrice, "a gzip bomb": page(bytes(1 << 20), 200), "400,000 links": page(LINK, 400_000),
    "180,000 files in JSON": page(FILE, 180_000, "application/vnd.pypi.simple.v1+json", (b'{"files": [', b"{}]}")),
}  # fmt: skip
COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "install, a project's page": lambda url: ["install", "torch", "torchcodec", "--index-base", url, "--dry-run"],
    "install, a requirements file": lambda url: ["install", "-r", f"{url}r.txt", "--dry-run"],
    "lock": lambda url: ["lock", "torch", "--index-base", url],
    "inspect, the user's index": lambda _: ["inspect", "accelerate"],
    "refresh": lambda url: ["refresh", "--index-base", url],
}

# The size of a child that another process started is that process's to ask for.
MEASURED = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], check=False).returncode
print("most", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, "MB", file=sys.stderr)
sys.exit(status)
"""


class Ending(NamedTuple):
    """How a command ended."""

    status: int
    seconds: float
    megabytes: int
    said: str

    @property
    def is_well(self) -> bool:
        soon = self.seconds < MOST_S + START_S and self.megabytes < MOST_MB
        return soon and self.status in (1, 2) and "\nerror: " in f"\n{self.said}" and "Traceback" not in self.said


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return venvs.with_pip(tmp_path_factory.mktemp("target") / "venv")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_hostile_server_gets_an_error_within_a_minute(
    command: str, python: Path, tmp_path: Path, count: Callable[[str, int, int], None]
) -> None:
    def ending(name: str) -> Ending:
        with rude(MANNERS[name]) as url:
            words = COMMANDS[command](url)
            line = [sys.executable, "-c", MEASURED, sys.executable, "-m", "torchpick", *words]
            if words[0] in ("install", "lock"):
                line += [*GPU, "--installer", "pip", "--python", str(python)]
            folder = tmp_path / name
            environ = {
                "PATH": os.environ["PATH"],
                **usersettings.nothing(folder),
                "PYTHONPATH": str(ROOT / "src"), "TORCHPICK_CACHE_DIR": str(folder / "cache"), "PIP_INDEX_URL": url,
                "PIP_RETRIES": "0",
            }  # fmt: skip
            began = time.monotonic()
            done = subprocess.run(
                line, cwd=folder, env=environ, capture_output=True, text=True, timeout=4 * MOST_S, check=False
            )
            seconds = time.monotonic() - began
            said, _, most = done.stderr.rpartition("most ")
            return Ending(done.returncode, seconds, int(most.split()[0]), said)

    with ThreadPoolExecutor(len(MANNERS)) as pool:
        endings = dict(zip(MANNERS, pool.map(ending, MANNERS), strict=True))

    bad = {name: each for name, each in endings.items() if not each.is_well}
    count(f"{command} against hostile servers", len(endings), len(endings) - len(bad))
    assert not bad
