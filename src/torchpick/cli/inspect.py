"""Show the GPU code inside a wheel, a package or a library, and whether it runs here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import NamedTuple

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import lines, paragraphs, plain
from torchpick.cluster import ray
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.index.wheelnames import WheelTarget
from torchpick.knowledge.locations import cache_dir
from torchpick.model.build import FAILS, UNKNOWN
from torchpick.model.fields import dumps
from torchpick.model.machine import Machine
from torchpick.model.table import Table
from torchpick.run import Run
from torchpick.wheels import inspect_target
from torchpick.wheels.inspect_target import Answers, ReadOptions
from torchpick.wheels.judging import Inspection, ReadingVerdict, without_code
from torchpick.wheels.librarycode import texts
from torchpick.wheels.readings import FLAGS, SAMPLE, WHOLE, Reading, Readings

_MOST_ON_CLUSTER = 256


class InspectScene(NamedTuple):
    """Whose GPUs are judged, or why none is; and the interpreter whose packages are meant."""

    machines: tuple[Machine, ...]
    unknown: str | None
    wanted: WheelTarget


class _Results:
    """What was read, said in the form that is asked for, and the exit status."""

    def __init__(self, args: Arguments, scene: InspectScene, rules: Table) -> None:
        self._args, self._scene, self.rules = args, scene, rules
        self.status = 0
        self.kept: list[dict[str, object]] = []

    def add(self, name: str, reading: Reading | TorchpickError, write: Callable[[str], object] | None) -> None:
        if isinstance(reading, TorchpickError):
            self.status = 1
            entry: dict[str, object] = {"target": name, "error": reading}
            if not self._args.json:
                console.error(reading)
        else:
            verdicts = inspect_target.judge_machines(
                reading, self._scene.machines, self.rules.drivers, self._scene.wanted.program
            )
            if self.status != 1 and any(verdict.word in FAILS for verdict in verdicts):
                self.status = 3
            entry = Inspection(reading, verdicts).to_dict()
            if write is None and not self._args.json:
                print(page(reading, verdicts, console.width(), console.painter()))
        if write is not None:
            write(dumps(entry) + "\n")
        self.kept.append(entry)

    def json(self) -> dict[str, object]:
        machines, unknown = self._scene.machines, self._scene.unknown
        return {
            "machine": machines[0] if len(machines) == 1 else None,
            "results": self.kept,
            "notes": [] if unknown is None else [{"code": "NOT_JUDGED", "text": unknown}],
            **({"machines": machines} if len(machines) > 1 else {}),
        }


def run(args: Arguments) -> int:
    _check(args)
    jobs = arguments.number("--jobs", args.jobs, inspect_target.MOST_JOBS if args.on is None else _MOST_ON_CLUSTER)
    run = console.start(args, arguments.machine_request(args)._replace(offline=args.offline))
    scene = _scene(args, run)
    if scene.unknown is not None:
        console.notes(args, f"no GPU is checked: {scene.unknown}")
    results = _Results(args, scene, run.knowledge.rules)
    progress = console.progress(args)
    with progress.during("inspect"), ExitStack() as stack:
        how = ReadOptions(
            WHOLE if args.deep else None,
            scene.wanted,
            offline=run.offline,
            report=progress,
            readings=Readings(cache_dir(os.environ)),
        )
        write = None if args.from_ is None else _writer(args, stack)
        for name, reading in _answers(args, how, jobs, stack):
            progress.clear()
            if isinstance(reading, TorchpickError) and args.words == [name] and args.from_ is None:
                raise reading
            results.add(name, reading, write)
    if args.json and args.from_ is None:
        return console.print_json(args, results.rules.date, results.status, **results.json())
    return results.status


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


def _check(args: Arguments) -> None:
    if not args.words and args.from_ is None:
        raise UsageError("inspect what?", hint="`torchpick inspect torch`, or `--from FILE`")
    if args.from_ is None and (args.on or args.out):
        raise UsageError("`--on` and `--out` are for many wheels", hint="list them with `--from FILE`")


def _scene(args: Arguments, run: Run) -> InspectScene:
    platform = args.platform or os.environ.get("TORCHPICK_PLATFORM") or None
    wanted = WheelTarget(args.python, platform, args.glibc)
    if platform and not run.has_given_gpus:
        return InspectScene((), "the package is for another machine; specify its GPU with `--gpu`", wanted)
    if wanted.program is not None:
        # An interpreter says where the package is looked up and does not matter for a GPU.
        run = run.with_request(run.request._replace(python=None))
    try:
        machines, unknown = run.find_machines(), "none was found here"
    except DetectionError as error:
        machines, unknown = (), error.message
    if args.python is None and platform is None and not args.machine:
        wanted = wanted._replace(python=run.find_machine().python.executable)
    if machines and (run.has_given_gpus or any(machine.counted for machine in machines)):
        return InspectScene(machines, None, wanted)
    return InspectScene(machines, f"{unknown}; specify one with `--gpu`", wanted)


_NOTHING_SEEN = "no GPU code in the part that was read; the rest may have some"
_DEPTHS = {
    FLAGS: "the compiled flags; `--deep` reads every library",
    SAMPLE: "a sample of the libraries, not everything; `--deep` reads all",
}


def page(
    reading: Reading, verdicts: Sequence[ReadingVerdict], width: int | None, bold: Callable[[str], str] = str
) -> str:
    """The lines of text."""
    shown = [bold(_headline(reading))]
    if reading.sass or reading.ptx:
        shown.append(f"  code      {' '.join(texts(reading.sass)) or 'none'}")
        shown.append(f"  PTX       {' '.join(texts(reading.ptx)) or 'none'}")
    elif not reading.holds_code:
        word = without_code(reading)
        shown.append(f"  {_NOTHING_SEEN if word == UNKNOWN else word}")
    if reading.torch and reading.torch.cuda:
        shown.append(f"  CUDA      {reading.torch.cuda}")
    if reading.compilers:
        shown.append(f"  compiles  at run time, with {plain(reading.compilers[0])}")
    if reading.depth in _DEPTHS and (reading.depth != FLAGS or reading.sass or reading.ptx):
        shown.append(f"  read      {_DEPTHS[reading.depth]}")
    shown += [f"  note      {plain(note)}" for note in reading.notes]
    shown += lines(_rows(reading), width)
    for verdict in verdicts:
        by = f", by its {verdict.via}" if verdict.via is not None and verdict.fit else ""
        shown.append(f"  {verdict.gpu!s:<8}  {bold(verdict.word)}{by}")
        shown += [f"            {plain(library.path)}: {library.text}" for library in verdict.failing]
    for note in dict.fromkeys(note for verdict in verdicts for note in verdict.notes):
        shown.append(f"            {plain(note)}")
    return paragraphs("\n".join(shown), width)


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
            code = " ".join(texts((*library.sass, *library.ptx))) or "none"
            name = library.path.replace("\\", "/").rpartition("/")[2]
            rows.append((f"  {name}", f"{library.code.total:>7}", code))
            if library.code.empty:
                rows.append(("", "", f"and {library.code.empty} without a kernel"))
            if library.unregistered.total:
                apart = " ".join(texts((*library.unregistered.sass, *library.unregistered.ptx)))
                rows.append(("", "", f"and {library.unregistered.total} modules in its own data: {apart}"))
            rows += [("", "", note) for note in library.notes]
    return [("  library", "modules", "code"), *rows] if rows else []
