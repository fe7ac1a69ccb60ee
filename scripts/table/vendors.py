"""compat/vendors.json → builds: what vendors publish on indexes of their own, beside the wheel host."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.table.forms import (
    BACKEND,
    CONFIDENCE,
    PYTHON,
    TAG,
    VERSION,
    each,
    holds,
    is_arch,
    is_release,
    matching,
    maybe_dotted,
    one_of,
    only,
    said,
)
from scripts.table.layout import PLATFORMS
from scripts.table.strict_rows import read_arches
from torchpick.model.build import COMPANIONS, Build, Evidence, VendorIndex
from torchpick.model.fields import Fields, read

_OPTIONS = ("--index-url", "--extra-index-url", "--find-links")


def builds(fields: Fields) -> Iterator[Build]:
    """Every vendor's build on each of its platforms."""
    indexes = {row.text("name"): _index(row) for row in fields.objects("indexes")}
    for row in fields.objects("builds"):
        companions = row.object("companions")
        versions = {name: companions.text(name) for name in companions.names()}
        for platform in row.texts("platforms"):
            yield read(
                Build,
                row,
                most=None,
                platform=platform,
                arches=read_arches(row.texts("arches"), row.at("arches")),
                glibc=None,
                libraries={},
                lacks={},
                published=True,
                yanked=False,
                companions=versions,
                companion_basis={
                    name: "inferred" if name in indexes[row.text("index")].inferred else "declared" for name in versions
                },
                evidence=Evidence("declared", row.text("ref")),
                companion_pythons={},
                vendor=indexes[row.text("index")],
                extras=(),
            )


def _index(row: Fields) -> VendorIndex:
    documented = read_arches(row.texts("documented"), row.at("documented"))
    return read(VendorIndex, row, most=None, documented=documented)


def check(fields: Fields) -> None:
    """The format of the file."""
    only(fields, "schema", "indexes", "builds")
    for row in fields.objects("indexes"):
        only(
            row,
            *("name", "vendor", "url", "option", "projects", "documented", "alone", "inferred"),
            "confidence",
            "source",
            "notes",
        )
        holds(row, "url", row.text("url").startswith("https://"), "must be https")
        one_of(row, "option", _OPTIONS)
        each(row, "projects", lambda text: text in ("torch", *COMPANIONS), "is not of the family")
        each(row, "documented", is_arch, "is no architecture")
        each(
            row,
            "inferred",
            lambda text: text in COMPANIONS or bool(PYTHON.fullmatch(text)),
            "is no Python or companion",
        )
        said(row)
    names = {row.text("name") for row in fields.objects("indexes")}
    for row in fields.objects("builds"):
        only(
            row,
            *("index", "torch", "version", "backend", "platforms", "cuda", "arches", "pythons", "tags", "companions"),
            *("ref", "confidence", "notes"),
        )
        holds(row, "index", row.text("index") in names, "is not one of the indexes")
        holds(row, "torch", is_release(row.text("torch")), "must be a release")
        matching(row, "version", VERSION)
        matching(row, "backend", BACKEND)
        each(row, "platforms", lambda text: text in PLATFORMS, "is no platform")
        maybe_dotted(row, "cuda")
        each(row, "arches", is_arch, "is no architecture")
        each(row, "pythons", lambda text: bool(PYTHON.fullmatch(text)), "is no Python tag")
        each(row, "tags", lambda text: bool(TAG.fullmatch(text)), "is no platform tag")
        only(row.object("companions"), *COMPANIONS)
        one_of(row, "confidence", CONFIDENCE)
        row.texts("notes")
    list(builds(fields))
