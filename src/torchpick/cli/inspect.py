"""Show the GPU code inside a wheel, a package or a library, and whether it runs here.

THING is a wheel file, its URL, `name==version` (the wheel on your own index; nothing is downloaded), an installed
package's name, a folder, or a .so or .dll. The exit status is 3 if one of them will not run, or only partly.

examples:
  torchpick inspect torch==2.15.0 --gpu "GTX 1080 Ti"
  torchpick inspect bitsandbytes flash_attn --gpu 7.5
  torchpick inspect --deep ./xformers-0.0.33-cp39-abi3-manylinux_2_28_x86_64.whl --json
"""

from __future__ import annotations

import os
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Generator
from contextlib import closing

from torchpick.cli import arguments, console, inspected
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import text
from torchpick.cli.show.progress import Progress
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.index.locate import WheelTarget
from torchpick.knowledge.locations import cache_dir
from torchpick.model import envelope
from torchpick.model.arch import Arch
from torchpick.model.build import is_unified
from torchpick.model.drivers import DriverTable
from torchpick.model.machine import Driver, Machine
from torchpick.model.noun import Noun
from torchpick.model.pythons import version_of
from torchpick.model.verdict import FAILS
from torchpick.model.versions import is_dotted
from torchpick.session import Session
from torchpick.wheels import installed, thing
from torchpick.wheels.loaded import chosen
from torchpick.wheels.reading import FLAGS, SAMPLE, WHOLE, Reading
from torchpick.wheels.readings import Readings
from torchpick.wheels.thing import How
from torchpick.wheels.verdict import Judge, ReadingVerdict, of_reading

# Things that are read at the same time: mostly one waits for the network while another is unpacked.
_AT_ONCE = 4
_FULL = 4096  # MB; the largest torch wheel, for Windows with CUDA inside, has 2.8 GB


class InspectArguments(Arguments):
    things: list[str]
    depth: str | None
    torch_cuda: str | None
    allow_full: int | None
    lines: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("things", nargs="+", metavar="THING", help="what to inspect")
    group = parser.add_argument_group("how much is read (by default what is cheap and sufficient)")
    depth = group.add_mutually_exclusive_group()
    depth.add_argument(
        "--flags", action="store_const", const=FLAGS, dest="depth", help="torch only: its compiled flags"
    )
    depth.add_argument(
        "--sample", action="store_const", const=SAMPLE, dest="depth", help="libraries, as far as 5%% of the file goes"
    )
    depth.add_argument("--deep", action="store_const", const=WHOLE, dest="depth", help="every library completely")
    group.add_argument(
        "--allow-full",
        nargs="?",
        type=int,
        const=_FULL,
        metavar="MB",
        help=f"download the whole file if a server does not support ranges, up to so many MB ({_FULL})",
    )
    group.add_argument("--offline", action="store_true", help="only files of this computer")
    group.add_argument(
        "--torch-cuda",
        metavar="X.Y",
        help="if a package has a library per CUDA, judge the one for this CUDA (that of the torch here)",
    )
    arguments.add_machine_flags(parser)
    arguments.add_output_flags(parser)
    parser.add_argument(
        "--lines", action="store_true", help="with --json: a line for each THING as soon as it is read, in their order"
    )


class InspectScene(Noun):
    """Whose GPUs are judged, or why none is; and the interpreter whose packages are meant."""

    machines: tuple[Machine, ...]
    unknown: str | None
    wanted: WheelTarget


def run(args: InspectArguments) -> int:
    _check(args)
    session = Session(arguments.machine_request(args), report=console.waiting)
    drivers = session.knowledge.rules.drivers
    scene = _scene(args, session)
    if scene.unknown is not None:
        console.notes(args, f"no GPU is checked: {scene.unknown}")
    bold = console.painter(args)
    results: list[dict[str, object]] = []
    worst = 0
    progress = console.progress(args)
    with progress.during("inspect"), closing(_all(args, scene.wanted, progress)) as readings:
        for name, reading in zip(args.things, readings, strict=True):
            progress.clear()
            if isinstance(reading, TorchpickError):
                if len(args.things) == 1:
                    raise reading
                worst = 1
                results.append({"target": name, "error": reading})
                if not args.json:
                    print(text.error(reading), file=sys.stderr)
            else:
                verdicts = _verdicts(reading, scene, drivers, args.torch_cuda)
                if worst != 1 and any(verdict.word in FAILS for verdict in verdicts):
                    worst = 3
                results.append(inspected.facts(reading, verdicts))
                if not args.json:
                    print(inspected.page(reading, verdicts, bold, everything=args.verbose))
            if args.lines:
                print(envelope.dumps(results.pop()), flush=True)
    if args.json and not args.lines:
        print(envelope.dumps(_json(scene, results, worst)))
    return worst


def _json(scene: InspectScene, results: list[dict[str, object]], worst: int) -> dict[str, object]:
    status = {0: "ok", 1: "error", 3: "no_build"}[worst]
    notes = [] if scene.unknown is None else [{"code": "NOT_JUDGED", "text": scene.unknown}]
    found = scene.machines
    machine = found[0] if len(found) == 1 else None
    facts = envelope.new("inspect", status=status, exit_status=worst, machine=machine, results=results, notes=notes)
    return facts if len(found) < 2 else {**facts, "machines": found}


