"""README's pictures show what is so today: the terminal what the commands print, the timeline what the table holds."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from io import BytesIO

import pytest

from scripts.shipping import linkpicture, pages, picture, recording, timeline
from scripts.shipping.timeline import Timeline
from torchpick.knowledge.compat import Knowledge

SVG = "{http://www.w3.org/2000/svg}"


def shown() -> list[str]:
    """The lines of the terminal's picture, read from it as a person would: by place."""
    tree = ET.fromstring(recording.PICTURE.read_text(encoding="utf-8"))  # noqa: S314 # our own file
    rows: dict[float, dict[int, str]] = {}
    for text in tree.iter(f"{SVG}text"):
        column = round((float(text.attrib["x"]) - 16) / 8.4)
        rows.setdefault(float(text.attrib["y"]), {})[column] = text.text or ""
    lines = []
    for _, parts in sorted(rows.items()):
        line = ""
        for column, words in sorted(parts.items()):
            line = line.ljust(column) + words
        lines.append(line.rstrip())
    return lines


@pytest.mark.process
def test_the_terminal_shows_what_its_commands_print_today() -> None:
    """Anew: scripts/record-terminal."""
    expected = []
    for command in recording.COMMANDS:
        for line in [f"$ {command}", *recording.printed(command).splitlines()]:
            rest = line
            while rest:  # a terminal breaks a line at its last column
                expected.append(rest[: recording.COLUMNS].rstrip())
                rest = rest[recording.COLUMNS :]

    assert shown() == [line for line in expected if line]
    assert "torch 2.14.1+cu126" in recording.PICTURE.read_text(encoding="utf-8")


def test_the_timeline_is_the_tables() -> None:
    """Anew: scripts/draw-timeline."""
    assert timeline.PICTURE.read_text(encoding="utf-8") == timeline.svg()


def test_what_a_link_is_shown_as_is_the_pages_own_answer() -> None:
    """Its facts are those of the page, and the build draws the same picture of them each time."""
    images = pytest.importorskip("PIL.Image")
    facts = pages.pictures()["gpu/gtx-1080-ti/link.png"]

    assert facts.answer == pages.best_of("GTX 1080 Ti") == "torch 2.14.1+cu126"
    assert dict(facts.cells)["2.14"] == "runs"
    assert dict(facts.cells)["2.15"] == "none"
    drawn = linkpicture.png(facts)
    assert drawn == linkpicture.png(facts)
    assert drawn != linkpicture.png(facts._replace(answer="torch 2.15.0+cu132"))
    image = images.open(BytesIO(drawn)).convert("RGB")
    assert image.size == (1200, 630)
    colours = {image.getpixel((70 + int((number + 0.5) * 1060 / len(facts.cells)), 420)) for number in range(23)}
    assert colours == {(0x2F, 0x9E, 0x4F), (0x38, 0x42, 0x4D)}


@pytest.fixture(scope="module")
def found() -> Timeline:
    knowledge = Knowledge({"TORCHPICK_CACHE_DIR": str(picture.ROOT / "no-cache")})
    return timeline.of(knowledge.table([timeline.PLATFORM]))


def test_the_timeline_says_where_pascal_ends_and_what_nobody_dropped(found: Timeline) -> None:
    bars = {str(bar.kind.arch): bar for bar in found.bars}

    pascal = bars["sm_61"].last
    assert pascal is not None
    assert (pascal.build.version, bars["sm_61"].dropped) == ("2.14.1+cu126", True)
    assert not bars["sm_75"].dropped
    # No ROCm build of the newest release is known; that is not a GPU dropped.
    assert not bars["gfx942"].dropped
    assert bars["gfx906"].dropped
    assert "GTX 1080 Ti (sm_61) after 2.14.1" in timeline.drawn(found)


def test_every_target_has_a_product_and_it_is_the_targets_own(found: Timeline) -> None:
    knowledge = Knowledge(os.environ)
    for bar in found.bars:
        assert bar.kind.examples, bar.kind.arch
        for name in bar.kind.examples if bar.kind.vendor == "amd" else ():
            assert knowledge.gpu(name).arch == bar.kind.arch, name
