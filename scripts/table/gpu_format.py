"""The format of the files that say what GPUs there are: NVIDIA's, AMD's, Intel's, Apple's."""

from __future__ import annotations

import re

from scripts.table import strict_rules
from scripts.table.forms import CAPABILITY, DEVICE, GFX, dotted, each, holds, matching, only
from scripts.table.layout import PLATFORMS
from torchpick.model.arch import Arch
from torchpick.model.fields import Fields

_MIG = re.compile(r"[1-7]g\.\d{1,3}gb")


def nvidia(fields: Fields) -> None:
    lists = ("chips", "products", "ambiguous", "sold_most", "mig", "arm_only")
    only(fields, "schema", "sources", *lists, "pci", "notes")
    sources = fields.object("sources")
    for name in sources.names():
        sources.text(name)
    for row in fields.objects("chips"):
        only(row, "chip", "generation", "capability", "source", "note")
        row.text("chip")
        row.maybe_text("generation")
        _maybe_capability(row)
        row.maybe_text("note")
        row.text("source")
    for row in fields.objects("products"):
        only(row, "name", "chip", "capability", "source")
        _product(row)
    for row in fields.objects("ambiguous"):
        only(row, "name", "capabilities", "chips", "listed_as")
        row.text("name")
        holds(row, "capabilities", len(row.items("capabilities")) > 1, "must be several")
        row.texts("chips")
        row.texts("listed_as")
    for row in fields.objects("sold_most"):
        only(row, "name", "capability", "which", "source")
        row.text("which")
        matching(row, "capability", CAPABILITY)
    for row in fields.objects("mig"):
        only(row, "gpu", "capability", "profiles", "source")
        matching(row, "capability", CAPABILITY)
        each(row, "profiles", lambda text: bool(_MIG.fullmatch(text)), "is no profile of an instance")
    fields.texts("arm_only")
    pci = fields.object("pci")
    only(pci, "ranges", "devices")
    for row in pci.objects("ranges"):
        only(row, "first", "last", "capability", "source")
        first, last = matching(row, "first", DEVICE), matching(row, "last", DEVICE)
        holds(row, "last", first <= last, "must not be below the first")
        matching(row, "capability", CAPABILITY)
        row.text("source")
    for row in pci.objects("devices"):
        only(row, "id", "chip", "name", "capability", "source")
        matching(row, "id", DEVICE)
        _product(row)
    fields.texts("notes")


def _product(row: Fields) -> None:
    row.text("name")
    row.text("chip")
    _maybe_capability(row)
    row.text("source")


def _maybe_capability(row: Fields) -> None:
    if row.raw("capability") is not None:
        matching(row, "capability", CAPABILITY)


def kinds(fields: Fields) -> None:
    only(fields, "schema", "kinds")
    for row in fields.objects("kinds"):
        only(row, "arch", "generation", "examples", "platforms")
        holds(row, "arch", str(Arch.parse(row.text("arch"))) == row.text("arch"), "is not an architecture")
        row.text("generation")
        row.texts("examples")
        each(row, "platforms", lambda text: text in PLATFORMS, "is no platform")


def amd(fields: Fields) -> None:
    lists = ("targets", "rocblas", "overrides", "names", "pci")
    only(fields, "schema", "read", "sources", *lists)
    for row in fields.objects("targets"):
        only(row, "gfx", "isa", "chips", "integrated", "generic", "note")
        matching(row, "gfx", GFX)
        row.flag("integrated")
    for name in ("rocblas", "overrides"):
        for row in fields.objects(name):
            row.text("source")
    strict_rules.amd(fields)
    for row in fields.objects("names"):
        only(row, "name", "keys", "gfx", "sources")
        each(row, "gfx", lambda text: bool(GFX.fullmatch(text)), "is no AMD target")
        holds(row, "keys", bool(row.texts("keys")), "must not be empty")
    for row in fields.objects("pci"):
        only(row, "id", "gfx", "chip", "name", "source")
        matching(row, "id", DEVICE)
        matching(row, "gfx", GFX)


def intel(fields: Fields) -> None:
    only(fields, "schema", "read", "generations", "names", "ambiguous", "pci")
    generations = set()
    for row in fields.objects("generations"):
        only(row, "generation", "xpu", "served", "integrated", "first_torch", "note")
        row.flag("served")
        row.flag("integrated")
        generations.add(row.text("generation"))
    for name in ("names", "pci"):
        for row in fields.objects(name):
            holds(row, "generation", row.text("generation") in generations, "is no generation of this file")
    for row in fields.objects("pci"):
        matching(row, "id", DEVICE)


def apple(fields: Fields) -> None:
    only(fields, "schema", "read", "chips", "mps", "wheels", "notes")
    fields.texts("chips")
    strict_rules.mps(fields)
    for row in fields.objects("wheels"):
        dotted(row, "min_macos")
