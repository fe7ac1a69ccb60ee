"""`torchpick refresh` against an index on loopback, from its command line to the pick that follows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index.server import Host, serving
from tests.wheels import making
from torchpick.cli import main
from torchpick.index import ranges
from torchpick.wheels import refresh

HERE = ["--platform", "linux-x86_64"]
TOLD = ["--gpu", "sm_61", "--driver", "580.95.05", "--platform", "linux-x86_64", "--glibc", "2.31", "--python", "3.12"]


class Index:
    """The wheel host in small; wheels are added, and the page is written anew."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.base = f"{host.url}/whl"
        self.links: list[str] = []
        self.tag = 0

    def add(
        self, version: str, flags: str | None, python: str = "cp312", platform: str = "manylinux_2_28_x86_64"
    ) -> None:
        _, _, backend = version.partition("+")
        cuda = f"{backend[2:4]}.{backend[4:]}" if backend.startswith("cu") else None
        name = f"torch-{version.replace('+', '%2B')}-{python}-{python}-{platform}.whl"
        linalg = making.library(making.module("sm_80", "sm_90"))
        self.host.files[f"/whl/{backend}/{name}"] = making.torch_wheel(
            flags, version=version, cuda=cuda, more={"torch/lib/libtorch_cuda_linalg.so": linalg}
        )
        self.links.append(f'<a href="/whl/{backend}/{name}#sha256={"ab" * 32}">{name}</a>')
        self.publish()

    def publish(self) -> None:
        self.tag += 1
        self.host.files["/whl/torch/"] = "\n".join(self.links).encode()
        self.host.types["/whl/torch/"] = "text/html"
        self.host.tags["/whl/torch/"] = f'"{self.tag}"'


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Index]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # no index beside the wheel host
    with serving() as host:
        found = Index(host)
        monkeypatch.setenv("TORCHPICK_INDEX_BASE", found.base)
        found.add("2.99.0+cu126", "sm_50 sm_60 sm_90")
        found.add("2.99.0+cu126", "sm_50 sm_60 sm_90", python="cp313")
        found.add("2.99.0+cpu", None)
        yield found


