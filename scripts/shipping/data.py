"""Build torchpick-data: compat/ alone, as a source archive and a wheel, with the table's date as their version.

Whoever installs it beside torchpick has a newer table without a newer program. The same table gives the same bytes.

usage: scripts/build-data [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.shipping import building
from torchpick.knowledge.locations import CONTENTS, SCHEMA
from torchpick.model.table import day_of

ROOT = Path(__file__).parents[2]
PROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "torchpick-data"
version = "{version}"
description = "The table of PyTorch builds, drivers and GPUs that torchpick decides by, as of {date}"
readme = "README.md"
requires-python = ">=3.10"
license = "MIT"
license-files = ["LICENSE"]
authors = [{{ name = "The torchpick authors" }}]

[tool.hatch.build.targets.wheel]
packages = ["torchpick_data"]

[tool.hatch.build.targets.sdist]
include = ["/torchpick_data"]
"""
_README = """\
# torchpick-data

The table of {date} that torchpick decides by: every PyTorch build with its architectures, drivers, GPUs and companions,
as JSON. It holds no code. Installed in the same environment as torchpick it answers instead of the table that came with
torchpick, where it is newer.
"""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder for the files (default: dist)")
    args = parser.parse_args(words)
    for file in build(ROOT / "compat", args.out):
        print(f"{building.sha256(file)}  {file.stat().st_size:>9}  {file.name}")
    return 0


def date_of(compat: Path) -> str:
    """The day of the table, such as 2026-11-22."""
    return str(json.loads((compat / "date.json").read_text(encoding="utf-8"))["date"])


def version_of(date: str) -> str:
    """2026-11-02 → 2026.11.2, as versions are written."""
    return ".".join(str(int(part)) for part in date.split("-"))


def build(compat: Path, folder: Path) -> list[Path]:
    """The source archive and the wheel of a table."""
    date = date_of(compat)
    with TemporaryDirectory(prefix="torchpick-data-") as name:
        project = Path(name)
        facts = {"version": version_of(date), "date": date}
        (project / "pyproject.toml").write_text(PROJECT.format_map(facts), encoding="utf-8")
        (project / "README.md").write_text(_README.format_map(facts), encoding="utf-8")
        shutil.copyfile(ROOT / "LICENSE", project / "LICENSE")
        lay_out(compat, project / "torchpick_data")
        return building.distributions(project, folder, str(day_of(date) * 86400))


def lay_out(compat: Path, package: Path) -> None:
    """The package itself: the table, and what tells whether it is whole."""
    shutil.copytree(compat, package / "compat", ignore=shutil.ignore_patterns("README.md", ".*", "__pycache__"))
    (package / "__init__.py").write_text('"""The table that torchpick decides by; it holds no code."""\n')
    files = sorted(path for path in (package / "compat").rglob("*") if path.is_file())
    sizes = {path.relative_to(package / "compat").as_posix(): path.stat().st_size for path in files}
    contents = {"schema": SCHEMA, "date": date_of(compat), "files": sizes}
    (package / CONTENTS).write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
