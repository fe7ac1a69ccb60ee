"""GPU, driver, CUDA and torch are taken from the text, and what a program merely asks for is not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.growth import in_line
from torchpick.doctor import posts, situation
from torchpick.doctor.situation import Situation
from torchpick.model.fields import Fields

WORDS = situation.read_words(
    Fields(json.loads((Path(__file__).parents[2] / "compat" / "words.json").read_text("utf-8")))
)
IN_WORDS = json.loads((Path(__file__).parent / "words.json").read_text("utf-8"))
CASES = json.loads((Path(__file__).parent / "mentions.json").read_text("utf-8"))


def of_text(text: bytes) -> Situation:
    return situation.read_situation(posts.plain(text, WORDS["rewritten"]), WORDS, WORDS["facts"])


@pytest.mark.parametrize(("text", "said"), [*CASES["what_a_line_says"], ("x" * (1 << 16) + " torch 2.9.1", {})])
def test_what_a_line_says(text: str, said: dict[str, Any]) -> None:
    found = of_text(text.encode())._replace(facts={})

    assert json.dumps(found) == json.dumps(Situation(**said))


@pytest.mark.parametrize(
    ("text", "platform", "fact"),
    [
        ("Windows 11", "windows-x86_64", "windows"), ("WSL 2 on Win 11", "linux-x86_64", "wsl"),
        ("Windows 11 without WSL", "windows-x86_64", "windows"), ("macOS 14, M2 Max", "macos-arm64", "macos"),
        ("Intel MacBook Pro", "macos-x86_64", "intel"), ("Ubuntu 24.04 on a DGX Spark", "linux-aarch64", "aarch64"),
        ("docker compose up", None, "container"), ("no Docker here; docker-pycreds 0.4.0", None, ""),
        ("NVIDIA Container Toolkit is installed", None, ""),
        ("HIP error: invalid device function", None, "amd"), ("ROCM used to build PyTorch: N/A", None, ""),
    ],
)  # fmt: skip
def test_what_is_said_of_the_surroundings(text: str, platform: str | None, fact: str) -> None:
    said = of_text(text.encode())

    assert said.platform == platform
    assert fact in said.facts if fact else not said.facts


@pytest.mark.parametrize(
    "text", ["GPU 0: ", "compute capability ", "Found GPU0 ", "NVIDIA ", "[2026-11-22 03:12:11] ", " ", "torch=="]
)
def test_the_time_grows_with_the_length_and_no_faster(text: str) -> None:
    in_line(lambda count: of_text(text.encode() * count), (500, 4000), floor=0.001)


def test_each_cause_that_is_known_by_words_has_texts_here() -> None:
    assert sorted(IN_WORDS["says"]) == sorted(name for name in WORDS["facts"] if name.isupper())


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in IN_WORDS["says"].items() for text in texts])
def test_a_cause_is_known_in_anybodys_words(name: str, text: str) -> None:
    assert name in of_text(text.encode()).facts


@pytest.mark.parametrize("text", IN_WORDS["innocent"])
def test_talk_of_the_same_things_is_no_cause(text: str) -> None:
    assert [name for name in of_text(text.encode()).facts if name.isupper()] == []


def test_no_expression_is_passed_over_that_a_text_has() -> None:
    lines = [*WORDS["rewritten"], *(form for forms in WORDS["facts"].values() for form in forms.split("\n"))]
    forms = [(form, re.compile(f"(?im){form}")) for form in lines if not posts.may_match(form, "")]
    texts = [text for says in IN_WORDS["says"].values() for text in says] + ["see https://github.com/a/torch/pull/1"]

    assert len(forms) > 1000
    assert [
        form for form, made in forms for text in texts if not posts.may_match(form, text.lower()) and made.search(text)
    ] == []
