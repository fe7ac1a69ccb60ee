"""The format of the files that say what was built: one per release, what never was, and companions."""

from __future__ import annotations

import re

from scripts.table.forms import (
    BACKEND,
    CONFIDENCE,
    GFX,
    NAME,
    PYTHON,
    SHA256,
    TAG,
    VERSION,
    dotted,
    each,
    holds,
    is_arch,
    is_release,
    matching,
    maybe_dotted,
    maybe_flag,
    one_of,
    only,
    said,
)
from scripts.table.layout import PLATFORMS
from torchpick.model.fields import Fields
from torchpick.model.versions import is_dotted

BASES = ("metadata", "declared", "inferred")


def release(fields: Fields) -> None:
    only(fields, "schema", "torch", "builds")
    torch = fields.text("torch")
    seen = set()
    for build in fields.objects("builds"):
        _build(build, torch)
        key = build.text("backend"), build.text("platform")
        holds(build, "backend", key not in seen, f"{key[0]} for {key[1]} is here twice")
        seen.add(key)


def _build(row: Fields, torch: str) -> None:
    only(
        row,
        *[
            "backend",
            "platform",
            "version",
            "real",
            "cuda",
            "arches",
            "pythons",
            "tags",
            "glibc",
            "libraries",
            "lacks",
            "published",
            "yanked",
        ],
        "evidence",
        "notes",
    )
    backend = matching(row, "backend", BACKEND)
    one_of(row, "platform", PLATFORMS)
    version = matching(row, "version", VERSION)
    holds(row, "version", version.partition("+")[0] == torch, f"must be a version of {torch}")
    holds(row, "version", backend != "default" or "+" not in version, "must be plain on the default index")
    if (real := row.maybe_text("real")) is not None:
        holds(row, "real", backend == "default" and real.partition("+")[0] == torch, "is the default index's own label")
    maybe_dotted(row, "cuda")
    holds(row, "cuda", not backend.startswith("cu") or row.maybe_text("cuda") is not None, "must be told")
    _arches(row, backend)
    each(row, "pythons", lambda text: bool(PYTHON.fullmatch(text)), "is no Python tag")
    each(row, "tags", lambda text: bool(TAG.fullmatch(text)), "is no platform tag")
    maybe_dotted(row, "glibc")
    libraries = row.object("libraries")
    only(libraries, "cudnn", "nccl", "triton")
    for name in libraries.names():
        holds(libraries, name, is_dotted(libraries.text(name)), "must be numbers between dots")
    lacks = row.object("lacks")
    for name in lacks.names():
        each(lacks, name, is_arch, "is no architecture")
    row.raw("published")
    maybe_flag(row, "published")
    row.flag("yanked")
    _evidence(row.object("evidence"))
    row.texts("notes")


def _arches(row: Fields, backend: str) -> None:
    if row.raw("arches") is None:
        holds(row, "arches", backend.startswith(("cu", "rocm")) or backend == "default", "must be a list here")
    elif backend.startswith("rocm"):
        each(row, "arches", lambda text: bool(GFX.fullmatch(text)), "is no AMD target")
    else:
        each(row, "arches", is_arch, "is no architecture")
        holds(row, "arches", backend not in ("cpu", "xpu") or not row.texts("arches"), "must be empty here")


def _evidence(row: Fields) -> None:
    only(row, "kind", "ref", "confidence", "twin")
    kind = one_of(row, "kind", ("measured", "declared"))
    row.text("ref")
    one_of(row, "confidence", CONFIDENCE)
    row.raw("twin")
    if (twin := row.maybe_object("twin")) is not None:
        only(twin, "file", "sha256")
        holds(row, "kind", kind == "declared", "must be declared where a twin was read")
        twin.text("file")
        matching(twin, "sha256", SHA256)


def never(fields: Fields) -> None:
    only(fields, "schema", "rows")
    for row in fields.objects("rows"):
        only(row, "torch", "backend", "platforms", "reason", "source", "confidence")
        holds(row, "torch", row.text("torch") == "*" or is_release(row.text("torch")), "must be a release or *")
        matching(row, "backend", BACKEND)
        each(row, "platforms", lambda text: text in PLATFORMS, "is no platform")
        row.text("reason")
        said(row)


def _companion_files(fields: Fields) -> None:
    for row in fields.objects("files"):
        only(row, "name", "version", "pythons", "excluded", "source")
        one_of(row, "name", ("torchvision", "torchaudio"))
        if row.has("excluded"):
            each(row, "excluded", lambda text: text.count(".") == 2 and is_dotted(text), "is no X.Y.Z")
        dotted(row, "version")
        pythons = row.object("pythons")
        only(pythons, "*", *PLATFORMS)
        for platform in pythons.names():
            each(pythons, platform, lambda text: bool(PYTHON.fullmatch(text)), "is no Python")
        row.text("source")


# A companion's version with whatever label it carries: `0.24.0+e437e35`.
_LABELLED = re.compile(r"\d+\.\d+\.\d+(\+[a-z0-9.]+)?")


def _seen_files(fields: Fields) -> None:
    for row in fields.objects("seen"):
        only(row, "platform", "files", "source")
        one_of(row, "platform", PLATFORMS)
        files = row.object("files")
        only(files, "torchvision", "torchaudio")
        for name in files.names():
            for version in files.object(name).names():
                holds(files, name, bool(_LABELLED.fullmatch(version)), f"has no version: {version[:60]!r}")
                each(files.object(name), version, lambda text: bool(PYTHON.fullmatch(text)), "is no Python")
        row.text("source")


def companions(fields: Fields) -> None:
    only(fields, "schema", "pairs", "files", "seen", "open", "exceptions", "unlabelled", "others", "notes")
    _companion_files(fields)
    _seen_files(fields)
    for row in fields.objects("pairs"):
        only(row, "torch", "torchvision", "torchaudio", "basis", "source")
        holds(row, "torch", is_release(row.text("torch")), "must be a release")
        for name in ("torchvision", "torchaudio"):
            row.raw(name)
            maybe_dotted(row, name)
        one_of(row, "basis", BASES)
        row.text("source")
    for row in fields.objects("open"):
        only(row, "name", "version", "from", "held", "source")
        one_of(row, "name", ("torchvision", "torchaudio"))
        dotted(row, "version")
        holds(row, "from", is_release(row.text("from")), "must be a release")
        held = row.object("held")
        only(held, *PLATFORMS)
        for platform in held.names():
            for backend in held.object(platform).names():
                holds(held, platform, bool(BACKEND.fullmatch(backend)), f"names no backend: {backend[:60]!r}")
                maybe_dotted(held.object(platform), backend)
        row.text("source")
    for row in fields.objects("others"):
        only(row, "name", "version", "torch", "cuda_major", "basis", "source")
        matching(row, "name", NAME)
        dotted(row, "version")
        row.text("torch")
        row.raw("cuda_major")
        one_of(row, "basis", BASES)
        row.text("source")
    for row in fields.objects("exceptions"):
        only(row, "torch", "backend", "torchvision", "torchaudio", "source")
        holds(row, "torch", is_release(row.text("torch")), "must be a release")
        matching(row, "backend", BACKEND)
        maybe_dotted(row, "torchvision")
        maybe_dotted(row, "torchaudio")
        row.text("source")
    for row in fields.objects("unlabelled"):
        only(row, "name", "platform", "before", "source", "confidence")
        one_of(row, "name", ("torchvision", "torchaudio"))
        one_of(row, "platform", ("*", *PLATFORMS))
        dotted(row, "before")
        said(row)
    fields.texts("notes")