def refreshed(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["refresh", "--json", *words]) == status
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def picked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main([*(TOLD[:-2] if "--python" in words else TOLD), *words, "--json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_a_new_release_is_usable_the_hour_it_appears(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    answer = refreshed(capsys, *HERE)

    assert [row["version"] for row in answer["added"]] == ["2.99.0+cu126", "2.99.0+cpu"]
    assert [(row["version"], row["arches"]) for row in answer["read"]] == [
        ("2.99.0+cu126", ["sm_50", "sm_60", "sm_90"])
    ]
    assert answer["read"][0]["evidence"]["kind"] == "measured"
    assert answer["read"][0]["evidence"]["ref"].endswith("sha256:" + "ab" * 32)
    pick = picked(capsys)["pick"]
    assert pick["version"] == "2.99.0+cu126"
    assert pick["index_url"] == f"{index.base}/cu126"


def test_a_second_run_reads_the_page_alone(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    refreshed(capsys, *HERE)
    index.host.seen.clear()
    answer = refreshed(capsys, *HERE)

    assert not [one for one in index.host.seen if one.path.endswith(".whl")]
    assert (answer["added"], answer["read"], answer["unread"]) == ([], [], [])
    assert picked(capsys)["pick"]["version"] == "2.99.0+cu126"


def test_one_run_reads_so_many_wheels_and_the_next_goes_on(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add("2.99.1+cu126", "sm_50 sm_60 sm_90")
    monkeypatch.setattr(refresh, "MOST_WHEELS", 1)
    first, second = refreshed(capsys, *HERE), refreshed(capsys, *HERE)

    assert ([row["version"] for row in first["read"]], len(first["unread"])) == (["2.99.1+cu126"], 1)
    assert ([row["version"] for row in second["read"]], second["unread"]) == (["2.99.0+cu126"], [])


def test_what_the_page_lists_no_longer_is_not_offered_there(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    """Not what an earlier refresh read, nor what the shipped table has for the wheel host."""
    refreshed(capsys, *HERE)
    index.links = []
    index.add("2.12.1+cu126", "sm_50 sm_60")
    refreshed(capsys, *HERE)
    answer = picked(capsys)

    assert answer["pick"]["version"] == "2.12.1+cu126"
    # What was never seen published anywhere stays what it is.
    assert not {"2.14.1+cu126", "2.99.0+cu126"} & {row["version"] for row in answer["considered"]}


def test_from_a_server_without_ranges_a_small_wheel_is_downloaded_and_a_large_one_not_read(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index.host.mood = "no ranges"
    for path, data in index.host.files.items():
        if path.endswith(".whl"):
            index.host.files[path] = bytes(1 << 20) + data

    with monkeypatch.context() as patch:
        patch.setattr(ranges, "WHOLE", 1 << 20)
        assert "does not support ranges" in refreshed(capsys, *HERE, status=1)["failures"][0]["text"]
    assert [each["version"] for each in refreshed(capsys, *HERE)["read"]] == ["2.99.0+cu126"]


def test_only_this_platform_is_read_and_the_rest_is_never_picked(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    index.add("2.99.1+cu126", "sm_50 sm_60", platform="win_amd64")
    answer = refreshed(capsys, *HERE)
    assert [each["version"] for each in answer["unread"]] == ["2.99.1+cu126"]
    windows = ["--gpu", "sm_61", "--driver", "580", "--platform", "windows-x86_64", "--python", "3.12", "--json"]
    main(windows)
    considered = {each["version"]: each for each in json.loads(capsys.readouterr().out)["considered"]}
    assert [each["code"] for each in considered["2.99.1+cu126"]["objections"]] == ["UNKNOWN_ARCHES"]

    answer = refreshed(capsys, "--platform", "windows-x86_64")
    assert [each["version"] for each in answer["read"]] == ["2.99.1+cu126"]
    main(windows)
    assert json.loads(capsys.readouterr().out)["pick"]["version"] == "2.99.1+cu126"


def test_a_known_build_is_read_when_it_is_named(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    index.add("2.14.1+cu126", "sm_60 sm_90")
    first = refreshed(capsys, *HERE)
    assert [row["version"] for row in first["read"]] == ["2.99.0+cu126"]
    assert [row["version"] for row in first["added"]] == ["2.99.0+cu126", "2.99.0+cpu"], "the other is in the table"
    assert refreshed(capsys, *HERE, "torch==2.99.0", "--backend", "cpu")["read"] == [], "it has no code"
    answer = refreshed(capsys, *HERE, "torch==2.14.1", "--backend", "cu126")

    assert [row["version"] for row in answer["read"]] == ["2.14.1+cu126"]
    assert picked(capsys, "torch==2.14.1")["pick"]["evidence"]["kind"] == "measured"
    assert refreshed(capsys, *HERE)["read"] == [], "a measured row stays"
    assert picked(capsys, "torch==2.14.1")["pick"]["evidence"]["kind"] == "measured"


def test_a_wheel_that_cannot_be_read_fails_alone_and_is_read_next_time(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    index.add("2.99.0+cu132", "sm_75 sm_80")
    [bad] = [path for path in index.host.files if "cu132" in path]
    good = index.host.files[bad]
    index.host.files[bad] = good[:-40]
    answer = refreshed(capsys, *HERE, status=1)

    assert [each["version"] for each in answer["read"]] == ["2.99.0+cu126"]
    assert "cu132" in answer["failures"][0]["file"]
    assert picked(capsys, "--backend", "cu132", "--allow-unconfirmed")["pick"] is None
    index.host.files[bad] = good
    assert [each["version"] for each in refreshed(capsys, *HERE)["read"]] == ["2.99.0+cu132"]


def test_companions_are_those_whose_metadata_pins_the_release(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    links = ""
    for version, torch in (
        ("0.98.0", "2.98.0"), ("0.99.1", "2.99.0"), ("0.99.2", ">=2"), ("0.99.3", " (==2.99.0"), ("0.99.4", "2.99.0"),
    ):  # fmt: skip
        platform = "win_amd64" if version == "0.99.4" else "manylinux_2_28_x86_64"
        name = f"torchvision-{version}+cu126-cp312-cp312-{platform}.whl"
        pin = f"torch (=={torch})" if torch[0].isdigit() else f"torch{torch}"
        text = f"Name: torchvision\nVersion: {version}+cu126\nRequires-Dist: numpy\nRequires-Dist: {pin}\n".encode()
        index.host.files[f"/whl/cu126/{name}"] = making.wheel({f"torchvision-{version}.dist-info/METADATA": text})
        links += f'<a href="/whl/cu126/{name}">x</a>'
    index.host.files["/whl/torchvision/"] = links.encode()
    index.host.types["/whl/torchvision/"] = "text/html"
    refreshed(capsys, *HERE)

    assert picked(capsys)["pick"]["companions"] == {"torchvision": "0.99.1+cu126"}


def test_companions_that_pin_no_torch_are_inferred_where_they_have_a_file(
    index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    """Torchvision asks `>=` since 0.29.1, torchaudio names no torch since 2.11.0 (the stable ABI)."""
    index.add("2.99.0+cu130", "sm_75 sm_90")
    for project, version, backend, requirement in (
        ("torchvision", "0.29.2", "cu126", "torch>=2.14.0"),
        ("torchvision", "0.29.3", "cu130", "torch>=2.14.0"),
        ("torchvision", "0.30.0", "cu126", "torch>=3"),
        ("torchaudio", "2.11.0", "cu126", "numpy"),
        ("torchaudio", "2.10.0", "cu130", "numpy"),
    ):
        name = f"{project}-{version}+{backend}-cp312-cp312-manylinux_2_28_x86_64.whl"
        text = f"Name: {project}\nVersion: {version}+{backend}\nRequires-Dist: {requirement}\n".encode()
        index.host.files[f"/whl/{backend}/{name}"] = making.wheel({f"{project}-{version}.dist-info/METADATA": text})
        page = index.host.files.get(f"/whl/{project}/", b"") + f'<a href="/whl/{backend}/{name}">x</a>'.encode()
        index.host.files[f"/whl/{project}/"] = page
        index.host.types[f"/whl/{project}/"] = "text/html"
    refreshed(capsys, *HERE)

    pick = picked(capsys, "torch", "torchvision", "torchaudio")["pick"]
    assert pick["requirements"] == ["torch==2.99.0+cu126", "torchvision==0.29.2+cu126", "torchaudio==2.11.0+cu126"]
    assert "COMPANION_UNVERIFIED" in [note["code"] for note in pick["notes"]]
    capsys.readouterr()
    main(["--gpu", "sm_90", *TOLD[2:], "--json"])
    assert json.loads(capsys.readouterr().out)["pick"]["companions"] == {"torchvision": "0.29.3+cu130"}


def test_a_companion_for_one_python_is_none_for_another(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    name = "torchaudio-2.11.0+cu126-cp312-cp312-manylinux_2_28_x86_64.whl"
    index.host.files[f"/whl/cu126/{name}"] = making.wheel(
        {"torchaudio-2.11.0.dist-info/METADATA": b"Name: torchaudio\nVersion: 2.11.0+cu126\n"}
    )
    index.host.files["/whl/torchaudio/"] = f'<a href="/whl/cu126/{name}">x</a>'.encode()
    index.host.types["/whl/torchaudio/"] = "text/html"
    refreshed(capsys, *HERE)

    assert picked(capsys)["pick"]["companions"] == {"torchaudio": "2.11.0+cu126"}
    assert picked(capsys, "--python", "3.13")["pick"]["companions"] == {}
    why = picked(capsys, "torchaudio", "--python", "3.13", "torch==2.99.0")["considered"][0]["objections"]
    assert [(each["code"], each["text"]) for each in why] == [
        ("COMPANION_MISSING", "lacks a companion: torchaudio 2.11.0+cu126 has no wheel for Python 3.13: it has 3.12")
    ]


def test_a_mirrors_rows_answer_for_that_mirror_alone_and_go_with_it(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshed(capsys, *HERE)
    assert picked(capsys)["pick"]["version"] == "2.99.0+cu126"
    monkeypatch.delenv("TORCHPICK_INDEX_BASE")
    assert picked(capsys)["pick"]["version"] == "2.14.1+cu126"

    index.links = []
    index.add("2.98.0+cu126", "sm_50 sm_60")
    refreshed(capsys, *HERE, "--index-base", index.base)
    assert picked(capsys, "--index-base", index.base)["pick"]["version"] == "2.98.0+cu126"


def test_a_known_file_with_another_hash_is_refused(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    refreshed(capsys, *HERE)
    index.links = [link.replace("ab" * 32, "cd" * 32) for link in index.links]
    index.publish()

    for words in ([], ["torch==2.99.0", "--backend", "cu126"]):
        answer = refreshed(capsys, *HERE, *words, status=1)
        assert "a released wheel never changes" in answer["failures"][0]["text"]
        assert answer["read"] == []
    assert picked(capsys)["pick"]["evidence"]["ref"].endswith("sha256:" + "ab" * 32)


def test_a_refresh_makes_the_table_as_new_as_the_day(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1810000000")  # May 2027
    main([*TOLD])
    assert "days old" in capsys.readouterr().err
    refreshed(capsys, *HERE)
    main([*TOLD])
    assert "days old" not in capsys.readouterr().err
    assert index.host.seen


@pytest.mark.parametrize(("channel", "mark"), [("nightly", ".dev2026110"), ("test", "rc")])
def test_a_channel_lands_in_its_own_table(
    channel: str, mark: str, index: Index, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        index.add(f"3.0.0{mark}{number}+cu126", "sm_60 sm_70")
    index.host.files[f"/whl/{channel}/torch/"] = index.host.files["/whl/torch/"]
    index.host.types[f"/whl/{channel}/torch/"] = "text/html"
    answer = refreshed(capsys, *HERE, "--channel", channel)

    assert [row["version"] for row in answer["read"]] == [f"3.0.0{mark}2+cu126"]
    assert picked(capsys, "--channel", channel)["pick"]["version"] == f"3.0.0{mark}2+cu126"


@pytest.mark.parametrize("text", ["", "{", '{"schema": 1}', "[]", '{"schema": 1, "platform": "x", "builds": [[1]]}'])
@pytest.mark.usefixtures("index")
def test_a_broken_cache_is_made_anew(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refreshed(capsys, *HERE)
    for file in (tmp_path / "cache").glob("*/*.json"):
        file.write_text(text, "utf-8")

    assert [row["version"] for row in refreshed(capsys, *HERE)["read"]] == ["2.99.0+cu126"]
    assert picked(capsys)["pick"]["version"] == "2.99.0+cu126"


@pytest.mark.parametrize(("mood", "words"), [("429", "429"), ("401", "401"), ("404", "no page for torch")])
def test_an_index_that_does_not_answer_leaves_the_table(
    index: Index, mood: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refreshed(capsys, *HERE)
    index.host.mood, index.host.seen[:] = mood, []
    answer = refreshed(capsys, *HERE, status=1)

    assert words in answer["error"]["text"]
    assert picked(capsys)["pick"]["version"] == "2.99.0+cu126"


def test_what_cannot_be_kept_ends_it_and_is_not_said_of_the_index(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", index.base)
    really, refusals = os.replace, [OSError(28, "No space left on device")]

    def replace(*paths: Any) -> None:
        if refusals:
            raise refusals.pop()
        really(*paths)

    monkeypatch.setattr(os, "replace", replace)

    assert "No space left on device" in refreshed(capsys, *HERE, status=1)["error"]["text"]


def test_a_cuda_build_that_names_no_architecture_stays_unread(index: Index, capsys: pytest.CaptureFixture[str]) -> None:
    index.add("2.99.0+cu132", None)
    answer = refreshed(capsys, *HERE, status=1)

    assert "names no architectures" in answer["failures"][0]["text"]
    assert [each["version"] for each in answer["unread"]] == ["2.99.0+cu132"]
