"""compat/shared-files.json → which projects write the same files."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.fields import Fields
from torchpick.model.sharedfiles import SharedFiles


def parse(fields: Fields) -> Mapping[frozenset[str], SharedFiles]:
    """The pairs of projects that overwrite each other's files, each by the two versions that share most."""
    pairs: dict[frozenset[str], SharedFiles] = {}
    for row in sorted(fields.objects("pairs"), key=lambda row: row.number("files")):
        names = row.texts("names")
        if files := row.number("files"):
            pairs[frozenset(names)] = SharedFiles(files, row.texts("libraries"))
    return pairs
