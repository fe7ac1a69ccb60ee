"""The page of findings names every code, once, under its severity."""

from __future__ import annotations

import re
from pathlib import Path

from torchpick.doctor import texts
from torchpick.model.finding import Ailment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "doctor.md").read_text("utf-8")


def test_every_code_is_told_of_in_a_sentence_or_more() -> None:
    texts = re.split(r"^### \w+\n", PAGE, flags=re.MULTILINE)[1:]

    assert len(texts) == len(list(Ailment))
    assert all(len(text.split()) > 12 for text in texts)


def test_the_fields_of_an_error_are_told_of() -> None:
    page = (ROOT / "compat" / "README.md").read_text("utf-8")
    for field in texts.Signature._fields:
        assert f"`{field}`" in page, field
