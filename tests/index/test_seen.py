"""Pages that are known already: which wheels of them a user's index has, who reads each, and for which Python."""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path

import pytest

from torchpick.index import index_places


def test_bundled_pips_are_read_in_order_and_those_that_are_none_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "ensurepip" / "_bundled"
    folder.mkdir(parents=True)
    for name, inside in (("pip-2", "pip/_internal/models/index.py"), ("pip-1", "else"), ("setuptools-1", "x")):
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as archive:
            archive.writestr(inside, b"of \xff " + name.encode())
    (folder / "pip-0-py3-none-any.whl").write_bytes(b"no archive")
    (folder / "pip-3-py3-none-any.whl").symlink_to("nowhere")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path) if name == "stdlib" else "")

    assert next(index_places.bundled()) == "of \ufffd pip-2"
