"""Hostile addresses of a file, on a mirror's pages, in records of torchpick and in its table, and what came of each.

`python -m tests.attacks.addresses` prints what plain pip, plain uv and torchpick with each make of the same page.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote

from tests import usersettings
from tests.fakes.indexes import table_without_hashes
from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import SOURCE, TAG
from tests.process.install.installers import Installers, fetched

RIGHT = TinyWheel("torch", "2.10.0+cpu", TAG)
SWAPPED = RIGHT._replace(files={"evil/__init__.py": ""})
FILE = quote(RIGHT.filename)
SHA256 = hashlib.sha256(RIGHT.content).hexdigest()
SHA512 = hashlib.sha512(RIGHT.content).hexdigest()
BAIT = "a-secret-of-the-environment"
PATIENCE_S = 120
# What ends, parts or hides text somewhere: Unicode's white space and line ends, and what is not seen at all.
MARKS = (
    "\x00", "\t", "\n", "\v", "\f", "\r", "\r\n", "\x1b", "\x1c", "\x1d", "\x1e", "\x1f", " ", "\x7f", "\x85", "\xa0",
    "\xad", "\u1680", "\u2000", "\u2009", "\u200b", "\u2028", "\u2029", "\u202e", "\u202f", "\u205f",
    "\u3000", "\ufeff",
)  # fmt: skip
# The rows that the ordinary run tries.
CORE = ("json, U+0020, comment", "html, U+000C, option", "json, variable in the path", "html, a path of any script")


class HostileAddress(NamedTuple):
    """One page, record or table; WHEEL, MIRROR, EVIL and the hashes are filled in. `is_good` has to be installed."""

    name: str
    kind: str  # html, json, record, table
    text: str
    is_good: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it is in what torchpick alone reads."""
        return self.kind in ("record", "table")


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


def addresses() -> Iterator[HostileAddress]:
    yield from _by_marks()
    yield from _variables()
    yield from _hashes_and_ends()
    yield from _of_our_own()
    yield from _good()


def _by_marks() -> Iterator[HostileAddress]:
    for mark in MARKS:
        code = "+".join(f"U+{ord(char):04X}" for char in mark)
        yield HostileAddress(f"json, {code}, comment", "json", f"MIRROR/f/WHEEL{mark}#x")
        html = "".join(f"&#x{ord(char):x};" for char in mark)
        yield HostileAddress(
            f"html, {code}, option", "html", _anchor(f"MIRROR/f/WHEEL{html}--extra-index-url{html}EVIL#sha256=SHA256")
        )
    for mark in (" ", "\t", "\xa0"):
        text = f"MIRROR/f/WHEEL{mark};{mark}python_version{mark}<{mark}'1'#sha256=SHA256"
        yield HostileAddress(f"html, U+{ord(mark):04X}, marker", "html", _anchor(text))
    yield HostileAddress("html, blank inside the path", "html", _anchor("MIRROR/f/x #y/WHEEL#sha256=SHA256"))
    yield HostileAddress(
        "html, blank in the base", "html", '<base href="MIRROR/f #x/">' + _anchor("WHEEL#sha256=SHA256")
    )
    yield HostileAddress(
        "html, line end in the base", "html", '<base href="MIRROR/f&#10;--pre&#10;/">' + _anchor("WHEEL#sha256=SHA256")
    )
    yield HostileAddress("json, blank in the user", "json", "http://a #b@HOST/f/WHEEL")
    yield HostileAddress("json, blank in the query", "json", "MIRROR/f/WHEEL?x #y")


def _variables() -> Iterator[HostileAddress]:
    yield HostileAddress("json, variable in the path", "json", "MIRROR/f/${BAIT}/WHEEL")
    yield HostileAddress("html, variable in the path", "html", _anchor("MIRROR/f/${BAIT}/WHEEL#sha256=SHA256"))
    yield HostileAddress("json, variable in the query", "json", "MIRROR/f/WHEEL?t=${BAIT}")
    yield HostileAddress("json, variable in the user", "json", "http://a:${BAIT}@HOST/f/WHEEL")
    yield HostileAddress("json, variable for the host", "json", "http://${BAIT_PLACE}/host/WHEEL")
    yield HostileAddress("html, variable in the fragment", "html", _anchor("MIRROR/f/WHEEL#sha256=SHA256&x=${BAIT}"))
    yield HostileAddress("html, variable for the hash", "html", _anchor("MIRROR/f/WHEEL#sha256=${BAIT_HASH}"))
    base = '<base href="MIRROR/f/${BAIT}/">'
    yield HostileAddress("html, variable in the base", "html", base + _anchor("WHEEL#sha256=SHA256"))
    yield HostileAddress("json, variable of cmd", "json", "MIRROR/f/%BAIT%/$BAIT/WHEEL")


