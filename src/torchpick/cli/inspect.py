"""Show the GPU code inside a wheel, a package or a library, and whether it runs here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.progress import start_progress
from torchpick.cli.text import block, lines, plain
from torchpick.cluster import ray
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.knowledge.locations import cache_dir
from torchpick.model.build import FAILS, UNKNOWN
from torchpick.model.fields import dumps
from torchpick.model.machine import Machine
from torchpick.run import Run
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import Answers, ReadOptions
from torchpick.wheels.judging import Inspection, ReadingVerdict, without_code
from torchpick.wheels.readings import FLAGS, SAMPLE, WHOLE, Reading, Readings

_MOST_ON_CLUSTER = 256


def run(args: Arguments) -> int:
    _check(args)
    jobs = arguments.number("--jobs", args.jobs, inspect_target.MOST_JOBS if args.on is None else _MOST_ON_CLUSTER)
    run = console.start(args, arguments.machine_request(args)._replace(offline=args.offline))
    machines, unknown, how = _machines_and_target(args, run)
    if unknown is not None:
        console.notes(args, f"no GPU is checked: {unknown}")
    status, results, rules = 0, list[dict[str, object]](), run.knowledge.rules
    progress = start_progress(args)
    with progress.during("inspect"), ExitStack() as stack:
        readings = Readings(cache_dir(os.environ))
        depth = WHOLE if args.deep else None
        how = how._replace(depth=depth, offline=run.offline, report=progress, readings=readings)
        write = None if args.from_ is None else _writer(args, stack)
        for name, reading in _answers(args, how, jobs, stack):
            progress.clear()
            if isinstance(reading, TorchpickError):
                if args.words == [name] and args.from_ is None:
                    raise reading
                status, entry = 1, {"target": name, "error": reading}
                _say(args, reading)
            else:
                verdicts = inspect_target.judge_machines(reading, machines, rules.drivers, how.program)
                fails = any(verdict.word in FAILS for verdict in verdicts)
                status, entry = status or 3 * fails, Inspection(reading, verdicts).to_dict()
                _say(args, reading, verdicts)
            if write is not None:
                write(dumps(entry) + "\n")
            else:
                results.append(entry)
    if args.json and args.from_ is None:
        notes = [] if unknown is None else [{"code": "NOT_JUDGED", "text": unknown}]
        facts: dict[str, object] = {"machine": machines[0] if len(machines) == 1 else None}
        if len(machines) > 1:
            facts["machines"] = machines
        return console.print_json(args, rules.date, status, **facts, results=results, notes=notes)
    return status


def _check(args: Arguments) -> None:
    if not args.words and args.from_ is None:
        raise UsageError("inspect what?", hint="`torchpick inspect torch`, or `--from FILE`")
    if args.from_ is None and (args.on or args.out):
        raise UsageError("`--on` and `--out` are for many wheels", hint="list them with `--from FILE`")


def _say(args: Arguments, reading: Reading | TorchpickError, verdicts: Sequence[ReadingVerdict] = ()) -> None:
    """What a person reads of one of them, as it is read; of many only what is wrong."""
    if args.json:
        return
    if isinstance(reading, TorchpickError):
        console.error(reading)
    elif args.from_ is None:
        print(page(reading, verdicts, console.width(), console.painter()))


def _answers(args: Arguments, how: ReadOptions, jobs: int, stack: ExitStack) -> Answers:
    things = args.words if args.from_ is None else [*args.words, *inspect_target.list_targets(args.from_, how)]
    if args.on is not None:
        how = how._replace(elsewhere=stack.enter_context(ray.reader(ray.address_of(args.on))))
    return stack.enter_context(closing(inspect_target.read_targets(things, how, jobs, in_order=args.from_ is None)))


def _writer(args: Arguments, stack: ExitStack) -> Callable[[str], object]:
    """Each line goes out whole and at once, so that it outlives this process."""
    if args.out is None:
        return lambda line: print(line, end="", flush=True)
    try:
        return stack.enter_context(open(args.out, "w", encoding="utf-8", buffering=1)).write
    except OSError as error:
        raise TorchpickError(f"cannot write {args.out}: {error.strerror}", hint="name another file") from error


def _machines_and_target(args: Arguments, run: Run) -> tuple[tuple[Machine, ...], str | None, ReadOptions]:
    """Whose GPUs are judged, or why none is; and the interpreter whose packages are meant."""
    platform = args.platform or os.environ.get("TORCHPICK_PLATFORM") or None
    how = ReadOptions(None, args.python, platform, args.glibc)
    if platform and not run.has_given_gpus:
        return (), "the package is for another machine; specify its GPU with `--gpu`", how
    if how.program is not None:
        # An interpreter says where the package is looked up and does not matter for a GPU.
        run = run.with_request(run.request._replace(python=None))
    try:
        machines, unknown = run.find_machines(), "none was found here"
    except DetectionError as error:
        machines, unknown = (), error.message
    if args.python is None and platform is None and not args.machine:
        how = how._replace(here=run.find_machine())
    if machines and (run.has_given_gpus or any(machine.counted for machine in machines)):
        return machines, None, how
    return machines, f"{unknown}; specify one with `--gpu`", how


_NOTHING_SEEN = "no GPU code in the part that was read; the rest may have some"
_DEPTHS = {
    FLAGS: "the compiled flags; `--deep` reads every library",
    SAMPLE: "a sample of the libraries, not everything; `--deep` reads all",
}


def page(
    reading: Reading, verdicts: Sequence[ReadingVerdict], width: int | None, bold: Callable[[str], str] = str
) -> str:
    facts: list[tuple[str, str]] = []
    if reading.sass or reading.ptx:
        kinds = {"code": reading.sass, "PTX": reading.ptx}
        facts += [(f"  {kind}", " ".join(map(str, arches)) or "none") for kind, arches in kinds.items()]
    elif not reading.holds_code:
        word = without_code(reading)
        facts.append((f"  {_NOTHING_SEEN if word == UNKNOWN else word}", ""))
    if reading.torch and reading.torch.cuda:
        facts.append(("  CUDA", reading.torch.cuda))
    if reading.compilers:
        facts.append(("  compiles", f"at run time, with {reading.compilers[0]}"))
    if reading.depth in _DEPTHS and (reading.depth != FLAGS or reading.sass or reading.ptx):
        facts.append(("  read", _DEPTHS[reading.depth]))
    facts += [("  note", note) for note in reading.notes]
    judged: list[tuple[str, str]] = []
    for verdict in verdicts:
        by = f", by its {verdict.via}" if verdict.via is not None and verdict.fit else ""
        judged.append((f"  {verdict.gpu}", f"{verdict.word}{by}"))
        judged += [("", f"{library.path}: {library.text}") for library in verdict.failing]
    judged += [("", note) for note in dict.fromkeys(note for verdict in verdicts for note in verdict.notes)]
    above, below = (block(part, width, bold, 12) for part in (facts, judged))
    return "\n".join(filter(None, [bold(_headline(reading)), above, *lines(_rows(reading), width), below]))


def _headline(reading: Reading) -> str:
    name = plain(reading.file or reading.target)
    if reading.name:
        name = f"{plain(reading.name)} {plain(reading.version or '')}".rstrip()
    size = f"{name}: {reading.size / 1e6:.1f} MB"
    if not reading.requests:
        return size
    share = min(100.0, 100 * reading.bytes_read / max(reading.size, 1))
    return f"{size}, read {reading.bytes_read / 1e6:.1f} MB of it ({share:.1f} %) in {reading.requests} requests"


def _rows(reading: Reading) -> list[tuple[str, str, str]]:
    rows = []
    for library in reading.libraries:
        if library.holds_code or library.notes:
            code = " ".join(map(str, (*library.sass, *library.ptx))) or "none"
            name = library.path.replace("\\", "/").rpartition("/")[2]
            rows.append((f"  {name}", f"{library.code.total:>7}", code))
            if library.code.empty:
                rows.append(("", "", f"and {library.code.empty} without a kernel"))
            rows += [("", "", note) for note in library.notes]
    return [("  library", "modules", "code"), *rows] if rows else []
