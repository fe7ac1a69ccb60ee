"""What the client asks, and what it makes of each answer, with a pool of connections that has its answers already."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import httpcore
import pytest

from torchpick.errors import BrokenOffError, NetworkError
from torchpick.index import transport
from torchpick.index.client import Client, Limits
from torchpick.index.transport import TooSlowError

AGAIN = "check the connection and try again"
URL = "https://host.example/x"


class Body:
    """The chunks of an answer; an error among them is raised. `closed` counts."""

    def __init__(self, chunks: Iterable[bytes | Exception], fault: Exception | None = None) -> None:
        self.chunks, self.fault, self.closed = chunks, fault, 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk

    def close(self) -> None:
        self.closed += 1
        if self.fault is not None:
            raise self.fault


def answer(status: int, *chunks: bytes | Exception, **headers: str) -> tuple[int, list[tuple[bytes, bytes]], Body]:
    return status, [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()], Body(chunks)


class Pool:
    """Gives one answer after the other, and the last one for ever."""

    def __init__(self, *answers: tuple[int, list[tuple[bytes, bytes]], Body] | Exception) -> None:
        self.answers, self.asked, self.closed = [*answers], list[httpcore.Request](), 0

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        self.asked.append(request)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        status, headers, body = found
        return httpcore.Response(status, headers=headers, content=body)

    def close(self) -> None:
        self.closed += 1

    @property
    def paths(self) -> list[str]:
        return [request.url.target.decode() for request in self.asked]


Use = Callable[..., Pool]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Puts a pool with these answers in the place of every other."""

    def put(*answers: tuple[int, list[tuple[bytes, bytes]], Body] | Exception) -> Pool:
        made = Pool(*answers)
        monkeypatch.setattr(transport, "pool", lambda *_: made)
        return made

    return put


def asking(limits: Limits | None = None, pauses: list[float] | None = None, **environ: str) -> Client:
    return Client(limits, environ, sleep=(pauses if pauses is not None else []).append)


@pytest.mark.parametrize("place", [None, "/next", "//host.example/next", "https://host.example/next"])
def test_a_redirect_is_one_with_a_place_and_each_answer_is_closed(place: str | None, use: Use) -> None:
    first = answer(301) if place is None else answer(301, location=place)
    last = answer(200, b"page")
    pool = use(first, last)
    with asking() as client:
        if place is None:
            with pytest.raises(NetworkError, match="answered 301"):
                client.get(URL)
        else:
            assert client.get(URL).url == "https://host.example/next"
            assert last[-1].closed == 1
    assert first[-1].closed == 1
    assert pool.paths == ["/x"] if place is None else ["/x", "/next"]


@pytest.mark.parametrize(
    ("url", "place", "why"),
    [
        ("http://h.example/", "https://o.example/", None),
        ("http://h.example/", "HTTP://o.example/", None),
        ("https://h.example/", "http://o.example/", "from https to http"),
        ("https://h.example/", "http://a:b/", "not a web address"),
        ("https://h.example/", "https:\x7f", "not a web address"),
        ("https://h.example/", "httpx://o.example/", "not a web address"),
        ("http://h.example/", "mailto:me@o.example", "not a web address"),
    ],
)
def test_where_a_redirect_may_lead(url: str, place: str, why: str | None, use: Use) -> None:
    pool = use(answer(302, location=place), answer(200, b"page"))
    with asking() as client:
        if why is None:
            assert client.get(url).body == b"page"
        else:
            with pytest.raises(NetworkError, match=why):
                client.get(url)
    assert len(pool.asked) == (2 if why is None else 1)


