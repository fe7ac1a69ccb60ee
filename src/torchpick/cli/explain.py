"""Say what an error text means here, what to do about it, and what won't help."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.progress import Progress, start_progress
from torchpick.cli.text import block, note, wrap
from torchpick.doctor import steps
from torchpick.doctor.explanation import Explained, Explanation, explain
from torchpick.environment.world import opened
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.address import redacted
from torchpick.model.fields import written

_CHUNK = 1 << 20
# One word that is meant as a file, whether it is there or not.
_PATH = re.compile(r"(?:[.~]{0,2}[/\\]|[A-Za-z]:[/\\])\S+|\S+\.(?:txt|log|out|err)")


def run(args: Arguments) -> int:
    if "-" in args.machine and args.words in ([], ["-"]):
        raise UsageError("the text and the machine cannot both come from stdin", hint="name a file with `--machine`")
    run = console.start(args, arguments.machine_request(args))
    found = explain(_chunks(args.words, start_progress(args)), run)
    if not found.errors:
        raise _not_recognised(found)
    if args.json:
        findings = [_finding_facts(each) for each in found.errors]
        facts = {"machine": found.machine, "findings": findings, "notes": found.notes}
        return console.print_json(args, run.knowledge.rules.date, **facts)
    # What is wrong here comes first, then what has to do with an install at all and follows from nothing else.
    causes = {each.match.signature.id for each in found.errors}
    errors = sorted(
        found.errors,
        key=lambda one: (not one.is_here, not one.cause.install or not causes.isdisjoint(one.match.signature.follows)),
    )
    if args.more:
        console.print_blocks(map(_explained, errors))
        console.notes(args, *(note.text for note in found.notes))
        return 0
    also = [error.cause.id for error in errors[1:]]
    more = f"the text has {' and '.join(also)} too: `--more` explains all" if also else ""
    end = f"nothing is known of the end of this text{_end(found)}" if found.ending else ""
    notes = [*filter(None, [end, more]), *(note.text for note in found.notes)]
    below = sum(len(wrap(note(each), _COLUMNS)) for each in notes)
    console.print_blocks([_brief(list(_explained(errors[0])), max(_MOST_LINES - below, _LEAST_LINES))])
    console.notes(args, *notes)
    return 0


# One screen, to be read at once; `--more` prints all.
_MOST_LINES, _LEAST_LINES, _COLUMNS = 14, 7, 80
# What is left out first stands last; the first that is to be done always has room, and the second before why.
_ORDER = ("error", "warning", "note", "run", "why", "do", "seen", "won't help", "causes")
_MOST_SEEN, _MOST_TO_DO = 140, 280


def _brief(lines: Sequence[tuple[str, str]], room: int) -> list[tuple[str, str]]:
    """What matters most of an explanation, in its order, within so many lines of 80 columns."""
    first = {0, *[place for place, (label, _) in enumerate(lines) if label in ("run", "do")][:2]}
    order = sorted(
        (place for place, (label, _) in enumerate(lines) if label in _ORDER),
        key=lambda place: (place not in first, _ORDER.index(lines[place][0]), place),
    )
    shown: dict[int, tuple[str, str]] = {}
    for shorten in (True, False):
        for place in order:
            label, words = lines[place]
            more = {**shown, place: (label, _shorter(label, words) if shorten else words)}
            fits = block([more[at] for at in sorted(more)], _COLUMNS).count("\n") < room
            if (fits or len(shown) < 2) and (shorten or place in shown):
                shown = more
    return [shown[place] for place in sorted(shown)]


def _shorter(label: str, words: str) -> str:
    """The first sentence of why; both ends of what is to be done, and of a long line."""
    if label == "do" and len(words) > _MOST_TO_DO:
        clauses = steps.CLAUSES.split(words)
        return "; ".join(dict.fromkeys((clauses[0], clauses[-1])))
    if label == "why":
        return words.partition(". ")[0].removesuffix(".") + "."
    if label == "seen" and len(words) > _MOST_SEEN:
        words = redacted(words)  # of what is cut in two nothing tells that it is a password
        return f"{words[: _MOST_SEEN // 3]} … {words[-_MOST_SEEN // 2 :]}"
    return words


def _not_recognised(explanation: Explanation) -> TorchpickError:
    """What was understood, and what is missing."""
    facts = f"; it names {', '.join(explanation.facts)}" if explanation.facts else ""
    sound = [note.text for note in explanation.notes if note.code == "TORCH_RUNS"]
    hint = "; ".join([*sound, explanation.question, "`torchpick doctor` examines the environment itself"])
    return TorchpickError(
        f"there is no known error in this text{_end(explanation)}{facts}", hint=hint, code="NOT_RECOGNISED"
    )


def _end(explanation: Explanation) -> str:
    """The line that a program ended with, where it is not known."""
    if explanation.ending is None:
        return ""
    number, line = explanation.ending[:2]
    return f", which ends with line {number}, `{_shorter('seen', line)}`"


def _chunks(words: Sequence[str], progress: Progress) -> Iterator[bytes]:
    """The text, with a line that shows how much of it was read; UsageError at its end where there was none."""
    is_blank = True
    with progress.during("reading the text"):
        for chunk in _read_text(words):
            is_blank = is_blank and not chunk.strip()
            yield chunk
            progress(len(chunk))
    if is_blank:
        hint = '`torchpick explain "TEXT"`, or pipe a log into it: `… 2>&1 | torchpick explain`'
        raise UsageError("no text was given to explain", hint=hint)


def _read_text(words: Sequence[str]) -> Iterator[bytes]:
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


# What the command says already, and better.
_PLAIN = re.compile(r"`torchpick install torch(?:==[\d.]+)?(?: --(?:gpu|driver)[^`]*)?`")


def _explained(one: Explained) -> Iterator[tuple[str, str]]:
    """One cause as labelled lines: what it is, what to do, why, and what else there is to know."""
    match, cause = one.match, one.cause
    for finding in one.findings:
        yield finding.severity, f"{finding.text} ({finding.code})"
        if finding.cure is not None:
            yield "run", finding.cure
        if finding.remark is not None:
            yield "note" if finding.cure is not None else "do", finding.remark
    # What surrounds the program may want more than the command, as may a torch that nobody named.
    if not (one.is_here and one.command) or cause.id != match.signature.id:
        is_said = one.command is not None and one.command.startswith("torchpick install torch")
        yield from (("do", f"- {remedy}") for remedy in cause.cures if not (is_said and _PLAIN.search(remedy)))
    yield from dict.fromkeys(("why", finding.why) for finding in one.findings)
    yield "seen", f"line {match.line}: {match.text}" if match.line else match.text
    yield from (("won't help", f"- {fix['what']}: {fix['why']}") for fix in match.signature.no_use)
    if one.is_here:
        yield "means", cause.meaning
    yield from (("causes", f"- {each}") for each in cause.causes)
    yield from (("threads", link) for link in match.signature.links)


def _finding_facts(one: Explained) -> dict[str, object]:
    """The finding as doctor has it, with the place in the text and what the table says beside it."""
    match, finding = one.match, one.findings[0]
    return {
        **finding.to_dict(),
        "seen": {"cause": one.cause.id, "line": match.line, "text": match.text, **finding.seen},
        "cure": one.command,
        **written(one.cause, "causes", "cures"),
        **written(match.signature, "no_use", "links"),
    }
