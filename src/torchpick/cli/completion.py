"""Completion for shells: their scripts, and the words that each of these asks for, with what they mean."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from torchpick.cli import COMMANDS
from torchpick.cli.arguments import Arguments, Parser
from torchpick.errors import UsageError
from torchpick.knowledge import locations

SHELLS = ("bash", "zsh", "fish", "powershell")
Words = Iterator[tuple[str, str]]


def run(args: Arguments) -> int:
    if args.words == ["words"]:
        sys.stdout.writelines(f"{word}\t{about}\n" for word, about in completions(args.passed_on))
        return 0
    if len(args.words) != 1 or args.words[0] not in SHELLS:
        raise UsageError("completion for which shell?", hint=f"one of {', '.join(SHELLS)}")
    print(locations.text_of_ours("cli", "shells", f"completion.{args.words[0]}"), end="")
    return 0


def completions(words: Sequence[str]) -> Words:
    """What may stand after these words, each with what it means; the shell filters them."""
    typed = [word for word in words if word != "="]
    command = typed[0] if typed and typed[0] in COMMANDS else "pick"
    flags = Parser(command).flags
    for flag in flags:
        if typed and typed[-1] in flag.names and flag.metavar:
            yield from ((choice, "") for choice in flag.choices)  # for a file the shell has names itself
            return
    if not typed:
        for name in COMMANDS:  # each with the first sentence of its help
            lines = Parser(name).lines[2:]
            yield name, " ".join(lines[: lines.index("")]).partition(". ")[0].rstrip(".")
    if command == "completion":
        yield from ((shell, "") for shell in SHELLS)
    yield from ((name, flag.about) for flag in flags for name in flag.names if name.startswith("--"))
    yield "--help", "what it does, with examples"
