"""The small questions that the format checks are made of; each complaint names its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from torchpick.model.arch import Arch
from torchpick.model.fields import Fields, ShapeError
from torchpick.model.versions import is_dotted, release_key

CONFIDENCE = ("certain", "high", "medium", "low", "unknown")
SAID = ("source", "confidence", "note")

PYTHON = re.compile(r"(cp|pp)[23]\d{1,2}t?")
BACKEND = re.compile(r"cpu|xpu|default|cu\d{2,3}|rocm\d+(\.\d+){1,2}")
VERSION = re.compile(r"\d+\.\d+\.\d+(\+[a-z]+[0-9.]*)?")
TAG = re.compile(r"[a-z][a-z0-9_]*")
SHA256 = re.compile(r"[0-9a-f]{64}")
GFX = re.compile(r"gfx[0-9a-f]{3,5}")
CAPABILITY = re.compile(r"\d{1,2}\.\d")
DEVICE = re.compile(r"0x[0-9a-f]{4}")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def is_prerelease(version: str) -> bool:
    return release_key(version)[1] < 0


def only(row: Fields, *names: str) -> None:
    """Refuse keys that the format does not know."""
    for name in row.names():
        if name not in names:
            raise row.fail(name, "is not a known key")


def is_day(text: str) -> bool:
    """Whether the text is a date such as 2026-11-22."""
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(part.isascii() and part.isdigit() for part in parts):
        return False
    _, month, day = map(int, parts)
    return 1 <= month <= 12 and 1 <= day <= 31


def maybe_flag(row: Fields, name: str) -> bool | None:
    return None if row.lacks(name) else row.flag(name)


def said(row: Fields) -> None:
    """Every row says where it is from, and how sure that is (a word, and perhaps of what)."""
    row.text("source")
    word = row.text("confidence").split(" ")[0].rstrip(",")
    holds(row, "confidence", word in CONFIDENCE, f"must begin with one of {', '.join(CONFIDENCE)}")
    row.maybe_text("note")


def holds(row: Fields, name: str, truth: bool, otherwise: str) -> None:
    if not truth:
        raise row.fail(name, otherwise)


def is_release(text: str) -> bool:
    return bool(VERSION.fullmatch(text)) and "+" not in text and bool(release_key(text))


def matching(row: Fields, name: str, form: re.Pattern[str]) -> str:
    text = row.text(name)
    holds(row, name, bool(form.fullmatch(text)), f"is not of the form {form.pattern}: {text[:60]!r}")
    return text


def one_of(row: Fields, name: str, words: Sequence[str]) -> str:
    text = row.text(name)
    holds(row, name, text in words, f"must be one of {', '.join(words)}, is {text[:60]!r}")
    return text


def dotted(row: Fields, name: str) -> None:
    holds(row, name, is_dotted(row.text(name)), f"must be numbers between dots, is {row.text(name)[:60]!r}")


def maybe_dotted(row: Fields, name: str) -> None:
    if row.maybe_text(name) is not None:
        dotted(row, name)


def each(row: Fields, name: str, is_so: Callable[[str], bool], otherwise: str) -> None:
    for place, text in enumerate(row.texts(name)):
        if not is_so(text):
            raise ShapeError(f"{row.at(name)}[{place}]", f"{otherwise}: {text[:60]!r}")


def is_arch(text: str) -> bool:
    try:
        return str(Arch.parse(text)) == text
    except ValueError:
        return False
