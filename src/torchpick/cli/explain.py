"""Say what an error text means, what to do about it, and what won't help.

The text is given as words, or on stdin: a line, a traceback or a whole log. Known errors in it are combined with this
machine and environment, or with those that are given. The exit status is 1 where nothing is recognised.

examples:
  python train.py 2>&1 | torchpick explain
  torchpick explain < build.log
  torchpick explain "no kernel image is available for execution on the device" --gpu sm_61 --driver 580.95.05
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show.text import block
from torchpick.doctor.explanation import Explained, Explanation, explain
from torchpick.errors import TorchpickError, UsageError
from torchpick.model import envelope
from torchpick.model.fields import written
from torchpick.session import Session

_CHUNK = 1 << 20


class ExplainArguments(Arguments):
    text: list[str]


def add_arguments(parser: ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] [TEXT|-]"
    parser.add_argument("text", nargs="*", metavar="TEXT|-", help="the error; `-` or nothing reads stdin")
    arguments.add_machine_flags(parser)
    arguments.add_output_flags(parser)


def run(args: ExplainArguments) -> int:
    request = arguments.machine_request(args)
    if args.machine is not None and "-" in args.machine and args.text in ([], ["-"]):
        raise UsageError("the text and the machine cannot both come from stdin", hint="name a file with `--machine`")
    found = explain(_chunks(args.text), Session(request, report=console.waiting))
    if not found.errors:
        hint = "`torchpick doctor` examines the environment itself"
        raise TorchpickError("there is no known error in this text", hint=hint, code="NOT_RECOGNISED")
    if args.json:
        print(envelope.dumps(_json(found)))
        return 0
    bold = console.painter(args)
    width = console.width()
    print("\n\n".join(block(_lines(each), width, bold) for each in found.errors))
    console.notes(args, *(note.text for note in found.notes))
    return 0


def _chunks(words: list[str]) -> Iterator[bytes]:
    if words and words != ["-"]:
        yield " ".join(words).encode("utf-8", "surrogateescape")
        return
    if sys.stdin is None or sys.stdin.isatty():
        hint = '`torchpick explain "TEXT"`, or pipe a log into it: `… 2>&1 | torchpick explain`'
        raise UsageError("no text was given to explain", hint=hint)
    while chunk := sys.stdin.buffer.read(_CHUNK):
        yield chunk


def _lines(one: Explained) -> Iterator[tuple[str, str]]:
    """One error as labelled lines."""
    match, signature = one.match, one.match.signature
    yield "error" if signature.install else "note", signature.id
    yield "", signature.title
    yield "seen", f"line {match.line}: {match.text}"
    yield "means", signature.meaning
    yield from (("causes", f"- {cause}") for cause in signature.causes)
    for finding in one.here:
        yield "here", finding.text
        if finding.cure is not None:
            yield "run", finding.cure
        if finding.remark is not None:
            yield "", finding.remark
    yield from (("do", f"- {cure}") for cure in signature.cures)
    yield from (("won't help", f"- {what}: {why}") for what, why in signature.no_use)
    yield from (("threads", link) for link in signature.links)


def _json(found: Explanation) -> dict[str, object]:
    findings = [_finding(each) for each in found.errors]
    return envelope.new("explain", machine=found.machine, findings=findings, notes=found.notes)


def _finding(one: Explained) -> dict[str, object]:
    match, signature = one.match, one.match.signature
    return {
        "code": signature.id,
        "severity": "error" if signature.install else "note",
        "text": signature.title,
        "why": signature.meaning,
        "seen": {"line": match.line, "text": match.text, **match.kept},
        "cure": next((finding.cure for finding in one.here if finding.cure), None),
        "here": one.here,
        **written(signature, "causes", "cures"),
        "no_use": [{"what": what, "why": why} for what, why in signature.no_use],
        "links": signature.links,
    }
