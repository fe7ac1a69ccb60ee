"""The readings of evidence/torch.jsonl → the rows of compat/torch-X.Y.Z.json.

A row of the default index becomes `measured`: it says what its wheel said. A row of the wheel host stays `declared` and
names the wheel of the same release, CUDA and platform as its `twin`. What a library lacks passes from a wheel that was
read to its twin, and, said in a note, to the builds of the same release, platform and CUDA major.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripts.table import layout

ROOT = Path(__file__).parents[2]
Row = dict[str, Any]
Key = tuple[str, str]  # release and platform


def main(words: Sequence[str]) -> int:
    """Rewrite the release files and list every difference between what was read and what was declared."""
    compat = Path(words[0]) if words else ROOT / "compat"
    readings = load(ROOT / "evidence" / "torch.jsonl")
    differences = []
    for path in sorted(compat.glob("torch-*.json")):
        release: Row = json.loads(path.read_text(encoding="utf-8"))
        differences += apply(release, readings)
        layout.write(path, release)
    print(*differences, sep="\n")
    return 0


def load(path: Path) -> dict[Key, list[Row]]:
    """The readings by release and platform, those with the libraries first, and of them the file that pip takes."""
    found: dict[Key, list[Row]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        reading = json.loads(line)
        found.setdefault((reading["torch"], reading["platform"]), []).append(reading)
    return {
        key: sorted(rows, key=lambda row: (not row["libraries"] and not row["pins"], -_build_number(row["file"])))
        for key, rows in found.items()
    }


def _build_number(file: str) -> int:
    """The third of a wheel's parts where there are six: of one version pip takes the file with the highest."""
    parts = file.split("-")
    return int(parts[2]) if len(parts) == 6 else 0


def apply(release: Row, readings: dict[Key, list[Row]]) -> list[str]:
    """Set the rows of one release; what differs from the declared comes back, a line each."""
    differences = []
    for row in release["builds"]:
        mine = readings.get((release["torch"], row["platform"]))
        if not mine:
            continue
        name = f"{release['torch']} {row['backend']} {row['platform']}"
        if row["backend"] == "default":
            differences += [f"{name}: {text}" for text in _measure(row, mine)]
        elif mine[0]["cuda"] == row["cuda"] and row["backend"] != "xpu" and not row["backend"].startswith("rocm"):
            differences += [f"{name}: {text}" for text in _twin(row, mine[0])]
        elif row["cuda"] and mine[0]["cuda"] and row["cuda"].split(".")[0] == mine[0]["cuda"].split(".")[0]:
            _infer(row, mine[0])
        else:
            _infer_magma(row, release["torch"])
    return differences


def _measure(row: Row, mine: list[Row]) -> list[str]:
    first = mine[0]
    differences = _difference(row, first)
    others = [
        reading["file"] for reading in mine if (reading["arches"], reading["ptx"]) != (first["arches"], first["ptx"])
    ]
    differences += [f"{file} was built for other GPUs than {first['file']}" for file in others]
    row["arches"] = [*first["arches"], *first["ptx"]]
    row["cuda"] = first["cuda"]
    row["real"] = first["version"]
    for library in ("cudnn", "nccl"):
        pinned = _pin(first, library)
        if pinned:
            row["libraries"][library] = pinned
    row["lacks"] = first["lacks"]
    row["evidence"] = {
        "kind": "measured",
        "ref": f"{first['file']} sha256:{first['sha256']}",
        "confidence": "certain",
        "twin": None,
    }
    return differences


def _twin(row: Row, first: Row) -> list[str]:
    row["evidence"]["twin"] = {"file": first["file"], "sha256": first["sha256"]}
    row["lacks"] = first["lacks"]
    return _difference(row, first)


def _pin(reading: Row, library: str) -> str | None:
    return next((version for name, version in reading["pins"].items() if name.startswith(f"nvidia-{library}-")), None)


def _infer(row: Row, first: Row) -> None:
    """What was read of a sibling holds here as far as the row has that architecture at all."""
    held = row["arches"] or []
    lacks = {library: [arch for arch in gone if arch in held] for library, gone in first["lacks"].items()}
    row["lacks"] = {library: gone for library, gone in lacks.items() if gone}
    note = f"lacks: inferred from {first['file']}"
    row["notes"] = [each for each in row["notes"] if not each.startswith("lacks: ")] + ([note] if row["lacks"] else [])


def _infer_magma(row: Row, torch: str) -> None:
    """CUDA 13 builds of 2.9 and 2.10, which nobody read: MAGMA was built for them without sm_75."""
    major = (row["cuda"] or "").partition(".")[0]
    if major != "13" or row["platform"] != "linux-x86_64" or not torch.startswith(("2.9.", "2.10.")):
        return
    gone = [arch for arch in row["arches"] or [] if arch == "sm_75"]
    row["lacks"] = {"libtorch_cuda_linalg.so": gone} if gone else {}
    note = "lacks: inferred from pytorch's .ci/magma/Makefile, which gives cuda130 sm_80 and newer"
    row["notes"] = [each for each in row["notes"] if not each.startswith("lacks: ")] + ([note] if gone else [])


def _difference(row: Row, first: Row) -> list[str]:
    read, declared = [*first["arches"], *first["ptx"]], row["arches"]
    differences = []
    if declared is not None and sorted(declared) != sorted(read):
        held = " ".join(read) or "none"
        differences.append(f"declared {' '.join(declared) or 'none'}; {first['file']} holds {held}")
    for library in ("cudnn", "nccl"):
        pinned = _pin(first, library)
        said = row["libraries"].get(library)
        if pinned and said != pinned:
            differences.append(f"declared {library} {said}; {first['file']} pins {pinned}")
    return differences
