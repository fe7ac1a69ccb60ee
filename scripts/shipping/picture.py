"""The pictures of the documents: each is drawn by a command without arguments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"


def draw(words: Sequence[str], about: str | None, picture: Path, svg: Callable[[], str]) -> int:
    """Write the picture, and print where it lies."""
    argparse.ArgumentParser(description=about).parse_args(words)
    picture.parent.mkdir(parents=True, exist_ok=True)
    picture.write_text(svg(), encoding="utf-8")
    print(picture.relative_to(ROOT))
    return 0
