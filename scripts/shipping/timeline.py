"""README's and the page's picture of which release dropped which GPU, drawn from the table."""

from __future__ import annotations

from collections.abc import Sequence

from scripts.shipping.picture import PICTURES, ROOT, draw
from torchpick.cli.show import timeline
from torchpick.knowledge.compat import Knowledge

PICTURE = PICTURES / "timeline.svg"


def svg() -> str:
    """From the table as it is shipped, without what this user refreshed."""
    knowledge = Knowledge({"TORCHPICK_COMPAT_DIR": str(ROOT / "compat"), "TORCHPICK_CACHE_DIR": str(ROOT / "no-cache")})
    return timeline.svg(timeline.of(knowledge.table([timeline.PLATFORM])))


def main(words: Sequence[str]) -> int:
    return draw(words, __doc__, PICTURE, svg)
