"""A wheel that only a release page has: by its address and hash where both are known, else as a line to run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.commands import TAG, begun, done
from tests.fakes.pythons import MADE_UP
from tests.tables import frozen

PAGE = "https://github.example/attn/releases"
FILE = "/download/v9/attn-{version}+{cu}torch{torch}-{python}-{python}-linux_x86_64.whl"
REAL = f"{PAGE}/download/v9/attn-2.0+cu130torch2.13-{TAG}-{TAG}-linux_x86_64.whl"
SHA = "ab" * 32
PACKAGES = {"torch": {"2.13.0+cu130": ["filelock"]}, "filelock": {"3.20.0": []}, "attn": {"2.0": ["torch"]}}


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def asked(
    path: str | None,
    installer: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    planned: bool = False,
) -> dict[str, Any]:
    compat = folder / "compat"
    shutil.copytree(frozen(), compat)
    wheel = ["2.0", "linux-x86_64", "torch==2.13.*", "cu130", TAG, *([path] if path else [])]
    place = {"url": PAGE, "text": "its own releases", "wheels": [wheel]}
    row = {"schema": 1, "name": "attn", "source_only": "it is to be built", "versions": [], "elsewhere": [place]}
    (compat / "packages" / "attn.json").write_text(json.dumps(row), "utf-8")
    case = {"env": {"TORCHPICK_COMPAT_DIR": str(compat)}, "target": {"pip": "26.3"}, "packages": PACKAGES}
    argv = [
        "install", "attn", "--gpu", "a100", "--driver", "580.95.05", "--platform", "linux-x86_64", "--glibc", "2.35",
    ]  # fmt: skip
    more = ["--python", "$TARGET/bin/python", "--installer", installer, "--dry-run", "--json"]
    if planned:
        argv, more = ["plan", *argv[1:]], ["--python", MADE_UP]
    return done(" ".join([*argv, *more]), begun(case, folder, monkeypatch), folder, capsys, monkeypatch)


def test_it_is_installed_by_its_address_and_hash(
    installer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(f"{FILE}#sha256={SHA}", installer, tmp_path, capsys, monkeypatch)

    assert found["exit"] == 0
    assert f"attn @ {REAL}#sha256={SHA}" in json.dumps(found["json"]["install"])


def test_without_a_hash_the_line_is_shown_that_installs_it(
    installer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(FILE, installer, tmp_path, capsys, monkeypatch)

    error = found["json"]["error"]
    assert (found["exit"], error["code"]) == (1, "BUILT_FROM_SOURCE")
    assert error["hint"] == f"`torchpick install torch==2.13.0+cu130 'attn @ {REAL}'`; no hash of that file is known"
    assert error["text"] == f"attn 2.0 for torch 2.13.0+cu130 is on no index of yours: {PAGE} has it"


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        (FILE, f"`torchpick install torch==2.13.0+cu130 'attn @ {REAL}'`; no hash of that file is known"),
        (None, "`torchpick install torch==2.13.0+cu130`, then `torchpick install` with the URL of its wheel"),
    ],
)
def test_a_plan_notes_how_it_would_be_installed(
    path: str | None, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(path, "pip", tmp_path, capsys, monkeypatch, planned=True)

    said = " ".join(" ".join(map(str.strip, found["err"])).split())
    assert found["exit"] == 0
    assert f"note: attn: {hint}" in said
