"""The packages of the table: each file is read when it is asked for, and once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.errors import CompatError
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import start_run


def test_a_fault_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    row = {"schema": 1, "name": "app", "versions": [{"version": "1"}]}
    (tmp_path / "packages" / "app.json").write_text(json.dumps(row), "utf-8")
    known = KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")

    with pytest.raises(CompatError, match=r"app\.json: is damaged \(KeyError\('code'\)\)"):
        known["app"]


def test_an_address_that_would_end_early_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    for place in ({"url": "https://h.example/a b"}, {"url": "https://h.example", "wheels": [[*"12345", "/a.whl\n#x"]]}):
        row = {"schema": 1, "name": "app", "versions": [], "elsewhere": [{"text": "x", **place}]}
        (tmp_path / "packages" / "app.json").write_text(json.dumps(row), "utf-8")
        known = KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")

        with pytest.raises(CompatError, match=r"app\.json: is damaged"):
            known["app"]


def test_a_session_has_the_packages_of_each_platform_once() -> None:
    run = start_run(Request(), {})
    linux, windows = (Machine(Platform(os, "x86_64"), Python("3.12")) for os in ("linux", "windows"))

    assert run.read_catalog(linux) is run.read_catalog(linux)
    assert run.read_catalog(windows) is not run.read_catalog(linux)
