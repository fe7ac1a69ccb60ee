"""The day a release comes out: a table that ends before it, one `refresh`, and the pick is the new one, measured."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.table import index
from tests import tables
from tests.index.server import Host, serving
from tests.wheels import making
from torchpick.cli import main

FLAGS = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
HERE = ["--platform", "linux-x86_64"]
GIVEN = ["--gpu", "RTX 3090", "--driver", "610.43.02", *HERE, "--python", "3.12", "--glibc", "2.35"]
VISION = b"Metadata-Version: 2.4\nName: torchvision\nVersion: 0.29.2\nRequires-Dist: torch>=2.14.0\n"


class Release:
    """A server with 2.14.1 alone, laid out as the wheel host or as a package index, until 2.15.0 comes out on it."""

    def __init__(self, host: Host, *, labelled: bool) -> None:
        self.host, self.labelled = host, labelled
        self.lines: dict[str, list[str]] = {"torch": [], "torchvision": []}
        for tag in ("cp311-cp311", "cp312-cp312"):
            self.add("torch", "2.14.1", tag, making.torch_wheel(FLAGS, version="2.14.1+cu132"))

    def base(self) -> str:
        return f"{self.host.url}/{'whl' if self.labelled else 'simple'}"

    def add(self, name: str, version: str, tag: str, data: bytes) -> None:
        """Put a wheel beside the page's others; the lines are as both kinds of server write them (2026)."""
        label, folder = ("%2Bcu132", "/whl/cu132") if self.labelled else ("", "/packages/5e/d1")
        file = f"{name}-{version}{label}-{tag}-manylinux_2_28_x86_64.whl"
        self.host.files[f"{folder}/{file}"] = data
        digest = hashlib.sha256(data).hexdigest()
        self.lines[name].append(
            f'    <a href="{folder}/{file}#sha256={digest}" data-dist-info-metadata="sha256={"0" * 64}" '
            f'data-core-metadata="sha256={"0" * 64}" data-upload-time="2026-10-28T15:02:11">'
            f"{file.replace('%2B', '+')}</a><br/>"
        )
        self.publish(name)

    def publish(self, name: str) -> None:
        path = f"/{'whl' if self.labelled else 'simple'}/{name}/"
        body = "\n".join(self.lines[name])
        page = f"<!DOCTYPE html>\n<html>\n  <body>\n    <h1>Links for {name}</h1>\n{body}\n  </body>\n</html>\n"
        self.host.files[path] = f"{page}<!--TIMESTAMP 1793199731-->".encode()
        self.host.types[path] = "text/html"

    def come_out(self) -> None:
        linalg = making.library(making.module("sm_75"), *[making.module("sm_80", "sm_90", "sm_120")] * 3)
        more = {"torch/lib/libtorch_cuda_linalg.so": linalg}
        for tag in ("cp311-cp311", "cp312-cp312", "cp313-cp313t"):
            self.add("torch", "2.15.0", tag, making.torch_wheel(FLAGS, version="2.15.0+cu132", more=more))
        text = VISION.replace(b"0.29.2", b"0.29.2+cu132") if self.labelled else VISION
        vision = making.wheel({"torchvision-0.29.2.dist-info/METADATA": text})
        self.add("torchvision", "0.29.2", "py3-none", vision)


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A torchpick whose table ends at 2.14.1."""
    folder = tmp_path / "compat"
    left_out = shutil.ignore_patterns("torch-2.15.0.json", "torch-1.*", "torch-2.?.*", "torch-2.1[0-3].*")
    shutil.copytree(tables.frozen(), folder, ignore=left_out)
    index.write(folder)
    monkeypatch.setenv("TORCHPICK_COMPAT_DIR", str(folder))
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    with serving() as host:
        yield host


@pytest.fixture
def wheel_host(host: Host, older: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """The wheel host, and no index beside it."""
    assert older.is_dir()
    release = Release(host, labelled=True)
    monkeypatch.setenv("TORCHPICK_INDEX_BASE", release.base())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return release


@pytest.fixture
def own_index(host: Host, older: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """The user's index; the wheel host is blocked."""
    assert older.is_dir()
    release = Release(host, labelled=False)
    monkeypatch.setenv("PIP_INDEX_URL", release.base())
    monkeypatch.setenv("TORCHPICK_INDEX_BASE", f"{host.url}/blocked")
    return release


