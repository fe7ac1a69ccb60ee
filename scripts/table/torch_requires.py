"""evidence/torch-requires.jsonl → compat/requires.json: what each release of torch requires.

What is neither NVIDIA's nor a compiler is the same for every build of a release, the wheel host's too: all of them are
built by one setup.py. The wheels of the wheel host were not read; of two of them others have shown what they require.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import Requirement

from scripts.table import layout
from scripts.table.packages import default_torch
from scripts.table.reading_torch_requires import EVIDENCE, Group, read_evidence
from torchpick.index import wheelnames
from torchpick.model.versions import grouped, parsed, release_key

COMPAT = Path(__file__).parents[2] / "compat"
_OF_CUDA = ("nvidia-", "cuda-", "triton")
# Which triton ROCm's and Intel's builds of a release require. ROCm's is that of CUDA's builds under another name.
_ROCM_RENAMED = "2.10.0"  # `pytorch-triton-rocm` before
_ROCM_SINCE = "2.4.0"
_XPU = {
    "2.14.1": "triton-xpu==3.8.0",
    "2.14.0": "triton-xpu==3.8.0",
    "2.13.0": "triton-xpu==3.7.2",
    "2.12.0": "triton-xpu==3.7.1",
    "2.11.0": "triton-xpu==3.7.0",
    "2.10.0": "triton-xpu==3.6.0",
    "2.9.0": "pytorch-triton-xpu==3.5.0",
    "2.8.0": "pytorch-triton-xpu==3.4.0",
    "2.7.1": "pytorch-triton-xpu==3.3.1",
    "2.7.0": "pytorch-triton-xpu==3.3.0",
    "2.6.0": "pytorch-triton-xpu==3.2.0",
}
_SOURCES = {
    "plain": "METADATA of the default index's wheels (evidence/torch-requires.jsonl); for the wheel host's builds "
    "declared by that twin: the Requires-Dist of 2.10.0 for ROCm in the tests of unslothai/unsloth has the same lines",
    "triton": "declared: `triton-rocm==3.7.1` of 2.13.0+rocm7.1 and `triton-rocm~=3.8.0` of 2.14, as users quote their "
    "METADATA; pytorch-triton-rocm 3.0.0 with 2.4.1, 3.2.0 with 2.6.0, 3.3.0 with 2.7.0, 3.4.0 with 2.8.0, 3.5.1 with "
    "2.9.1 in what users pin; Intel's by the files of public lock files beside torch's",
}
_AS_CUDA = {"2.14.1": "~=3.8.0", "2.14.0": "~=3.8.0"}


def main(words: Sequence[str]) -> int:
    """Write compat/requires.json anew."""
    if words:
        print("usage: scripts/build-torch-requires", file=sys.stderr)
        return 2
    layout.write(COMPAT / "requires.json", build(read_evidence(EVIDENCE), COMPAT))
    return 0


def build(evidence: dict[Group, dict[str, str]], compat: Path) -> dict[str, object]:
    """The content of the file, the newest release first."""
    cuda = {row["version"]: row["cuda"] for row in default_torch(compat)}
    by_release = grouped((release, (platform, lines, files)) for (release, platform, lines), files in evidence.items())
    releases: dict[str, object] = {}
    for release in sorted(by_release, key=release_key, reverse=True):
        wheels = [(platform, file, lines) for platform, lines, files in by_release[release] for file in files]
        every = _merged(wheels)
        own = [line for line in every if line.startswith(_OF_CUDA)]
        releases[release] = {
            "wheels": len(wheels),
            "cuda": cuda.get(release),
            "plain": [line for line in every if line not in own],
            "default": own,
            "triton": _tritons(release, own),
        }
    return {"schema": 1, "sources": _SOURCES, "releases": releases}


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


def _where(files: set[str], platforms: dict[str, str], wheels: dict[str, wheelnames.WheelName | None]) -> str:
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


def _tritons(release: str, own: Iterable[str]) -> dict[str, str]:
    found = {}
    triton = next((parsed(line) for line in own if parsed(line).name == "triton"), None)
    if triton is not None and release_key(release) >= release_key(_ROCM_SINCE) and release != "2.15.0":
        name = "triton-rocm" if release_key(release) >= release_key(_ROCM_RENAMED) else "pytorch-triton-rocm"
        found["rocm"] = f"{name}{_AS_CUDA.get(release, triton.specifier)}"
    if release in _XPU:
        found["xpu"] = _XPU[release]
    return found
