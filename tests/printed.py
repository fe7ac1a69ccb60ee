"""The commands in what torchpick prints: each must run where it is pasted."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from torchpick.cli import COMMANDS
from torchpick.cli.arguments import Parser

_LABELS = ("run", "or", "fix", "do", "command")
_PROGRAMS = re.compile(r"(?:\S*/)?(?:torchpick|pip|uv|python[\d.]*|conda|git|nvidia-smi|scontrol|kubectl)(?:$| )")
# What no shell takes as it stands.
_SPECIAL = set("<>()[]{}*?;&|$`\"'\\~#! ")


def commands(text: str) -> Iterator[str]:
    """What stands in backticks or behind a label; what holds `…` is a pattern, not a command."""
    text = re.sub(r"\$[A-Z]+/", "/", text)  # a case file's folders
    found = re.findall(r"`([^`\n]+)`", text)
    found += re.findall(rf"^ *(?:{'|'.join(_LABELS)}):? +(.+)$", text, re.MULTILINE)
    for line in found:
        if _PROGRAMS.match(line) and "…" not in line:
            yield from _parts(line)


def _parts(line: str) -> Iterator[str]:
    """The commands of a pipe or a chain, and what stands in `$( )`."""
    yield from re.findall(r"\$\(([^()]*)\)", line)
    for part in re.split(r" (?:&&|\|) ", re.sub(r'"?\$\([^()]*\)"?', "x", line)):
        yield part.strip()


def check(text: str) -> None:
    """Each command is read by a POSIX shell as its words alone, and each of torchpick's by torchpick."""
    for line in commands(text):
        words = shlex.split(line)
        bare = re.sub(r"'[^']*'|\"[^\"$`\\]*\"| (?:2?>{1,2}|<) ", " ", line)
        assert not (set(bare) - {" "}) & _SPECIAL, line
        if words[0].rpartition("/")[2] == "torchpick":
            accept(words[1:])


def accept(words: list[str]) -> None:
    """UsageError where torchpick does not take these words."""
    if words[:1] == ["help"]:
        assert words[1:] == [] or words[1] in (*COMMANDS, "all", "machine"), words
        return
    first = words[0] if words else ""
    command = first if first in COMMANDS else "pick"
    parser = Parser(command)
    ours, _ = parser.split(words if command == "pick" else words[1:])
    if "--help" not in ours:
        parser.read(ours)