FAILURES: list[tuple[Exception, type[NetworkError], str, str]] = [
    (httpcore.ConnectTimeout(), TooSlowError, "the server did not answer in time", AGAIN),
    (httpcore.ReadTimeout("x"), TooSlowError, "the server did not answer in time", AGAIN),
    (httpcore.PoolTimeout("x"), TooSlowError, "the server did not answer in time", AGAIN),
    (httpcore.ConnectError("refused"), NetworkError, "cannot reach the server (refused)", AGAIN),
    (
        httpcore.ConnectError("x CERTIFICATE_VERIFY_FAILED"),
        NetworkError,
        "cannot reach the server (x CERTIFICATE_VERIFY_FAILED)",
        "specify the certificates to trust: `export SSL_CERT_FILE=/path/to/ca.pem`",
    ),
    (httpcore.ReadError(""), BrokenOffError, "the connection was lost", AGAIN),
    (httpcore.WriteError("broken pipe"), BrokenOffError, "broken pipe", AGAIN),
    (httpcore.RemoteProtocolError("bad line"), BrokenOffError, "bad line", AGAIN),
    (httpcore.LocalProtocolError("bad header"), NetworkError, "bad header", AGAIN),
    (httpcore.ProxyError("403 http://me:secret@p.example"), NetworkError, "403 http://me:****@p.example", AGAIN),
    (httpcore.UnsupportedProtocol("what"), NetworkError, "what", AGAIN),
    (httpcore.ConnectionNotAvailable(), NetworkError, "the connection was lost", AGAIN),
    (OSError("odd"), NetworkError, "odd", AGAIN),
]


@pytest.mark.parametrize("in_the_body", [False, True])
@pytest.mark.parametrize(("error", "kind", "text", "hint"), FAILURES)
def test_what_a_failure_is_called_and_whether_it_is_tried_again(
    error: Exception, kind: type[NetworkError], text: str, hint: str, in_the_body: bool, use: Use
) -> None:
    pool = use(answer(200, b"first", error) if in_the_body else error)
    pauses: list[float] = []
    with asking(Limits(pauses=(1.0, 2.0)), pauses) as client, pytest.raises(NetworkError) as caught:
        client.get("https://me:secret@host.example/x#part")

    shown = "https://me:****@host.example/x"
    assert (type(caught.value), caught.value.message, caught.value.hint) == (kind, f"{shown}: {text}", hint)
    assert pauses == ([1.0, 2.0] if kind is BrokenOffError else [])
    assert len(pool.asked) == len(pauses) + 1


def test_a_server_that_was_too_slow_is_not_asked_again_and_others_are(use: Use) -> None:
    pool = use(httpcore.ReadTimeout(), answer(200, b"page"))
    with asking() as client:
        for path in ("x", "y"):
            with pytest.raises(TooSlowError, match=r"host\.example/x: the server did not answer in time") as caught:
                client.get(f"https://host.example/{path}")
            assert caught.value.hint == AGAIN
        for url in ("http://host.example/", "https://other.example/", "https://host.example:8443/"):
            assert client.get(url).body == b"page"
    assert len(pool.asked) == 4


@pytest.mark.parametrize(
    ("coding", "body", "page"),
    [
        (None, b"page", b"page"),
        ("", b"page", b"page"),
        ("identity", b"page", b"page"),
        (" Identity ", b"page", b"page"),
        ("gzip", gzip.compress(b"page", mtime=0), b"page"),
        ("X-GZip", gzip.compress(b"page", mtime=0), b"page"),
        ("gzip", gzip.compress(b"page", mtime=0) + b"more", b"page"),
        ("br", b"page", None),
        ("gzip, br", b"page", None),
    ],
)
@pytest.mark.parametrize("size", [1, 100])
def test_how_a_page_may_be_compressed(coding: str | None, body: bytes, page: bytes | None, size: int, use: Use) -> None:
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    use(answer(200, *chunks, **({} if coding is None else {"content_encoding": coding})))
    with asking() as client:
        if page is None:
            with pytest.raises(NetworkError, match="which was not requested"):
                client.get(URL)
        else:
            assert client.get(URL).body == page


def test_what_follows_a_compressed_page_is_not_kept(use: Use) -> None:
    use(answer(200, gzip.compress(b"page"), *[bytes(1 << 16)] * 100, content_encoding="gzip"))
    tracemalloc.start()
    try:
        with asking() as client:
            assert client.get(URL).body == b"page"
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


