"""The words of messages, help and documents: plain English, with one word for one thing."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from torchpick.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]

# Where it stands, and the text.
Text = tuple[str, str]

# What may not be written, and what is written instead. `{…}` and code between backticks are not looked at.
WORDS = {
    r"\b(?:told|tells?)\b(?! (?:\w+ )?(?:apart|from))": "given, specified, reports, says",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bcures?\b": "fix (the JSON key `cure` stays)",
    r"\b(?:serve[sd]?|whom it serves)\b": "supports",
    r"\bheld environments?\b|\bheld to\b": "pinned",
    r"\bleans? on\b": "relies on",
    r"\bspeaks? (?:\w+ )?CUDA\b|\bdriver speaks\b|\bspeaks itself\b": "supports",
    r"(?<!there )\b(?:is|are) no (?:requirement|text|list|wheel|URL|version|backend|platform|folder|file|Python|name"
    r"|architecture|number|channel|mapping|size|table|array|range|zip|PyTorch|glibc|CUDA|NVIDIA)\b": "is not a valid …",
    r"\bmust be text\b|\bis no text\b": "must be a string",
    r"\bnobody has (?:read|seen)\b": "not confirmed on the index, not known",
    r"\bfinds? no way\b": "could not resolve the requirements",
    r"\bslip of the pen\b|\bis a slip\b": "typo",
    r"\bleave one of them out\b": "use only one of them",
    r"\bof no use\b|\bno use\b": "won't help",
    r"\blead a log\b": "pipe",
    r"\badmits it\b": "allows it",
    r"\bby the book\b": "untested on hardware, written from the vendor's documentation",
    r"\bcannot be meant\b": "is not valid",
    r"\b(?:gives|gave) no answer\b": "does not answer",
    r"\bas good as none\b": "is ignored",
    r"\bnot sane\b": "damaged",
}


def strings() -> Iterator[Text]:
    """Each text of the sources with its place; a single word is a code or a key."""
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
                yield f"{file.relative_to(ROOT).as_posix()}:{node.lineno}", node.value


def documents() -> Iterator[Text]:
    files = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "action.yml", *sorted((ROOT / "docs").glob("*.md"))]
    for file in (*files, *sorted(ROOT.glob("compat/*.md")), *sorted(ROOT.glob("evidence/*.md"))):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            yield f"{file.relative_to(ROOT).as_posix()}:{number}", line


def known_errors() -> Iterator[Text]:
    """What `explain` prints of each error; its patterns are other people's words."""
    for entry in json.loads((ROOT / "compat" / "errors.json").read_text("utf-8"))["signatures"]:
        texts = [entry["title"], entry["meaning"], *entry.get("causes", ()), *entry.get("cures", ())]
        texts += [step["do"] for step in entry.get("steps", ())]
        for text in (*texts, *(text for row in entry.get("no_use", ()) for text in row.values())):
            yield f"compat/errors.json: {entry['id']}", text


def findings(text: str) -> list[str]:
    plain = re.sub(r"`[^`\n]*`|\{[^{}\n]*\}", "", text)
    return [
        f"{match[0]!r}: {instead}"
        for word, instead in WORDS.items()
        for match in re.finditer(word, plain, re.IGNORECASE)
    ]


def wrong(texts: Iterable[Text]) -> list[str]:
    return [f"{place}: {found}" for place, text in texts for found in findings(text)]


@pytest.mark.parametrize("texts", [strings, documents, known_errors])
def test_texts_are_plain_english(texts: Callable[[], Iterator[Text]]) -> None:
    found = wrong(texts())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_plain_english(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*command.split(), "--help"])
    found = wrong([(f"torchpick {command} --help", capsys.readouterr().out)])
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "`x` is no requirement", "what is told is not looked up", "the command that mends it",
        "nobody has seen it published",
    ],
)  # fmt: skip
def test_the_dialect_is_found(text: str) -> None:
    assert findings(text)


@pytest.mark.parametrize("text", ["there is no file", "tell them apart", "`cure` is a key", "the line {mends}"])
def test_english_is_not(text: str) -> None:
    assert not findings(text)
