"""evidence/torch-requires.jsonl → compat/requires.json: what each release of torch requires.

What is neither NVIDIA's nor a compiler is the same for every build of a release, the wheel host's too: all of them are
built by one setup.py. The wheels of the wheel host were not read; of two of them others have shown what they require.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement

from scripts.table import layout
from scripts.table.reading_torch_requires import EVIDENCE, Group, read_evidence
from torchpick.index import wheelnames
from torchpick.model.versions import grouped, parsed, release_key

COMPAT = Path(__file__).parents[2] / "compat"
_OF_CUDA = ("nvidia-", "cuda-", "triton")
_SOURCE = (
    "METADATA of the default index's wheels (evidence/torch-requires.jsonl); for the wheel host's builds "
    "declared by that twin: the Requires-Dist of 2.10.0 for ROCm in the tests of unslothai/unsloth has the same lines"
)


def main(words: Sequence[str]) -> int:
    """Write compat/requires.json anew."""
    if words:
        print("usage: scripts/build-torch-requires", file=sys.stderr)
        return 2
    layout.write(COMPAT / "requires.json", build(read_evidence(EVIDENCE)))
    return 0


def build(evidence: dict[Group, dict[str, str]]) -> dict[str, object]:
    """The content of the file, the newest release first."""
    by_release = grouped((release, (platform, lines, files)) for (release, platform, lines), files in evidence.items())
    releases: dict[str, object] = {}
    for release in sorted(by_release, key=release_key, reverse=True):
        wheels = [(platform, file, lines) for platform, lines, files in by_release[release] for file in files]
        releases[release] = {
            "wheels": len(wheels),
            "plain": [line for line in _merged(wheels) if not line.startswith(_OF_CUDA)],
        }
    return {"schema": 1, "source": _SOURCE, "releases": releases}


def _merged(wheels: Sequence[tuple[str, str, Sequence[str]]]) -> list[str]:
    """The lines of all wheels of a release; one that some wheels alone have gets a marker that says which."""
    pythons = {file: wheelnames.parse(file) for _, file, _ in wheels}
    having: dict[str, set[str]] = {}
    for _, file, lines in wheels:
        for line in lines:
            having.setdefault(_usual(line), set()).add(file)
    platforms = {file: platform for platform, file, _ in wheels}
    found = []
    for line, files in having.items():
        requirement = parsed(line)
        of_extra = requirement.marker is not None and "extra" in str(requirement.marker)
        found.append(line if of_extra else _marked(requirement, _where(files, platforms, pythons)))
    return sorted(dict.fromkeys(found), key=lambda line: ("extra ==" in line, line.lower()))


def _where(files: set[str], platforms: dict[str, str], wheels: dict[str, wheelnames.FileName | None]) -> str:
    """A marker for these files among those of their release; empty where all have the line, or all of one system."""
    without = [file for file in platforms if file not in files]
    if not without:
        return ""
    tags = {wheel.python for file in files if (wheel := wheels[file])}
    if tags == {"cp312"} and all(wheel.python != "cp312" for file in without if (wheel := wheels[file])):
        return 'python_version >= "3.12"'  # the newest Python of that release
    if {platforms[file] for file in files} == {"linux-x86_64"}:
        return 'platform_machine == "x86_64"'
    return ""


def _marked(requirement: Requirement, where: str) -> str:
    text = str(requirement)
    if not where or where in text:
        return text
    return f"{text} and {where}" if requirement.marker else f"{text}; {where}"


def _usual(line: str) -> str:
    """One form of a line, whatever wrote it: `sympy (==1.13.1)`, `sympy ==1.13.1`."""
    requirement = parsed(line)
    requirement.name = requirement.name.lower().replace("_", "-")
    return str(requirement)
