"""evidence/companions.json → compat/companions.json: which torchvision, torchaudio … belong to which torch.

Where a companion's METADATA pins torch exactly, the pair is `metadata`; where the maintainers state it elsewhere,
`declared`, with the source. One that names a lower bound, or no torch because it is built against torch's stable ABI,
is `open`: it belongs to every later torch of the same CUDA on each index that holds it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.table import layout
from torchpick.index import wheelnames
from torchpick.model.versions import admits, release_key

Row = dict[str, Any]
# A companion's version → what it asks of torch: `==2.14.0`, `>=2.14.0`, None where it does not name torch.
Requires = Mapping[str, Mapping[str, str | None]]
# Platform → backend → the CUDA of its builds.
Held = dict[str, dict[str, str | None]]

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "evidence" / "companions.json"
WITNESSED = ROOT / "evidence" / "files.jsonl"
PINNED = ("torchvision", "torchaudio")


class OpenEnded(NamedTuple):
    """A companion that belongs to later releases too, and the torch it came out with."""

    companion: str
    version: str
    torch: str
    source: str


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


# The newest of each that is open, the torch it came out with, and why it belongs to later ones too. Whichever index
# has it is where that torch was built: whl/cu132 holds no torchaudio (pytorch/pytorch#193651).
_OPEN = (
    OpenEnded(
        "torchaudio",
        "2.11.0",
        "2.11.0",
        "docs.pytorch.org/audio/2.11.0: built against the stable ABI, works with every later PyTorch "
        "(pytorch/audio#4212; run on 2.13 and 2.14 in espnet#6678); its load checks torch's own CUDA major.minor",
    ),
    OpenEnded("torchvision", "0.29.2", "2.15.0", "METADATA says torch>=2.14.0; release notes: PyTorch 2.14 and later"),
)

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

_CODEC = "meta-pytorch/torchcodec README, table of versions"
_NEEDED = "NEEDED of its libraries in the default index's wheel; METADATA names no torch"
_TEXT = "the last release, a C++ extension of its time; METADATA says torch>=2.3.0"
_CODECS = {
    ">=2.11": ("0.13.0", "0.12.0"),
    "==2.11.*": ("0.11.1", "0.11.0"),
    "==2.10.*": ("0.10.0",),
    "==2.9.*": ("0.9.1", "0.9.0", "0.8.1", "0.8.0"),
    "==2.8.*": ("0.7.0", "0.6.0"),
    "==2.7.*": ("0.5", "0.4.0", "0.3.0"),
}


def _other(name: str, version: str, torch: str, cuda_major: int | None, basis: str, source: str) -> Row:
    """`cuda_major` is the CUDA that its wheels of the default index link (NEEDED of their libraries)."""
    return {
        "name": name,
        "version": version,
        "torch": torch,
        "cuda_major": cuda_major,
        "basis": basis,
        "source": source,
    }


# Of what is not pinned with torch: the torch that each version belongs to, where more is known than METADATA says.
_STATED_OTHERS = (
    *(
        _other("torchcodec", version, ">=2.11", 13, "declared", _CODEC)
        for version in ("0.17.0", "0.16.0", "0.15.0", "0.14.0")
    ),
    *(
        _other("torchcodec", version, torch, None, "declared", _CODEC)
        for torch, versions in _CODECS.items()
        for version in versions
    ),
    *(_other("torchao", version, ">=2.11", 13, "inferred", _NEEDED) for version in ("0.18.0", "0.17.0")),
    _other("torchtext", "0.18.0", "==2.3.*", None, "declared", _TEXT),
)

_FILES = (
    "files of the default package index; whl/ has the same Pythons wherever public lock files show both. `*`: the "
    "release's Pythons on any platform, for one where no file of it was seen"
)

# Torch lies on the wheel host for them, and of its companions little does: the lock files that name torch for s390x
# (2.8.0 to 2.13.0) name torchvision and torchaudio for every other platform and none for it; those for Windows on Arm
# name two torchvisions, which carry a commit instead of torch's label.
_NAMED_ALONE = ("linux-s390x", "windows-arm64")
_NAMED = (
    "public lock files (evidence/files.jsonl), many of which name wheels of torch for this platform: these are all the "
    "files of its companions that they name for it"
)

_NOTES = [
    "torchaudio 2.11.1 asks torch>=2.11 and is on the default index since November 2026; whether the wheel host has it "
    "for each CUDA was not seen, so 2.11.0 stays the one that is paired",
    "torchvision 0.29.2 also declares torch>=2.14.0; it was published with 2.15.0, after the last CUDA 12.6 wheels, so "
    "2.14.1 keeps 0.29.1",
    "torchao names no torch in its METADATA, nor does its documentation: of it only the CUDA is known that it links",
]


def main(words: Sequence[str]) -> int:
    """Write companions.json anew for every release that compat/ holds."""
    compat = Path(words[0]) if words else ROOT / "compat"
    layout.write(compat / "companions.json", built(compat))
    return 0


def built(compat: Path, evidence: Path = EVIDENCE) -> Row:
    """The table as the evidence and the release files make it."""
    releases = {path.stem.removeprefix("torch-"): layout.read(path) for path in compat.glob("torch-*.json")}
    read = layout.read(evidence)
    named = seen(map(json.loads, WITNESSED.read_text("utf-8").splitlines()[1:]))
    places = {torch: held(release) for torch, release in releases.items()}
    return table(releases, read["requires"], places, files(read["pythons"], read["excluded"]), named)


def held(release: Row) -> Held:
    """Where a release lies: what came out with it lies there too."""
    found: Held = {}
    for build in release["builds"]:
        if build["published"]:
            found.setdefault(build["platform"], {})[build["backend"]] = build.get("cuda")
    return found


def files(pythons: Row, excluded: Row) -> list[Row]:
    """Which Pythons each release of a companion has on each platform; `*`: those that any platform has.

    `excluded` are those of them that its Requires-Python leaves out, X.Y.Z.
    """
    rows: list[Row] = []
    for name, versions in pythons.items():
        for version, platforms in versions.items():
            every = sorted({tag for tags in platforms.values() for tag in tags}, key=_python_order)
            out = excluded[name].get(version)
            rows.append({
                "name": name, "version": version, "pythons": {"*": every, **platforms},
                **({"excluded": out} if out else {}), "source": _FILES,
            })  # fmt: skip
    return rows


def seen(named: Iterable[Mapping[str, object]]) -> list[Row]:
    """On the platforms where a companion is there only if a file of it was named: their Pythons by whole version."""
    found: dict[str, dict[str, dict[str, set[str]]]] = {platform: {} for platform in _NAMED_ALONE}
    for row in named:
        wheel = wheelnames.parse(str(row["file"]))
        if wheel is None or wheel.project not in PINNED or row["index"] not in ("whl", "whl/cpu"):
            continue
        if (platform := wheelnames.platform_of(wheel.platform)) in found:
            pythons = found[platform].setdefault(wheel.project, {}).setdefault(wheel.version, set())
            pythons.add(wheel.python + "t" * wheel.abi.endswith("t"))
    return [
        {
            "platform": platform,
            "files": {
                name: {version: sorted(versions[version], key=_python_order) for version in sorted(versions)}
                for name, versions in sorted(companions.items())
            },
            "source": _NAMED,
        }
        for platform, companions in found.items()
    ]


def _python_order(tag: str) -> tuple[int, str]:
    return len(tag.rstrip("t")), tag


def table(
    releases: Iterable[str],
    requires: Requires,
    places: Mapping[str, Held],
    known_files: Iterable[Row] = (),
    named: Iterable[Row] = (),
) -> Row:
    """The pairs, newest torch first; `places` says where each release lies."""
    pairs = [_pair(release, requires) for release in releases]
    return {
        "schema": 1,
        "pairs": sorted(pairs, key=lambda pair: release_key(str(pair["torch"])), reverse=True),
        "files": list(known_files),
        "seen": list(named),
        "open": [
            {
                "name": each.companion,
                "version": each.version,
                "from": each.torch,
                "held": places[each.torch],
                "source": each.source,
            }
            for each in _OPEN
            if each.torch in places and each.version in requires.get(each.companion, {})
        ],
        "exceptions": [],
        "unlabelled": _UNLABELLED,
        "others": _others(requires),
        "notes": _NOTES,
    }


def _pair(release: str, requires: Requires) -> Row:
    chosen: dict[str, str | None] = {}
    for name in PINNED:
        # Several versions may pin one torch (0.8.0 and 0.8.1 for 1.7.0): the newest repairs the others.
        fitting = sorted((one for one, torch in requires[name].items() if torch == f"=={release}"), key=release_key)
        chosen[name] = fitting[-1] if fitting else None
    basis, source = "metadata", "Requires-Dist: torch== in the METADATA of both"
    if stated := _STATED.get(release):
        if stated.version not in requires[stated.companion]:
            raise SystemExit(f"{stated.companion} {stated.version} is stated for torch {release} and not on the index")
        chosen[stated.companion] = stated.version
        basis, source = "declared", stated.source
    elif chosen["torchvision"] is None:
        chosen["torchvision"] = _last_open(release, requires["torchvision"])
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


def _last_open(release: str, found: Mapping[str, str | None]) -> str | None:
    loose = [version for version, torch in found.items() if not (torch or "").startswith("==")]
    fitting = sorted((version for version in loose if admits(found[version] or "")(release)), key=release_key)
    return fitting[-1] if fitting else None


def _others(requires: Requires) -> list[Row]:
    """What is not pinned with torch: what its maintainers state, else what its METADATA asks."""
    stated = {(str(row["name"]), str(row["version"])): row for row in _STATED_OTHERS}
    found: list[Row] = []
    for name, versions in requires.items():
        for version, torch in () if name in PINNED else versions.items():
            if row := stated.get((name, version)):
                found.append(row)
            elif torch:
                found.append(_other(name, version, torch, None, "metadata", "Requires-Dist in its METADATA"))
    return found
