"""The format of the files that hold facts: drivers, libraries, the family, GPUs."""

from __future__ import annotations

import re

from scripts.table.forms import (
    CAPABILITY,
    NAME,
    SAID,
    dotted,
    each,
    holds,
    is_arch,
    matching,
    maybe_dotted,
    one_of,
    only,
    said,
)
from torchpick.doctor import texts
from torchpick.model.fields import Fields
from torchpick.model.finding import Ailment

# What is no repetition in a regular expression, whatever signs it has: an escaped sign, and a class of signs.
_WITHOUT_MEANING = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")
_ENDLESS = "repeats without a bound: `{0,40}` in place of `*`"


def drivers(fields: Fields) -> None:
    lists = ("toolkits", "majors", "branches", "last_branch", "first_driver", "toolkit_arches", "forward_compat")
    only(fields, "schema", *lists, "unified_tegra", "notes")
    for row in fields.objects("toolkits"):
        only(row, "cuda", "update", "linux", "windows", *SAID)
        row.maybe_text("update")
        dotted(row, "cuda")
        maybe_dotted(row, "linux")
        maybe_dotted(row, "windows")
        said(row)
    for row in fields.objects("majors"):
        only(row, "cuda_major", "linux", "windows", *SAID)
        row.number("cuda_major")
        dotted(row, "linux")
        dotted(row, "windows")
        said(row)
    branches = []
    for row in fields.objects("branches"):
        only(row, "branch", "cuda", "windows_last", "windows_basis", *SAID)
        branches.append(row.number("branch"))
        row.number("windows_last")
        one_of(row, "windows_basis", ("seen", "believed"))
        dotted(row, "cuda")
        said(row)
    holds(fields, "branches", branches == sorted(set(branches)), "must be sorted by branch, each once")
    for row in fields.objects("last_branch"):
        only(row, "generation", "capabilities", "branch", *SAID)
        _generation(row)
        row.number("branch")
    for row in fields.objects("first_driver"):
        only(row, "generation", "capabilities", "linux", "windows", *SAID)
        _generation(row)
        maybe_dotted(row, "linux")
        maybe_dotted(row, "windows")
    unified = fields.object("unified_tegra")
    only(unified, "linux", *SAID)
    dotted(unified, "linux")
    said(unified)
    for row in fields.objects("toolkit_arches"):
        only(row, "toolkit", "cuda", "arches", *SAID)
        dotted(row, "toolkit")
        dotted(row, "cuda")
        each(row, "arches", is_arch, "is no architecture")
        said(row)
    for row in fields.objects("forward_compat"):
        only(row, "rule", "platforms", "not_covered", *SAID)
        row.text("rule")
        said(row)
    fields.texts("notes")


def _generation(row: Fields) -> None:
    row.text("generation")
    each(row, "capabilities", lambda text: bool(CAPABILITY.fullmatch(text)), "is no capability")
    said(row)


def libraries(fields: Fields) -> None:
    only(fields, "schema", "cudnn", "nccl", "triton")
    for name in ("cudnn", "nccl", "triton"):
        for row in fields.objects(name):
            only(row, "from", "floor", *(("cuda_major",) if name == "nccl" else ()), *SAID)
            dotted(row, "from")
            matching(row, "floor", CAPABILITY)
            if name == "nccl":
                row.number("cuda_major")
            said(row)


def family(fields: Fields) -> None:
    only(fields, "schema", "source", "names", "pinned")
    fields.text("source")
    each(fields, "names", lambda text: bool(NAME.fullmatch(text)), "is no normalised project name")
    names = fields.texts("names")
    each(fields, "pinned", lambda text: text in names, "is not of the family")


def errors(fields: Fields) -> None:
    only(fields, "schema", "signatures")
    codes = {ailment.name for ailment in Ailment}
    for row, known in zip(fields.objects("signatures"), texts.read_signatures(fields).values(), strict=True):
        only(row, *texts.Signature._fields)
        each(row, "patterns", _is_telling, "needs a text of six or more ASCII characters")
        holds(row, "id", known.id.replace("_", "").isalnum() and known.id.isupper(), "must be a code, in capitals")
        holds(row, "findings", codes.issuperset(known.findings), "names a finding that doctor does not have")
        holds(row, "links", all(link.startswith("https://") for link in known.links), "must be https addresses")
        holds(row, "links", bool(known.links) or not known.install or not known.no_use, "must name a thread")


def words(fields: Fields) -> None:
    only(fields, "schema", "packages", "rewritten", "mentions", "words")
    each(fields, "packages", _is_bounded, _ENDLESS)
    read = texts.read_words(fields)
    for form, other in read.rewritten.items():
        holds(fields, "rewritten", _is_bounded(form), _ENDLESS)
        _compiled(fields, "rewritten", form, other)
    for section, expressions in (("mentions", read.kept), ("words", read.facts)):
        row = fields.object(section)
        for name, expression in expressions.items():
            each(row, name, _is_bounded, _ENDLESS)
            _compiled(row, name, expression)


def _compiled(row: Fields, name: str, expression: str, other: str = "") -> None:
    try:
        re.sub(expression, other, "")
    except re.error as error:
        raise row.fail(name, f"is not a regular expression: {error}") from error


def _is_bounded(expression: str) -> bool:
    """Whether nothing is repeated without end, which takes longer than the text is long.

    All of a text may be looked through from its start, where that is tried once.
    """
    if expression.startswith(r"\A"):
        expression = expression.replace(r"[\s\S]*", "")
    bare = _WITHOUT_MEANING.sub("x", expression)
    return _UNBOUNDED.search(bare) is None


def _is_telling(pattern: str) -> bool:
    return pattern.isascii() and max(map(len, pattern.split("*"))) >= 6
