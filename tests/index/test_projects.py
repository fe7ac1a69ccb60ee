"""What the user's indexes have of many projects, and what their files require: each page once, and within bounds."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.rude import once, rude, trickle
from tests.index.server import Host
from tests.wheels import making
from torchpick.errors import IntegrityError, NetworkError, TorchpickError, UsageError, WheelError, WheelLayoutError
from torchpick.index import pages
from torchpick.index.index_places import IndexPlaces
from torchpick.index.pages import ProjectFile
from torchpick.index.projectfiles import IndexTarget, ProjectCache, file_at
from torchpick.index.projects import ProjectReader, ReadingLimits
from torchpick.model.address import Address
from torchpick.model.machine import Platform
from torchpick.model.metadata import Metadata

JSON = "application/vnd.pypi.simple.v1+json"
METADATA = b"Metadata-Version: 2.1\nName: Pkg\nVersion: 1.0\nRequires-Dist: numpy (>=1)\nProvides-Extra: Dev_X\n"
WHEEL = "pkg-1.0-py3-none-any.whl"


def wheel(metadata: bytes = METADATA, padding: int = 0) -> bytes:
    others = dict.fromkeys(("pkg/METADATA", "pkg/x-1.0.dist-info/METADATA"), b"Name: other\nVersion: 1.0\n")
    members = {"pkg/pad.bin": making.noise(1, padding), **others, "pkg-1.0.dist-info/METADATA": metadata}
    return making.wheel(members, stored=True)


def entry(file: str, **said: object) -> dict[str, object]:
    return {"filename": file, "url": f"/files/{file}", **said}


def put(host: Host, page: str, *entries: Mapping[str, object]) -> None:
    host.files[page], host.types[page] = json.dumps({"files": entries}).encode(), JSON


def pages_asked(host: Host) -> list[str]:
    return [seen.path for seen in host.seen]


class Reading:
    """Readers that share a cache, with no pause where a server refuses."""

    def __init__(self, folder: Path) -> None:
        self.environ = {"TORCHPICK_CACHE_DIR": str(folder / "cache")}
        self.records = folder / "cache" / "projects"

    def reader(
        self,
        *indexes: str,
        links: tuple[str, ...] = (),
        first: bool = False,
        target: IndexTarget | None = None,
        offline: bool = False,
        **limits: Any,
    ) -> ProjectReader:
        places, bounds = IndexPlaces(indexes, links, first), ReadingLimits()._replace(**limits)
        return ProjectReader(places, self.environ, target=target, offline=offline, limits=bounds)

    def page(self, index: str, name: str = "pkg", **more: Any) -> tuple[ProjectFile, ...] | TorchpickError | None:
        with self.reader(index, **more) as reader:
            return reader.pages([name])[name]

    def metadata(self, file: ProjectFile, **more: Any) -> Metadata | TorchpickError:
        with self.reader(**more) as reader:
            return reader.metadata([file])[file]


@pytest.fixture
def reading(tmp_path: Path) -> Reading:
    return Reading(tmp_path)


def files_of(answer: object) -> list[str]:
    assert isinstance(answer, tuple), answer
    return [file.file for file in answer]


def message(answer: object) -> str:
    assert isinstance(answer, TorchpickError), answer
    return answer.message


SAID = {"requires-python": ">=3.8,<4", "yanked": "broken", "upload-time": "2024-01-02T03:04:05.678Z"}


@pytest.mark.parametrize("kind", ["json", "html"])
def test_a_page_has_the_wheels_and_sdists_of_its_project(host: Host, reading: Reading, kind: str) -> None:
    digest, beside = "a" * 64, "b" * 64
    names = ["Pkg-1.0_rc1-py3-none-any.whl", "pkg-1.00.tar.gz", "pkg-2.zip"]
    others = ["other-1.0-py3-none-any.whl", "pkg-1.0.exe", "pkg-docs-1.0.tar.gz", "pkg-x.tar.gz", "pkg-1.0.tar.bz2"]
    if kind == "json":
        first = entry(names[0], hashes={"sha256": digest}, size=7, **{"core-metadata": {"sha256": beside}}, **SAID)
        put(host, "/simple/pkg/", first, *map(entry, [*names[1:], *others]))
    else:
        told = f'data-core-metadata="sha256={beside}" data-yanked=broken data-upload-time="{SAID["upload-time"]}"'
        python = f'data-requires-python="{escape(str(SAID["requires-python"]))}"'
        first_line = f'<a href="/files/{names[0]}#sha256={digest}" {told} {python}>x</a>'
        lines = "".join(f'<a href="/files/{name}">x</a>' for name in [*names[1:], *others])
        host.files["/simple/pkg/"], host.types["/simple/pkg/"] = (first_line + lines).encode(), "text/html"
    answer = reading.page(f"{host.url}/simple")

    assert isinstance(answer, tuple)
    assert [(file.file, file.version) for file in answer] == [(names[0], "1.0rc1"), (names[1], "1.0"), (names[2], "2")]
    assert [file.project for file in answer] == ["pkg"] * 3
    assert [file.name.is_wheel for file in answer] == [True, False, False]
    size = 7 if kind == "json" else None
    said = (f"sha256={digest}", size, ">=3.8,<4", "broken", beside, SAID["upload-time"], f"{host.url}/simple")
    assert answer[0][3:] == said
    assert answer[0].url == f"{host.url}/files/{names[0]}"
    assert answer[1][3:-1] == (None,) * 6


def test_each_page_is_asked_for_once_and_answers_keep_the_order_of_names(host: Host, reading: Reading) -> None:
    names = [f"p{number}" for number in range(40)]
    for name in names:
        put(host, f"/simple/{name}/", entry(f"{name}-1.0-py3-none-any.whl"))
    with reading.reader(f"{host.url}/simple") as reader:
        first = reader.pages(names)
        again = reader.pages([*reversed(names), "P0"])

    assert list(first) == names
    assert {name: files_of(answer) for name, answer in first.items()} == {
        name: [f"{name}-1.0-py3-none-any.whl"] for name in names
    }
    assert again == first
    assert sorted(pages_asked(host)) == sorted(f"/simple/{name}/" for name in names)


def two_indexes(host: Host) -> tuple[str, str]:
    put(host, "/one/pkg/", entry("pkg-1.0.tar.gz"))
    put(host, "/two/pkg/", entry("pkg-2.0.tar.gz"), entry("pkg-1.0.tar.gz"))
    put(host, "/two/own/", entry("own-1.0.tar.gz"))
    return f"{host.url}/one", f"{host.url}/two/"


def test_the_first_index_with_the_name_is_the_only_one_as_uv_does(host: Host, reading: Reading) -> None:
    one, two = two_indexes(host)
    with reading.reader(one, two, first=True) as reader:
        answers = reader.pages(["pkg", "own"])

    assert [files_of(answers[name]) for name in ("pkg", "own")] == [["pkg-1.0.tar.gz"], ["own-1.0.tar.gz"]]
    assert "/two/pkg/" not in pages_asked(host)
    with reading.reader(one, two, first=True) as reader:
        assert reader.indexes_with(["pkg", "own"]) == {"pkg": (one, two), "own": (two,)}


def test_link_pages_and_folders_are_read_once_for_all_projects(host: Host, reading: Reading, tmp_path: Path) -> None:
    folder = tmp_path / "my wheels"
    folder.mkdir()
    for name in ("pkg-3.0-py3-none-any.whl", "pkg-3.1.tar.gz", "pkg-3.2.zip", "readme.txt"):
        (folder / name).touch()
    put(host, "/links.html", entry("pkg-1.0.tar.gz"), entry("own-1.0.tar.gz"))
    put(host, "/simple/pkg/", entry("pkg-2.0.tar.gz"))
    links = (f"{host.url}/links.html", folder.as_uri())
    with reading.reader(f"{host.url}/simple", links=links) as reader:
        answers = {**reader.pages(["pkg"]), **reader.pages(["own", "none"])}

    assert files_of(answers["pkg"]) == [
        "pkg-1.0.tar.gz", "pkg-3.0-py3-none-any.whl", "pkg-3.1.tar.gz", "pkg-3.2.zip", "pkg-2.0.tar.gz"
    ]  # fmt: skip
    assert files_of(answers["own"]) == ["own-1.0.tar.gz"]
    assert answers["none"] is None
    assert pages_asked(host).count("/links.html") == 1


def test_a_page_is_kept_for_an_hour_and_then_asked_for_again_by_its_etag(host: Host, reading: Reading) -> None:
    put(host, "/simple/pkg/", entry("pkg-1.0.tar.gz"))
    host.tags["/simple/pkg/"] = '"one"'
    first = reading.page(f"{host.url}/simple")
    assert reading.page(f"{host.url}/simple") == first
    assert len(host.seen) == 1

    unchanged = reading.page(f"{host.url}/simple", age=0)
    assert unchanged == first
    assert [seen.if_none_match for seen in host.seen] == [None, '"one"']

    put(host, "/simple/pkg/", entry("pkg-2.0.tar.gz"))
    host.tags["/simple/pkg/"] = '"two"'
    assert files_of(reading.page(f"{host.url}/simple", age=0)) == ["pkg-2.0.tar.gz"]
    assert files_of(reading.page(f"{host.url}/simple")) == ["pkg-2.0.tar.gz"]
    assert len(host.seen) == 3


def test_that_there_is_no_page_is_kept_only_where_the_server_says_so(host: Host, reading: Reading) -> None:
    host.mood = "404"
    reading.page(f"{host.url}/simple")
    reading.page(f"{host.url}/simple")
    assert len(host.seen) == 1

    host.mood = "kind"  # it answers 403, as where a password is missing
    reading.page(f"{host.url}/other")
    reading.page(f"{host.url}/other")
    assert len(host.seen) == 3


def test_offline_it_is_what_is_kept_with_its_date(host: Host, reading: Reading) -> None:
    put(host, "/simple/pkg/", entry(WHEEL, hashes={"sha256": "a" * 64}))
    host.files[f"/files/{WHEEL}"] = wheel()
    began = time.time()
    with reading.reader(f"{host.url}/simple") as reader:
        known = reader.pages(["pkg"])["pkg"]
        assert isinstance(known, tuple)
        metadata = reader.metadata(known)
        assert reader.as_of is None
    asked = len(host.seen)
    with reading.reader(f"{host.url}/simple", offline=True, age=0) as reader:
        answers = reader.pages(["pkg", "other"])
        assert reader.as_of is not None
        assert began <= reader.as_of <= time.time()
        assert reader.metadata(known) == metadata
        [unread] = reader.metadata([known[0]._replace(hash="sha256=" + "b" * 64)]).values()

    assert answers["pkg"] == known
    assert isinstance(answers["other"], UsageError)
    assert "`--offline` is given" in message(answers["other"])
    assert isinstance(unread, UsageError)
    assert len(host.seen) == asked


TARGET = IndexTarget("cp312", Platform("linux", "x86_64", "2.35", "glibc"))
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "win_amd64", "macosx_11_0_arm64")
TAGS = [f"cp{minor}-cp{minor}-{platform}" for minor in (310, 311, 312, 313, 314) for platform in PLATFORMS]


def test_of_a_page_that_is_kept_only_what_is_of_use_is_looked_at_again(
    host: Host, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in entries that are judged; each target has its own."""
    judged: list[str] = []
    locate = pages.locate

    def counted(href: str, *said: Any, **more: Any) -> ProjectFile | None:
        judged.append(href)
        return locate(href, *said, **more)

    monkeypatch.setattr(pages, "locate", counted)
    put(host, "/simple/pkg/", *(entry(f"pkg-{release}.0-{tag}.whl") for release in range(50) for tag in TAGS))
    index = f"{host.url}/simple"

    def judgements(**more: Any) -> int:
        judged.clear()
        answer = reading.page(index, target=TARGET, **more)
        assert files_of(answer) == [f"pkg-{release}.0-cp312-cp312-manylinux_2_28_x86_64.whl" for release in range(50)]
        return len(judged)

    assert [judgements(), judgements(), judgements(offline=True)] == [1000, 50, 50]
    assert len(host.seen) == 1
    mac = TARGET._replace(platform=Platform.parse("macos-arm64"))
    assert files_of(reading.page(index, target=mac))[0] == "pkg-0.0-cp312-cp312-macosx_11_0_arm64.whl"
    assert len(host.seen) == 2

    host.tags["/simple/pkg/"] = '"one"'
    judgements(age=0)
    assert (judgements(age=0), judgements()) == (50, 50)  # it has not changed
    put(host, "/simple/pkg/", entry("pkg-1.0.tar.gz"))
    host.tags["/simple/pkg/"] = '"two"'
    assert files_of(reading.page(index, target=TARGET, age=0)) == ["pkg-1.0.tar.gz"]


