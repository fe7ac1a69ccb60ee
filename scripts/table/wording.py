"""The collected facts' sources, in words that mean something to a reader of this repository."""

from __future__ import annotations

import re

# Exact phrases first, longest first; each names the same source in fewer or plainer words.
_PHRASES = (
    (
        "compatibility notes, HEAD requests 2026-08-29); Modular lock",
        "HEAD requests to the wheel host by a third party",
    ),
    (
        "stored download URLs/metadata/version reports of some 2.14.x wheels of this index Windows 2.14.1+cu126, "
        "71283043507 Linux 2.14.1+cu126, …); test-infra matrix",
        "public download URLs and version reports of some 2.14.x wheels of this index; pytorch/test-infra matrix",
    ),
    ("stated in notes 66033686640", "stated in a third party's notes"),
    ("PyPI metadata and notes 66033686640 say", "PyPI metadata and a third party's notes say"),
    (
        "whl/torch/ listing scraped 2026-06-18T08:02Z: github:DanielHou315/pytorch_compatibilities@ba482ab "
        "data/torch_matrix.json",
        "whl/torch/ listing of 2026-06-18 (github DanielHou315/pytorch_compatibilities@ba482ab data/torch_matrix.json)",
    ),
    ("((local evidence) cpu", "(cpu"),
    (" ((local evidence)", ""),
    ("PyPI simple page for torch", "the default index's page for torch"),
    ("page for torch (cpu index not seen", "page for torch; cpu index not seen"),
    ("; METADATA via pip", " and METADATA of its wheels"),
    ("one stored commit", "one commit"),
    ("stored mentions", "mentions"),
    ("a stored generate_binary_build_matrix copy", "a copy of generate_binary_build_matrix"),
    (" (stored quote)", " (as quoted)"),
    (" (run here)", ""),
    (" could not be read here", " could not be read"),
    (" read here:", " read:"),
    ("(nix hash; rest", "(nix hash); rest"),
    ("the scraped list folds", "the listing folds"),
    ("as the PyPI default", "as the default index's build"),
    ("PyPI has", "the default index has"),
    ("PyPI for", "the default index for"),
)
# `PyPI tags` → `default-index tags`; at the end of a clause → `the default index`.
_ADJECTIVE = re.compile(r"PyPI(?= [a-z])")


def source(text: str) -> str:
    """One source or note, reworded where the collector's own shorthand would mislead."""
    if text == "listing":
        return "whl/torch/ listing of 2026-06-18 holds none"
    for collected, plain in _PHRASES:
        text = text.replace(collected, plain)
    return _ADJECTIVE.sub("default-index", text).replace("PyPI", "the default index")
