"""Print a shell completion script."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from torchpick.cli import COMMANDS
from torchpick.cli.arguments import Arguments, Parser
from torchpick.errors import UsageError
from torchpick.knowledge import locations
from torchpick.model.machine import PLATFORMS

SHELLS = ("bash", "zsh", "fish", "powershell")


def run(args: Arguments) -> int:
    if args.words == ["words"]:
        sys.stdout.writelines(f"{word}\n" for word in offered(args.passed_on))
        return 0
    if len(args.words) != 1 or args.words[0] not in SHELLS:
        raise UsageError("completion for which shell?", hint=f"one of {', '.join(SHELLS)}")
    print(script(args.words[0]), end="")
    return 0


def script(shell: str) -> str:
    """What the shell is to source."""
    return locations.text_of_ours("cli", "shells", f"completion.{shell}")


def offered(words: Sequence[str]) -> list[str]:
    """What may stand after these words, by the flags that will be read; the shell filters it."""
    given = [word for word in words if word != "="]
    command = given[0] if given and given[0] in COMMANDS else "pick"
    flags = Parser(command).flags
    for flag in flags:
        if given and given[-1] in flag.names and flag.metavar:
            # The platforms are not all that is understood.
            return [*PLATFORMS] if flag.dest == "platform" else flag.choices
    names = [name for flag in flags for name in flag.names if name.startswith("--")]
    return [*(() if given else COMMANDS), *(SHELLS if command == "completion" else ()), *names, "--help"]
