"""Markdown pages as things to test: fenced blocks, the commands in them, links and anchors.

A ```console block is what a terminal shows: `$ command` and what it prints, nothing where nothing is said. A line `…`
stands for any lines, `…` within a line for any text. Words after the language: `exit=3` (of the block's last command),
`needs=uv` or `needs=network` (the block is left out where that is missing). A block of another language with
`file=NAME` is written to that file before what follows.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ELLIPSIS = "…"
NEEDS = ("network", "uv")
_FENCE = re.compile(r"^(`{3,}|~{3,})(.*)$")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`]+)`")


class Block(NamedTuple):
    """A fenced block; `line` is that of its fence."""

    line: int
    language: str
    options: dict[str, str]
    lines: list[str]

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)


class Command(NamedTuple):
    """What stands behind `$`, the lines it must print, and its exit status."""

    line: int
    text: str
    printed: list[str]
    status: int = 0


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page; one that is never closed is an error of the page."""
    found: list[Block] = []
    fence, opened = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        match = _FENCE.match(line)
        if fence and match and match[1] == fence and not match[2].strip():
            fence = ""
        elif fence:
            found[-1].lines.append(line)
        elif match:
            fence, opened = match[1], number
            language, *words = match[2].split() or [""]
            found.append(Block(number, language, dict(_option(word, number) for word in words), []))
    assert not fence, f"the block of line {opened} is never closed"
    return found


def _option(word: str, line: int) -> tuple[str, str]:
    name, mark, value = word.partition("=")
    assert mark, f"line {line}: `{word}` is no option of a block"
    assert name in ("exit", "needs", "file"), f"line {line}: unknown option `{name}`"
    assert name != "needs" or value in NEEDS, f"line {line}: unknown need `{value}`"
    return name, value


def commands(block: Block) -> list[Command]:
    """The commands of a console block, each with what it must print; a backslash continues a command."""
    found: list[Command] = []
    continues = False
    for number, line in enumerate(block.lines, block.line + 1):
        if continues:
            last = found[-1]
            found[-1] = last._replace(text=f"{last.text}\n{line}")
            continues = line.endswith("\\")
        elif line.startswith("$ "):
            found.append(Command(number, line[2:], []))
            continues = line.endswith("\\")
        else:
            assert found, f"line {number}: output before any command"
            found[-1].printed.append(line)
    assert found, f"line {block.line}: a console block without a command"
    found[-1] = found[-1]._replace(status=int(block.options.get("exit", "0")))
    return found


def agree(expected: list[str], printed: str) -> bool:
    """Whether the output is what the page shows; blank lines at the end and trailing blanks do not count."""
    parts = []
    for line in _stripped(expected):
        if line == ELLIPSIS:
            parts.append(r"(?:[^\n]*\n)*?")
        else:
            parts.append("[^\n]*?".join(map(re.escape, line.split(ELLIPSIS))) + "\n")
    text = "".join(f"{line}\n" for line in _stripped(printed.splitlines()))
    return re.fullmatch("".join(parts), text) is not None


def _stripped(lines: list[str]) -> list[str]:
    found = [line.rstrip() for line in lines]
    while found and not found[-1]:
        found.pop()
    return found


def prose(text: str) -> str:
    """The page without its fenced blocks."""
    kept, fence = [], ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if fence:
            fence = "" if match and match[1] == fence and not match[2].strip() else fence
        elif match:
            fence = match[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def links(text: str) -> list[str]:
    """The targets of the page's links."""
    return _LINK.findall(prose(text))


def pictures(text: str) -> list[str]:
    """The targets of the page's pictures."""
    return re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)", prose(text))


def cells(block: Block) -> list[Command]:
    """A notebook's cells as commands: `!command`, `%pip …`, `%run -m …`; all must succeed, whatever they print.

    torchpick itself is there already where a page is run; its installation from a checkout is another test's.
    """
    found = []
    for number, line in enumerate(block.lines, block.line + 1):
        text = line[1:] if line[:1] in "!%" else ""
        assert text or not line.strip() or line.startswith(("#", "import ", "torchpick.")), f"line {number}: {line}"
        if text and not text.endswith(" ./torchpick"):
            found.append(Command(number, text.removeprefix("run -m "), [ELLIPSIS]))
    return found


def anchors(text: str) -> set[str]:
    """What `#…` may name: the headings, as a forge spells them."""
    found = set()
    for line in prose(text).splitlines():
        if match := re.match(r"#+ +(.*)", line):
            plain = re.sub(r"[^\w\- ]", "", match[1].replace("`", "").strip().lower())
            found.add(plain.replace(" ", "-"))
    return found


def inline_code(text: str) -> list[str]:
    return _CODE.findall(prose(text))


def catalogued(text: str) -> set[str]:
    """The codes that the page explains: in a heading, or in the first cell of a table's row."""
    found: set[str] = set()
    for line in prose(text).splitlines():
        if line.startswith("#"):
            found.update(re.findall(r"\b[A-Z][A-Z0-9_]+\b", line))
        elif line.startswith("|"):
            found.update(_CODE.findall(line.split("|")[1]))
    return found


def pages(root: Path) -> list[Path]:
    """The pages for people, README first."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def of_torchpick(line: str) -> list[list[str]]:
    """The words of each `torchpick …` in a line of PowerShell or cmd, up to what ends the command there."""
    texts = re.findall(r"(?:^|[\s(&'])torchpick(?![-\w/\\.])((?:\s+(?:\"[^\"]*\"|[^\s()|;&'\"]+))*)", line)
    return [shlex.split(text, posix=True) for text in texts]
