"""Arguments in, exit status out. One module per command; only the one that is asked for is imported."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from errno import ENOSPC
from importlib import import_module

from torchpick import __version__
from torchpick.cli import console
from torchpick.errors import TorchpickError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

# What a start makes lives as long as the run; collecting it a dozen times finds nothing and takes a millisecond.
gc.set_threshold(50_000)

# What `torchpick --help` lists, in the order a newcomer meets them. The module is torchpick.cli.<name>.
COMMANDS = {
    "install": "install the pick with uv or pip, and all else from your own indexes",
    "url": "one line for `pip install $(torchpick url)`",
    "lock": "the pick and all it needs, each with URL and sha256, for pip and uv",
    "env": "variables that make plain pip and uv take the pick",
    "pin": "hold an environment to its pick, also for plain pip and uv",
    "unpin": "take out what `pin` wrote",
    "label": "the one of these names that fits, for extras, groups and image tags",
    "list": "every build weighed, best first, each with its verdict",
    "matrix": "which releases and backends run on which GPUs, as a table or a page",
    "detect": "the machine's facts, each with its source",
    "doctor": "what is wrong in an environment, why, and the command that mends it",
    "explain": "an error text: what it means here and what to do",
    "inspect": "the GPU code inside a wheel, a package or a library, and whether it runs here",
    "arch": "the values that source builds want for these GPUs",
    "extras": "extras, groups and index settings for a project",
    "schema": "the JSON Schema of --json",
    "refresh": "read the live index into the cache",
    "completion": "a shell completion script",
}

_EPILOG = """\
Without a command torchpick answers for this machine: the pick, why that one, and what was passed over.

examples:
  torchpick                                    what runs here
  torchpick --gpu "GTX 1080 Ti" --driver 580   what would run there
  pip install $(torchpick url)                 take it

torchpick has no configuration file; its variables are TORCHPICK_GPU, _DRIVER, _CUDA_DRIVER, _PLATFORM, _BACKEND,
_INDEX_BASE, _OFFLINE, _CACHE_DIR, _COMPAT_DIR and _DETECT_TIMEOUT. A flag beats its variable.

exit status: 0 done, 1 something broke, 2 usage, 3 no build runs here, 4 a GPU is there and its driver will not answer
"""


class Help(RawDescriptionHelpFormatter):
    """Paragraphs as they are written; the width is asked of the terminal without importing shutil at every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min((console.width() or 80) - 2, 118))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from torchpick.emit.text import paragraphs

        return "\n".join(f"{indent}{line}".rstrip() for line in paragraphs(text, width).split("\n")) + "\n"


class Parser(ArgumentParser):
    """An argument parser that raises instead of exiting, so that every error leaves by one door."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"run `{self.prog} --help`")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    # Not `list(…)`: once the command of that name is loaded, the word means its module here.
    words = [*(sys.argv[1:] if argv is None else argv)]
    heard = _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # A console of another code page prints an escape where it lacks the letter, instead of a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace", newline="\n")
    try:
        status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`| head`): nobody is left to be told, and the interpreter must not flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: stdout cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return status if heard else 141


def _open_streams() -> bool:
    """Stand-ins for streams that were closed before the start, so that nothing is printed where it does not belong."""
    heard = sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 # for the rest of the run
    return heard


def _run(words: Sequence[str]) -> int:
    command = words[0] if words and words[0] in COMMANDS else "pick"
    rest = words[1:] if command != "pick" else words
    module = import_module(f"torchpick.cli.{command}")
    try:
        parser = _parser(command, module.__doc__ or "")
        module.add_arguments(parser)
        _refuse_unknown(command, rest)
        mine, passed_on = _split(rest) if getattr(module, "PASSES_ON", False) else (rest, [])
        args = parser.parse_intermixed_args(mine)
        args.command = command
        args.passed_on = passed_on
        return int(module.run(args))
    except SystemExit as exit_:  # argparse after --help and --version
        return int(exit_.code or 0)
    except TorchpickError as error:
        from torchpick.cli import failure

        return failure.tell(error, command, rest, _guard(module, rest))
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception:
        # A defect of ours: it is shown as it is, but never leaves an empty line where a shell expects an answer.
        if guard := _guard(module, rest):
            print(guard, flush=True)
        raise


def _guard(module: ModuleType, words: Sequence[str]) -> str | None:
    """What stdout gets where this command fails and an empty one would be taken for an answer."""
    guard: str | None = module.guard(words) if hasattr(module, "guard") and "--json" not in words else None
    return guard


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before the first `--`, and what stands after it."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]


def _parser(command: str, text: str) -> Parser:
    if command == "pick":
        lines = "\n".join(f"  {name:<12}{words}" for name, words in COMMANDS.items())
        parser = Parser(
            prog="torchpick",
            description="Installs the PyTorch that really runs on this machine's GPUs, says why that one, and repairs "
            f"what is broken.\n\ncommands:\n{lines}",
            epilog=_EPILOG,
            formatter_class=Help,
            allow_abbrev=False,
        )
        parser.add_argument("--version", action="version", version=f"torchpick {__version__}")
        return parser
    summary, _, example = text.partition("\n\n")
    return Parser(
        prog=f"torchpick {command}",
        description=summary.strip(),
        epilog=example,
        formatter_class=Help,
        allow_abbrev=False,
    )


def _refuse_unknown(command: str, words: Sequence[str]) -> None:
    """A first word that is neither a command nor a requirement of torch's is a slip."""
    if command != "pick" or not words or not words[0].isidentifier() or words[0].startswith("torch"):
        return
    from difflib import get_close_matches

    close = get_close_matches(words[0], COMMANDS, n=1)
    hint = f"did you mean `torchpick {close[0]}`?" if close else "run `torchpick --help` for the commands"
    raise UsageError(f"there is no command `{words[0]}`", hint=hint)
