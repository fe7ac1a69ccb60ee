"""What the METADATA of torch's companions says of torch: read from the user's package index into evidence/.

Nothing is installed and no wheel of torch is fetched: pip resolves each companion alone (`--dry-run --no-deps`), takes
its METADATA and reports `Requires-Dist`.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.table import forms, layout
from torchpick.model.build import COMPANIONS
from torchpick.model.fields import Fields, loads
from torchpick.model.versions import release_key

EVIDENCE = Path(__file__).parents[2] / "evidence" / "companions.json"
# The oldest version of each that belongs to a torch of the table (1.7.0), or says something of torch at all.
OLDEST = {
    "torchvision": "0.8",
    "torchaudio": "0.7",
    "torchcodec": "0.1.0",
    "torchtext": "0.8",
    "torchdata": "0.3",
    "torchao": "0.7.0",
}
# Every CPython that a companion may have wheels for, and the names that its platforms ever had.
_TAGS = (*(f"cp3{minor}" for minor in range(6, 16)), "cp313t", "cp314t", "cp315t")
_PLATFORM_TAGS = {
    "linux-x86_64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux1_x86_64", "linux_x86_64"),
    "linux-aarch64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64", "linux_aarch64"),
    "windows-x86_64": ("win_amd64",),
    "windows-arm64": ("win_arm64",),
    "macos-arm64": ("macosx_14_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64"),
    "macos-x86_64": ("macosx_10_15_x86_64", "macosx_10_13_x86_64", "macosx_10_9_x86_64"),
}
_PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64")
_SECONDS = 300
# `torch (==1.7.1)`, `torch==2.8.0`, `torch >=2.14.0 ; python_version < "4"`
_OF_TORCH = re.compile(r"torch\s*\(?\s*((?:[<>=!~]=?\s*[0-9][0-9.*]*\s*,?\s*)*)\)?\s*(?:;.*)?")


def main(words: Sequence[str]) -> int:
    """Read every companion anew and write down the day."""
    names = [name for name in OLDEST if not words or name in words]
    known = Fields(layout.read(EVIDENCE)).object("requires") if EVIDENCE.exists() else Fields({})
    requires: dict[str, dict[str, str | None]] = {
        name: {version: known.object(name).maybe_text(version) for version in known.object(name).names()}
        for name in known.names()
    }
    seen = Fields(layout.read(EVIDENCE)).raw("pythons") if EVIDENCE.exists() else {}
    pythons: dict[str, object] = dict(seen) if isinstance(seen, dict) else {}
    for name in names:
        requires[name] = _read(name)
        if name in COMPANIONS:
            pythons[name] = _pythons(name, requires[name])
        print(f"{name}: {len(requires[name])} versions read", file=sys.stderr)
    today = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    layout.write(EVIDENCE, {"schema": 1, "date": today, "requires": requires, "pythons": pythons})
    return 0


def _pythons(name: str, versions: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Version → platform → the Pythons that the index has a wheel for."""
    found: dict[str, dict[str, list[str]]] = {version: {} for version in versions}
    for platform, spellings in _PLATFORM_TAGS.items():
        for tag in _TAGS:
            words = [word for spelling in spellings for word in ("--platform", spelling)]
            words += ["--abi", tag] if tag.endswith("t") else []
            for version in _versions(name, f"3.{tag[3:].rstrip('t')}", "--implementation", "cp", *words):
                if version in found:
                    found[version].setdefault(platform, []).append(tag)
    return {version: platforms for version, platforms in found.items() if platforms}


def torch_of(requirements: Iterable[str]) -> str | None:
    """What these requirements ask of torch: a specifier, empty where any will do, None where torch is not named."""
    found = (match[1] for text in requirements if (match := _OF_TORCH.fullmatch(text)))
    return next(("".join(text.split()) for text in found), None)


def _read(name: str) -> dict[str, str | None]:
    pythons: dict[str, str] = {}
    for python in _PYTHONS:
        for version in _versions(name, python):
            if not forms.is_prerelease(version) and release_key(version) >= release_key(OLDEST[name]):
                pythons[version] = python
    newest = sorted(pythons, key=release_key, reverse=True)
    return {version: required(name, version, pythons[version]) for version in newest}


def _versions(name: str, python: str, *words: str) -> tuple[str, ...]:
    answer = _pip("index", "versions", name, "--json", "--only-binary", ":all:", "--python-version", python, *words)
    return () if answer is None else Fields(loads(answer)).texts("versions")


def required(name: str, version: str, python: str) -> str | None:
    """What this version asks of torch."""
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


def _pip(*words: str) -> str | None:
    """Standard output of pip, or None where it found nothing; the index is what the user configured, without limits."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        env={**os.environ, "PIP_CONSTRAINT": os.devnull},
    )
    if done.returncode == 0:
        return done.stdout
    if "No matching distribution" in done.stderr:
        return None
    raise SystemExit(f"pip {words[0]} failed: {json.dumps(done.stderr[-400:])}")
