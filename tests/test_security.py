"""SECURITY.md promises what a test holds, sentence by sentence, and nothing more."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def promises() -> dict[str, list[str]]:
    """Each promise with the tests behind it."""
    lists = re.findall(
        r"^## (?:What torchpick promises|How releases are made)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL
    )
    items = [item for each in lists for item in re.findall(r"^- (.*?)(?=^- |^\n|\Z)", each, re.MULTILINE | re.DOTALL)]
    return {item.partition("[`")[0].strip(): re.findall(r"`([\w/]+\.py::\w+)`", item) for item in items}


def test_behind_each_promise_stands_a_test_that_there_is() -> None:
    missing = []
    for promise, tests in promises().items():
        assert tests, promise
        for test in tests:
            file, _, name = test.partition("::")
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
                missing.append(test)

    assert missing == []
    assert len(promises()) > 20
