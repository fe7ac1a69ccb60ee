"""What each release of torch requires: its wheels on the user's package index → evidence → compat/requires.json.

The evidence has one line for all wheels of a release and platform that require the same; a wheel that has been read is
not read again. What is neither NVIDIA's nor a compiler is the same for every build of a release, the wheel host's too:
all of them are built by one setup.py. The wheels of the wheel host were not read; of two of them others have shown what
they require.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from torchpick.errors import TorchpickError
from torchpick.index import index_places, wheelnames
from torchpick.index.pages import ProjectFile
from torchpick.index.projects import NO_LIMITS, ProjectReader
from torchpick.model.versions import grouped, parsed, release_key
from torchpick.wheels.listed import FIRST

Group = tuple[str, str, tuple[str, ...]]
_OF_CUDA = ("nvidia-", "cuda-", "triton")
_SOURCE = (
    "METADATA of the default index's wheels (evidence/torch-requires.jsonl); for the wheel host's builds "
    "declared by that twin: the Requires-Dist of 2.10.0 for ROCm in the tests of unslothai/unsloth has the same lines"
)


def renew(evidence: Path) -> list[str]:
    """Read the wheels of which the evidence has no line; what could not be read comes back."""
    groups = read_evidence(evidence)
    known = {file for files in groups.values() for file in files}
    with ProjectReader(index_places.of_user(os.environ), os.environ, anew=True, limits=NO_LIMITS) as index:
        new = index.metadata(link for link in index.wheels("torch") or () if link.file not in known and _counts(link))
    failed = []
    for link, metadata in new.items():
        if isinstance(metadata, TorchpickError):
            failed.append(f"{link.file}: {metadata.message}")
            continue
        platform = wheelnames.platform_of(link.name.platform) or ""
        requires = tuple(" ".join(line.split()) for line in metadata.requires)
        groups.setdefault((link.name.version, platform, requires), {})[link.file] = link.sha256 or ""
    evidence.write_text("".join(f"{json.dumps(line)}\n" for line in _lines(groups)), encoding="utf-8")
    return failed


def read_evidence(path: Path) -> dict[Group, dict[str, str]]:
    """What the wheels of one release and platform require → these wheels, each with its sha256."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(line["torch"], line["platform"], tuple(line["requires"])): line["files"] for line in lines}


def _lines(groups: dict[Group, dict[str, str]]) -> Iterable[dict[str, object]]:
    for version, platform, requires in sorted(groups, key=lambda group: (release_key(group[0]), *group[1:])):
        files = groups[version, platform, requires]
        yield {"torch": version, "platform": platform, "files": dict(sorted(files.items())), "requires": [*requires]}


def _counts(link: ProjectFile) -> bool:
    """Whether it is of a release of the table, for a platform of it, and the default index's: those have no label."""
    version = link.name.version
    released = not Version(version).is_prerelease and release_key(version) >= release_key(FIRST)
    is_known = wheelnames.platform_of(link.name.platform) is not None
    return released and is_known and "+" not in version and link.yanked is None


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
