"""Which torchvision and torchaudio belong to which torch: read out of their METADATA on the user's package index.

Nothing is installed and no wheel of torch is fetched: pip resolves each companion alone (`--dry-run --no-deps`), takes
its METADATA and reports `Requires-Dist`. Where that pins torch exactly, the pair is `metadata`; where the maintainers
state it elsewhere, `declared`, with the source; else `inferred` by the order of releases.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.table import layout
from torchpick.model.fields import Fields, loads
from torchpick.model.versions import release_key

Row = dict[str, object]

COMPAT = Path(__file__).parents[2] / "compat"
# The oldest companions that pin a torch of the table (1.7.0).
_OLDEST = {"torchvision": "0.8", "torchaudio": "0.7"}
_PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64")
_SECONDS = 300
# `torch (==1.7.1)`, `torch==2.8.0`, `torch ==2.4.0`
_PIN = re.compile(r"torch\s*\(?==\s*([0-9][0-9.]*)\)?\s*(?:;.*)?")


class Stated(NamedTuple):
    """A pair that metadata leaves open and the maintainers state elsewhere."""

    companion: str
    version: str
    source: str


_STATED = {
    "2.15.0": Stated(
        "torchvision",
        "0.29.2",
        "github pytorch/vision release v0.29.2 (28 Oct 2026): compatible with PyTorch 2.14 and later; METADATA says "
        "torch>=2.14.0",
    ),
    "2.14.1": Stated(
        "torchvision",
        "0.29.1",
        "github pytorch/vision release v0.29.1: compatible with PyTorch 2.14.1; METADATA says torch>=2.14.0",
    ),
    "2.11.0": Stated(
        "torchaudio",
        "2.11.0",
        "docs.pytorch.org/audio/2.11.0/installation.html, compatibility matrix; METADATA names no torch",
    ),
}

# Companion wheels that carry no local label although torch's wheel of the same build does: pinning one with torch's
# label would name a file that does not exist.
_UNLABELLED: list[Row] = [
    {
        "name": "torchaudio",
        "platform": "*",
        "before": "0.10.0",
        "source": "pytorch.org/get-started/previous-versions: plain torchaudio beside torch==1.9.1+cu111; "
        "torchaudio-0.10.0+cu113 is the first labelled file seen",
        "confidence": "medium",
    },
    {
        "name": "torchvision",
        "platform": "linux-aarch64",
        "before": "0.25.0",
        "source": "pytorch/vision#9249, #9197, #9330: no label on any aarch64 wheel up to 0.24.1; "
        "torchvision-0.25.0+cpu and 0.26.0+cu130 seen with hashes",
        "confidence": "high",
    },
    {
        "name": "torchaudio",
        "platform": "linux-aarch64",
        "before": "2.11.0",
        "source": "file names with hashes in nixpkgs: torchaudio-2.10.0 (whl/cpu) plain, 2.11.0+cpu labelled",
        "confidence": "medium",
    },
]

_NOTES = [
    "torchaudio 2.11.0 is built against PyTorch's stable ABI and its documentation says that it serves every later "
    "torch; it is still left out (null) after torch 2.11.0, because whl/cu132 holds none (pytorch/pytorch#193651) and "
    "no pair was tried",
    "torchaudio 2.11.1 has a release page (github pytorch/audio, 28 Oct 2026) and no file on the default index",
    "torchvision 0.29.2 also declares torch>=2.14.0; it was published with 2.15.0, after the last CUDA 12.6 wheels, so "
    "2.14.1 keeps 0.29.1",
    "whether a companion has a file for each backend and platform of a release was not checked file by file",
]


def main(words: Sequence[str]) -> int:
    """Write companions.json anew for every release that compat/ holds."""
    compat = Path(words[0]) if words else COMPAT
    releases = sorted((path.stem.removeprefix("torch-") for path in compat.glob("torch-*.json")), key=release_key)
    pins = {name: dict(_read(name)) for name in _OLDEST}
    layout.write(compat / "companions.json", table(releases, pins))
    for name, found in pins.items():
        print(f"{name}: {len(found)} versions read", file=sys.stderr)
    return 0


def table(releases: Iterable[str], pins: dict[str, dict[str, str | None]]) -> Row:
    """The pairs, newest torch first; `pins` maps a companion's version to the torch it pins, or None."""
    pairs = [_pair(release, pins) for release in releases]
    return {
        "schema": 1,
        "pairs": sorted(pairs, key=lambda pair: release_key(str(pair["torch"])), reverse=True),
        "exceptions": [],
        "unlabelled": _UNLABELLED,
        "notes": _NOTES,
    }


