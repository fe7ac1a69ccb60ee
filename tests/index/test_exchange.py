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
from torchpick.model import VERSION

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


def test_what_is_sent(use: Use) -> None:
    pool = use(answer(200, b"page"))
    with asking(Limits(connect=3.0)) as client:
        assert client.get("https://me:p%40s@host.example:8443/a%2Bb?c=d#e", {"x": "y"}).body == b"page"
        client.open("http://other.example").close()
        assert client.requests == 2

    page, file = pool.asked
    assert (page.method, page.url) == (
        b"GET", httpcore.URL(scheme=b"https", host=b"host.example", port=8443, target=b"/a%2Bb?c=d"),
    )  # fmt: skip
    agent = (b"user-agent", f"pip/24 torchpick/{VERSION}".encode())
    assert {(key.lower(), value) for key, value in page.headers} == {
        (b"host", b"host.example:8443"), agent, (b"accept", b"*/*"), (b"accept-encoding", b"gzip"), (b"x", b"y"),
        (b"authorization", b"Basic bWU6cEBz"), (b"connection", b"keep-alive"),
    }  # fmt: skip
    assert page.extensions == {"timeout": {"connect": 3.0, "read": None, "write": None, "pool": 3.0}}
    assert {(key.lower(), value) for key, value in file.headers} == {
        (b"host", b"other.example"), agent, (b"accept", b"*/*"), (b"accept-encoding", b"identity"),
        (b"connection", b"keep-alive"),
    }  # fmt: skip
    assert file.url.target == b"/"
    assert pool.closed == 1


def test_which_statuses_pass_which_lead_on_and_which_say_that_nothing_is_there(use: Use) -> None:
    def ends(status: int, *, absent: bool = False) -> tuple[int, bool]:
        """How often it was asked, and whether that was an answer."""
        pool = use(answer(status, location="/on"), answer(200, b"y"))
        with asking(Limits(pauses=(1.0,))) as client:
            try:
                client.get(URL, absent=absent)
            except NetworkError:
                return len(pool.asked), False
        return len(pool.asked), True

    found = {status: ends(status) for status in range(201, 600)}
    missing = {status: ends(status, absent=True) for status in range(201, 600)}

    passing, leading = [408, 425, 429, 500, 502, 503, 504], [301, 302, 303, 307, 308]
    assert [status for status, end in found.items() if end == (2, True)] == sorted([*passing, *leading])
    assert {end for status, end in found.items() if status not in (*passing, *leading)} == {(1, False)}
    assert {status: end for status, end in missing.items() if end != found[status]} == dict.fromkeys(
        (403, 404, 410), (1, True)
    )


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


def test_an_answer_that_cannot_be_closed_is_no_error(use: Use) -> None:
    status, headers, _ = answer(200)
    use((status, headers, Body([b"page"], httpcore.ReadError("gone"))))
    with asking() as client:
        assert client.get(URL).body == b"page"


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


def test_a_page_may_be_as_large_as_the_limit_and_no_larger(use: Use) -> None:
    limits = Limits(page=10)
    use(answer(200, b"12345", b"67890"), answer(200, b"12345", b"678901"))
    with asking(limits) as client:
        assert client.get(URL).body == b"1234567890"
        with pytest.raises(NetworkError, match="larger than 0 MiB"):
            client.get(URL)


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


def test_until_when_each_step_may_take(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is bound as a whole; a file may take any time, with a byte of it now and then."""
    moments: list[float] = []

    class Written(transport.Deadline):
        def __setattr__(self, name: str, moment: float) -> None:
            moments.append(moment)

    monkeypatch.setattr(transport, "Deadline", Written)
    use(answer(200, b"page"))

    def ends(silence: float, total: float, *, whole: bool) -> set[int]:
        """In thousands of seconds from now."""
        began = time.monotonic()
        moments.clear()
        with asking(Limits(silence=silence, total=total)) as client:
            if whole:
                client.get(URL)
            else:
                assert b"".join(client.open(URL).chunks) == b"page"
        assert len(moments) == 3  # the headers, the chunk and the end
        return {round((moment - began) / 1000) for moment in moments}

    assert ends(2000, 5000, whole=True) == {2}
    assert ends(9000, 5000, whole=True) == {5}
    assert ends(2000, 5000, whole=False) == {2}
    assert ends(9000, 5000, whole=False) == {5, 9}


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


def test_each_proxy_has_a_pool_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def pool(proxy: str | None, context: object, backend: object) -> Pool:
        made.append((proxy, type(context).__name__, type(backend).__name__))
        return Pool(answer(200, b""))

    monkeypatch.setattr(transport, "pool", pool)
    monkeypatch.setenv("http_proxy", "http://p.example")
    with asking() as client:
        for url in ("http://a.example/", "http://b.example/", "https://a.example/", "https://b.example/"):
            client.get(url)
    assert made == [("http://p.example", "SSLContext", "DeadlineBackend"), (None, "SSLContext", "DeadlineBackend")]


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


def test_without_a_proxy_there_are_connections_to_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(httpcore, "ConnectionPool", lambda **words: made.append(words))
    backend, context = httpcore.SyncBackend(), transport.certificates({})
    transport.pool(None, context, backend)

    assert made == [{"ssl_context": context, "max_connections": None, "network_backend": backend}]
