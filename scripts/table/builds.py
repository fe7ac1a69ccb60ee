"""Rows of the collected wheel facts → one file per PyTorch release, and what was never published."""

from __future__ import annotations

from collections.abc import Iterable

from scripts.table import forms
from scripts.table.layout import PLATFORMS
from scripts.table.wording import source
from torchpick.model.fields import Fields
from torchpick.model.versions import major_minor, numbers, release_key

Row = dict[str, object]

# A manylinux name promises the glibc it was built against (PEP 513, 571, 599, 600).
_MANYLINUX = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
_UNTOLD_GLIBC = (
    "glibc: not in the tag; release notes of 2.6: aarch64, ROCm and XPU wheels are built in manylinux_2_28 images"
)
_CONFIDENCE = ("unknown", "low", "medium", "high", "certain")


def releases(facts: list[Fields]) -> dict[str, list[Row]]:
    """Every published or unconfirmed row, by release, oldest release first, rows in a fixed order."""
    found: dict[str, list[Row]] = {}
    for fact in facts:
        if forms.maybe_flag(fact, "published") is not False:
            found.setdefault(fact.text("release"), []).append(_build(fact))
    spelled = _macos_tags(facts)
    for release, rows in found.items():
        rows.sort(key=_place)
        for row in rows:
            if row["platform"] == "macos-arm64" and row["backend"] == "cpu" and release in spelled:
                row["notes"] = [*_texts(row["notes"]), spelled[release]]
    return dict(sorted(found.items(), key=lambda item: release_key(item[0])))


def never(facts: list[Fields]) -> list[Row]:
    """What was never published, with the reason; release `*` means no release at all."""
    found: dict[tuple[str, str, str, str, str], list[str]] = {}
    for fact in facts:
        if forms.maybe_flag(fact, "published") is False:
            reason = "; ".join(fact.texts("notes"))
            named = source(fact.text("source"))
            key = (fact.text("release"), fact.text("backend"), reason, named, fact.text("confidence"))
            found.setdefault(key, []).append(_platform(fact))
    rows: list[Row] = [
        {
            "torch": torch,
            "backend": backend,
            "platforms": sorted(platforms, key=PLATFORMS.index),
            "reason": reason,
            "source": named,
            "confidence": confidence,
        }
        for (torch, backend, reason, named, confidence), platforms in found.items()
    ]
    return sorted(rows, key=lambda row: (row["torch"] != "*", _release(row), _backend_place(str(row["backend"]))))


def _build(fact: Fields) -> Row:
    listed = fact.text("backend")
    backend = "default" if listed == "pypi" else listed
    cuda = fact.maybe_text("cuda")
    tags = _tags(fact)
    release = fact.text("release")
    return {
        "backend": backend,
        "platform": _platform(fact),
        "version": release + (fact.maybe_text("local_version") or ""),
        "real": fact.maybe_text("real_version") if backend == "default" else None,
        # `12.1.1 (runtime 12.1.105)`: the table compares major.minor only.
        "cuda": None if cuda is None else major_minor(cuda.split()[0]),
        "arches": _arches(fact, backend),
        "pythons": list(fact.texts("pythons")),
        "tags": tags,
        "glibc": _glibc(tags) or _untold_glibc(release, backend, _platform(fact)),
        # `~=3.8.0` is how newer wheels ask for triton: the version it starts from.
        "libraries": {
            name: text.removeprefix("~=")
            for name in ("cudnn", "nccl", "triton")
            if (text := fact.maybe_text(name)) is not None
        },
        "lacks": {},
        "published": forms.maybe_flag(fact, "published"),
        "yanked": False,
        "evidence": _evidence(fact),
        "notes": _notes(fact, backend),
    }


def _tags(fact: Fields) -> list[str]:
    return [tag for tag in (fact.maybe_text("manylinux") or "").split(",") if tag]


