"""A pick as pip's own arguments."""

from __future__ import annotations

from torchpick.model.build import Build
from torchpick.model.verdict import Pick, requirements
from torchpick.model.wish import Wish

# Both pip and uv refuse this line: no index, and a version that nobody can publish.
NOTHING_RUNS = "--no-index torch==0+no.build.runs.here"


def line(pick: Pick) -> str:
    """`--index-url URL torch==…`; a flat mirror is a page of links instead of an index."""
    return line_of(pick.build, pick.wish)


def line_of(build: Build, wish: Wish) -> str:
    where = "--no-index --find-links" if wish.index_base.startswith("flat+") else "--index-url"
    # What a nightly depends on (triton) is a pre-release too.
    early = () if wish.channel == "stable" else ("--pre",)
    return " ".join([*early, where, build.index_url(wish.index_base), *requirements(build, wish)])
