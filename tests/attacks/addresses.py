"""Hostile addresses of a file on a mirror's pages, and what an installation from each came to.

Which texts are an address at all is held in process, of every mark there is: here stand those that once got through.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from tests import usersettings
from tests.fakes.indexes import table_without_hashes
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import SOURCE, TAG
from tests.process.install.installers import Installers

RIGHT = TinyWheel("torch", "2.10.0+cpu", TAG)
SWAPPED = RIGHT._replace(files={"evil/__init__.py": ""})
FILE = quote(RIGHT.filename)
SHA256 = hashlib.sha256(RIGHT.content).hexdigest()
SHA512 = hashlib.sha512(RIGHT.content).hexdigest()
BAIT = "a-secret-of-the-environment"
PATIENCE_S = 120


class HostileAddress(NamedTuple):
    """One page; WHEEL, MIRROR, EVIL and the hashes are filled in. `is_good` has to be installed."""

    name: str
    kind: str  # html, json
    text: str
    is_good: bool = False


class Outcome(NamedTuple):
    """What a run did: the wheels that are there after it, and what the server was asked."""

    status: int
    installed: bool
    swapped: bool
    leaked: bool
    led_away: bool
    words: str

    @property
    def harm(self) -> set[str]:
        marks = {
            "swapped file installed": self.swapped, "variable sent": self.leaked, "other index asked": self.led_away,
            "traceback": "/torchpick/cli/" in self.words,
        }  # fmt: skip
        return {name for name, happened in marks.items() if happened}

    def __str__(self) -> str:
        return ", ".join(sorted(self.harm)) or (
            "installed" if self.installed else "refused" if self.status else "nothing"
        )


def _anchor(href: str) -> str:
    return f'<a href="{href}">x</a>'


# The first four are tried in every run, the others in the long ones.
ADDRESSES = (
    HostileAddress("blank before a comment", "json", "MIRROR/f/WHEEL #x"),
    HostileAddress(
        "form feed before an option", "html", _anchor("MIRROR/f/WHEEL&#xc;--extra-index-url&#xc;EVIL#sha256=SHA256")
    ),
    HostileAddress("variable in the path", "json", "MIRROR/f/${BAIT}/WHEEL"),
    HostileAddress("a path of any script", "html", _anchor("MIRROR/\u00fc\u4e2d/WHEEL#sha256=SHA256"), is_good=True),
    HostileAddress("no break before a comment", "json", "MIRROR/f/WHEEL\xa0#x"),
    HostileAddress(
        "line end in the base", "html", '<base href="MIRROR/f&#10;--pre&#10;/">' + _anchor("WHEEL#sha256=SHA256")
    ),
    HostileAddress("marker", "html", _anchor("MIRROR/f/WHEEL ; python_version < '1'#sha256=SHA256")),
    HostileAddress("variable for the host", "json", "http://${BAIT_PLACE}/host/WHEEL"),
    HostileAddress("variable in the user", "json", "http://a:${BAIT}@HOST/f/WHEEL"),
    HostileAddress("variable for the hash", "html", _anchor("MIRROR/f/WHEEL#sha256=${BAIT_HASH}")),
    HostileAddress("backslash", "html", _anchor("MIRROR/f/WHEEL#sha256=SHA256\\")),
    HostileAddress("encoded line end", "html", _anchor("MIRROR/f/WHEEL%0A#sha256=SHA256")),
    HostileAddress("short hash", "html", _anchor("MIRROR/f/WHEEL#sha256=abc")),
    HostileAddress("another hash", "html", _anchor("MIRROR/f/WHEEL#sha512=SHA512")),
    HostileAddress("half a character", "json", "MIRROR/f/WHEEL\ud800#x"),
    HostileAddress("credentials", "html", _anchor("http://me:a%40b%24@HOST/f/WHEEL#sha256=SHA256"), is_good=True),
    HostileAddress("a query", "html", _anchor("MIRROR/f/WHEEL?a=b&amp;c=d;e,f#sha256=SHA256"), is_good=True),
    HostileAddress("relative", "html", _anchor("../../f/WHEEL#sha256=SHA256"), is_good=True),
)


class Mirror(ThreadingHTTPServer):
    """One page of torch, by whose links the right or a swapped wheel comes; it keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page, self.kind, self.wheel = b"", "text/html", RIGHT.content
        self.asked: list[str] = []
        self.host = f"127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Mirror  # pyright: ignore[reportIncompatibleVariableOverride] # narrower, and only read

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base class's name
        """The log is a list."""

    def do_GET(self) -> None:
        self.server.asked.append(f"{self.path} {self.headers.get('Authorization', '')}")
        status, body, kind = 404, b"", "text/html"
        path = unquote(self.path)
        if path == "/whl/cpu/torch/":
            status, body, kind = 200, self.server.page, self.server.kind
        elif ".whl" in path and ".metadata" not in path:
            status, body, kind = 200, self.server.wheel, "application/octet-stream"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 # the base class's name