def _pair(release: str, pins: dict[str, dict[str, str | None]]) -> Row:
    chosen: dict[str, str | None] = {}
    for name, found in pins.items():
        # Several versions may pin one torch (0.8.0 and 0.8.1 for 1.7.0): the newest mends the others.
        fitting = sorted((version for version, torch in found.items() if torch == release), key=release_key)
        chosen[name] = fitting[-1] if fitting else None
    basis, source = "metadata", "Requires-Dist: torch== in the METADATA of both"
    if stated := _STATED.get(release):
        if stated.version not in pins[stated.companion]:
            raise SystemExit(f"{stated.companion} {stated.version} is stated for torch {release} and not on the index")
        chosen[stated.companion] = stated.version
        basis, source = "declared", stated.source
    elif chosen["torchvision"] is None:
        chosen["torchvision"] = _last_open(pins["torchvision"])
        basis, source = "inferred", "newest torchvision whose METADATA does not pin another torch"
    elif chosen["torchaudio"] is None:
        source = "Requires-Dist: torch== in the METADATA of torchvision"
    return {
        "torch": release,
        "torchvision": chosen["torchvision"],
        "torchaudio": chosen["torchaudio"],
        "basis": basis,
        "source": source,
    }


def _last_open(found: dict[str, str | None]) -> str | None:
    loose = sorted((version for version, torch in found.items() if torch is None), key=release_key)
    return loose[-1] if loose else None


def _read(name: str) -> list[tuple[str, str | None]]:
    pythons: dict[str, str] = {}
    for python in _PYTHONS:
        for version in _versions(name, python):
            if release_key(version) >= release_key(_OLDEST[name]):
                pythons[version] = python
    return [(version, _pinned(name, version, python)) for version, python in pythons.items()]


def _versions(name: str, python: str) -> tuple[str, ...]:
    answer = _pip("index", "versions", name, "--json", "--only-binary", ":all:", "--python-version", python)
    return () if answer is None else Fields(loads(answer)).texts("versions")


def _pinned(name: str, version: str, python: str) -> str | None:
    """The torch that this version pins, or None."""
    platforms = [word for platform in _PLATFORMS for word in ("--platform", platform)]
    with tempfile.TemporaryDirectory() as nowhere:
        answer = _pip(
            *("install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-"),
            *("--only-binary", ":all:", "--implementation", "cp", "--python-version", python, *platforms),
            *("--target", nowhere, f"{name}=={version}"),
        )
    if answer is None:
        raise SystemExit(f"pip cannot read {name} {version} for Python {python}")
    metadata = Fields(loads(answer)).objects("install")[0].object("metadata")
    return torch_of(metadata.texts("requires_dist") if metadata.has("requires_dist") else ())


def torch_of(requirements: Iterable[str]) -> str | None:
    """The torch that these requirements pin, or None."""
    return next((match[1] for text in requirements if (match := _PIN.fullmatch(text))), None)


def _pip(*words: str) -> str | None:
    """Standard output of pip, or None where it found nothing; the index is whatever the user configured."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode == 0:
        return done.stdout
    if "No matching distribution" in done.stderr:
        return None
    raise SystemExit(f"pip {words[0]} failed: {json.dumps(done.stderr[-400:])}")
