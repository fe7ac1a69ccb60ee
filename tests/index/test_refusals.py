"""What is said where a server, a file or an index does not give what was asked of it: the message and the hint."""

from __future__ import annotations

import gzip
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.loopback import Answer, Authority, Loopback
from tests.fakes.rude import HEAD, once, packed, rude
from tests.index.server import Host
from torchpick.errors import (
    BrokenOffError,
    IntegrityError,
    NetworkError,
    RangesUnsupportedError,
    RequirementError,
    TorchpickError,
    WheelError,
)
from torchpick.index import transport
from torchpick.index.client import Client, Limits
from torchpick.index.pages import files as links_of
from torchpick.index.projectfiles import IndexTarget, best_wheels
from torchpick.index.ranges import CHUNK, FileSource, RemoteSource
from torchpick.model.machine import Platform
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import ReadOptions

AGAIN = "check the connection and try again"
FOUND = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: "


@pytest.mark.parametrize(
    ("answer", "message", "hint"),
    [
        (packed(b"x", 2), "the server compresses with `gzip, gzip`, which was not requested", AGAIN),
        (HEAD + b"Content-Encoding: " + b"z" * 50 + b"\r\n\r\nx",
         f"the server compresses with `{'z' * 40}`, which was not requested", AGAIN),
        (packed(bytes(3 << 20), 1), "the page is larger than 2 MiB",
         "check that the address is an index of Python packages"),
        (HEAD + b"Content-Encoding: gzip\r\n\r\nnonsense", "what the server sent is not gzip", AGAIN),
        (HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 99)[:-7],
         "the server stopped in the middle", AGAIN),
        (FOUND + b"file:///etc/passwd\r\n\r\n", "the server redirects to something that is not a web address", AGAIN),
        (FOUND + b"/simple/x/\r\n\r\n", "the server redirects in a circle", "check the address"),
        (b"HTTP/1.1 451 No\r\nContent-Length: 0\r\n\r\n", "the server answered 451", AGAIN),
        (b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", "the server answered 401",
         "put the credentials in netrc or the URL"),
    ],
    ids=["gzip twice", "a long coding", "too large", "no gzip", "cut off", "a file", "a circle", "451", "401"],
)  # fmt: skip
def test_what_a_page_is_refused_for(answer: bytes, message: str, hint: str) -> None:
    limits = Limits(page=2 << 20, pauses=())
    with rude(once(answer)) as url, Client(limits) as client, pytest.raises(NetworkError) as caught:
        client.get(f"{url}#fragment", absent=True)

    assert (caught.value.message, caught.value.hint) == (f"{url}: {message}", hint)


@pytest.mark.parametrize(("steps", "arrives"), [(0, True), (10, True), (11, False)])
def test_ten_redirects_are_followed(steps: int, arrives: bool) -> None:
    def site(path: str) -> Answer:
        left = int(path[1:])
        return Answer(302, b"", {"Location": str(left - 1)}) if left else Answer(200, b"page")

    with Loopback({"127.0.0.1": site}).running() as server, Client() as client:
        if arrives:
            assert client.get(f"{server.url}/{steps}").url == f"{server.url}/0"
        else:
            with pytest.raises(NetworkError, match="in a circle"):
                client.get(f"{server.url}/{steps}")
    assert len(server.log) == min(steps, 10) + 1


def test_a_command_ends_within_a_minute_and_reads_no_more_than_a_page() -> None:
    limits = Limits()

    assert max(limits.connect, limits.silence, limits.grace, sum(limits.pauses)) < limits.total < 60
    assert (limits.slowest, limits.page, limits.redirects) == (4096, 16 << 20, 10)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.make(tmp_path_factory.mktemp("ca"), ("localhost",))


