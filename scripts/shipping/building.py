"""The distributions, built so that the same sources give the same bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

_HOOK = """
import sys
import tarfile
from hatchling import build
print(getattr(build, sys.argv[1])(sys.argv[2]))
"""
# The first moment that a zip archive can hold, for a tree that is no checkout.
_EARLIEST = "315532800"


def epoch(root: Path) -> str:
    """SOURCE_DATE_EPOCH: the time of the commit that is built."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if told:
        return told
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() or _EARLIEST


def distributions(root: Path, folder: Path) -> list[Path]:
    """The source archive and the wheel that is built out of it, so that who tests the wheel tests both."""
    moment = epoch(root)
    source = _made("build_sdist", root, folder, moment)
    with TemporaryDirectory(prefix="torchpick-source-") as place:
        return [source, wheel(unpacked(source, Path(place)), folder, moment)]


def unpacked(source: Path, place: Path) -> Path:
    """The project that a source archive holds, in an empty folder."""
    with tarfile.open(source) as archive:
        # Debian 12's Python 3.11.2 knows no filters yet; later ones warn where none is chosen.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(place)  # noqa: S202 # our own archive
    (project,) = place.iterdir()
    return project


def wheel(root: Path, folder: Path, moment: str) -> Path:
    """The wheel of a project as it lies in a folder."""
    return _made("build_wheel", root, folder, moment)


def _made(hook: str, root: Path, folder: Path, moment: str) -> Path:
    """What the project's own build backend writes into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _HOOK, hook, str(folder.absolute())],
        cwd=root,
        env={**os.environ, "SOURCE_DATE_EPOCH": moment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        raise SystemExit(f"error: {hook} failed\n{done.stderr}")
    return folder / done.stdout.split()[-1]


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def differences(first: list[Path], second: list[Path]) -> list[str]:
    """The names of the files that came out otherwise the second time."""
    again = {file.name: sha256(file) for file in second}
    return [file.name for file in first if again.get(file.name) != sha256(file)]