class Playground:
    """The mirror, an environment for each installer, and one attack after the other."""

    def __init__(self, folder: Path, mirror: Mirror, installers: Installers) -> None:
        self.folder, self.mirror, self.installers = folder, mirror, installers
        self.base = f"http://{mirror.host}/whl"
        self._pythons: dict[str, Path] = {}
        self._tried = 0
        self.environ = {
            "PATH": "/usr/bin:/bin",
            **usersettings.nothing(folder),
            "UV": installers.uv,
            "PIP_INDEX_URL": f"http://{mirror.host}/none/simple",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "0",
            "UV_DEFAULT_INDEX": f"http://{mirror.host}/none/simple",
            "UV_NO_CACHE": "1",
            "UV_HTTP_RETRIES": "0",
            "UV_PYTHON_DOWNLOADS": "never",
            "TORCHPICK_COMPAT_DIR": str(table_without_hashes(folder)),
            "PYTHONPATH": str(SOURCE),
            "BAIT": BAIT,
            "BAIT_PLACE": mirror.host,
            "BAIT_HASH": SHA256,
        }

    def torchpick(self, attack: HostileAddress, installer: str) -> Outcome:
        self._serve(attack)
        self._tried += 1
        told = ["--cpu", "--index-base", self.base, "--python", str(self.python(installer)), "--installer", installer]
        command = [sys.executable, "-m", "torchpick", "install", "torch==2.10.0+cpu", "--no-deps", *told]
        return self._outcome(installer, command, self.folder / f"cache-{self._tried}")

    def python(self, installer: str) -> Path:
        if installer not in self._pythons:
            self._pythons[installer] = self.installers.environment(self.folder / f"venv-{installer}", installer)
        return self._pythons[installer]

    def _filled(self, text: str) -> str:
        host = self.mirror.host
        stands_for = {"MIRROR": f"http://{host}", "HOST": host, "EVIL": f"http://{host}/evil/simple/", "WHEEL": FILE}
        for mark, real in {**stands_for, "SHA256": SHA256, "SHA512": SHA512}.items():
            text = text.replace(mark, real)
        return text

    def _serve(self, attack: HostileAddress) -> None:
        text, self.mirror.kind = self._filled(attack.text), "text/html"
        if attack.kind == "json":
            entry = {"filename": RIGHT.filename, "url": text, "hashes": {"sha256": SHA256}}
            text = json.dumps({"meta": {"api-version": "1.0"}, "name": "torch", "files": [entry]})
            self.mirror.kind = "application/vnd.pypi.simple.v1+json"
        self.mirror.page = text.encode()
        self.mirror.wheel = (RIGHT if attack.is_good else SWAPPED).content

    def _outcome(self, installer: str, command: list[str], cache: Path) -> Outcome:
        self.mirror.asked.clear()
        environ = {**self.environ, "TORCHPICK_CACHE_DIR": str(cache)}
        done = subprocess.run(
            command, env=environ, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        (site,) = (self.python(installer).parent.parent / "lib").glob("python*/site-packages")
        paths = [*site.glob("torch*"), *site.glob("evil*")]
        names = {path.name for path in paths}
        for path in paths:
            shutil.rmtree(path)
        asked = [unquote(line) for line in self.mirror.asked]
        return Outcome(
            done.returncode, "torch" in names, "evil" in names,
            any(BAIT in line or "/host/" in line or "YTphLXNlY3Jld" in line for line in asked),
            any(line.startswith("/evil/") for line in asked),
            done.stderr,
        )  # fmt: skip


@contextmanager
def playground(folder: Path, installers: Installers) -> Iterator[Playground]:
    with Mirror() as mirror:
        thread = threading.Thread(target=mirror.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield Playground(folder, mirror, installers)
        finally:
            mirror.shutdown()
            thread.join()
