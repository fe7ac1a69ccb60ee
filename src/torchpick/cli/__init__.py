"""Arguments in, exit status out. One module per command; only the requested one is imported."""

from __future__ import annotations

import gc
import os
import sys
from errno import ENOSPC

from torchpick.cli.arguments import Arguments, EverydayParser
from torchpick.errors import TorchpickError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


# Objects made at start live as long as the run; collecting them a dozen times finds nothing and takes a millisecond.
gc.set_threshold(50_000)

# What `torchpick --help` lists, in the order a newcomer meets them. The module is torchpick.cli.<name>.
COMMANDS = {
    "install": "install the pick with uv or pip, and everything else from your own indexes",
    "plan": "a whole environment: every pin, where it comes from and why; nothing is installed",
    "url": "one line for `pip install $(torchpick url)`",
    "lock": "the pick and all its dependencies, each with URL and sha256, for pip and uv",
    "env": "variables that make plain pip and uv install the pick",
    "run": "run a command under these variables",
    "pin": "pin an environment to its pick, also for plain pip and uv",
    "unpin": "remove what `pin` wrote",
    "label": "the one of the given names that fits, for extras, groups and image tags",
    "list": "every build considered, best first, each with its verdict",
    "matrix": "which releases and backends run on which GPUs, as a table or a page",
    "fleet": "many machines, through Slurm, Kubernetes, Ray or ssh: a pick for each group",
    "detect": "the machine's facts, each with its source",
    "doctor": "what is wrong in an environment, why, and the command that fixes it",
    "explain": "what an error text means here, and what to do",
    "inspect": "the GPU code inside a wheel, a package or a library, and whether it runs here",
    "arch": "the architecture settings that source builds need for these GPUs",
    "extras": "extras, groups and index settings for a project",
    "refresh": "read the live index into the cache",
    "completion": "a shell completion script",
}


ALIASES = {"survey": "inspect"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    # Not `list(…)`: once the command of that name is loaded, the word means its module here.
    words = [*(sys.argv[1:] if argv is None else argv)]
    heard = _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # A console of another code page prints an escape where it lacks the letter, instead of a traceback.
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace", newline="\n")
    try:
        status = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away (`| head`): there is nobody to report to, and the interpreter must not flush again.
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


def _in_flags(words: Sequence[str]) -> Sequence[str]:
    """`help [COMMAND]` and `version`, as other programs have them, in the words of our flags."""
    if words[:1] == ["version"]:
        return ["--version", *words[1:]]
    if words[:1] == ["help"]:
        return ["--help"] if words[1:] in ([], ["help"], ["version"]) else [*words[1:2], "--help"]
    return words


def _run(words: Sequence[str]) -> int:
    words = _in_flags(words)
    if words and words[0] in ALIASES:
        words = [ALIASES[words[0]], *words[1:]]
    command = words[0] if words and words[0] in COMMANDS else "pick"
    rest = words[1:] if command != "pick" else words
    # importlib would load warnings and more to do the same.
    __import__(f"torchpick.cli.{command}")
    module = sys.modules[f"torchpick.cli.{command}"]
    try:
        _refuse_unknown(command, rest)
        if hasattr(module, "split"):
            rest, passed_on = module.split(rest)
        else:
            passed_on = []
        mine, passed_on = _split(rest) if getattr(module, "PASSES_ON", False) else (rest, passed_on)
        args = _arguments(module, command, mine)
        args.command = command
        args.passed_on = [*passed_on]
        return int(module.run(args))
    except SystemExit as exit_:  # argparse after --help and --version
        return int(exit_.code or 0)
    except TorchpickError as error:
        from torchpick.cli import console

        return console.failed(error, command, rest, _guard(module, rest))
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception:
        # A bug of ours: it is shown as it is, but never leaves an empty line where a shell expects an answer.
        if guard := _guard(module, rest):
            print(guard, flush=True)
        raise


def _arguments(module: ModuleType, command: str, words: Sequence[str]) -> Arguments:
    """The parsed words, by argparse where they are more than known flags and plain words."""
    flags = EverydayParser("torchpick" if command == "pick" else f"torchpick {command}")
    module.add_arguments(flags)
    args = flags.read(words)
    if args is None:
        from torchpick.cli import parsing

        parser = parsing.parser(command, module.__doc__ or "", COMMANDS)
        parser.passes_on = getattr(module, "PASSES_ON", False)
        module.add_arguments(parser)
        args = parser.parse_intermixed_args(words, Arguments())
    return args


def _guard(module: ModuleType, words: Sequence[str]) -> str | None:
    """What stdout gets if this command fails and empty output would be taken for a result."""
    guard: str | None = module.guard(words) if hasattr(module, "guard") and "--json" not in words else None
    return guard


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What stands before the first `--`, and what stands after it."""
    place = words.index("--") if "--" in words else len(words)
    return words[:place], words[place + 1 :]


def _refuse_unknown(command: str, words: Sequence[str]) -> None:
    """A first word that is neither a command nor a requirement of torch's is an error."""
    if command != "pick" or not words or not words[0].isidentifier() or words[0].startswith("torch"):
        return
    if words[0] in ("uninstall", "remove"):
        names = " ".join(word for word in words[1:] if not word.startswith("-")) or "torch"
        hint = f"run `python -m pip uninstall {names}`, or `uv pip uninstall {names}`, in that environment"
        raise UsageError("torchpick does not uninstall anything", hint=hint)
    from difflib import get_close_matches

    close = get_close_matches(words[0], COMMANDS, n=1)
    hint = f"did you mean `torchpick {close[0]}`?" if close else "run `torchpick --help` for the commands"
    raise UsageError(f"unknown command `{words[0]}`", hint=hint)
