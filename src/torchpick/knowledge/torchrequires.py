"""compat/requires.json → what each release of torch requires."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.model.fields import Fields
from torchpick.model.torchrequires import TorchRequirements


def parse(fields: Fields) -> Mapping[str, TorchRequirements]:
    """The requirements of each release."""
    releases = fields.object("releases")
    return {release: _requirements(releases.object(release)) for release in releases.names()}


def _requirements(row: Fields) -> TorchRequirements:
    return TorchRequirements(row.texts("plain"), row.texts("default"), row.mapping("triton"), row.maybe_dotted("cuda"))
