"""argparse, for help, for errors, and for whatever words are unusual."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping

from torchpick.cli.show.text import paragraphs
from torchpick.errors import UsageError
from torchpick.model import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_EPILOG = """\
Without a command torchpick shows the pick for this machine, why that one, and what was passed over.

examples:
  torchpick                                    what runs here
  torchpick --gpu "GTX 1080 Ti" --driver 580   what would run there
  pip install $(torchpick url)                 take it

torchpick has no configuration file; its variables are TORCHPICK_GPU, _DRIVER, _CUDA_DRIVER, _PLATFORM, _BACKEND,
_INDEX_BASE, _OFFLINE, _CACHE_DIR, _COMPAT_DIR and _DETECT_TIMEOUT. A flag beats its variable.

exit status: 0 done, 1 something broke, 2 usage, 3 no build runs here, 4 a GPU is there but its driver does not answer
"""


class Help(RawDescriptionHelpFormatter):
    """Paragraphs as they are written, in the terminal's width."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(f"{indent}{line}".rstrip() for line in paragraphs(text, width).split("\n")) + "\n"


class Parser(ArgumentParser):
    """An argument parser that raises instead of exiting, so that every error is reported in one place."""

    passes_on = False

    def error(self, message: str) -> NoReturn:
        hint = f"run `{self.prog} --help`"
        _, mark, words = message.partition("unrecognized arguments: ")
        if self.passes_on and mark:
            hint = f"options for pip or uv go after `--`: `{self.prog} … -- {words}`"
        raise UsageError(message, hint=hint)


def count(most: int) -> Callable[[str], int]:
    """Reads a flag's number from 1 to this one."""

    def read(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) <= len(str(most))
        if not digits or not 1 <= int(text) <= most:
            raise ArgumentTypeError(f"`{text}` is not a number from 1 to {most}")
        return int(text)

    return read


def parser(command: str, text: str, commands: Mapping[str, str]) -> Parser:
    """The parser of a command, which has the text for its help, without its flags."""
    if command == "pick":
        lines = "\n".join(f"  {name:<12}{words}" for name, words in commands.items())
        made = Parser(
            prog="torchpick",
            description="Installs the PyTorch that really runs on this machine's GPUs, says why that one, and repairs "
            f"what is broken.\n\ncommands:\n{lines}",
            epilog=_EPILOG,
            formatter_class=Help,
            allow_abbrev=False,
        )
        made.add_argument("-V", "--version", action="version", version=f"torchpick {VERSION}")
        return made
    summary, _, example = text.partition("\n\n")
    return Parser(
        prog=f"torchpick {command}",
        description=summary.strip(),
        epilog=example,
        formatter_class=Help,
        allow_abbrev=False,
    )
