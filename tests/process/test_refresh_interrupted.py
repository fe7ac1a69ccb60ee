"""`torchpick refresh` twice at once; tests/kills stops it at every system call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.server import serving
from tests.test_refresh import Index
from torchpick.wheels.refresh import CacheStore

pytestmark = pytest.mark.process
VERSIONS = [f"2.99.{patch}+cu126" for patch in range(6)]
LINE = [sys.executable, "-m", "torchpick", "refresh", "--json", "--platform", "linux-x86_64"]


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Index]:
    """An index of six builds to read, and the environment of a process that reads it."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    with serving() as host:
        found = Index(host)
        for version in VERSIONS:
            found.add(version, "sm_50 sm_60")
        monkeypatch.setenv("TORCHPICK_INDEX_BASE", found.base)
        monkeypatch.setenv("TORCHPICK_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.setenv("NETRC", str(tmp_path / "none"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")  # no index beside the wheel host
        yield found


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(LINE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def read(cache: Path) -> dict[str, bool]:
    """Version → whether it is read, as the table on disk says; a half file would raise nothing and hold nothing."""
    store = CacheStore(cache, os.environ["TORCHPICK_INDEX_BASE"], "stable")
    file = store.file("linux-x86_64")
    if not file.exists():
        return {}
    json.loads(file.read_text("utf-8"))
    return {row.version: row.arches is not None for row in store.rows().values()}


def test_two_at_once_end_in_one(index: Index, tmp_path: Path) -> None:
    both = [started(), started()]
    answers = []
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        answers.append(json.loads(out))

    assert sorted(len(answer["read"]) for answer in answers) == [0, len(VERSIONS)]
    assert read(tmp_path / "cache") == dict.fromkeys(VERSIONS, True)
    wheels = [seen.path for seen in index.host.seen if seen.path.endswith(".whl")]
    assert len(set(wheels)) == len(VERSIONS)
