"""The words of a command line, read by the flags that the command's own help lists."""

from __future__ import annotations

from torchpick.errors import UsageError
from torchpick.knowledge import locations
from torchpick.model.pick import FACTS, Request
from torchpick.run import check_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from torchpick.install.asking import Order


class Arguments:
    """The parsed arguments: each flag of any command under its own name, and what is no flag.

    A command sets those of its help; the others are as if they were not given.
    """

    command: str = ""
    words: Sequence[str] = ()
    passed_on: Sequence[str] = ()

    all: bool = False
    allow_cpu: bool = False
    allow_mixed: bool = False
    allow_unconfirmed: bool = False
    bare: bool = False
    compact: bool = False
    companions: bool = False
    cpu: bool = False
    deep: bool = False
    dockerfile: bool = False
    dry_run: bool = False
    fix: bool = False
    groups: bool = False
    json: bool = False
    more: bool = False
    no_deps: bool = False
    offline: bool = False
    pre: bool = False
    prove: bool = False
    quiet: bool = False
    run: bool = False
    strict: bool = False
    trust_pci: bool = False
    upgrade: bool = False
    upgrades: bool = False
    verbose: bool = False
    verify: bool = False
    version: bool = False
    whole: bool = False
    channel: str = ""
    installer: str = ""
    jobs: str = ""
    output: str = ""
    program: str = ""
    timeout: str = ""
    among: str | None = None
    cuda_driver: str | None = None
    driver: str | None = None
    for_: str | None = None
    from_: str | None = None
    glibc: str | None = None
    gpus: str | None = None
    html: str | None = None
    image: str | None = None
    index_base: str | None = None
    into: str | None = None
    macos: str | None = None
    max_environments: str | None = None
    on: str | None = None
    only: str | None = None
    out: str | None = None
    platform: str | None = None
    project: str | None = None
    python: str | None = None
    shell: str | None = None
    write: str | None = None
    backend: Sequence[str] = ()
    constraint: Sequence[str] = ()
    editable: Sequence[str] = ()
    emit: Sequence[str] = ()
    gpu: Sequence[str] = ()
    group: Sequence[str] = ()
    machine: Sequence[str] = ()
    no_binary: Sequence[str] = ()
    only_binary: Sequence[str] = ()
    requirement: Sequence[str] = ()


class Flag:
    """One line of a help: `-r, --requirement FILE …  a requirements file`.

    A flag with a second word takes a value, one of these if they are in small letters, and again and again with `…`.
    """

    def __init__(self, line: str) -> None:
        left, _, about = line.strip().partition("  ")
        self.about = about.strip()
        parts = left.replace(", ", " ").split(" ")
        self.names = [part for part in parts if part.startswith("-")]
        name = self.names[-1].lstrip("-").replace("-", "_")
        self.metavar = "" if len(parts) == len(self.names) else parts[len(self.names)]
        self.repeats = parts[-1] == "…"
        self.dest = f"{name}_" if name in ("for", "from") else name  # words of Python's own
        self.choices = self.metavar.split("|") if "|" in self.metavar and self.metavar.islower() else []
        _, mark, default = self.about.partition("[default: ")
        self.default: object = default[:-1] if mark else [] if self.repeats else None if self.metavar else False


_MORE = "`torchpick help machine`: flags for machine, pick and output; `help all`: all."

# What people take for flags, or for another one.
_MEANT = {
    "--gpus": "one of all, visible; `--gpu` names a GPU",
    "--torch": "a package is a word without dashes: `torchpick torch==2.6.0`",
    "--torchvision": "a package is a word without dashes: `torchpick torch torchvision`",
    **dict.fromkeys(
        ("--index-url", "-i", "--extra-index-url", "--index", "--default-index", "--find-links", "-f"),
        "torch comes from the index of the pick, all else from the index that pip's and uv's settings name;"
        " `--index-base URL` takes a mirror of the wheel host",
    ),
    "--cuda": "`--backend cu126` names the build's CUDA, `--cuda-driver 12.6` the newest that the driver supports",
}


