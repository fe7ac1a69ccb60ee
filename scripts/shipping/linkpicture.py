"""What a link to a page is shown as elsewhere: the GPU's name, its answer, and the releases that run, 1200 by 630."""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

_WIDTH, _HEIGHT, _LEFT = 1200, 630, 70
_GROUND, _TEXT, _SOFT = "#0f1419", "#e6edf3", "#9aa6b2"
COLOURS = {"runs": "#2f9e4f", "jit": "#b98512", "none": "#38424d", "void": "#1b232c"}


class LinkPicture(NamedTuple):
    """Its two lines, and by minor release, oldest first, how the GPU fares."""

    title: str
    answer: str
    cells: tuple[tuple[str, str], ...] = ()


def png(facts: LinkPicture) -> bytes:
    """The same bytes for the same facts and the same Pillow."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (_WIDTH, _HEIGHT), _GROUND)
    draw = ImageDraw.Draw(image)
    size = 92
    while draw.textlength(facts.title, ImageFont.load_default(size)) > _WIDTH - 2 * _LEFT:
        size -= 4
    draw.text((_LEFT, 90), facts.title, _TEXT, ImageFont.load_default(size))
    draw.text((_LEFT, 240), facts.answer, COLOURS["runs"], ImageFont.load_default(56))
    wide = (_WIDTH - 2 * _LEFT) / max(len(facts.cells), 1)
    for number, (minor, kind) in enumerate(facts.cells):
        left = _LEFT + number * wide
        draw.rectangle((left + 1, 390, left + wide - 2, 450), COLOURS[kind])
        if number in (0, len(facts.cells) - 1) or (number % 4 == 0 and number < len(facts.cells) - 3):
            draw.text((left, 462), minor, _SOFT, ImageFont.load_default(24))
    draw.text((_LEFT, 550), "torchpick: which PyTorch runs on my GPU?", _SOFT, ImageFont.load_default(34))
    packed = BytesIO()
    image.save(packed, "PNG", optimize=True)
    return packed.getvalue()