NETRC = "machine both.example login me password p\nmachine half.example password p\n"


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("https://both.example/", "bWU6cA=="),
        ("https://both.example:8443/", "bWU6cA=="),
        ("https://half.example/", "OnA="),
        ("https://none.example/", None),
        ("https://you@both.example/", "eW91Og=="),
        ("https://:q@both.example/", "OnE="),
    ],
)
def test_whose_login_is_sent(url: str, sent: str | None, use: Use, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text(NETRC, "utf-8")
    pool = use(answer(200, b""))
    with asking(NETRC=str(tmp_path / "netrc")) as client:
        client.get(url)

    login = dict(pool.asked[0].headers).get(b"authorization")
    assert login == (None if sent is None else f"Basic {sent}".encode())


@pytest.mark.parametrize(
    "url", ["http://\ud800.example/", "http://a:b/", "http://", "https:///x", "x", "ftp://a/", "//a"]
)
def test_what_is_no_address_is_asked_of_nobody(url: str, use: Use) -> None:
    pool = use(answer(200, b""))
    with asking() as client, pytest.raises(NetworkError, match="is not a valid web address"):
        client.get(url)
    assert pool.asked == []


@pytest.mark.parametrize(
    ("grace", "slowest", "is_slow"), [(0.02, 1 << 30, True), (0.02, 10, False), (100.0, 1 << 30, False)]
)
def test_a_file_may_be_slow_for_a_while(grace: float, slowest: int, is_slow: bool, use: Use) -> None:
    def late() -> Iterator[bytes]:
        time.sleep(0.03)
        yield b"x" * 1000

    status, headers, _ = answer(200)
    use((status, headers, Body(late())))
    with asking(Limits(grace=grace, slowest=slowest)) as client:
        if is_slow:
            with pytest.raises(TooSlowError) as caught:
                list(client.open(URL).chunks)
            assert caught.value.message == f"{URL}: the server is too slow"
        else:
            assert b"".join(client.open(URL).chunks) == b"x" * 1000
            assert client.bytes_read == 1000


@pytest.mark.parametrize(
    ("proxy", "kind", "plain", "login"),
    [
        ("http://p.example:8080", "HTTPProxy", "http://p.example:8080", None),
        ("https://me:a%40b@p.example", "HTTPProxy", "https://p.example", ("me", "a@b")),
        ("socks5://p.example:1080", "SOCKSProxy", "socks5://p.example:1080", None),
        ("socks5h://me@p.example", "SOCKSProxy", "socks5h://p.example", ("me", "")),
    ],
)
def test_which_proxies_can_be_used(
    proxy: str, kind: str, plain: str, login: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    for name in ("HTTPProxy", "SOCKSProxy"):
        monkeypatch.setattr(httpcore, name, lambda *given, _name=name, **words: made.append((_name, *given, words)))
    backend, context = httpcore.SyncBackend(), transport.certificates({})
    transport.pool(proxy, context, backend)

    assert made == [(kind, plain, login, {"ssl_context": context, "max_connections": None, "network_backend": backend})]


@pytest.mark.parametrize("proxy", ["gopher://me:secret@p.example", "socks4://p.example", "http://p.example:x", "p\x00"])
def test_which_proxies_cannot(proxy: str) -> None:
    with pytest.raises(NetworkError) as caught:
        transport.pool(proxy, transport.certificates({}), httpcore.SyncBackend())
    assert caught.value.message == f"the proxy {proxy.replace('secret', '****')} cannot be used"


def test_a_proxy_whose_library_is_missing_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise RuntimeError("Attempted to use SOCKS support")

    monkeypatch.setattr(httpcore, "SOCKSProxy", missing)
    with pytest.raises(NetworkError, match=r"the proxy socks5://p\.example cannot be used"):
        transport.pool("socks5://p.example", transport.certificates({}), httpcore.SyncBackend())