def _hashes_and_ends() -> Iterator[HostileAddress]:
    tails = {
        "backslash": "\\", "backslash in the fragment": "#sha256=SHA256\\", "encoded line end": "%0A#sha256=SHA256",
        "encoded blank": "%20#sha256=SHA256", "encoded comment": "%23sha256=SHA256",
        "two fragments": "#x#sha256=SHA256", "option as a fragment": "#--pre&sha256=SHA256",
        "quotes": "'\"`#sha256=SHA256", "semicolon": ";#sha256=SHA256", "comma": ",EVIL#sha256=SHA256",
        "short hash": "#sha256=abc", "long hash": "#sha256=SHA256ab", "hash that is none": f"#sha256={'z' * 64}",
        "empty hash": "#sha256=", "another hash": "#sha512=SHA512",
        "a hash of pip's alone": f"#sha1={hashlib.sha1(RIGHT.content, usedforsecurity=False).hexdigest()}",
        "two hashes": f"#sha256=SHA256&sha256={hashlib.sha256(SWAPPED.content).hexdigest()}",
    }  # fmt: skip
    for name, tail in tails.items():
        yield HostileAddress(f"html, {name}", "html", _anchor(f"MIRROR/f/WHEEL{tail}".replace('"', "&quot;")))
    entry = {"filename": RIGHT.filename, "url": "MIRROR/f/WHEEL"}
    for name, hashes in (
        ("short hash", {"sha256": "abc"}),
        ("another hash", {"sha512": SHA512}),
        ("number", {"sha256": 5}),
    ):
        yield HostileAddress(f"json, {name}", "raw", json.dumps({"files": [{**entry, "hashes": hashes}]}))
    yield HostileAddress("json, half a character", "json", "MIRROR/f/WHEEL\ud800#x")


def _of_our_own() -> Iterator[HostileAddress]:
    for mark in (" #x", "\n--extra-index-url EVIL", "?t=${BAIT}"):
        yield HostileAddress(f"record, {mark!r}", "record", f"MIRROR/f/WHEEL{mark}")
        yield HostileAddress(f"table, {mark!r}", "table", f"SHA256{mark}")


def _good() -> Iterator[HostileAddress]:
    for name, text in (
        ("plain", "MIRROR/f/WHEEL#sha256=SHA256"),
        ("a plus", f"MIRROR/f/{RIGHT.filename}#sha256=SHA256"),
        ("blanks around", " \n MIRROR/f/WHEEL#sha256=SHA256 \t"),
        ("an encoded blank", "MIRROR/a%20b/WHEEL#sha256=SHA256"),
        ("a path of any script", "MIRROR/\u00fc\u4e2d/WHEEL#sha256=SHA256"),
        ("brackets and signs", "MIRROR/a(1)~b!c=d&amp;e@f[0]/WHEEL#sha256=SHA256"),
        ("a query", "MIRROR/f/WHEEL?a=b&amp;c=d;e,f#sha256=SHA256"),
        ("credentials", "http://me:a%40b%24@HOST/f/WHEEL#sha256=SHA256"),
        ("relative", "../../f/WHEEL#sha256=SHA256"),
        ("more in the fragment", "MIRROR/f/WHEEL#egg=torch&amp;sha256=SHA256"),
    ):
        yield HostileAddress(f"html, {name}", "html", _anchor(text), is_good=True)


