"""Which tests read the live table by its path: a release must turn no test of behaviour red."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
# What is written here and nobody else publishes, what the scripts that make the table make, and the pages about it.
LAWS = {
    "doctor/test_catalogue.py", "doctor/test_errors.py", "doctor/test_mentions.py", "doctor/test_one_cause.py",
    "doctor/test_signatures.py",
    "knowledge/test_gpunames.py", "knowledge/test_pciids.py", "knowledge/test_recorded_names.py",
    "table/test_companions.py", "table/test_files.py", "table/test_importing_gpus.py",
    "table/test_package_facts.py", "table/test_packages.py", "table/test_table.py", "table/test_torch_requires.py",
    "tables.py", "test_docs.py", "test_language.py",
}  # fmt: skip
# Real installs run on the files that the live table names.
INSTALLS = {"fakes/indexes.py"}


def reads_the_live_table(text: str) -> bool:
    """Whether it names the repository's `compat`, not one in a folder of the test's own."""
    places = (
        ast.unparse(node.left)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and node.right.value == "compat"
    )
    return any(mark in place for place in places for mark in ("ROOT", "SOURCE", "__file__"))


def test_the_listed_tests_alone_read_the_live_table_by_its_path() -> None:
    found = {
        file.relative_to(TESTS).as_posix()
        for file in TESTS.rglob("*.py")
        if reads_the_live_table(file.read_text("utf-8"))
    }

    assert found == LAWS | INSTALLS