def _arches(fact: Fields, backend: str) -> list[str] | None:
    if backend.startswith("rocm"):
        return None  # scripts/import-gpus knows the targets of each build
    if backend == "xpu":
        return []
    machine_code, ptx = fact.raw("arches"), fact.raw("ptx")
    if machine_code is None:
        return None
    # An unknown PTX list counts as none: code that may not be there must not be promised.
    return [
        *(f"sm_{number}" for number in _numbers(machine_code)),
        *(f"compute_{number}" for number in _numbers(ptx or [])),
    ]


def _evidence(fact: Fields) -> Row:
    listing, arches = source(fact.text("source")), fact.maybe_text("arches_source")
    words = [fact.text("confidence")]
    if arches is not None:
        words.append(fact.text("arches_confidence"))
    ref = listing if arches is None else f"arches: {source(arches)}; wheel: {listing}"
    return {"kind": "declared", "ref": ref, "confidence": min(words, key=_CONFIDENCE.index), "twin": None}


def _notes(fact: Fields, backend: str) -> list[str]:
    notes = [source(note) for note in fact.texts("notes") if note != "planned; no"]
    if not _glibc(_tags(fact)) and _untold_glibc(fact.text("release"), backend, _platform(fact)):
        notes.append(_UNTOLD_GLIBC)
    if "planned; no" in fact.texts("notes"):
        notes.insert(0, "planned; no page or file of this wheel was seen")
    basis = fact.maybe_text("pythons_free_threaded_basis")
    if basis is not None and not basis.startswith(("none exist", "PyPI file names", "PyPI tags", "certain")):
        notes.append(f"free-threaded Pythons: {source(basis)}")
    if fact.raw("ptx") is None and fact.raw("arches") is not None and not any("PTX" in note for note in notes):
        notes.append("PTX unknown; counted as none")
    return notes


def _macos_tags(facts: list[Fields]) -> dict[str, str]:
    """Which platform tag goes with which Python, as the default index names them; the wheel host has the same files."""
    return {
        fact.text("release"): f"{note} (file names of the default index)"
        for fact in facts
        if fact.text("platform") == "macos_arm64"
        for note in fact.texts("notes")
        if note.startswith("platform tags by python")
    }


def _platform(fact: Fields) -> str:
    listed = fact.text("platform")
    name = {"windows": "windows-x86_64"}.get(listed) or listed.replace("_", "-", 1)
    if name not in PLATFORMS:
        raise fact.fail("platform", f"is unknown: {listed!r}")
    return name


def _glibc(tags: list[str]) -> str | None:
    """The oldest glibc that the wheel's name promises to run on; a bare linux tag promises none."""
    for tag in tags:
        head = tag.split("_")
        if head[0] == "manylinux":
            return f"{head[1]}.{head[2]}"
        if head[0] in _MANYLINUX:
            return _MANYLINUX[head[0]]
    return None


def _untold_glibc(release: str, backend: str, platform: str) -> str | None:
    """Wheels of 2.6.0 that were built in manylinux_2_28 images and whose tag says nothing of it."""
    newer_image = platform == "linux-aarch64" or (platform == "linux-x86_64" and backend.startswith(("rocm", "xpu")))
    return "2.28" if release == "2.6.0" and newer_image else None


def _place(row: Row) -> tuple[int, tuple[int, ...], int]:
    return (*_backend_place(str(row["backend"])), PLATFORMS.index(str(row["platform"])))


def _backend_place(backend: str) -> tuple[int, tuple[int, ...]]:
    """cpu, then CUDA and ROCm by number (rocm7.2 < rocm7.14), then xpu and the default index."""
    if backend.startswith("cu"):
        return 1, (int(backend[2:-1]), int(backend[-1]))
    if backend.startswith("rocm"):
        return 2, numbers(backend[4:])
    return ("cpu", "", "", "xpu", "default").index(backend), ()


def _release(row: Row) -> tuple[object, ...]:
    return () if row["torch"] == "*" else release_key(str(row["torch"]))


def _numbers(value: object) -> list[int]:
    if not isinstance(value, Iterable):
        raise TypeError(f"not a list of numbers: {value!r}")
    return [int(number) for number in value]


def _texts(value: object) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list) else []