def answer(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*words, "--json"]) == status
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_wheel_hosts_new_release_is_picked_after_one_refresh(
    wheel_host: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["torch", "torchvision", *GIVEN]
    assert answer(capsys, *asked)["pick"]["version"].startswith("2.14.1+")
    wheel_host.come_out()
    read = answer(capsys, "refresh", *HERE)

    assert [row["version"] for row in read["read"]] == ["2.15.0+cu132"]
    assert read["notes"] == []
    pick = answer(capsys, *asked)["pick"]
    assert pick["requirements"] == ["torch==2.15.0+cu132", "torchvision==0.29.2+cu132"]
    assert pick["evidence"]["kind"] == "measured"
    digest = hashlib.sha256(wheel_host.host.files[_sample("/whl/cu132", "%2Bcu132")]).hexdigest()
    assert pick["evidence"]["ref"].endswith(f"sha256:{digest}")


def _sample(folder: str, label: str) -> str:
    return f"{folder}/torch-2.15.0{label}-cp312-cp312-manylinux_2_28_x86_64.whl"


def test_the_users_own_index_is_enough_where_the_wheel_host_is_blocked(
    own_index: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    own_index.come_out()
    read = answer(capsys, "refresh", *HERE)

    assert [(row["version"], row["backend"], row["arches"]) for row in read["read"]] == [
        ("2.15.0", "default", FLAGS.split())
    ]
    [note] = read["notes"]
    assert note["code"] == "INDEX_NOT_READ"
    assert "the wheel host could not be read, only your own index" in note["text"]
    pick = answer(capsys, "torch", "torchvision", *GIVEN, "--backend", "default")["pick"]
    assert pick["requirements"] == ["torch==2.15.0", "torchvision==0.29.2"]
    assert pick["cuda"] == "13.2"
    assert pick["evidence"]["kind"] == "measured"
    digest = hashlib.sha256(own_index.host.files[_sample("/packages/5e/d1", "")]).hexdigest()
    assert pick["evidence"]["ref"].endswith(f"sha256:{digest}")
    assert answer(capsys, *GIVEN)["pick"]["version"].startswith("2.14.1+"), "the wheel host may not have it"


def test_one_word_reads_the_users_own_index_alone(own_index: Release, capsys: pytest.CaptureFixture[str]) -> None:
    own_index.come_out()
    read = answer(capsys, "refresh", *HERE, "--backend", "default", "torch==2.15.0")

    assert [row["version"] for row in read["read"]] == ["2.15.0"]
    assert read["notes"] == []
    assert not [seen for seen in own_index.host.seen if seen.path.startswith("/blocked")]


def test_what_one_index_holds_is_no_answer_about_another_and_goes_with_it(
    own_index: Release, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own_index.come_out()
    answer(capsys, "refresh", *HERE)
    default = [*GIVEN, "--backend", "default"]
    monkeypatch.setenv("PIP_INDEX_URL", f"{own_index.host.url}/other")
    assert answer(capsys, *default)["pick"]["version"] == "2.14.1"

    monkeypatch.setenv("PIP_INDEX_URL", own_index.base())
    assert answer(capsys, *default)["pick"]["version"] == "2.15.0"
    own_index.lines["torch"] = [line for line in own_index.lines["torch"] if "2.15.0" not in line]
    own_index.publish("torch")
    answer(capsys, "refresh", *HERE)
    assert answer(capsys, *default)["pick"]["version"] == "2.14.1"


def test_neither_index_answers(own_index: Release, capsys: pytest.CaptureFixture[str]) -> None:
    own_index.host.files.clear()

    assert "/blocked has no page for torch" in answer(capsys, "refresh", *HERE, status=1)["error"]["text"]


def test_a_password_is_in_no_file_of_the_cache(
    own_index: Release, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own_index.come_out()
    monkeypatch.setenv("PIP_INDEX_URL", own_index.base().replace("//", "//ada:s3cr3t-w0rd@"))
    answer(capsys, "refresh", *HERE)

    files = [file for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"s3cr3t" in file.read_bytes()]
    assert answer(capsys, *GIVEN, "--backend", "default")["pick"]["version"] == "2.15.0"


def test_a_wheel_host_that_was_named_and_cannot_be_read_is_an_error(
    own_index: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    own_index.come_out()

    assert main(["refresh", *HERE, "--index-base", "http://127.0.0.1:1/whl"]) == 1

    out, err = capsys.readouterr()
    assert "2.15.0" in out
    assert "only your own index: http://127.0.0.1:1/whl" in err