@pytest.fixture
def https(authority: Authority) -> Iterator[str]:
    """A server that speaks TLS, without a proxy before it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                with (
                    suppress(ssl.SSLError),
                    authority.tls.wrap_socket(listener.accept()[0], server_side=True) as inside,
                ):
                    inside.recv(65536)
                    inside.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"https://localhost:{listener.getsockname()[1]}/"
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_pips_own_certificates_count_unless_a_variable_names_others(authority: Authority, tmp_path: Path) -> None:
    conf, name = tmp_path / "pip.conf", authority.certificate.name
    conf.write_text(f"[global]\ncert = ~/{name}\n", "utf-8")
    (tmp_path / name).write_bytes(authority.certificate.read_bytes())
    environ = {"PIP_CONFIG_FILE": str(conf)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        patch.setenv("USERPROFILE", str(tmp_path))
        assert len(transport.certificates(environ).get_ca_certs()) == 1
    conf.write_text(f"[global]\ncert = {tmp_path / 'none.pem'}\n", "utf-8")
    with pytest.raises(NetworkError, match=r"pip's `cert`: cannot read the certificates in .*none\.pem: ") as caught:
        transport.certificates(environ)
    assert caught.value.hint == "set it to a file of certificates in PEM format, or unset pip's `cert`"
    assert transport.certificates({**environ, "PIP_CERT": str(authority.certificate)}).get_ca_certs()
    assert transport.certificates({"SSL_CERT_FILE": str(tmp_path)}).get_ca_certs() == []  # a folder of them
    conf.write_text("[global\n", "utf-8")
    assert len(transport.certificates(environ).get_ca_certs()) > 50


def test_a_proxy_that_cannot_be_used_is_said_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://me:secret@p.example")
    with Client() as client, pytest.raises(NetworkError) as caught:
        client.get("http://host.example/")

    assert caught.value.message == "the proxy gopher://me:****@p.example cannot be used"
    assert caught.value.hint == "check http_proxy, https_proxy and all_proxy; a SOCKS proxy needs `pip install socksio`"


NO_RANGES = "its ranges cannot be used: download the file and inspect that"


@pytest.mark.parametrize(
    ("mood", "kind", "message", "hint"),
    [
        ("wrong range", RangesUnsupportedError,
         "{}: asked for bytes 1000-2123, the server sent 1003-2126",
         "its ranges cannot be trusted: download the file and inspect that"),
        ("gzip", RangesUnsupportedError, "the server of {} compresses what it sends", NO_RANGES),
        ("changed", IntegrityError, "{} changed while it was read", "run the command again"),
        ("416", IntegrityError, "{} changed while it was read", "run the command again"),
        ("no ranges", IntegrityError, "{} changed while it was read", "run the command again"),
        ("404", NetworkError, "{}: the server answered 404",
         "check the address: the wheel host answers 403 for files it does not have"),
        ("hang up", BrokenOffError, "{}: Server disconnected without sending a response.", AGAIN),
    ],
)  # fmt: skip
def test_what_a_range_is_refused_for(
    host: Host, client: Client, mood: str, kind: type[TorchpickError], message: str, hint: str
) -> None:
    host.files["/file.whl"], host.tags["/file.whl"] = bytes(200_000), '"one"'
    url = f"{host.url}/file.whl"
    source = RemoteSource(f"{url.replace('//', '//me:secret@')}#sha256=00", client)
    host.mood, host.after = mood, 1
    with pytest.raises(kind) as caught:
        source.read(1000, 100)

    shown = url.replace("//", "//me:****@")
    assert (type(caught.value), caught.value.message, caught.value.hint) == (kind, message.format(shown), hint)
    with pytest.raises(IntegrityError) as caught:
        source.read(199_990, 11)
    assert (caught.value.message, caught.value.hint) == (f"{shown} has no bytes at 199990", "the file is damaged")
    with pytest.raises(IntegrityError):
        source.read(-1, 5)


def test_a_range_is_asked_for_with_a_little_beyond_and_never_past_the_end(host: Host, client: Client) -> None:
    host.files["/file.whl"] = bytes(1_000_000)
    source = RemoteSource(f"{host.url}/file.whl", client)
    tail = 1_000_000 - (112 << 10)

    source.read(100, 50)
    source.read(200, 100)  # in what came with it
    source.expect([(2000, 3000), (3500, 4000), (500_000, 600_000), (590_000, 595_000)], 500)
    source.read(2000, 1000)
    source.read(500_000, 10)
    source.read(tail - 100, 100)
    source.read(tail - 100, 200)
    source.close()

    assert [seen.range for seen in host.seen[1:]] == [
        "bytes=100-1173", "bytes=2000-5023", "bytes=500000-601023",
        f"bytes={tail - 100}-{tail + 1023}", f"bytes={tail - 100}-{tail + 1023}",
    ]  # fmt: skip
    assert source.requests == 6


def test_a_file_of_this_computer_is_read_by_ranges_too(tmp_path: Path) -> None:
    path, data = tmp_path / "file.whl", os.urandom(2 * CHUNK + 10)
    path.write_bytes(data)
    news: list[object] = []
    source = FileSource(path, news.append)

    chunks = list(source.stream(5, 2 * CHUNK))
    assert b"".join(chunks) == data[5 : 2 * CHUNK + 5]
    assert [len(chunk) for chunk in chunks] == news == [CHUNK, CHUNK]
    assert (source.size, source.bytes_read, source.requests) == (len(data), 2 * CHUNK, 0)
    assert list(source.stream(5, 0)) == []
    with pytest.raises(IntegrityError) as caught:
        source.read(len(data) - 4, 10)
    assert caught.value.message == f"{path} ends 6 bytes early"
    assert caught.value.hint == "the file is cut off: download it again"
    source.close()
    with pytest.raises(WheelError, match=r"cannot read .*none\.whl: No such file") as missing:
        FileSource(tmp_path / "none.whl")
    assert missing.value.hint == "check the path and its permissions"


TARGET = IndexTarget("cp312", Platform("linux", "x86_64", "2.35", "glibc"))


@pytest.mark.parametrize(
    ("requirement", "message", "hint"),
    [
        ("pkg==", "`pkg==` is neither a file nor a name with its versions",
         "write it as `name`, `name==1.2.3` or `name>=1.2`"),
        ("pkg ; python_version > '3'",
         "`pkg ; python_version > '3'` is neither a file nor a name with its versions",
         "write it as `name`, `name==1.2.3` or `name>=1.2`"),
    ],
)  # fmt: skip
def test_what_is_no_requirement_of_an_index(requirement: str, message: str, hint: str) -> None:
    with pytest.raises(RequirementError) as caught:
        inspect_target.read_target(requirement, ReadOptions())

    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("specifier", "version"), [("", "1.0"), ("==2.*", None), ("==2.0", "2.0"), ("===2.0", "2.0"), (">=1", "1.0")]
)
def test_a_yanked_wheel_is_taken_where_it_is_named_exactly(specifier: str, version: str | None) -> None:
    page = b"<a href=pkg-1.0-py3-none-any.whl>x</a><a href=pkg-2.0-py3-none-any.whl data-yanked>x</a>"
    found = best_wheels(links_of(page, "https://host.example/"), specifier, TARGET)

    assert [link.name.version for link in found[:1]] == ([] if version is None else [version])
