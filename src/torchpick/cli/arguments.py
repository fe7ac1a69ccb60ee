"""The flags that several commands share, and the typed namespace they land in."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.model.machine import PLATFORMS
from torchpick.model.request import CHANNELS, FACTS, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence
    from typing import Any


class Arguments:
    """The parsed arguments; each command fills the part it declares."""

    command: str
    requirements: list[str]
    gpu: list[str] | None
    driver: str | None
    cuda_driver: str | None
    platform: str | None
    glibc: str | None
    macos: str | None
    python: str | None
    machine: list[str] | None
    strict: bool
    gpus: str | None
    only: str | None
    trust_pci: bool
    backend: list[str] | None
    channel: str
    cpu: bool
    allow_cpu: bool
    allow_unconfirmed: bool
    whole: bool
    index_base: str | None
    offline: bool
    json: bool
    quiet: bool
    verbose: bool
    color: str
    passed_on: list[str]


class EverydayParser:
    """Takes what `ArgumentParser.add_argument` takes, and reads the words that need nothing more.

    argparse and what it loads are a third of a start. Everything but known flags with their values and plain words
    is left to it: help, every error, every unusual spelling.
    """

    def __init__(self, prog: str) -> None:
        self.prog = prog
        self.usage = ""
        self._flags: dict[str, tuple[str, dict[str, Any]]] = {}
        self._defaults: dict[str, Any] = {}
        self._words: str | None = None
        self._plain = True

    def add_argument(self, *names: str, **spec: Any) -> None:  # noqa: ANN401 # whatever argparse takes
        known = {"action", "choices", "default", "dest", "help", "metavar"}
        if not names[0].startswith("-"):
            self._plain = self._plain and self._words is None and spec.keys() <= {"nargs", "metavar", "help"}
            self._plain = self._plain and spec.get("nargs") == "*"
            self._words = names[0]
            return
        action = spec.get("action", "store")
        if not spec.keys() <= known or action not in ("store", "store_true", "append"):
            self._plain = self._plain and action == "version"  # read by argparse alone
            return
        first = next((name for name in names if name.startswith("--")), names[0])
        dest = spec.get("dest") or first.lstrip("-").replace("-", "_")
        self._defaults[dest] = spec.get("default", False if action == "store_true" else None)
        self._flags |= dict.fromkeys(names, (dest, {**spec, "action": action}))

    def add_argument_group(self, _title: str) -> EverydayParser:
        return self

    def read(self, words: Sequence[str]) -> Arguments | None:
        """What argparse would make of the words; None if argparse must decide."""
        arguments = Arguments()
        values = arguments.__dict__
        for name, default in self._defaults.items():
            values[name] = [*default] if isinstance(default, list) else default
        plain: list[str] = []
        rest = iter(words)
        for word in rest:
            if not word.startswith("-") or word == "-":
                plain.append(word)
            elif not self._flag(word, rest, values):
                return None
        if self._words is not None:
            values[self._words] = plain
        return arguments if self._plain and (self._words is not None or not plain) else None

    def leading(self, words: Sequence[str]) -> int:
        """How many of the words are flags, with their values, before the first that is neither."""
        place = 0
        while place < len(words) and words[place].startswith("-") and words[place] not in ("-", "--"):
            takes = words[place] in self._flags and self._flags[words[place]][1]["action"] != "store_true"
            place += 2 if takes else 1
        return min(place, len(words))

    def _flag(self, word: str, rest: Iterator[str], values: dict[str, Any]) -> bool:
        """Take a flag, and its value from the rest; False if argparse must decide."""
        name, mark, value = word.partition("=")
        if name not in self._flags or (mark and not name.startswith("--")):
            return False
        dest, spec = self._flags[name]
        if spec["action"] == "store_true":
            values[dest] = True
            return not mark
        if not mark:
            value = next(rest, "-")
            if value.startswith("-"):
                return False
        values[dest] = [*(values[dest] or []), value] if spec["action"] == "append" else value
        return "choices" not in spec or value in spec["choices"]


def add_requirements(parser: ArgumentParser) -> None:
    """Torch and its companions as positional arguments, anywhere among the flags."""
    # Given here because argparse would else format its own usage at every intermixed parse.
    command = " [command]" if parser.prog == "torchpick" else ""
    parser.usage = f"{parser.prog}{command} [options] [REQ …]"
    parser.add_argument("requirements", nargs="*", metavar="REQ", help='such as "torch<2.12" torchvision')


def add_machine_flags(parser: ArgumentParser) -> None:
    """The flags that describe the machine; what is not specified is detected."""
    group = parser.add_argument_group("the machine (what is not specified is detected on this one)")
    group.add_argument(
        "--gpu",
        action="append",
        metavar="SPEC",
        help='sm_61, "GTX 1080 Ti", a100, gfx1100, "RX 7900 XTX", "Arc B580", "M3 Max", none; repeat for more',
    )
    group.add_argument("--driver", metavar="VERSION", help="NVIDIA driver, such as 580.95.05")
    group.add_argument("--cuda-driver", metavar="X.Y", help="newest CUDA the driver supports, such as 12.8")
    group.add_argument("--platform", metavar="NAME", help=", ".join(PLATFORMS))
    group.add_argument("--glibc", metavar="X.Y", help="glibc of that platform, such as 2.28")
    group.add_argument("--macos", metavar="X.Y", help="macOS version of that Mac, such as 14.2")
    group.add_argument("--python", metavar="X.Y|PATH", help="3.12, 3.14t, or the interpreter to install for")
    group.add_argument(
        "--machine",
        action="append",
        metavar="FILE|DIR|-",
        help="machines as `torchpick detect --json` prints them, one a line, or a folder of them; repeat for more",
    )
    group.add_argument(
        "--strict", action="store_true", help="with --machine: fail if one has no GPU or does not answer"
    )
    group.add_argument(
        "--gpus", choices=("all", "visible"), help="which physical GPUs count (all, even if the shell hides some)"
    )
    group.add_argument("--only", metavar="INDEX,…", help="count only these of the detected GPUs")
    group.add_argument(
        "--trust-pci", action="store_true", help="read the capability from the PCI id if no driver answers"
    )


def add_wish_flags(parser: ArgumentParser) -> None:
    """The flags that narrow the selection."""
    group = parser.add_argument_group("selection")
    group.add_argument(
        "--backend",
        action="append",
        metavar="TAG",
        help="only this backend, such as cu126; repeat for more; `default` is the default index's own torch",
    )
    group.add_argument(
        "--channel", choices=CHANNELS, default="stable", help="stable, or another that `refresh` has read"
    )
    group.add_argument("--cpu", action="store_true", help="the cpu build (the same as --backend cpu)")
    group.add_argument("--allow-cpu", action="store_true", help="the cpu build if nothing else runs")
    group.add_argument(
        "--allow-unconfirmed", action="store_true", help="also builds that are not confirmed on the index"
    )
    group.add_argument("--whole", action="store_true", help="only builds whose every library supports the GPUs")
    group.add_argument("--index-base", metavar="URL", help="a mirror of the wheel host; flat+URL for one flat page")
    group.add_argument("--offline", action="store_true", help="do not use the network")


def add_output_flags(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("the output")
    group.add_argument("--json", action="store_true", help="the same facts as one JSON object on stdout")
    group.add_argument("--quiet", action="store_true", help="do not print notes on stderr")
    group.add_argument("--verbose", action="store_true", help="report on stderr what was tried")
    group.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colour (auto; NO_COLOR is respected)"
    )


def add_decision_flags(parser: ArgumentParser) -> None:
    """All of them, for a command that decides."""
    add_machine_flags(parser)
    add_wish_flags(parser)
    add_output_flags(parser)


def check_file(flag: str, name: str | None, example: str) -> None:
    """UsageError for an empty name, as a variable that is not set leaves it."""
    if name == "":
        raise UsageError(f"`{flag}` needs a name, and got none", hint=f"such as `{example}`")


def machine_request(args: Arguments) -> Request:
    """What the flags specify about the machine alone."""
    return Request(
        gpus=None if args.gpu is None else tuple(args.gpu),
        machine=None if args.machine is None else tuple(args.machine),
        visible_only=args.gpus == "visible",
        **{name: getattr(args, name) for name in (*FACTS, "strict", "only", "trust_pci")},
    )


def with_wish(request: Request, args: Arguments) -> Request:
    """The request with what the flags specify about the selection."""
    same = ("channel", "cpu", "allow_cpu", "allow_unconfirmed", "whole", "index_base", "offline")
    return request._replace(backends=tuple(args.backend or ()), **{name: getattr(args, name) for name in same})


def request_of(args: Arguments) -> Request:
    """The typed request behind the flags."""
    return with_wish(machine_request(args), args)._replace(requirements=tuple(args.requirements))
