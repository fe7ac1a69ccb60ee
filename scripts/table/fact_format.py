"""The format of the files that hold facts: drivers, libraries, the family, GPUs."""

from __future__ import annotations

from scripts.table.forms import (
    CAPABILITY,
    DEVICE,
    NAME,
    SAID,
    dotted,
    each,
    holds,
    is_arch,
    matching,
    maybe_dotted,
    said,
)
from torchpick.doctor import signatures
from torchpick.model.fields import Fields
from torchpick.model.finding import Ailment


def drivers(fields: Fields) -> None:
    lists = ("toolkits", "majors", "native", "last_branch", "first_driver", "toolkit_arches", "forward_compat")
    fields.only("schema", *lists, "unified_tegra", "notes")
    for row in fields.objects("toolkits"):
        row.only("cuda", "update", "linux", "windows", *SAID)
        row.maybe_text("update")
        dotted(row, "cuda")
        maybe_dotted(row, "linux")
        maybe_dotted(row, "windows")
        said(row)
    for row in fields.objects("majors"):
        row.only("cuda_major", "linux", "windows", *SAID)
        row.number("cuda_major")
        dotted(row, "linux")
        dotted(row, "windows")
        said(row)
    branches = []
    for row in fields.objects("native"):
        row.only("branch", "cuda", *SAID)
        branches.append(row.number("branch"))
        dotted(row, "cuda")
        said(row)
    holds(fields, "native", branches == sorted(set(branches)), "must be sorted by branch, each once")
    for row in fields.objects("last_branch"):
        row.only("generation", "capabilities", "branch", *SAID)
        _generation(row)
        row.number("branch")
    for row in fields.objects("first_driver"):
        row.only("generation", "capabilities", "linux", "windows", *SAID)
        _generation(row)
        dotted(row, "linux")
        dotted(row, "windows")
    unified = fields.object("unified_tegra")
    unified.only("linux", *SAID)
    dotted(unified, "linux")
    said(unified)
    for row in fields.objects("toolkit_arches"):
        row.only("toolkit", "cuda", "arches", *SAID)
        dotted(row, "toolkit")
        dotted(row, "cuda")
        each(row, "arches", is_arch, "is no architecture")
        said(row)
    for row in fields.objects("forward_compat"):
        row.only("rule", "platforms", "not_covered", *SAID)
        row.text("rule")
        said(row)
    fields.texts("notes")


def _generation(row: Fields) -> None:
    row.text("generation")
    each(row, "capabilities", lambda text: bool(CAPABILITY.fullmatch(text)), "is no capability")
    said(row)


def libraries(fields: Fields) -> None:
    fields.only("schema", "cudnn", "nccl", "triton")
    for name in ("cudnn", "nccl", "triton"):
        for row in fields.objects(name):
            row.only("from", "floor", *(("cuda_major",) if name == "nccl" else ()), *SAID)
            dotted(row, "from")
            matching(row, "floor", CAPABILITY)
            if name == "nccl":
                row.number("cuda_major")
            said(row)


def family(fields: Fields) -> None:
    fields.only("schema", "source", "names", "pinned")
    fields.text("source")
    each(fields, "names", lambda text: bool(NAME.fullmatch(text)), "is no normalised project name")
    names = fields.texts("names")
    each(fields, "pinned", lambda text: text in names, "is not of the family")


def gpus(fields: Fields) -> None:
    fields.only("schema", "sources", "chips", "products", "ambiguous", "pci", "notes")
    sources = fields.object("sources")
    for name in sources.names():
        sources.text(name)
    for row in fields.objects("chips"):
        row.only("chip", "generation", "capability", "source", "note")
        row.text("chip")
        row.maybe_text("generation")
        _maybe_capability(row)
        row.maybe_text("note")
        row.text("source")
    for row in fields.objects("products"):
        row.only("name", "chip", "capability", "source")
        _product(row)
    for row in fields.objects("ambiguous"):
        row.only("name", "capabilities", "chips", "listed_as")
        row.text("name")
        holds(row, "capabilities", len(row.items("capabilities")) > 1, "must be several")
        row.texts("chips")
        row.texts("listed_as")
    pci = fields.object("pci")
    pci.only("ranges", "devices")
    for row in pci.objects("ranges"):
        row.only("first", "last", "capability", "source")
        first, last = matching(row, "first", DEVICE), matching(row, "last", DEVICE)
        holds(row, "last", first <= last, "must not be below the first")
        matching(row, "capability", CAPABILITY)
        row.text("source")
    for row in pci.objects("devices"):
        row.only("id", "chip", "name", "capability", "source")
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


def errors(fields: Fields) -> None:
    fields.only("schema", "signatures")
    codes = {ailment.name for ailment in Ailment}
    for row, known in zip(fields.objects("signatures"), signatures.read(fields), strict=True):
        holds(row, "id", known.id.replace("_", "").isalnum() and known.id.isupper(), "must be a code, in capitals")
        holds(row, "findings", codes.issuperset(known.findings), "names a finding that doctor does not have")
        holds(row, "links", all(link.startswith("https://") for link in known.links), "must be https addresses")
        holds(row, "links", bool(known.links) or not known.install or not known.no_use, "must name a thread")
