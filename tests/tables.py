"""The tables that tests run on.

Behaviour tests see the frozen one: what others publish as it was on one day, and what is written here as it is. A new
release, a backend that ends, another torchvision or driver change the live table by themselves, and must turn none of
them red. The laws see the live table, and the one of a day to come, by the fixture `living_table`.

`python -m tests.tables` takes the live table's files as the frozen ones, where a test wants a newer fact or the format
of a file has changed.
"""

from __future__ import annotations

import atexit
import json
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from scripts.table import index, layout
from torchpick.model.versions import release_key

LIVE = Path(__file__).parents[1] / "compat"
FROZEN = Path(__file__).parent / "frozen"
# What others publish; the rest (names of GPUs, error texts, which names belong to torch's family) is written here.
PUBLISHED = (
    "torch-*.json", "companions.json", "date.json", "drivers.json", "files.json", "libraries.json", "never.json",
    "requires.json", "shared-files.json", "vendors.json", "packages/*.json",
)  # fmt: skip


@cache
def frozen() -> str:
    """The folder of the frozen table; it lasts as long as this process."""
    made = _folder("frozen")
    _copy(LIVE, made, ("*.json",), without=PUBLISHED)
    _copy(FROZEN, made, PUBLISHED)
    index.write(made)
    return str(made)


@cache
def of_a_day_to_come() -> str:
    """The folder of the live table with one more release, without the oldest backend, and with another torchvision."""
    made = _folder("coming")
    _copy(LIVE, made, ("*.json", "packages/*.json"))
    newest = max((path.stem.removeprefix("torch-") for path in made.glob("torch-*.json")), key=release_key)
    major, minor, _ = newest.split(".")
    coming = f"{major}.{int(minor) + 1}.0"
    text = (made / f"torch-{newest}.json").read_text("utf-8").replace(newest, coming)
    backends = sorted({build["backend"] for build in json.loads(text)["builds"] if build["backend"][:2] == "cu"})
    for path in made.glob("torch-*.json"):
        _without(path, backends[0])
    (made / f"torch-{coming}.json").write_text(text, "utf-8")
    _without(made / f"torch-{coming}.json", backends[-1])
    _move_on(made / "companions.json")
    index.write(made)
    return str(made)


def _without(path: Path, backend: str) -> None:
    release = _read(path)
    release["builds"] = [build for build in release["builds"] if build["backend"] != backend]
    layout.write(path, release)


def _move_on(path: Path) -> None:
    """The torchvision that goes with every later torch has a successor."""
    companions = _read(path)
    for row in companions["open"]:
        if row["name"] == "torchvision":
            major, minor, patch = row["version"].split(".")
            row["version"] = f"{major}.{minor}.{int(patch) + 1}"
    layout.write(path, companions)


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def _folder(name: str) -> Path:
    made = Path(tempfile.mkdtemp(prefix=f"torchpick-{name}-table-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _copy(source: Path, target: Path, patterns: tuple[str, ...], without: tuple[str, ...] = ()) -> None:
    left_out = {file for pattern in without for file in source.glob(pattern)}
    for file in {file for pattern in patterns for file in source.glob(pattern)} - left_out:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)


def main() -> int:
    """Take the live table's files as the frozen ones."""
    shutil.rmtree(FROZEN, ignore_errors=True)
    _copy(LIVE, FROZEN, PUBLISHED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
