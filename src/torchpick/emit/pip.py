"""A pick as pip's own arguments."""

from __future__ import annotations

from torchpick.model.verdict import Pick

# Both pip and uv refuse this line: no index, and a version that nobody can publish.
NOTHING_RUNS = "--no-index torch==0+no.build.runs.here"


def line(pick: Pick) -> str:
    """`--index-url URL torch==…`; a flat mirror is a page of links instead of an index."""
    where = "--no-index --find-links" if pick.wish.index_base.startswith("flat+") else "--index-url"
    # What a nightly depends on (triton) is a pre-release too.
    early = () if pick.wish.channel == "stable" else ("--pre",)
    return " ".join([*early, where, pick.index_url, *pick.requirements])