def test_a_server_out_of_reach_leaves_what_is_kept(host: Host, reading: Reading) -> None:
    put(host, "/simple/pkg/", entry("pkg-1.0.tar.gz"))
    known = reading.page(f"{host.url}/simple")
    host.mood = "416"
    with reading.reader(f"{host.url}/simple", age=0) as reader:
        answers = reader.pages(["pkg", "other"])
        assert reader.as_of is not None

    assert answers["pkg"] == known
    assert isinstance(answers["other"], NetworkError)


def test_an_index_that_fails_leaves_no_answer_of_the_others(host: Host, reading: Reading) -> None:
    """An older version of them must not pass for the newest."""
    put(host, "/simple/pkg/", entry("pkg-1.0.tar.gz"))
    refusal = once(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    with rude(refusal) as url, reading.reader(f"{host.url}/simple", url.removesuffix("x/")) as reader:
        answer = reader.pages(["pkg"])["pkg"]

    assert "the server answered 401" in message(answer)


BAD = [
    "javascript:pkg-1.0.tar.gz", "file:///etc/pkg-1.0.tar.gz", "ftp://h/pkg-1.0.tar.gz", "http://[/pkg-1.0.tar.gz",
    "//h\n/pkg-1.0.exe", "/pkg-1.0\x00.tar.gz", "/pkg-1.0\x1b.tar.gz", "/" + "a" * 9000 + "/pkg-1.0.tar.gz",
]  # fmt: skip


def test_hostile_links_are_no_files(host: Host, reading: Reading) -> None:
    entries = [{"filename": "pkg-1.0.tar.gz", "url": bad} for bad in BAD[:4]] + [{"url": bad} for bad in BAD[4:]]
    odd: list[Any] = [{"url": 1}, 1, None, [], {"filename": "pkg-1.tar.gz"}, {"filename": 5, "url": {}}]
    put(host, "/simple/pkg/", *entries, *odd, entry("pkg-9.tar.gz", size=-1, **{"requires-python": ">3\n\x1b"}))
    answer = reading.page(f"{host.url}/simple")

    assert files_of(answer) == ["pkg-9.tar.gz"]
    assert isinstance(answer, tuple)
    assert (answer[0].size, answer[0].requires_python) == (None, ">3  ")


@pytest.mark.parametrize(("page", "says"), [
    (b"<a " + b"x" * (1 << 19), "a tag of more than"),
    (b"<a href=x " * 100_000, "a tag of more than"),
    (b"<a href=x>" * 200_001, "more than 200000 links"),
], ids=["one tag", "tag in tag", "many"])  # fmt: skip
def test_a_page_without_end_in_its_tags_is_given_up(host: Host, reading: Reading, page: bytes, says: str) -> None:
    host.files["/simple/pkg/"], host.types["/simple/pkg/"] = page, "text/html"
    answer = reading.page(f"{host.url}/simple")

    assert isinstance(answer, WheelLayoutError)
    assert says in answer.message
    assert f"{host.url}/simple/pkg/" in answer.message


def test_a_page_of_too_many_files_is_given_up(host: Host, reading: Reading) -> None:
    host.files["/simple/pkg/"] = b'{"files": [' + b'{"url":""},' * 200_001 + b"0]}"

    assert "more than 200000 files" in message(reading.page(f"{host.url}/simple"))


def test_a_slow_page_ends_with_the_time_of_the_question(reading: Reading) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    with rude(trickle(head)) as url, reading.reader(url.removesuffix("x/"), seconds=0.5) as reader:
        began = time.monotonic()
        first = reader.pages(["pkg"])["pkg"]
        second = reader.pages(["other"])["other"]

    assert isinstance(first, NetworkError)
    assert message(second) == "no more than 0.5 seconds are spent on one question"
    assert time.monotonic() - began < 30


def at(host: Host, data: bytes, file: str = WHEEL, **said: Any) -> ProjectFile:
    host.files[f"/files/{file}"] = data
    return file_at(f"{host.url}/files/{file}")._replace(**said)


def test_metadata_with_another_hash_is_refused(host: Host, reading: Reading) -> None:
    file = at(host, wheel(METADATA.replace(b"numpy", b"scipy")), metadata="0" * 64)
    host.files[f"/files/{WHEEL}.metadata"] = METADATA
    answer = reading.metadata(file)

    assert isinstance(answer, IntegrityError)
    assert message(answer) == f"{file.url}: the hash of its metadata does not match the index"
    unhashed = reading.metadata(file._replace(metadata=""))
    assert isinstance(unhashed, Metadata)
    assert unhashed.requires == ("numpy (>=1)",), "what lies beside it"


@pytest.mark.parametrize("metadata", [None, "", "0" * 64])
def test_else_the_end_of_the_wheel_is_read(host: Host, reading: Reading, metadata: str | None) -> None:
    """Also where the index is wrong about what lies beside it."""
    answer = reading.metadata(at(host, wheel(padding=3_000_000), metadata=metadata))

    assert isinstance(answer, Metadata)
    assert (answer.requires, answer.guessed) == (("numpy (>=1)",), False)
    assert host.sent < 500_000


def test_a_server_without_ranges_sends_a_wheel_whole_up_to_a_bound(
    host: Host, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchpick.index.ranges.WHOLE", 6 << 20)
    host.mood = "no ranges"
    small, large, huge = (at(host, wheel(padding=size << 20), f"pkg-1.0-{size}-py3-none-any.whl") for size in (1, 5, 7))

    assert isinstance(reading.metadata(small), Metadata)
    assert isinstance(reading.metadata(large), Metadata)
    assert "does not support ranges" in message(reading.metadata(huge))


@pytest.mark.parametrize(("data", "says"), [
    (wheel(METADATA.replace(b"Pkg", b"other")), "its metadata is that of other 1.0"),
    (wheel(METADATA.replace(b"1.0", b"1.0+cpu")), "its metadata is that of pkg 1.0+cpu"),
    (wheel(METADATA.replace(b"Pkg", b"p\x1b[2J")), "its metadata is not valid: its name is not valid"),
    (wheel(b"Name: pkg\n"), "its metadata is not valid: it says no name or no version"),
    (making.wheel({"pkg/a.py": b""}), "it has no METADATA"),
    (b"no archive", "is not a readable zip archive"),
], ids=map(str, range(6)))  # fmt: skip
def test_a_wheel_that_says_something_else_is_an_error(host: Host, reading: Reading, data: bytes, says: str) -> None:
    file = at(host, data)
    answer = reading.metadata(file)

    assert isinstance(answer, WheelError)
    assert answer.message.startswith(f"{file.url}: {says}")


def test_metadata_is_kept_by_the_hash_of_its_file(host: Host, reading: Reading) -> None:
    file = at(host, wheel(), hash="sha256=" + "a" * 64)
    first = reading.metadata(file)
    asked = len(host.seen)
    assert reading.metadata(file, age=0) == first
    assert len(host.seen) == asked, "it is read anew"

    spelled = at(host, wheel(METADATA.replace(b"1.0", b"1.0.0")), hash="sha256=" + "b" * 64)
    known, again = reading.metadata(spelled), reading.metadata(spelled, offline=True)
    assert isinstance(known, Metadata)
    assert (known.version, again) == ("1.0", known)

    host.files[f"/{WHEEL}"] = wheel(METADATA.replace(b"numpy", b"scipy"))
    other = reading.metadata(file._replace(url=Address(f"{host.url}/{WHEEL}")))
    assert isinstance(other, Metadata)
    assert other.requires == ("scipy (>=1)",), "one index speaks for the files of another"


def test_without_a_hash_metadata_is_kept_for_an_hour(host: Host, reading: Reading) -> None:
    file = at(host, wheel())
    reading.metadata(file)
    asked = len(host.seen)
    reading.metadata(file)
    assert len(host.seen) == asked
    reading.metadata(file, age=0)
    assert len(host.seen) > asked


def test_what_is_older_than_its_age_or_of_a_day_to_come_is_not_fresh(tmp_path: Path) -> None:
    cache = ProjectCache(str(tmp_path), 100.0)
    assert [cache.is_fresh(time.time() - seconds) for seconds in (1, 90, 110, -50)] == [True, True, False, False]


def test_a_file_that_is_named_by_its_path_or_its_address(host: Host, reading: Reading, tmp_path: Path) -> None:
    path = tmp_path / "my files" / WHEEL
    path.parent.mkdir()
    path.write_bytes(wheel())
    host.files[f"/{WHEEL}"] = wheel()
    answers = [reading.metadata(file_at(place)) for place in (str(path), path.as_uri(), f"{host.url}/{WHEEL}")]

    answers.append(reading.metadata(file_at(str(path))._replace(metadata=""), offline=True))
    assert [isinstance(answer, Metadata) and answer.requires for answer in answers] == [("numpy (>=1)",)] * 4
    assert file_at(f"{host.url}/{WHEEL}#sha256={'A' * 64}").sha256 == "a" * 64
    assert file_at(f"https://me:secret@host.example/{WHEEL}").file == WHEEL
    with pytest.raises(WheelError, match="neither an address nor a path") as caught:
        file_at(f"//me:secret@host.example/{WHEEL}")
    assert "secret" not in caught.value.message
    for bad in ("pkg", "git+https://host.example/pkg", f"{host.url}/main.zip", "https://[/pkg-1.0.tar.gz"):
        with pytest.raises(WheelError, match="neither a wheel nor an sdist"):
            file_at(bad)
