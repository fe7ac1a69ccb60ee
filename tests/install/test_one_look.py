"""One run looks once: one detection and one reading of the table, however many extras or machines are weighed."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import torchpick
from tests.commands import wheels_of
from tests.fakes.indexes import serve
from tests.fakes.wheelindex import WheelIndex
from torchpick.cli import main
from torchpick.knowledge import compat, locations
from torchpick.machine import computer
from torchpick.model.machine import Machine

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.name == "nt", reason="the stand-in interpreter is a shell script"),
]


def interpreter(folder: Path) -> tuple[Path, Path]:
    """A virtual environment whose interpreter writes down each start, and the file that it writes to."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    (folder / "lib" / f"python{version}" / "site-packages" / "pip-26.0.dist-info").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\nversion = {version}.0\n", "utf-8")
    program, starts = folder / "bin" / "python", folder / "starts"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho started >> "{starts}"\nexec "{sys.executable}" "$@"\n', "utf-8")
    program.chmod(0o755)
    return program, starts


def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file of the table is read from now on."""
    compat.READ.clear()
    files: Counter[str] = Counter()
    really_read = locations.read

    def read(path: str) -> bytes:
        files[path] += 1
        return really_read(path)

    monkeypatch.setattr(locations, "read", read)
    return files


def test_one_detection_one_probe_and_each_file_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, starts = interpreter(tmp_path / "env")
    files = counted(monkeypatch)
    looks: list[object] = []
    really_detect = computer.detect

    def detect(*facts: Any, **how: Any) -> Machine:  # whatever the real one takes
        looks.append(facts)
        return really_detect(*facts, **how)

    monkeypatch.setattr(computer, "detect", detect)
    index = WheelIndex({"mylib": {"1.0": ["torch"]}})
    monkeypatch.setenv("PIP_INDEX_URL", index.write(tmp_path / "index"))
    serve(monkeypatch, lambda url: wheels_of(url, f"cp{sys.version_info[0]}{sys.version_info[1]}"))

    status = main(["install", "mylib", "--python", str(program), "--installer", "pip", "--dry-run"])

    assert status == 0, capsys.readouterr()
    assert len(looks) == 1
    assert starts.read_text("utf-8").splitlines() == ["started"]
    assert files
    assert set(files.values()) == {1}, files


def test_a_file_of_many_machines_opens_the_table_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["detect", "--json", "--gpu", "sm_86", "--driver", "580.95.05", "--platform", "linux-x86_64"])
    (tmp_path / "fleet").write_text(capsys.readouterr().out * 40, "utf-8")
    files = counted(monkeypatch)

    status = main(["url", "--machine", str(tmp_path / "fleet")])

    assert status == 0, capsys.readouterr()
    tables = {os.path.basename(file): count for file, count in files.items() if file.endswith(".json")}
    assert tables == {"rules.json": 1, "linux-x86_64.json": 1}


def test_the_library_reads_the_table_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    files = counted(monkeypatch)

    for gpu in ("sm_61", "sm_86", "sm_61"):
        torchpick.pick(gpus=[gpu], driver="580.95.05", platform="linux-x86_64", python="3.12")

    tables = {file: count for file, count in files.items() if file.endswith(".json")}
    assert set(tables.values()) == {1}, tables
