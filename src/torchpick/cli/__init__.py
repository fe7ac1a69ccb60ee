"""Arguments in, exit status out. One module per command; only the requested one is imported."""

from __future__ import annotations

import codecs
import gc
import os
import sys
from errno import EACCES, EBADF, EDQUOT, EIO, EMFILE, ENFILE, ENOENT, ENOSPC, EPERM, EROFS

from torchpick.cli import console
from torchpick.cli.arguments import Parser
from torchpick.errors import TorchpickError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Objects made at start live as long as the run; collecting them a dozen times finds nothing and takes a millisecond.
gc.set_threshold(500_000)

# What a command takes and its help are help/<name>.txt; help/pick.txt lists them.
COMMANDS = (
    "install", "plan", "url", "lock", "env", "run", "pin", "unpin", "label", "list", "matrix", "fleet", "detect",
    "doctor", "explain", "inspect", "arch", "extras", "refresh", "completion",
)  # fmt: skip
# Those whose function is not `run` of the module of that name.
_SHARED = {
    "arch": ("torchpick.cli.detect", "run_arch"),
    "lock": ("torchpick.cli.plan", "run_lock"),
    "pin": ("torchpick.cli.env", "run_pin"),
    "run": ("torchpick.cli.label", "run_command_of_user"),
    "unpin": ("torchpick.cli.env", "run_unpin"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    # Not `list(…)`: once the command of that name is loaded, the word means its module here.
    words = [*(sys.argv[1:] if argv is None else argv)]
    heard = _open_streams()
    codecs.register_error("torchpick", _as_printed)
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="torchpick", newline="\n")
    try:
        status = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # all else that the system refuses is said where it comes up
        console.silence(sys.stdout)
        if isinstance(error, BrokenPipeError):  # the reader went away (`| head`): there is nobody to report to
            console.silence(sys.stderr)  # which may be the same pipe
            return 141
        message = f"stdout cannot be written: {error.strerror}"
        console.error(TorchpickError(message, hint="send it elsewhere, and run the command again"))
        return 1
    return status if heard else 141


def _as_printed(error: UnicodeError) -> tuple[str | bytes, int]:
    """The bytes of a path in no encoding as they are, so that a printed command names it; else an escape."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def _open_streams() -> bool:
    """Stand-ins for streams that were closed before the start, so that nothing is printed where it does not belong."""
    heard = sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 # for the rest of the run
    return heard


def _in_flags(words: Sequence[str]) -> Sequence[str]:
    """`help [COMMAND]` and `version`, as other programs have them, and `survey`, in the words of our own."""
    while words and words[0] in ("$", "torchpick"):  # pasted with its prompt, or twice
        words = words[1:]
    first, rest = "".join(words[:1]), words[1:]
    if first == "survey":
        return ["inspect", *rest]
    if first == "version":
        return ["--version", *rest]
    if first in ("help", "?", "/?", "/help"):
        topic = [word for word in rest[:1] if word not in ("help", "version")]
        return [*topic, "--help"] if topic not in (["all"], ["machine"]) else ["--help", *topic]
    return words


def _run(words: Sequence[str]) -> int:
    words = _in_flags(words)
    command = words[0] if words and words[0] in COMMANDS else "pick"
    parser = Parser(command)
    words, passed_on = parser.split(words[1:] if command != "pick" else words)
    name, function = _SHARED.get(command, (f"torchpick.cli.{command}", "run"))
    try:
        # importlib would load warnings and more to do the same.
        __import__(name)
        module = sys.modules[name]
        if hasattr(module, "check_words"):
            module.check_words(words)
        if "--help" in words or "-h" in words:
            whole = parser.lines if "all" in words else Parser("machine").lines if "machine" in words else parser.short
            print("\n".join(whole))
            return 0
        args = parser.read(words)
        args.command, args.passed_on = command, passed_on
        return int(getattr(module, function)(args))
    except BrokenPipeError:
        raise
    except Exception as error:
        failure = _failure(error)
        guard = _guard(name, function, words, 1 if failure is None else failure.exit_status)
        if failure is not None:
            return console.failed(failure, command, words, guard)
        # A bug of ours: it is shown as it is, but never leaves an empty line where a shell expects an answer.
        if guard:
            print(guard, flush=True)
        raise


_DEPENDENCIES = "install torchpick with its dependencies: without `--no-deps`"


def _failure(error: Exception) -> TorchpickError | None:
    """What is said of an exception; None for a bug of ours."""
    if isinstance(error, TorchpickError):
        return error
    if isinstance(error, OSError):
        return _refused(error)
    return TorchpickError(str(error), hint=_DEPENDENCIES) if isinstance(error, ModuleNotFoundError) else None


# What to do about what the system refuses, wherever that was.
_FOLDERS = "make it writable, or name folders that are: `export TMPDIR=… TORCHPICK_CACHE_DIR=…`"
_WAYS_OUT = {
    **dict.fromkeys((ENOSPC, EDQUOT), "make room on that disk, or use another, and run the command again"),
    **dict.fromkeys((EMFILE, ENFILE), "allow more open files (`ulimit -n 1024`), and run the command again"),
    **dict.fromkeys((ENOENT, EACCES, EPERM, EROFS), _FOLDERS),
}


def _refused(error: OSError) -> TorchpickError:
    """What the system refused, such as another process, a file, or a folder for what is temporary."""
    why, number = error.strerror or str(error), error.errno or 0
    if error.filename is not None:
        why = f"{os.fsdecode(error.filename)}: {why}"
    elif number == ENOENT and "temporary" not in why:  # os.getcwd() has no name to give, nor has tempfile
        return TorchpickError("the current folder does not exist any more", hint="`cd` to one that does")
    elif number in (ENOSPC, EDQUOT, EIO, EBADF):
        why = f"stdout or a temporary file cannot be written: {why}"
    return TorchpickError(why, hint=_WAYS_OUT.get(number, "run the command again"))


def _guard(name: str, function: str, words: Sequence[str], status: int) -> str | None:
    """What stdout gets if this command fails and empty output would be taken for a result."""
    guard: Callable[[Sequence[str], int], str | None] | None = getattr(sys.modules.get(name), "guard", None)
    return guard(words, status) if guard and function == "run" and "--json" not in words else None
