"""A row of a compact index → a build. Pure.

What is shipped is trusted: `scripts/check-compat` and a test hold it against its format; `refreshed` checks the cache.
"""

from __future__ import annotations

from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, TwinWheel
from torchpick.model.versions import remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from torchpick.model.table import Read

_arch = remembered(Arch.parse)  # a file names some thirty, again and again


def arches_of(texts: Iterable[str]) -> tuple[Arch, ...]:
    return tuple(map(_arch, texts))


def index_shelf(index: Mapping[str, Any]) -> dict[str, Read]:
    """The builds of one compact index by release, each release read when it is asked for."""
    by_release: dict[str, list[list[Any]]] = {}
    for row in index["builds"]:
        by_release.setdefault(row[0], []).append(row)
    reader = _IndexReader(index)
    return {torch: reader.read_later(rows) for torch, rows in by_release.items()}


class _IndexReader:
    """The lists that the rows of an index share."""

    def __init__(self, index: Mapping[str, Any]) -> None:
        self._platform: str = index["platform"]
        self._arch_sets = [None if texts is None else arches_of(texts) for texts in index["arch_sets"]]
        self._python_sets = [tuple(tags) for tags in index["python_sets"]]
        self._refs: list[str] = index["refs"]
        self._bases: list[dict[str, str]] = index["bases"]

    def read_later(self, rows: list[list[Any]]) -> Read:
        return lambda: tuple(map(self._build, rows))

    def _build(self, row: list[Any]) -> Build:
        torch, backend, version, cuda, arches, pythons, tags, glibc, libraries, lacks, *rest = row
        published, yanked, companions, basis, kind, ref, twin = rest
        return Build(
            torch,
            backend,
            self._platform,
            version,
            cuda,
            self._arch_sets[arches],
            self._python_sets[pythons],
            tuple(tags),
            glibc,
            libraries,
            {library: arches_of(texts) for library, texts in lacks.items()},
            published,
            yanked,
            companions,
            self._bases[basis],
            Evidence(kind, self._refs[ref], None if twin is None else TwinWheel(*twin)),
        )
