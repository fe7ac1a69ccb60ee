"""The HTTP client against servers that mean no good, and where it takes credentials, certificates and proxies from."""

from __future__ import annotations

import base64
import gzip
import socket
import ssl
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fakes.loopback import Answer, Asked, Authority, Loopback
from tests.fakes.rude import HEAD, Manner, forever, once, packed, rude, silent, trickle
from tests.index.conftest import QUICK
from tests.index.server import Host
from torchpick.errors import NetworkError
from torchpick.index import transport
from torchpick.index.client import Client, Limits, Reply, gunzipped
from torchpick.index.transport import TooSlowError

# Far beyond any of these deadlines, as a busy machine may be, and far from what comes without them.
_PATIENCE_S = 20


@pytest.mark.parametrize(
    "manner",
    [
        silent,
        trickle(b"HTTP/1.1 200 OK\r\nX: "),
        trickle(HEAD + b"Content-Length: 5000000\r\n\r\n"),
        trickle(HEAD + b"Transfer-Encoding: chunked\r\n\r\n"),
        trickle(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;"),
    ],
    ids=["silent", "headers", "body", "chunk size", "chunk extension"],
)
def test_a_server_without_haste_is_given_up_and_not_asked_again(manner: Manner) -> None:
    with rude(manner) as url, Client(QUICK) as client:
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(TooSlowError) as caught:
                client.get(url)
        assert caught.value.hint  # pyright: ignore[reportPossiblyUnboundVariable] # the loop runs
        assert client.requests == 1
    assert time.monotonic() - began < _PATIENCE_S


def test_all_addresses_of_a_host_share_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, times = socket.getaddrinfo, {"many.test": 40}
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *to, **how: asked("127.0.0.1", *to, **how) * times.get(host, 1)
    )
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, Client(QUICK) as client:
        _, port = full.getsockname()
        beside = socket.create_connection(("127.0.0.1", port))  # no other is let in
        began = time.monotonic()
        with beside, pytest.raises(NetworkError):
            client.get(f"http://many.test:{port}/")
    assert time.monotonic() - began < _PATIENCE_S


@pytest.mark.parametrize("manner", [silent, trickle(b"\x16\x03\x03\x40\x00")], ids=["silent", "a record of 16 KiB"])
def test_a_handshake_of_tls_ends_by_the_deadline_of_the_request(manner: Manner) -> None:
    """Not by that of connecting, which comes later."""
    limits = QUICK._replace(connect=QUICK.total * 20)
    with rude(manner) as url, Client(limits) as client:
        began = time.monotonic()
        with pytest.raises(TooSlowError):
            client.get(url.replace("http:", "https:"))
    assert time.monotonic() - began < _PATIENCE_S


@pytest.mark.parametrize(
    ("manner", "why"),
    [
        (forever(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 4000 + b"\r\n"), ""),
        (forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), ""),
        (forever(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + bytes(4096) + b"\r\n"), "than 1 MiB"),
    ],
    ids=["headers", "100 Continue", "body"],
)
def test_an_answer_without_end_is_given_up(manner: Manner, why: str) -> None:
    with rude(manner) as url, Client(QUICK._replace(page=1 << 20), sleep=lambda _: None) as client:
        began = time.monotonic()
        with pytest.raises(NetworkError) as caught:
            client.get(url)
        assert why in str(caught.value)
    assert time.monotonic() - began < _PATIENCE_S


def test_the_body_of_a_redirect_is_not_read() -> None:
    found = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with rude(forever(found, b"1000\r\n" + bytes(4096) + b"\r\n")) as url, Client(QUICK) as client:
        with pytest.raises(NetworkError, match="in a circle"):
            client.open(url)
        assert client.bytes_read == 0


def test_gzip_is_inflated_as_far_as_a_page_may_go() -> None:
    limits = Limits(page=1 << 20)
    with rude(once(packed(b"page" * 1000, 1))) as url, Client(limits) as client:
        assert client.get(url).body == b"page" * 1000
    other = packed(b"page" * 1000, 1).replace(b"ncoding: gzip", b"ncoding: x-gzip")
    with rude(once(other)) as url, Client(limits) as client:
        assert client.get(url).body == b"page" * 1000
    bomb = once(packed(bytes(50 << 20), 1))
    with rude(bomb) as url, Client(limits) as client, pytest.raises(NetworkError, match="larger than 1 MiB"):
        client.get(url)
    for broken in (packed(b"page" * 1000, 1)[:-9] + bytes(9), HEAD + b"Content-Encoding: gzip\r\n\r\nnonsense"):
        with rude(once(broken)) as url, Client(limits, sleep=lambda _: None) as client, pytest.raises(NetworkError):
            client.get(url)


@pytest.mark.parametrize("mood", ["408", "425", "429", "500", "502", "503", "504", "hang up"])
def test_a_page_is_asked_again_where_the_trouble_may_pass(host: Host, client: Client, mood: str) -> None:
    host.files["/x"] = b"y" * 4000
    host.mood, host.times = mood, 2

    assert client.get(f"{host.url}/x").body == b"y" * 4000
    assert len(host.seen) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 406, 410, 501])
def test_what_may_be_missing_is_asked_for_once(host: Host, client: Client, status: int) -> None:
    host.mood = str(status)
    try:
        found = client.get(f"{host.url}/x", absent=True).status
    except NetworkError:
        found = 0

    assert (found, len(host.seen)) == (status if status in (403, 404, 410) else 0, 1)
    with pytest.raises(NetworkError, match=f"answered {status}"):
        client.get(f"{host.url}/x")


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x", "javascript:1"])
def test_a_redirect_leads_to_the_web_alone(client: Client, place: str) -> None:
    answer = f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode()
    with rude(once(answer)) as url, pytest.raises(NetworkError, match="not a web address"):
        client.get(url)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.fixture
