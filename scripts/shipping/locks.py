"""Name every file that a release is made and tested with, with its hashes, in scripts/locks.

`run.txt` is what torchpick.pyz carries, `build.txt` the tools that build and check, `test.txt` what runs the tests.

usage: scripts/lock-tools
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torchpick.environment import toml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scripts" / "locks"
_HEAD = "# Made by scripts/lock-tools.\n"


def asked() -> dict[str, list[str]]:
    """What each lock is made of."""
    project = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups, needs = project["dependency-groups"], project["project"]["dependencies"]
    return {"run": needs, "build": groups["release"], "test": [*needs, *groups["test"]]}


def main(_: Sequence[str]) -> int:
    for name, requirements in asked().items():
        # torchpick.pyz is one file for every Python: what only the oldest needs is in it.
        where = ["--python-version=3.10", "--python-platform=linux"] if name == "run" else ["--universal"]
        words = ["--generate-hashes", "--no-header", "--no-annotate", "--python-version=3.10", *where, "--upgrade"]
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-config", *dict.fromkeys(words), "-"],
            input="\n".join(requirements), capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        if done.returncode:
            print(f"error: {done.stderr}", file=sys.stderr)
            return 1
        (FOLDER / f"{name}.txt").write_text(_HEAD + done.stdout, encoding="utf-8")
    return 0