def _anchor(href: str) -> str:
    return f'<a href="{href}">x</a>'


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
            "UV": installers.uv, "PIP_INDEX_URL": f"http://{mirror.host}/none/simple",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1", "PIP_RETRIES": "0",
            "UV_DEFAULT_INDEX": f"http://{mirror.host}/none/simple", "UV_NO_CACHE": "1", "UV_HTTP_RETRIES": "0",
            "UV_PYTHON_DOWNLOADS": "never", "TORCHPICK_COMPAT_DIR": str(table_without_hashes(folder)),
            "PYTHONPATH": str(SOURCE), "BAIT": BAIT, "BAIT_PLACE": mirror.host, "BAIT_HASH": SHA256,
        }  # fmt: skip

    def plain(self, attack: HostileAddress, installer: str) -> Outcome:
        """What pip or uv does by itself with the page; what is torchpick's own it does not know."""
        self._serve(attack)
        option = "--index-url" if installer == "pip" else "--default-index"
        words = ["install", "torch==2.10.0+cpu", "--no-deps", option, f"{self.base}/cpu"]
        return self._outcome(installer, [*self._front(installer, words)])

    def torchpick(self, attack: HostileAddress, installer: str) -> Outcome:
        self._serve(attack)
        self._tried += 1
        cache = self.folder / f"cache-{self._tried}"
        told = ["--cpu", "--index-base", self.base, "--python", str(self.python(installer))]
        ours = [sys.executable, "-m", "torchpick"]
        command = [*ours, "install", "torch==2.10.0+cpu", "--no-deps", *told, "--installer", installer]
        if attack.kind == "record":
            command = [*ours, "run", *told, *self._front(installer, ["install", "torch==2.10.0+cpu", "--no-deps"])]
            # A second index, beside which torch is named by its very file.
            limits, beside = self.folder / "limits.txt", f"http://{self.mirror.host}/beside/simple"
            limits.write_text("torch==2.10.0\n", "utf-8")
            more = {"PIP_CONSTRAINT": str(limits), "UV_CONSTRAINT": str(limits)}
            more |= {"PIP_EXTRA_INDEX_URL": beside, "UV_INDEX": beside}
            self._run([*ours, "env", *told], cache, more)
            self._poison(cache, self._filled(attack.text))
            return self._outcome(installer, command, cache, more)
        return self._outcome(installer, command, cache)

    def python(self, installer: str) -> Path:
        if installer not in self._pythons:
            self._pythons[installer] = self.installers.environment(self.folder / f"venv-{installer}", installer)
        return self._pythons[installer]

    def _front(self, installer: str, words: list[str]) -> list[str]:
        python = str(self.python(installer))
        if installer == "pip":
            return [python, "-m", "pip", *words]
        return [self.installers.uv, "pip", *words, "--python", python]

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
        elif attack.kind in ("record", "table"):
            text = self._filled(
                _anchor("MIRROR/f/WHEEL#sha256=SHA256" if attack.kind == "record" else "MIRROR/f/WHEEL")
            )
        if attack.kind in ("json", "raw"):
            self.mirror.kind = "application/vnd.pypi.simple.v1+json"
        self.mirror.page = text.encode()
        self.mirror.wheel = (RIGHT if attack.is_good else SWAPPED).content
        files = {"cpu": {RIGHT.filename: self._filled(attack.text)}} if attack.kind == "table" else {}
        table = Path(self.environ["TORCHPICK_COMPAT_DIR"]) / "files.json"
        table.write_text(json.dumps({"schema": 1, "files": files}), "utf-8")

    def _poison(self, cache: Path, url: str) -> None:
        """Put the address into what an earlier run wrote of the page."""
        for record in cache.rglob("install/projects/pages/*.json"):
            page = json.loads(record.read_text("utf-8"))
            for row in page["files"] or ():
                row[1:3] = url, SHA256
            record.write_text(json.dumps(page), "utf-8")

    def _run(
        self, command: list[str], cache: Path | None, more: Mapping[str, str] = {}
    ) -> subprocess.CompletedProcess[str]:
        environ = {**self.environ, **more, "TORCHPICK_CACHE_DIR": str(cache or self.folder / "cache")}
        return subprocess.run(
            command, env=environ, cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    def _outcome(
        self, installer: str, command: list[str], cache: Path | None = None, more: Mapping[str, str] = {}
    ) -> Outcome:
        self.mirror.asked.clear()
        done = self._run(command, cache, more)
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


def main() -> None:
    print("| address | plain pip | plain uv | torchpick, pip | torchpick, uv |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, playground(Path(name), fetched(Path(name))) as tried:
        for attack in addresses():
            plain = ["–", "–"] if attack.is_ours else [str(tried.plain(attack, each)) for each in ("pip", "uv")]
            ours = [str(tried.torchpick(attack, each)) for each in ("pip", "uv")]
            print(f"| {attack.name} | {' | '.join((*plain, *ours))} |", flush=True)


if __name__ == "__main__":
    main()