def netrc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1 login net password rc\nmachine api.example login a password b\n", "utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("NETRC", str(file))
    return file


@pytest.mark.usefixtures("netrc")
def test_the_urls_credentials_come_before_netrc_and_into_no_log(
    host: Host, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "httpx")
    host.files["/x"] = b"y"
    client.get(f"{host.url}/x")
    client.get(host.url.replace("//", "//me:p%40ss@") + "/x")
    client.get(f"{host.url}/x")  # a link on that page, which has none of its own

    assert [seen.authorization for seen in host.seen] == [basic("net", "rc"), *[basic("me", "p@ss")] * 2]
    assert "/x" in caplog.text
    assert "p%40ss" not in caplog.text


def test_credentials_stay_with_their_host(host: Host, client: Client) -> None:
    other = host.url.replace("127.0.0.1", "localhost")
    host.files["/x"] = b"y"
    answer = f"HTTP/1.1 302 Found\r\nLocation: {other}/x\r\nContent-Length: 0\r\n\r\n".encode()
    with rude(once(answer)) as url:
        reply = client.get(url.replace("//", "//me:secret@"))
    here = host.url.replace("//", "//me:secret@")

    assert (reply.url, reply.body, host.seen[0].authorization) == (f"{other}/x", b"y", None)
    assert client.get(f"{here}/redirect/x").url == f"{here}/x", "what is linked from there has them too"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("ca"), ("mirror.example",))


@pytest.fixture
def tunnel(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    def site(path: str) -> Answer:
        return Answer(302, b"", {"Location": "http://mirror.example/x"}) if path == "/down" else Answer(200, b"page")

    with Loopback({"mirror.example": site}, authority.tls).running() as running:
        monkeypatch.setenv("all_proxy", running.url)
        monkeypatch.setenv("http_proxy", running.url)
        yield running


@pytest.mark.usefixtures("tunnel")
@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "pip.conf"])
def test_whom_to_trust_is_said_as_to_pip_and_uv(
    name: str, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if name == "pip.conf":
        (tmp_path / "pip.conf").write_text(f"[global]\ncert = {authority.certificate}\n", "utf-8")
        monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    else:
        monkeypatch.setenv(name, str(authority.certificate))
    with Client() as client:
        assert client.get("https://mirror.example/x").body == b"page"


@pytest.mark.usefixtures("tunnel")
def test_whom_nobody_trusts_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with Client() as client, pytest.raises(NetworkError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        client.get("https://mirror.example/x")
    assert "SSL_CERT_FILE" in str(caught.value.hint)
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.pem"))
    with Client() as client, pytest.raises(NetworkError, match="PIP_CERT: cannot read"):
        client.get("https://mirror.example/x")


def test_a_file_of_certificates_that_several_variables_name_is_read_once(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    class Counted(ssl.SSLContext):
        def load_verify_locations(self, cafile: Any = None, capath: Any = None, cadata: Any = None) -> None:
            read.append(cafile or capath)
            super().load_verify_locations(cafile, capath, cadata)

    monkeypatch.setattr(ssl, "SSLContext", Counted)
    names = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")

    transport.certificates(dict.fromkeys(names, str(authority.certificate)))

    assert read == [str(authority.certificate)]


def test_no_redirect_leads_from_https_to_http(
    tunnel: Loopback, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    with Client() as client, pytest.raises(NetworkError, match="from https to http"):
        client.get("https://mirror.example/down")
    assert tunnel.log == [Asked("mirror.example", "GET", "/down", 302)]


def test_a_proxy_is_used_and_left_out_as_the_environment_says(
    tunnel: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client() as client:
        assert client.get("http://mirror.example/x").body == b"page"
    monkeypatch.setenv("no_proxy", "mirror.example")
    with Client(sleep=lambda _: None) as client, pytest.raises(NetworkError, match="cannot reach the server"):
        client.get("http://mirror.example/x")
    assert len(tunnel.log) == 1


@pytest.mark.parametrize(("status", "hint"), [
    (401, "put the credentials in netrc or the URL"), (407, "put the credentials in netrc or the URL"),
    (403, "check the address: the wheel host answers 403 for files it does not have"),
    (404, "check the address: the wheel host answers 403 for files it does not have"),
    (410, "check the address: the wheel host answers 403 for files it does not have"),
    (429, "the server limits requests: wait a while"), (500, "check the connection and try again"),
])  # fmt: skip
def test_what_a_server_refuses_with_says_what_to_do(status: int, hint: str) -> None:
    error = Reply("https://host.example/x", status, httpx.Headers(), iter(()), lambda: None).refusal("x.whl")

    assert (error.message, error.hint) == (f"x.whl: the server answered {status}", hint)


def test_a_long_pause_is_not_begun(host: Host) -> None:
    pauses: list[float] = []
    host.mood = "503"
    limits = Limits(pauses=(1.0, 2.0, 60.0))
    with Client(limits, sleep=pauses.append) as client, pytest.raises(NetworkError, match="answered 503"):
        client.get(host.url)
    assert pauses == [1.0, 2.0]


def test_what_follows_a_compressed_page_is_not_kept() -> None:
    tracemalloc.start()
    try:
        chunks = (gzip.compress(b"page"), *[bytes(1 << 16)] * 100)
        assert b"".join(gunzipped("page", chunks)) == b"page"
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
