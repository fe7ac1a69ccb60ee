"""evidence/files.jsonl → compat/files.json: the hashes of the wheel host's files that several public locks agree on.

What a lock says of a test or nightly folder is no word about a release: a candidate has the name of the release and
other bytes.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from scripts.table import layout
from torchpick.index.wheelnames import parse, platform_of
from torchpick.knowledge.compat import Knowledge
from torchpick.model.versions import release_key

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "evidence" / "files.jsonl"
# How many owners of repositories must have seen a file with the same hash.
OWNERS = 2
_RELEASES = re.compile(r"whl(?:/(cpu|xpu|cu\d+|rocm[\d.]+))?")


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compat", nargs="?", type=Path, default=ROOT / "compat", help="the folder of files.json")
    parser.add_argument("--counts", action="store_true", help="print instead how many of torch's files have a hash")
    args = parser.parse_args(words)
    if args.counts:
        print(*counts(Knowledge({"TORCHPICK_CACHE_DIR": f"{__file__}.no-cache"})), sep="\n")
    else:
        layout.write(args.compat / "files.json", table(EVIDENCE.read_text("utf-8").splitlines()))
    return 0


def counts(knowledge: Knowledge) -> Iterator[str]:
    """By release and backend the files of torch and its companions that the table expects, and those with a hash.

    A file is expected for each Python of a build, and of each companion, on each platform of the wheel host.
    """
    found: dict[tuple[str, str], list[int]] = {}
    seen: dict[str, set[tuple[str, str, str, str | None]]] = {}
    for build in knowledge.shipped(default_index=False):
        if build.vendor is not None or not build.published:
            continue
        if build.backend not in seen:
            seen[build.backend] = _hashed(knowledge, build.backend)
        hashed = seen[build.backend]
        cell = found.setdefault((build.torch, build.backend), [0, 0])
        for name, version in build.pins.items():
            for python in build.companion_pythons.get(name, build.pythons):
                cell[0] += 1
                cell[1] += (name, version, python, build.platform) in hashed
    for (torch, backend), (files, known) in sorted(
        found.items(), key=lambda each: (release_key(each[0][0]), each[0][1])
    ):
        yield f"{torch:8} {backend:8} {known:4} of {files:4}"
    files, known = (sum(cell[place] for cell in found.values()) for place in (0, 1))
    yield f"{'all':17} {known:4} of {files:4}"


def _hashed(knowledge: Knowledge, backend: str) -> set[tuple[str, str, str, str | None]]:
    """Project, version, Python and platform of the backend's files with a hash."""
    wheels = filter(None, map(parse, knowledge.hashes_in_public_locks(backend)))
    return {
        (wheel.project, wheel.version, wheel.python + "t" * wheel.abi.endswith("t"), platform_of(wheel.platform))
        for wheel in wheels
    }


def table(lines: Iterable[str]) -> dict[str, object]:
    """The file's content from the lines of the evidence, of which the first lists the witnesses."""
    first, *rows = map(json.loads, lines)
    return {"schema": 1, "files": hashes_in_public_locks(rows, first["witnesses"])}


def hashes_in_public_locks(rows: Sequence[Mapping[str, object]], witnesses: Sequence[str]) -> dict[str, dict[str, str]]:
    """By backend (empty for the folder above them all) the files whose one hash enough owners have seen."""
    seen: dict[tuple[str, str], dict[str, set[str]]] = {}
    for row in rows:
        match = _RELEASES.fullmatch(str(row["index"]))
        if match is None:
            continue
        owners = {witnesses[place].partition("/")[0].lower() for place in row["seen"]}  # type: ignore[attr-defined]
        of_file = seen.setdefault((match[1] or "", str(row["file"])), {})
        of_file.setdefault(str(row["sha256"]), set()).update(owners)
    found: dict[str, dict[str, str]] = {}
    for (backend, file), hashes in sorted(seen.items()):
        (digest, owners), *others = hashes.items()
        if not others and len(owners) >= OWNERS:
            found.setdefault(backend, {})[file] = digest
    return found
