"""The table for other programs: the same bytes each time, as its schema says, and enough to answer by."""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scripts.shipping import data, selector
from tests import documents, tables
from tests.envelope import faults
from torchpick.knowledge import locations

DOCS = Path(__file__).parents[2] / "docs"
Row = dict[str, Any]
pytestmark = pytest.mark.usefixtures("live_table")  # what a release has is made of that one


@pytest.fixture(scope="module")
def files(once: Callable[[str, Callable[[], str]], Path]) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locations, "shipped_dir", lambda: str(tables.LIVE))
        made: dict[str, str] = json.loads(once("data.json", lambda: json.dumps(data.files())).read_text("utf-8"))
        return made


@pytest.fixture(scope="module")
def table(files: dict[str, str]) -> Row:
    value: Row = json.loads(files["table.json"])
    return value


def test_the_selector_answers_every_question(files: dict[str, str], tmp_path: Path) -> None:
    """It reads nothing but the table, which it carries."""
    (tmp_path / "torchpick_select.py").write_text(selector.build(), "utf-8")
    selected = runpy.run_path(str(tmp_path / "torchpick_select.py"))
    vectors = [json.loads(text) for text in files["vectors.jsonl"].splitlines()]

    def line(question: Row) -> str | None:
        with suppress(selected["SelectError"]):
            return str(selected["line"](selected["select"](**question)))
        return None

    wrong = [each for each in vectors if line(each["question"]) != each["answer"]]

    assert not wrong, (len(wrong), wrong[:3])
    answered = sum(each["answer"] is not None for each in vectors)
    assert answered > 150
    assert len(vectors) - answered > 50


def installers(folder: Path) -> Path:
    """A folder with the installers of docs/tools.md, and a stand-in for nvidia-smi."""
    for block in documents.blocks((DOCS / "tools.md").read_text("utf-8")):
        if block.options.get("file", "").startswith("install"):
            (folder / block.options["file"]).write_text(block.text, "utf-8")
    shutil.copy(DOCS / "read-table.js", folder)
    (folder / "bin").mkdir()
    (folder / "bin" / "nvidia-smi").write_text("#!/bin/sh\necho '6.1, 580.95.05'\necho '8.6, 580.95.05'\n", "utf-8")
    (folder / "bin" / "nvidia-smi").chmod(0o755)
    return folder


def test_the_installer_of_the_page_answers_every_question(files: dict[str, str], table: Row, tmp_path: Path) -> None:
    answer = runpy.run_path(str(installers(tmp_path) / "install_torch.py"))["answer"]
    vectors = [json.loads(text) for text in files["vectors.jsonl"].splitlines()]

    assert [row for row in vectors if " ".join(answer(table, **row["question"]) or []) != (row["answer"] or "")] == []
    assert len((tmp_path / "install_torch.py").read_text("utf-8").splitlines()) <= 75


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a shell's script is no program there")
@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_both_installers_take_the_same_for_the_gpus_of_nvidia_smi(files: dict[str, str], tmp_path: Path) -> None:
    installers(tmp_path)
    (tmp_path / "table.json").write_text(files["table.json"], "utf-8")
    environ = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def install(*words: str) -> str:
        done = subprocess.run(
            [*words, "table.json", "torchvision", "--dry-run"],
            cwd=tmp_path, env=environ, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return done.stdout

    in_python = install(sys.executable, "install_torch.py")

    assert in_python.startswith("pip install --index-url https://download.pytorch.org/whl/cu126 torch==")
    assert install("node", "install-torch.js", sys.executable) == in_python


@pytest.mark.process
@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_the_reader_in_javascript_answers_every_question(files: dict[str, str], table: Row, tmp_path: Path) -> None:
    without = [build for build in table["builds"] if build["backend"] != "cpu"]
    (tmp_path / "other.json").write_text(json.dumps({**table, "builds": without}), "utf-8")
    for name in ("table.json", "vectors.jsonl"):
        (tmp_path / name).write_text(files[name], "utf-8")

    def read(name: str) -> tuple[int, str]:
        words = ["node", *map(str, (DOCS / "read-table.js", tmp_path / name, tmp_path / "vectors.jsonl"))]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout

    every = len(files["vectors.jsonl"].splitlines())
    assert read("table.json") == (0, f"{every} of {every} as expected\n")
    assert read("other.json")[0] == 1


def test_it_is_as_its_schema_says_and_the_schema_describes_every_key(table: Row) -> None:
    schema = json.loads((DOCS / "table.schema.json").read_text(encoding="utf-8"))

    assert faults(table, schema) == []
    assert set(table) == set(schema["properties"])
    assert {key for build in table["builds"] for key in build} == set(schema["$defs"]["build"]["properties"])


def test_the_same_checkout_gives_the_same_table(files: dict[str, str], table: Row) -> None:
    from torchpick.knowledge.compat import Knowledge

    assert json.dumps(data.table(Knowledge({})), separators=(",", ":")) + "\n" == files["table.json"]
    sums = {each.split()[1]: each.split()[0] for each in files["SHA256SUMS"].splitlines()}
    held = ("table.json", "vectors.jsonl", "table.schema.json")
    assert sums == {name: hashlib.sha256(files[name].encode()).hexdigest() for name in held}
    assert table["date"]
