"""A checkout has the same bytes on every system: what is checked in is compared byte by byte."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.shipping import steps

ROOT = Path(__file__).parents[2]
FILES = {"table.json": b"{\n}\n", "picture.png": b"\x89PNG\r\n\x1a\n", "made.whl": b"one\r\ntwo\r\n"}


@pytest.mark.process
def test_git_for_windows_changes_no_file(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    shutil.copy(ROOT / ".gitattributes", there)
    for name, content in FILES.items():
        (there / name).write_bytes(content)
    steps.bash("git init -q . && git add . && git commit -qm start", there, [], {})

    steps.bash(f"git clone -q -c core.autocrlf=true {there} {here}", tmp_path, [], {})

    assert {name: (here / name).read_bytes() for name in FILES} == FILES
