"""Say what an error text means, what to do about it, and what won't help."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

from torchpick.cli import arguments, console, doctor
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import block
from torchpick.doctor.explanation import Explained, explain
from torchpick.environment.world import opened
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.fields import envelope, written
from torchpick.run import start_run

_CHUNK = 1 << 20
# One word that is meant as a file, whether it is there or not.
_PATH = re.compile(r"(?:[.~]{0,2}[/\\]|[A-Za-z]:[/\\])\S+|\S+\.(?:txt|log|out|err)")


def run(args: Arguments) -> int:
    if "-" in args.machine and args.words in ([], ["-"]):
        raise UsageError("the text and the machine cannot both come from stdin", hint="name a file with `--machine`")
    run = start_run(arguments.machine_request(args), report=console.waiting)
    found = explain(_chunks(args.words), run)
    if not found.errors:
        sound = [note.text for note in found.notes if note.code == "TORCH_RUNS"]
        hint = "; ".join([*sound, "`torchpick doctor` examines the environment itself"])
        raise TorchpickError("there is no known error in this text", hint=hint, code="NOT_RECOGNISED")
    if args.json:
        findings = [_finding(each) for each in found.errors]
        answer = envelope("explain", machine=found.machine, findings=findings, notes=found.notes)
        print(console.dated(answer, run.knowledge.rules.date))
        return 0
    bold, width = console.painter(), console.width()
    # What is wrong here comes first, then what has to do with an install at all and follows from nothing else.
    causes = {each.match.signature.id for each in found.errors}
    errors = sorted(
        found.errors,
        key=lambda one: (not one.is_here, not one.cause.install or not causes.isdisjoint(one.match.signature.follows)),
    )
    shown = errors if args.more else errors[:1]
    print("\n\n".join(block(_lines(each, whole=args.more), width, bold) for each in shown))
    also = [each.cause.id for each in errors[len(shown) :]]
    more = f"the text has {' and '.join(also)} too: `--more` explains all" if also else ""
    console.notes(args, more, *(note.text for note in found.notes))
    return 0


def _chunks(words: Sequence[str]) -> Iterator[bytes]:
    """The text; UsageError at its end where there was none."""
    is_blank = True
    for chunk in _given(words):
        is_blank = is_blank and not chunk.strip()
        yield chunk
    if is_blank:
        hint = '`torchpick explain "TEXT"`, or pipe a log into it: `… 2>&1 | torchpick explain`'
        raise UsageError("no text was given to explain", hint=hint)


def _given(words: Sequence[str]) -> Iterator[bytes]:
    if len(words) == 1 and (_PATH.fullmatch(words[0]) or os.path.isfile(words[0])):
        try:
            with opened(words[0], pipes=True) as file:
                yield from iter(lambda: file.read(_CHUNK), b"")
        except OSError as error:
            raise UsageError(f"cannot read {words[0]}: {error.strerror}", hint="check the path") from error
    elif words and [*words] != ["-"]:
        yield " ".join(words).encode("utf-8", "surrogateescape")
    elif sys.stdin is not None and not sys.stdin.isatty():
        yield from iter(lambda: sys.stdin.buffer.read(_CHUNK), b"")


def _lines(one: Explained, *, whole: bool) -> Iterator[tuple[str, str]]:
    """One cause as labelled lines: what it is, what to do, then why; `whole` with its meaning, causes and threads."""
    match, cause = one.match, one.cause
    said = [line for finding in one.findings for line in doctor.lines(finding)]
    yield from (line for line in said if line[0] != "why")
    # What surrounds the program may want more than the command, as may a torch that nobody named.
    if whole or not (one.is_here and one.command) or cause.id != match.signature.id:
        yield from (("do", f"- {remedy}") for remedy in cause.cures)
    yield from (line for line in said if line[0] == "why")
    yield "seen", f"line {match.line}: {match.text}" if match.line else match.text
    if whole and one.is_here:
        yield "means", cause.meaning
    yield from (("causes", f"- {each}") for each in cause.causes if whole or not (one.is_here or one.command))
    no_use = match.signature.no_use
    yield from (("won't help", f"- {what}: {why}") for what, why in no_use[: None if whole else 2])
    yield from (("threads", link) for link in match.signature.links if whole)


def _finding(one: Explained) -> dict[str, object]:
    """The finding as doctor has it, with the place in the text and what the table says beside it."""
    match, finding = one.match, one.findings[0]
    return {
        **finding.to_json(),
        "seen": {"cause": one.cause.id, "line": match.line, "text": match.text, **finding.seen},
        "cure": one.command,
        **written(one.cause, "causes", "cures"),
        **written(match.signature, "no_use", "links"),
    }
