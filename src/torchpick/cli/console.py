"""What stands around an answer: errors, notes and progress on stderr; the terminal's width and colour."""

from __future__ import annotations

import os
import sys
import time

from torchpick.cli import arguments, text
from torchpick.decide import remarks
from torchpick.environment import interpreter
from torchpick.errors import DetectionError, NoBuildError, ResolverError
from torchpick.machine import given
from torchpick.model import pick as picks
from torchpick.model.address import holds_secret
from torchpick.model.fields import dumps, envelope
from torchpick.run import Run, start_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TextIO

    from torchpick.cli.arguments import Arguments
    from torchpick.errors import Report, TorchpickError
    from torchpick.model.build import Verdict
    from torchpick.model.machine import Machine, Note
    from torchpick.model.pick import Pick, Request


def coloured(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether it is a terminal with colours, and nobody wants none."""
    return stream.isatty() and environ.get("TERM") != "dumb" and not environ.get("NO_COLOR")


def start(
    args: Arguments, request: Request | None = None, *, installer: str = "auto", report: Report | None = None
) -> Run:
    """The run of what the flags ask, or of this request; without a `report` where it is seldom waited for."""
    if request is None:
        request = arguments.request_of(args)
    return start_run(request, report=report or waiting, installer=installer, shell=args.shell or "")


def tell(pick: Pick, args: Arguments) -> None:
    """On stderr that the table may be too old; with --verbose where each fact came from and what was weighed."""
    if args.verbose:
        tell_of(pick.machines, pick.considered)
    if not args.quiet:
        tell_age(pick)


def tell_as_json(pick: Pick, args: Arguments, **facts: object) -> bool:
    """The same; with --json also the whole answer on stdout, beside a command's own facts, and then nothing is left."""
    tell(pick, args)
    if args.json:
        print(as_json(pick, args.command, **facts))
    return args.json


def print_json(args: Arguments, date: str | None, status: int = 0, /, **facts: object) -> int:
    """A command's own facts on stdout, with the day of the table; the exit status."""
    print(dated(envelope(args.command, status, **facts), date))
    return status


def as_json(pick: Pick, command: str, **facts: object) -> str:
    """The answer, and a command's own facts beside it or in place of its own."""
    return dated({**picks.as_json(pick, command), **facts}, pick.table_date)


def dated(facts: dict[str, object], day_of_table: str | None) -> str:
    """What was found as JSON, with the day of the table it rests on and how old that is, which is today's to say."""
    from datetime import date

    age = None if day_of_table is None else max((date.fromisoformat(day()) - date.fromisoformat(day_of_table)).days, 0)
    return dumps({**facts, "table": {"date": day_of_table, "age_days": age}})


def tell_age(pick: Pick) -> None:
    """One line where the table is old, or was asked for a release that it does not know."""
    if line := remarks.on_age(pick, day(ago=remarks.OLD_AFTER_DAYS)):
        message(f"note: {line}")


def day(environ: Mapping[str, str] = os.environ, *, ago: int = 0) -> str:
    """The date, or that of so many days ago; SOURCE_DATE_EPOCH (reproducible-builds.org) sets the clock."""
    told = environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(told) if told.isascii() and told.isdigit() and len(told) < 12 else time.time()
    return time.strftime("%Y-%m-%d", time.gmtime(max(seconds - ago * 86400, 0)))


def tell_of(machines: Sequence[Machine], considered: Sequence[Verdict]) -> None:
    for machine in machines:
        for what, fact, source in text.fact_rows(machine):
            say(f"{what}: {fact}{f' [{source}]' if source else ''}")
        for note in machine.notes:
            say(f"{note.code}: {note.text}")
    runnable = [verdict.build for verdict in considered if verdict.ok]
    if considered:
        say(f"considered {len(considered)} builds, of which {len(runnable)} run")
    if runnable:
        say(f"evidence of torch {runnable[0].version}: {runnable[0].evidence.kind}, {runnable[0].evidence.ref}")


def message(*lines: str) -> None:
    """Lines on stderr, after what stdout has and in one write: others write there too."""
    sys.stdout.flush()
    write(sys.stderr, "\n".join([*lines, ""]))


def write(stream: TextIO, text: str) -> None:
    """What nobody can hear, as the disk of a log is full, or its terminal gone, ends no work."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Let what it holds back go nowhere, else the interpreter tries to write it at the end once more."""
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def say(line: str) -> None:
    """What torchpick does, as a line on stderr."""
    message(*text.wrap(text.note(line, "torchpick"), width(sys.stderr)))


def notes(args: Arguments, *news: Note | str) -> None:
    """On stderr what a person should know, a line each.

    A text may hold a secret; a pick's or a machine's notes do not, and to look for one costs a start some milliseconds.
    """
    news = tuple(filter(None, news))
    if args.quiet or not news:
        return
    for remark in news:
        line = text.note(remark) if isinstance(remark, str) else f"note: {text.plain(remark.text)}"
        message(*text.wrap(line, width(sys.stderr)))


def of_password(lines: str, *, image: bool = False) -> str:
    """What to do about a password in these lines, which pip and uv need as it is; empty where there is none."""
    if not holds_secret(lines):
        return ""
    if image:
        return "the image will hold a password: give it to the build as a secret instead"
    return "these lines hold a password: keep them out of logs, or give it by netrc or a keyring"


def error(failure: TorchpickError) -> None:
    message(text.error(failure, width(sys.stderr), colour=coloured(sys.stderr)))


def failed(failure: TorchpickError, command: str, words: Sequence[str], guard: str | None) -> int:
    """Print what ended the command in the form that its words ask for, and return its exit status.

    `guard` is what stdout gets if empty output would be taken for a result.
    """
    words = words[: words.index("--")] if "--" in words else words  # what follows is the installer's
    pick = failure.pick if isinstance(failure, NoBuildError) else None
    is_verbose, is_quiet = (not {*flags}.isdisjoint(words) for flags in (("-v", "--verbose"), ("-q", "--quiet")))
    if is_verbose and pick is not None:
        tell_of(pick.machines, pick.considered)
    elif is_verbose and isinstance(failure, DetectionError) and failure.machine is not None:
        tell_of((failure.machine,), ())
    if "--json" in words:
        print(error_json(failure, command))
        return failure.exit_status
    if guard is not None:
        print(guard)
    error(failure)
    if pick is not None and not is_quiet:
        tell_age(pick)
    return failure.exit_status


def error_json(failure: TorchpickError, command: str) -> str:
    """An error as one JSON object; `no_answer` for exit 4, and the whole answer where no build runs."""
    if isinstance(failure, NoBuildError):
        return as_json(failure.pick, command, error=failure)
    facts: dict[str, object] = {"error": failure}
    if isinstance(failure, DetectionError) and failure.machine is not None:
        facts = {"machine": failure.machine, **facts}
    if isinstance(failure, ResolverError):
        facts |= {"status": "error", "installer": {"name": failure.installer, "status": failure.exit_status}}
    return dumps(envelope(command, failure.exit_status, **facts))


def waiting(news: str | int) -> None:
    """The `Report` of what is seldom waited for: its sentences, where somebody is watching."""
    if isinstance(news, str) and sys.stderr.isatty():
        say(news)


def print_table(rows: Iterable[Sequence[str]]) -> None:
    """On stdout, as wide as the terminal and no wider, the first row in bold."""
    print(text.headed(rows, width(), painter()))


def print_blocks(parts: Iterable[Iterable[tuple[str, str]]], indent: int = 11) -> None:
    """On stdout, labelled lines with a blank line between the blocks."""
    print("\n\n".join(text.block(part, width(), painter(), indent) for part in parts))


def painter() -> Callable[[str], str]:
    """What makes a line of stdout bold; where no colour is wanted it leaves the line alone."""
    return text.ansi if coloured(sys.stdout) else str


def platform_named(name: str | None) -> str:
    """The platform of this name, else the variable's, else this computer's; one that PyTorch has builds for."""
    return given.parse_platform(
        name or os.environ.get("TORCHPICK_PLATFORM") or interpreter.running().platform.name
    ).name


def width(stream: TextIO | None = None, environ: Mapping[str, str] = os.environ) -> int | None:
    """The terminal's width for stdout or this stream, None where the output goes elsewhere, as wide as it is."""
    columns = environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and len(columns) < 6 and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or None
    except (OSError, ValueError):
        return None
