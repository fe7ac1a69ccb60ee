"""A build as pip's own arguments."""

from __future__ import annotations

from torchpick.model.build import Build
from torchpick.model.wish import Wish

# Both pip and uv refuse this line: no index, and a version that nobody can publish.
NOTHING_RUNS = "--no-index torch==0+no.build.runs.here"


def line(build: Build, wish: Wish) -> str:
    """The words as one line for a shell to split: `--index-url URL torch==…`."""
    return " ".join(words(build, wish, build.index_url(wish.index_base, wish.channel)))


def words(build: Build, wish: Wish, url: str) -> list[str]:
    """Pip's arguments with the index at this URL; a flat mirror is a page of links instead of an index.

    Without a URL the build lies on the user's own index, which pip and uv know.
    """
    if not url:
        return list(requirements(build, wish))
    where = ["--no-index", "--find-links"] if wish.index_base.startswith("flat+") else ["--index-url"]
    # What a nightly depends on (triton) is a pre-release too.
    early = [] if wish.channel == "stable" else ["--pre"]
    return [*early, *where, url, *requirements(build, wish)]


def requirements(build: Build, wish: Wish) -> tuple[str, ...]:
    """Torch and the companions that were asked for, pinned; what else of the family was asked for stays as it was."""
    pins = build.pins
    asked = [name for name in wish.companions if name in pins]
    return (*(f"{name}=={pins[name]}" for name in ("torch", *asked)), *wish.others)
