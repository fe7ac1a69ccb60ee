"""Read the GPU code of many wheels of your index: one JSON line for each as it is read, and none read twice.

SPEC is a name or a requirement, such as `xformers`, `vllm>=0.20` or `bitsandbytes==0.50.2`. What was read before, by a
survey or by `inspect`, comes out of the cache; a run that was killed goes on where it stopped. A wheel that cannot be
read is a line with an error, and the rest is read. The exit status is 1 where nothing could be read.

examples:
  torchpick survey xformers bitsandbytes --newest 3
  torchpick survey --from packages.txt --jobs 4 --out survey
  torchpick survey --from packages.txt --on ray --jobs 32 --out survey
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import ExitStack, closing

from torchpick.cli import arguments, parsing
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import text
from torchpick.cli.show.text import plain
from torchpick.cluster import survey
from torchpick.cluster.survey import MOST_JOBS, Surveyed, SurveyWay
from torchpick.environment import rewrite
from torchpick.errors import TorchpickError, UsageError
from torchpick.knowledge.locations import cache_dir
from torchpick.model import envelope
from torchpick.model.fields import MOST_ITEMS
from torchpick.model.machine import PLATFORMS
from torchpick.model.redaction import redacted
from torchpick.wheels import shelf, surveyed
from torchpick.wheels.reading import SAMPLE, WHOLE
from torchpick.wheels.readings import Readings
from torchpick.wheels.surveyed import Line, SurveyWheel

_LINES, _TABLE = "readings.jsonl", "packages.jsonl"
_MOST_ON_CLUSTER = 256
_MOST_GIVEN = 9999


class SurveyArguments(Arguments):
    specs: list[str]
    file: str | None
    newest: int
    on_platform: list[str] | None
    depth: str | None
    jobs: int
    on: str | None
    part: str | None
    out: str | None
    merge: list[str] | None


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("specs", nargs="*", metavar="SPEC", help="a package's name or requirement")
    group = parser.add_argument_group("which wheels")
    group.add_argument("--from", dest="file", metavar="FILE", help="a SPEC a line; `-` for stdin")
    group.add_argument(
        "--newest",
        type=parsing.count(_MOST_GIVEN),
        default=1,
        metavar="N",
        help="so many versions of each, the newest (1)",
    )
    group.add_argument(
        "--platform", dest="on_platform", action="append", choices=PLATFORMS, help="linux-x86_64; repeat for more"
    )
    group.add_argument("--shard", dest="part", metavar="K/N", help="the K-th of N parts, for N jobs of a CI matrix")
    group = parser.add_argument_group("how they are read")
    depth = group.add_mutually_exclusive_group()
    depth.add_argument(
        "--sample", action="store_const", const=SAMPLE, dest="depth", help="libraries, as far as 5%% of the file goes"
    )
    depth.add_argument("--deep", action="store_const", const=WHOLE, dest="depth", help="every library, whole")
    group.add_argument(
        "--jobs",
        type=parsing.count(_MOST_GIVEN),
        default=1,
        metavar="N",
        help=f"so many wheels at once (1; {MOST_JOBS} at most)",
    )
    group.add_argument("--on", metavar="ray[:ADDRESS]", help="read on this Ray cluster")
    group.add_argument("--offline", action="store_true", help="use no network: only merge")
    group = parser.add_argument_group("where the readings go")
    group.add_argument("--out", metavar="DIR", help=f"into DIR/{_LINES}, and as a table into DIR/{_TABLE}")
    group.add_argument("--merge", action="append", metavar="DIR", help="take in the lines of another survey; repeat")
    arguments.add_output_flags(parser)


def run(args: SurveyArguments) -> int:
    way, specs = _way(args), _specs(args)
    with ExitStack() as stack:
        rows: list[Line] = []
        write: Callable[[Line], None] = _to_stdout
        if args.out is not None:
            _folder(args.out, stack)
            rows = survey.lines(os.path.join(args.out, _LINES))
            write = stack.enter_context(survey.writer(os.path.join(args.out, _LINES)))
        known = {surveyed.key(row) for row in surveyed.merge(rows)}
        for place in args.merge or ():
            more = [row for row in _taken(place) if surveyed.key(row) not in known]
            for row in more:
                write(row)
            rows += more
            known |= {surveyed.key(row) for row in more if "error" not in row}
        wheels = _plan(specs, args) if specs else ()
        todo = [one for one in wheels if (one.link.sha256 or one.link.file) not in known]
        counts = {"wheels": len(wheels), "known": len(wheels) - len(todo), "cached": 0, "read": 0, "failed": 0}
        for done in stack.enter_context(closing(survey.survey(todo, way, Readings(cache_dir(os.environ))))):
            write(done.line)
            rows.append(done.line)
            kind = "failed" if "error" in done.line else "read" if done.fresh else "cached"
            counts[kind] += 1
            if not args.quiet:
                print(_said(done, sum(counts.values()) - len(wheels), len(wheels)), file=sys.stderr)
        table = surveyed.merge(rows)
        if args.out is not None:
            _write(os.path.join(args.out, _TABLE), table)
    status = 1 if counts["failed"] and not table else 0
    _summary(args, counts, len(table), status)
    return status


def _way(args: SurveyArguments) -> SurveyWay:
    most = MOST_JOBS if args.on is None else _MOST_ON_CLUSTER
    if args.jobs > most:
        raise UsageError(f"`--jobs {args.jobs}` is more than {most} at once", hint="an index is asked politely")
    if args.on is None:
        return SurveyWay(args.depth, args.jobs)
    engine, mark, address = args.on.partition(":")
    if engine != "ray" or (mark and not address) or address.startswith("-"):
        raise UsageError(f"`{args.on}` is not a valid cluster", hint="`--on ray`, or `--on ray:ADDRESS`")
    from importlib.util import find_spec

    if find_spec("ray") is None:
        hint = "install the `ray` extra beside torchpick, of the cluster's own version"
        raise UsageError("the `ray` library is not installed for this Python", hint=hint)
    return SurveyWay(args.depth, args.jobs, address or "auto")


def _specs(args: SurveyArguments) -> tuple[str, ...]:
    found = list(args.specs)
    if args.file is not None:
        content = sys.stdin.read() if args.file == "-" else rewrite.read(args.file).text
        if args.file != "-" and not os.path.exists(args.file):
            raise UsageError(f"there is no file {args.file}", hint="check the path")
        found += [line.partition("#")[0].strip() for line in content.splitlines()]
    found = [word for word in dict.fromkeys(found) if word]
    if not found and not args.merge:
        raise UsageError("which packages?", hint="`torchpick survey NAME …`, or `--from FILE`")
    if args.merge and not args.out:
        raise UsageError("`--merge` needs a folder to merge into", hint="name it with `--out`")
    if found and args.offline:
        raise UsageError("the index cannot be read with `--offline`", hint="leave out `--offline`")
    if len(found) > MOST_ITEMS:
        raise UsageError(f"{len(found)} packages are more than {MOST_ITEMS}", hint="survey them in parts")
    return tuple(found)


def _plan(specs: tuple[str, ...], args: SurveyArguments) -> tuple[SurveyWheel, ...]:
    """The wheels behind the words, each once; a name that no index knows is said and left out."""
    from torchpick.index import locate, places
    from torchpick.index.client import Client
    from torchpick.index.user_index import UserIndex

    part, of = _part(args.part)
    asked = [locate.check(spec) for spec in specs]
    found: dict[str, SurveyWheel] = {}
    with Client() as client:
        index = UserIndex(places.of_user(os.environ), client)
        for one in asked:
            links = index.links(one.name)
            chosen = surveyed.plan(links or (), one.specifier, args.newest, args.on_platform or ("linux-x86_64",))
            found |= {wheel.link.url: wheel for wheel in chosen}
            if not chosen:
                where = ", ".join(map(redacted, (*index.places.indexes, *index.places.links)))
                why = "no wheel that was asked for" if links else "no wheel"
                print(text.note(f"{where} has {why} of {one.name}{one.specifier}"), file=sys.stderr)
    if not found:
        hint = "`PIP_INDEX_URL=URL` names another index, `--platform` other wheels"
        raise TorchpickError("there is no wheel to read", hint=hint, code="NOT_FOUND")
    return surveyed.shard(found.values(), part, of)


def _part(word: str | None) -> tuple[int, int]:
    if word is None:
        return 0, 1
    part, _, of = word.partition("/")
    if not (part.isdigit() and of.isdigit() and len(word) < 10 and 1 <= int(part) <= int(of)):
        raise UsageError(f"`{word}` is not a valid part", hint="such as `--shard 2/8`")
    return int(part) - 1, int(of)


def _folder(folder: str, stack: ExitStack) -> None:
    rewrite.folder(folder)
    from pathlib import Path

    stack.enter_context(shelf.locked(Path(folder), most=1.0, by="survey"))


def _taken(place: str) -> list[Line]:
    """The lines of another survey: its folder, or a file of them."""
    file = os.path.join(place, _LINES) if os.path.isdir(place) else place
    if not os.path.exists(file):
        raise UsageError(f"there is no survey in {place}", hint=f"name the folder that holds {_LINES}")
    return survey.lines(file)


def _write(file: str, table: list[Line]) -> None:
    import json

    rewrite.put(file, "".join(json.dumps(row) + "\n" for row in table))


def _to_stdout(row: Line) -> None:
    import json

    print(json.dumps(row), flush=True)


def _said(done: Surveyed, place: int, wheels: int) -> str:
    row = done.line
    error = row.get("error")
    what = f"{row.get('bytes_read')} of {row.get('size')} bytes read" if done.fresh else "known before"
    what = plain(str(error["text"])) if isinstance(error, dict) else what
    return f"[{place}/{wheels}] {plain(str(row['file']))}: {what}"


def _summary(args: SurveyArguments, counts: dict[str, int], held: int, status: int) -> None:
    if args.out is None:
        return
    if args.json:
        word = "ok" if status == 0 else "error"
        print(envelope.dumps(envelope.new("survey", status=word, exit_status=status, counts=counts, table=held)))
        return
    said = f"{counts['wheels']} wheels: {counts['read']} read, {counts['known'] + counts['cached']} known before"
    failed = f", {counts['failed']} failed" if counts["failed"] else ""
    print(f"{said}{failed}; {held} in {os.path.join(args.out, _TABLE)}")