def _check(args: InspectArguments) -> None:
    if args.lines and not args.json:
        raise UsageError("`--lines` belongs to `--json`", hint="`--json --lines`")
    if args.torch_cuda is not None and (not is_dotted(args.torch_cuda) or args.torch_cuda.count(".") != 1):
        raise UsageError(f"`{args.torch_cuda}` is not a valid CUDA version", hint="such as `--torch-cuda 12.6`")
    if args.allow_full is not None and not 0 < args.allow_full < 1 << 20:
        raise UsageError(f"`--allow-full {args.allow_full}` is not a size in MB", hint="such as `--allow-full 4096`")


def _scene(args: InspectArguments, session: Session) -> InspectScene:
    platform = args.platform or os.environ.get("TORCHPICK_PLATFORM") or None
    found = None if args.python is None else version_of(args.python)
    version = None if found is None else f"{found.number}{'t' if found.free_threaded else ''}"
    wanted = WheelTarget(args.python if version is None else None, version, platform, args.glibc)
    if platform and not session.given_gpus:
        return InspectScene((), "the package is for another machine; specify its GPU with `--gpu`", wanted)
    if args.python is not None and version is None:
        # An interpreter says where the package is looked up and does not matter for a GPU.
        session = session.asking(session.request._replace(python=None))
    try:
        machines = session.machines
    except DetectionError as error:
        here = error.machine.python.executable if error.machine is not None else None
        wanted = wanted._replace(python=wanted.python or (here if version is None else None))
        return InspectScene((), f"{error.message}; specify one with `--gpu`", wanted)
    if wanted._replace(glibc=None) == WheelTarget() and args.machine is None:
        wanted = wanted._replace(python=machines[0].python.executable)
    if session.given_gpus or any(machine.counted for machine in machines):
        return InspectScene(machines, None, wanted)
    return InspectScene(machines, "none was found here; specify one with `--gpu`", wanted)


def _all(
    args: InspectArguments, wanted: WheelTarget, progress: Progress
) -> Generator[Reading | TorchpickError, None, None]:
    """The readings in the order of the things; several are read at the same time, and one that fails is its error."""
    if len(args.things) == 1:
        yield _read(args.things[0], args, wanted, progress, threading.Event())
        return
    from concurrent.futures import ThreadPoolExecutor

    over = threading.Event()
    pool = ThreadPoolExecutor(min(_AT_ONCE, len(args.things)))
    try:
        jobs = [pool.submit(_read, name, args, wanted, progress, over) for name in args.things]
        for job in jobs:
            yield job.result()
    finally:
        over.set()
        pool.shutdown(cancel_futures=True)


def _read(
    name: str, args: InspectArguments, wanted: WheelTarget, progress: Progress, over: threading.Event
) -> Reading | TorchpickError:
    def report(news: str | int) -> None:
        if over.is_set():
            raise TorchpickError(f"{name} was given up", hint="run the command again")
        progress(news)

    how = How(
        args.depth,
        wanted,
        offline=args.offline or bool(os.environ.get("TORCHPICK_OFFLINE")),
        allow_full=None if args.allow_full is None else args.allow_full << 20,
        report=report,
        readings=Readings(cache_dir(os.environ)),
    )
    try:
        return thing.read(name, how)
    except TorchpickError as error:
        return error


def _verdicts(
    reading: Reading, scene: InspectScene, drivers: DriverTable, cuda: str | None
) -> tuple[ReadingVerdict, ...]:
    """One for each kind of GPU and driver among the machines."""
    if cuda is None and chosen(reading.libraries, None).libraries != reading.libraries:
        cuda = installed.torch_cuda(scene.wanted.python)  # which library is loaded depends on the torch beside it
    found: dict[Judge, ReadingVerdict] = {}
    for machine in scene.machines:
        for gpu in machine.counted:
            if gpu.arch is not None:
                judging = _judge(reading, gpu.arch, machine, drivers)
                found[judging] = found.get(judging) or of_reading(reading, judging, cuda)
    return tuple(found.values())


def _judge(reading: Reading, gpu: Arch, machine: Machine, drivers: DriverTable) -> Judge:
    torch, driver = reading.torch, machine.driver
    unified = torch is not None and is_unified(torch.version, torch.cuda)
    judge = Judge.of(gpu, driver, drivers, unified=unified)
    if driver is None:
        return judge
    return judge._replace(refusal=_refusal(reading, gpu, driver, driver.os or machine.platform.os, drivers))


def _refusal(reading: Reading, gpu: Arch, driver: Driver, os_: str, drivers: DriverTable) -> str | None:
    """Why this driver runs none of it, if that is known."""
    if gpu.kind == "gfx":
        return None
    if (no := drivers.unsupported(driver, gpu, os_)) is not None:
        named = driver.version or f"for CUDA {driver.cuda}"
        return f"driver {named} does not support {gpu}: {no.why}; it needs {no.remedy}"
    cuda = reading.torch.cuda if reading.torch is not None else None
    if cuda is None or drivers.carries(driver, cuda, os_):
        return None
    return f"it is built with CUDA {cuda}, which needs driver {drivers.floor(cuda, os_) or 'of a newer branch'}"
