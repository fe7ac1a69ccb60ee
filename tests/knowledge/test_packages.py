"""The packages of the table: each file is read when it is asked for, and once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.errors import CompatError
from torchpick.knowledge import packages
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.package import PackageFacts


def test_a_file_is_read_when_its_package_is_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = packages.facts_of

    def counted(file: str, platform: str) -> PackageFacts:
        read.append(Path(file).stem)
        return real(file, platform)

    monkeypatch.setattr(packages, "facts_of", counted)
    known = KnownPackages({}, "linux-x86_64")

    assert "vllm" in known
    assert "no-such-package" not in known
    assert read == []
    assert known["vllm"] is known["vllm"]
    assert read == ["vllm"]
    assert known.get("no-such-package") is None
    assert len(list(known)) == len(known) > 40


def test_a_fault_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    row = {"schema": 1, "name": "app", "versions": [{"version": "1"}]}
    (tmp_path / "packages" / "app.json").write_text(json.dumps(row))
    known = KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")

    with pytest.raises(CompatError, match=r"app\.json: is damaged \(KeyError\('evidence'\)\)"):
        known["app"]


def test_a_table_without_packages_knows_none(tmp_path: Path) -> None:
    assert dict(KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")) == {}


def test_the_code_that_was_read_is_that_of_linux() -> None:
    linux, windows = (
        KnownPackages({}, platform)["xformers"].versions[0] for platform in ("linux-x86_64", "windows-x86_64")
    )

    assert linux.code
    assert windows.code is None
    assert windows.cuda == linux.cuda
