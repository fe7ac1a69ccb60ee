"""A file read by ranges from servers of every temper."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.server import Host
from tests.wheels import making
from torchpick.errors import IntegrityError, NetworkError
from torchpick.index.client import Client, Limits
from torchpick.index.ranges import Archive, RemoteSource

DATA = making.noise(7, 3_000_000)


def source(host: Host, client: Client, path: str = "/file.whl") -> RemoteSource:
    host.files.setdefault("/file.whl", DATA)
    return RemoteSource(host.url + path, client)


def test_a_stream_that_is_left_is_not_fetched(host: Host, client: Client) -> None:
    host.files["/file.whl"] = bytes(40_000_000)
    one = source(host, client)
    next(iter(one.stream(0, 30_000_000)))
    one.close()

    assert one.bytes_read < 1_000_000
    assert host.sent < 20_000_000


def test_neighbours_come_in_one_request(host: Host, client: Client) -> None:
    one = source(host, client)
    one.expect([(0, 100_000), (150_000, 300_000), (300_000, 400_000), (2_500_000, 2_600_000)], 1 << 20)
    assert one.read(0, 100_000) == DATA[:100_000]
    assert one.read(150_000, 150_000) == DATA[150_000:300_000]
    assert one.read(300_000, 100_000) == DATA[300_000:400_000]
    assert one.requests == 2
    assert one.read(2_500_000, 100_000) == DATA[2_500_000:2_600_000]
    assert one.requests == 3


def test_a_small_file_is_taken_whole_even_without_ranges(host: Host, client: Client) -> None:
    host.files["/file.whl"] = b"x" * 5000
    host.mood = "no ranges"

    assert source(host, client).read(10, 20) == b"x" * 20


def test_a_file_of_a_server_without_ranges_is_downloaded_once_and_that_is_said(host: Host, client: Client) -> None:
    host.mood = "no ranges"
    host.files["/file.whl"] = DATA
    said: list[object] = []
    one = RemoteSource(f"{host.url}/file.whl", client, said.append)

    assert (one.read(300_000, 100_000), one.read(0, 10)) == (DATA[300_000:400_000], DATA[:10])
    assert one.requests == 1
    assert [text for text in said if isinstance(text, str)] == [
        f"{host.url}/file.whl is downloaded whole, {len(DATA)} bytes: its server does not support ranges"
    ]


def test_a_server_without_suffix_ranges_will_do(host: Host, client: Client) -> None:
    host.mood = "no suffix ranges"
    one = source(host, client)

    assert one.size == len(DATA)
    assert one.read(len(DATA) - 100, 100) == DATA[-100:]


@pytest.mark.parametrize("mood", ["429", "500", "502", "503", "hang up", "cut off"])
def test_what_passes_is_tried_again(host: Host, client: Client, mood: str) -> None:
    one = source(host, client)
    host.mood, host.after, host.times = mood, 1, 2

    assert one.read(0, 400_000) == DATA[:400_000]


def test_a_cut_tail_is_read_again(host: Host, client: Client) -> None:
    host.mood, host.times = "cut off", 1
    one = source(host, client)

    assert one.read(len(DATA) - 10, 10) == DATA[-10:]


def test_patience_ends_only_where_nothing_comes(host: Host, client: Client) -> None:
    one = source(host, client)
    host.mood, host.after, host.times = "cut off", 1, 12

    assert one.read(0, 2_000_000) == DATA[:2_000_000]
    assert len(host.seen) > len(Limits().pauses) + 2


@pytest.mark.parametrize(("mood", "words"), [
    ("503", "answered 503"), ("404", "answered 404"), ("401", "answered 401"), ("hang up", "disconnect"),
])  # fmt: skip
def test_what_does_not_pass_is_an_error(host: Host, client: Client, mood: str, words: str) -> None:
    host.mood = mood
    with pytest.raises(NetworkError, match=words) as caught:
        source(host, client)
    assert caught.value.hint
    assert len(host.seen) <= len(Limits().pauses) + 1


def test_what_is_refused_is_not_asked_again(host: Host, client: Client) -> None:
    with pytest.raises(NetworkError, match="answered 403"):
        source(host, client, "/unknown.whl")
    assert len(host.seen) == 1


@pytest.mark.parametrize(
    ("mood", "tag"), [("changed", '"one"'), ("changed, same size", '"one"'), ("changed, same size", None)]
)
def test_a_file_that_changes_meanwhile_is_an_error(host: Host, client: Client, mood: str, tag: str | None) -> None:
    host.tags |= {} if tag is None else {"/file.whl": tag}
    one = source(host, client)
    host.mood, host.after = mood, 1
    with pytest.raises(IntegrityError, match="changed while it was read"):
        one.read(0, 1000)
    assert host.seen[1].if_range == tag


def test_an_endless_answer_is_given_up(host: Host, client: Client) -> None:
    one = source(host, client)
    host.mood, host.after = "endless", 1
    one.read(0, 1000)
    with pytest.raises(IntegrityError, match="more than was asked for"):
        one.read(500_000, 10)
    assert one.bytes_read < 1_000_000


def test_a_server_that_trickles_is_given_up(host: Host) -> None:
    with Client(Limits(slowest=1 << 20, grace=1.0)) as hasty:
        one = source(host, hasty)
        host.mood, host.after = "slow", 1
        with pytest.raises(NetworkError, match="is too slow"):
            one.read(0, 200_000)


def test_a_redirect_is_followed_and_a_circle_is_not(host: Host, client: Client) -> None:
    assert source(host, client, "/redirect/file.whl").read(0, 10) == DATA[:10]
    with pytest.raises(NetworkError, match="circle"):
        source(host, client, "/circle/file.whl")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/x.whl", "http://[", "http:///x.whl", "http://a b/x.whl", "gopher://x/y"]
)
def test_an_address_that_cannot_be_is_an_error(client: Client, url: str) -> None:
    with pytest.raises(NetworkError):
        RemoteSource(url, client)


def test_credentials_come_from_netrc_and_are_never_shown(
    host: Host, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n", "utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with Client() as client:
        source(host, client)
    assert host.seen[0].authorization is not None
    with Client() as client, pytest.raises(NetworkError) as caught:
        RemoteSource(host.url.replace("//", "//somebody:secret@") + "/none.whl", client)
    assert "secret" not in str(caught.value)


def test_a_wheel_of_many_libraries_takes_few_requests(host: Host, client: Client) -> None:
    members = {f"pkg/_{place}.so": making.noise(place, 3000) for place in range(80)}
    members |= {"pkg/padding.bin": bytes(10)}
    host.files["/many.whl"] = making.wheel({**members, "pkg/large.bin": making.noise(1, 400_000)}, stored=True)
    one = source(host, client, "/many.whl")
    archive = Archive(one)
    wanted = [member for member in archive.members() if member.filename.endswith(".so")]
    archive.expect(wanted)

    assert {member.filename: b"".join(archive.stream(member)) for member in wanted} == {
        name: data for name, data in members.items() if name.endswith(".so")
    }
    assert one.requests <= 3