class Parser:
    """What a command takes. Its help is read for that, so that nothing is declared but what is printed."""

    def __init__(self, command: str) -> None:
        self.named = "torchpick" if command == "pick" else f"torchpick {command}"
        own = lines = _file(command).split("\n")
        if any(line.startswith("{") for line in lines):
            own = [*"\n".join(line for line in lines if not line.startswith("{")).rstrip().split("\n"), "", _MORE]
            shared = dict(block.split("\n", 1) for block in _file("shared").split("\n\n"))
            lines = "\n".join(shared.get(line, line) for line in lines).split("\n")
        self.lines, self.short = lines, own
        self.usage = lines[0]
        self.flags = [Flag(line) for line in _whole(lines) if line.startswith("  -")]
        self._by_name = {name: flag for flag in self.flags for name in flag.names}

    def split(self, words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Our words, and those that are passed on: what follows `--`, or the command that is to be run."""
        end = len(words)
        if self.usage.endswith(" CMD …"):
            end = self._leading(words)
        elif "[-- " in self.usage and "--" in words:
            end = words.index("--")
        behind = words[end:]
        return words[:end], behind[1:] if behind[:1] == ["--"] else behind

    def _leading(self, words: Sequence[str]) -> int:
        """How many of the words are flags, with their values, before the first that is neither."""
        count = 0
        while count < len(words) and words[count].startswith("-") and words[count] not in ("-", "--"):
            flag = self._by_name.get(words[count])
            count += 2 if flag is not None and flag.metavar else 1
        return count

    def read(self, words: Sequence[str]) -> Arguments:
        """The words as values of the flags; UsageError for what the command does not take."""
        args = Arguments()
        values = args.__dict__
        left: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                left += rest
            elif word == "-" or not word.startswith("-"):
                left.append(word)
            else:
                self._take(word, rest, values)
        values |= {flag.dest: flag.default for flag in self.flags if flag.dest not in values}
        args.words = left
        if left and "…" not in self.usage:
            raise UsageError(f"`{args.words[0]}` is too much for `{self.named}`", hint=f"run `{self.named} --help`")
        return args

    def _take(self, word: str, rest: Iterator[str], values: dict[str, Any]) -> None:
        """Take a flag, and its value from the rest; several letters may follow one `-`."""
        name, mark, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        flag = self._by_name.get(name)
        if flag is None:
            raise self._unknown(word)
        if not flag.metavar:
            values[flag.dest] = True
            if mark and word.startswith("--"):
                raise UsageError(f"`{name}` takes no value", hint=f"leave out `={value}`")
            if mark:
                self._take(f"-{value}", rest, values)
            return
        if not mark:
            value = next(rest, "--")
        # An empty name is what a variable that is not set leaves.
        if (value.startswith("-") and value != "-" and not mark) or (not value and flag.metavar in ("FILE", "DIR")):
            raise UsageError(f"`{name}` needs a value", hint=f"`{name} {flag.metavar}`: {flag.about}")
        if flag.choices and value not in flag.choices:
            raise UsageError(f"`{name} {value}` is unknown", hint=_MEANT.get(name, f"one of {', '.join(flag.choices)}"))
        if not flag.repeats and values.get(flag.dest, value) != value:
            raise UsageError(f"`{name}` is given twice", hint=f"one run is for one: `{name} {value}`")
        values[flag.dest] = [*values.get(flag.dest, ()), value] if flag.repeats else value

    def _unknown(self, word: str) -> UsageError:
        name = word.lower().partition("=")[0]
        close = close_to(name, [*self._by_name, "--help"], 0.75)
        hint = _MEANT.get(name, f"run `{self.named} --help`")
        if name not in _MEANT and "[-- OPTION" in self.usage:
            hint = f"what is for another program goes after `--`: `{self.named} … -- {word}`"
        if close:
            hint = f"did you mean `{close[0]}`?"
        return UsageError(f"`{word}` is not an option of `{self.named}`", hint=hint)


def _whole(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a help that begin one, with what goes on below them."""
    before = ""
    for line in (*lines, ""):
        if line.startswith("      "):
            before += f" {line.strip()}"
        else:
            yield before
            before = line


def close_to(word: str, words: Sequence[str], alike: float) -> list[str]:
    """The one known word that was probably meant."""
    from difflib import get_close_matches

    return get_close_matches(word, words, n=1, cutoff=alike)


def _file(name: str) -> str:
    return locations.text_of_ours("cli", "help", f"{name}.txt").rstrip("\n")


def number(flag: str, text: str, most: int) -> int:
    """A flag's number from 1 to this one."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise UsageError(f"`{flag} {text}` is not a number from 1 to {most}", hint=f"such as `{flag} 2`")
    return int(text)


def machine_request(args: Arguments) -> Request:
    return Request(
        gpus=tuple(args.gpu) or None,
        machine=tuple(args.machine) or None,
        visible_only=args.gpus == "visible",
        **{name: getattr(args, name) for name in (*FACTS, "strict", "only", "trust_pci")},
    )


def with_wish(request: Request, args: Arguments) -> Request:
    """The request with what the flags specify about the selection."""
    same = ("channel", "cpu", "allow_cpu", "allow_unconfirmed", "whole", "index_base", "offline")
    return request._replace(backends=tuple(args.backend), **{name: getattr(args, name) for name in same})


def request_of(args: Arguments) -> Request:
    check_names(args.words, "plan" if args.command == "pick" else args.command)
    return with_wish(machine_request(args), args)._replace(requirements=tuple(args.words))


def order_of(args: Arguments) -> Order:
    """What is to be installed, planned or locked, as pip and uv take it, and which files may be taken for it."""
    from torchpick.environment.requirements import RequirementArgs
    from torchpick.install.asking import Order, file_rules

    files = (tuple(args.requirement), tuple(args.constraint), tuple(args.editable), tuple(args.group))
    rules = file_rules(args.only_binary, args.no_binary, pre=args.pre)
    return Order(
        RequirementArgs(tuple(args.words), *files),
        args.installer or "auto",
        args.upgrade,
        args.no_deps,
        args.allow_mixed,
        (*rules, *args.passed_on),
    )
