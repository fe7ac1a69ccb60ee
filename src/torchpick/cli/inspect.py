"""Show the GPU code inside a wheel, a package or a library, and whether it runs here.

THING is a wheel file, its URL, `name==version` (as pip or uv would find it, and nothing is downloaded), an installed
package's name, a folder, or a .so or .dll. The exit status is 3 where one of them will not run, or only partly.

examples:
  torchpick inspect torch==2.15.0 --gpu "GTX 1080 Ti"
  torchpick inspect bitsandbytes flash_attn --gpu 7.5
  torchpick inspect --deep ./xformers-0.0.33-cp39-abi3-manylinux_2_28_x86_64.whl --json
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import NamedTuple

from torchpick import question, shipped
from torchpick.cli import arguments, console, inspected
from torchpick.cli.arguments import Asked
from torchpick.emit import text
from torchpick.errors import DetectionError, TorchpickError, UsageError
from torchpick.model import envelope
from torchpick.model.arch import Arch
from torchpick.model.drivers import DriverTable
from torchpick.model.machine import Driver, Machine
from torchpick.model.pythons import version_of
from torchpick.model.versions import is_dotted, numbers
from torchpick.wheels import installed, judge, thing
from torchpick.wheels.judge import Judge, Verdict
from torchpick.wheels.locate import Wanted
from torchpick.wheels.reading import FLAGS, SAMPLE, WHOLE, Reading
from torchpick.wheels.thing import How

_FULL = 4096  # MB; the largest torch wheel, for Windows with CUDA inside, has 2.8 GB


class Inspect(Asked):
    things: list[str]
    depth: str | None
    torch_cuda: str | None
    allow_full: int | None


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("things", nargs="+", metavar="THING", help="what to look into")
    group = parser.add_argument_group("how much is read (by default what is cheap and enough)")
    depth = group.add_mutually_exclusive_group()
    depth.add_argument(
        "--flags", action="store_const", const=FLAGS, dest="depth", help="torch only: its compiled flags"
    )
    depth.add_argument(
        "--sample", action="store_const", const=SAMPLE, dest="depth", help="libraries, as far as 5%% of the file goes"
    )
    depth.add_argument("--deep", action="store_const", const=WHOLE, dest="depth", help="every library, whole")
    group.add_argument(
        "--allow-full",
        nargs="?",
        type=int,
        const=_FULL,
        metavar="MB",
        help=f"download the whole file where a server sends no parts, up to so many MB ({_FULL})",
    )
    group.add_argument("--offline", action="store_true", help="files of this computer only")
    group.add_argument(
        "--torch-cuda", metavar="X.Y", help="where a package has a library per CUDA, judge that one (the torch here)"
    )
    arguments.add_machine_flags(parser)
    arguments.add_output_flags(parser)


class Scene(NamedTuple):
    """Whose GPUs are judged, or why none is; and the interpreter whose packages are meant."""

    machines: tuple[Machine, ...]
    unknown: str | None
    wanted: Wanted


def run(args: Inspect) -> int:
    _check(args)
    drivers = shipped.rules(os.environ).drivers
    scene = _scene(args)
    if scene.unknown is not None and not args.quiet:
        print(text.plain(f"note: no GPU is judged: {scene.unknown}"), file=sys.stderr)
    bold = console.bold if console.coloured(args.color, sys.stdout) else str
    results: list[dict[str, object]] = []
    worst = 0
    for name in args.things:
        try:
            reading = _read(name, args, scene.wanted)
        except TorchpickError as error:
            if len(args.things) == 1:
                raise
            worst = 1
            results.append(inspected.failure(name, error))
            if not args.json:
                print(text.error(error), file=sys.stderr)
            continue
        verdicts = _verdicts(reading, scene, drivers, args.torch_cuda)
        if worst != 1 and any(verdict.word in (judge.PARTLY, judge.NOT) for verdict in verdicts):
            worst = 3
        results.append(inspected.facts(reading, verdicts))
        if not args.json:
            print(inspected.page(reading, verdicts, bold, everything=args.verbose))
    if args.json:
        print(envelope.dumps(_json(scene, results, worst)))
    return worst


def _json(scene: Scene, results: list[dict[str, object]], worst: int) -> dict[str, object]:
    status = {0: "ok", 1: "error", 3: "no_build"}[worst]
    notes = [] if scene.unknown is None else [{"code": "NOT_JUDGED", "text": scene.unknown}]
    found = [machine.to_json() for machine in scene.machines]
    machine = found[0] if len(found) == 1 else None
    facts = envelope.new("inspect", status=status, exit_status=worst, machine=machine, results=results, notes=notes)
    return facts if len(found) < 2 else {**facts, "machines": found}


def _check(args: Inspect) -> None:
    if args.torch_cuda is not None and (not is_dotted(args.torch_cuda) or args.torch_cuda.count(".") != 1):
        raise UsageError(f"`{args.torch_cuda}` is no CUDA version", hint="such as `--torch-cuda 12.6`")
    if args.allow_full is not None and not 0 < args.allow_full < 1 << 20:
        raise UsageError(f"`--allow-full {args.allow_full}` is no size in MB", hint="such as `--allow-full 4096`")


def _scene(args: Inspect) -> Scene:
    platform = args.platform or os.environ.get("TORCHPICK_PLATFORM") or None
    found = None if args.python is None else version_of(args.python)
    version = None if found is None else f"{found[0]}{'t' if found[1] else ''}"
    wanted = Wanted(args.python if version is None else None, version, platform)
    told = args.gpu is not None or args.machine is not None or os.environ.get("TORCHPICK_GPU")
    if platform and not told:
        return Scene((), "the package is for another machine; `--gpu` tells its GPU", wanted)
    request = arguments.machine_request(args)
    if args.python is not None and version_of(args.python) is None:
        request = request._replace(python=None)  # an interpreter is where the package is looked up: no matter to a GPU
    try:
        machines = question.machines_of(request, os.environ, shipped.rules(os.environ), console.waiting)
    except DetectionError as error:
        here = error.machine.python.executable if error.machine is not None else None
        wanted = wanted._replace(python=wanted.python or (here if version is None else None))
        return Scene((), f"{error.message}; `--gpu` tells one", wanted)
    if wanted == Wanted() and args.machine is None:
        wanted = wanted._replace(python=machines[0].python.executable)
    if told or any(machine.counted for machine in machines):
        return Scene(machines, None, wanted)
    return Scene(machines, "none was found here; `--gpu` tells one", wanted)


def _read(name: str, args: Inspect, wanted: Wanted) -> Reading:
    silent = args.quiet or args.json
    progress = inspected.Progress(sys.stderr, name, quiet=silent)
    how = How(
        args.depth,
        wanted,
        offline=args.offline or bool(os.environ.get("TORCHPICK_OFFLINE")),
        allow_full=None if args.allow_full is None else args.allow_full << 20,
        tell=progress.add,
        talk=None if silent else progress.say,
    )
    try:
        return thing.read(name, how)
    finally:
        progress.clear()


def _verdicts(reading: Reading, scene: Scene, drivers: DriverTable, cuda: str | None) -> tuple[Verdict, ...]:
    """One for each kind of GPU and driver among the machines."""
    if cuda is None and judge.chosen(reading.libraries, None)[0] != reading.libraries:
        cuda = installed.torch_cuda(scene.wanted.python)  # which library is loaded depends on the torch beside it
    found: dict[Judge, Verdict] = {}
    for machine in scene.machines:
        for gpu in machine.counted:
            if gpu.arch is not None:
                judging = _judge(reading, gpu.arch, machine, drivers)
                found[judging] = found.get(judging) or judge.verdict(reading, judging, cuda)
    return tuple(found.values())


def _judge(reading: Reading, gpu: Arch, machine: Machine, drivers: DriverTable) -> Judge:
    unified = judge.unified(reading.torch)
    driver = machine.driver
    if driver is None:
        return Judge(gpu, unified=unified)
    if unified and driver.version is not None and drivers.unified_tegra is not None:
        unified = numbers(driver.version) >= numbers(drivers.unified_tegra)
    return Judge(
        gpu, drivers.speaks(driver), unified, _refusal(reading, gpu, driver, driver.os or machine.platform.os, drivers)
    )


def _refusal(reading: Reading, gpu: Arch, driver: Driver, os_: str, drivers: DriverTable) -> str | None:
    """Why this driver carries nothing of it, where it says so."""
    if gpu.kind == "gfx":
        return None
    if (reason := drivers.refusal(driver, gpu, os_)) is not None:
        return f"driver {driver.version} does not serve that GPU: {reason}"
    cuda = reading.torch.cuda if reading.torch is not None else None
    if cuda is None or drivers.carries(driver, cuda, os_):
        return None
    return f"it is built with CUDA {cuda}, which needs driver {drivers.floor(cuda, os_) or 'of a newer branch'}"
