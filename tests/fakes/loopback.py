"""Web servers on loopback under their real names: plain HTTP, and HTTPS behind a CONNECT proxy with a throw-away CA.

uv's base for PyTorch is fixed, so the host that answers as download.pytorch.org must be reached through a proxy.
"""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit


class Asked(NamedTuple):
    """One request that arrived: which host it was meant for, the path as it was sent, and what was answered."""

    host: str
    method: str
    path: str
    status: int


class Answer(NamedTuple):
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}


# The path is decoded: `+` and not `%2B`.
Site = Callable[[str], Answer]


class Loopback(ThreadingHTTPServer):
    """Serves each site under its name; what is asked of any other name is refused, so nothing leaves the machine.

    With `leads_on` a CONNECT to another name leads there.
    """

    daemon_threads = True

    def __init__(
        self,
        sites: Mapping[str, Site],
        tls: ssl.SSLContext | None = None,
        delay_s: float = 0.0,
        *,
        leads_on: bool = False,
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.leads_on = leads_on
        self.delay_s = delay_s  # a network's round trip, which loopback has not
        self.sites = dict(sites)
        self.tls = tls
        self.log: list[Asked] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""

    @contextmanager
    def running(self) -> Iterator[Loopback]:
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Loopback  # pyright: ignore[reportIncompatibleVariableOverride] # narrower, and only read
    tunnel: str | None = None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # the base class's name
        """The log is a list."""

    def do_CONNECT(self) -> None:
        host, _, port = self.path.partition(":")
        if self.server.leads_on and host not in self.server.sites:
            self._lead_on(host, int(port))
            return
        if self.server.tls is None or host not in self.server.sites:
            self.server.log.append(Asked(host, "CONNECT", "", 403))
            self.send_error(403)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.flush()
        self.rfile.close()
        self.tunnel = host
        with suppress(OSError), self.server.tls.wrap_socket(self.connection, server_side=True) as inside:
            self.connection = inside
            with inside.makefile("rb") as reader, inside.makefile("wb") as writer:
                self.rfile, self.wfile = reader, writer
                self.close_connection = False
                while not self.close_connection:
                    self.handle_one_request()
        self.close_connection = True

    def _lead_on(self, host: str, port: int) -> None:
        """Carry bytes both ways until either side ends."""
        self.close_connection = True
        try:
            beyond = socket.create_connection((host, port), 30)
        except OSError:
            self.send_error(502)
            return
        self.send_response(200)
        self.end_headers()
        back = threading.Thread(target=_carry, args=(beyond, self.connection), daemon=True)
        back.start()
        _carry(self.connection, beyond)
        back.join()
        beyond.close()

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        host = self.tunnel or self.headers.get("Host", "").partition(":")[0]
        parts = urlsplit(self.path)
        time.sleep(self.server.delay_s)
        site = self.server.sites.get(host)
        answer = Answer(403) if site is None else site(unquote(parts.path))
        for_agents = getattr(site, "for_agents", None)
        if for_agents is not None and not for_agents.match(self.headers.get("User-Agent", "")):
            answer = Answer(404)
        body, status, headers = answer.body, answer.status, dict(answer.headers)
        wanted = self.headers.get("Range", "")
        if status == 200 and wanted.startswith("bytes="):
            start, end = _range(wanted, len(body))
            headers["Content-Range"] = f"bytes {start}-{end}/{len(body)}"
            body, status = body[start : end + 1], 206
        self.server.log.append(Asked(host, self.command, parts.path, status))
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)


def _carry(here: socket.socket, there: socket.socket) -> None:
    with suppress(OSError):
        while chunk := here.recv(1 << 16):
            there.sendall(chunk)
    with suppress(OSError):
        there.shutdown(socket.SHUT_WR)


def _range(header: str, size: int) -> tuple[int, int]:
    first, _, last = header.removeprefix("bytes=").partition("-")
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last or size), size - 1)


class Authority(NamedTuple):
    """A throw-away certificate authority: what clients must trust, and the server's side of TLS."""

    certificate: Path
    tls: ssl.SSLContext

    @classmethod
    def make(cls, folder: Path, hosts: tuple[str, ...]) -> Authority:
        """With the openssl command; a day is long enough."""
        extensions = folder / "extensions"
        names = ",".join(f"DNS:{host}" for host in hosts)
        extensions.write_text(
            f"subjectAltName={names}\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n"
            "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n",
            "utf-8",
        )
        # Python 3.13 and later want an authority to say what its key is for (RFC 5280).
        usage = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for command in (
            [
                *["req", "-x509", *key, *usage, "-keyout", "ca.key", "-out", "ca.pem"],
                *["-days", "1", "-subj", "/CN=throw-away CA"],
            ],
            ["req", *key, "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=loopback"],
            [
                *["x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
                *["-days", "1", "-extfile", str(extensions), "-out", "host.pem"],
            ],
        ):
            subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(folder / "host.pem", folder / "host.key")
        return cls(folder / "ca.pem", tls)
