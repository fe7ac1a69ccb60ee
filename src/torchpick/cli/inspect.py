"""The GPU code inside a wheel, a package or a library, and whether it runs on a GPU.

THING is a wheel file, its URL, `name==version` (as pip or uv would find it, nothing is downloaded), an installed
package's name, a folder, or a .so or .dll. With --gpu it is judged, and the exit status is 3 where it will not run.

examples:
  torchpick inspect torch==2.15.0 --gpu sm_61
  torchpick inspect bitsandbytes flash_attn --gpu 7.5
  torchpick inspect --deep ./xformers-0.0.33-cp39-abi3-manylinux_2_28_x86_64.whl --json
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from torchpick.cli import inspected
from torchpick.emit import envelope, text
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.arch import Arch
from torchpick.model.machine import PLATFORMS
from torchpick.model.versions import is_dotted
from torchpick.wheels import installed, judge, thing
from torchpick.wheels.judge import Judge, Verdict
from torchpick.wheels.locate import Wanted
from torchpick.wheels.reading import FLAGS, SAMPLE, WHOLE, Reading
from torchpick.wheels.thing import How

_FULL = 4096  # MB; the largest torch wheel, for Windows with CUDA inside, has 2.8 GB


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("things", nargs="+", metavar="THING", help="what to look into")
    depth = parser.add_mutually_exclusive_group()
    depth.add_argument(
        "--flags", action="store_const", const=FLAGS, dest="depth", help="torch only: its compiled flags"
    )
    depth.add_argument(
        "--sample", action="store_const", const=SAMPLE, dest="depth", help="libraries, as far as 5 %% of the file goes"
    )
    depth.add_argument("--deep", action="store_const", const=WHOLE, dest="depth", help="every library, whole")
    parser.add_argument(
        "--gpu", action="append", default=[], metavar="SPEC", help="judge for this GPU: sm_61, 6.1 or 61; repeat"
    )
    parser.add_argument("--cuda-driver", metavar="X.Y", help="the CUDA that the driver speaks: older ones refuse PTX")
    parser.add_argument(
        "--torch-cuda",
        metavar="X.Y",
        help="where a package has a library per CUDA, judge that one (default: the torch here)",
    )
    parser.add_argument("--python", metavar="PATH|X.Y", help="the interpreter, or its version, that the package is for")
    parser.add_argument("--platform", choices=PLATFORMS, help="the platform that the package is for")
    parser.add_argument(
        "--allow-full",
        nargs="?",
        type=int,
        const=_FULL,
        metavar="MB",
        help=f"download the whole file from a server without ranges, up to so many MB ({_FULL})",
    )
    parser.add_argument("--offline", action="store_true", help="look into files of this computer only")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress and no talk")


def run(args: Namespace) -> int:
    gpus = [_gpu(spec) for spec in args.gpu]
    for value in (args.cuda_driver, args.torch_cuda):
        if value is not None and (not is_dotted(value) or value.count(".") != 1):
            raise UsageError(f"`{value}` is no CUDA version", hint="write it as 12.8")
    wanted = _wanted(args.python, args.platform)
    results: list[dict[str, object]] = []
    worst = 0
    for name in args.things:
        try:
            reading, verdicts = _inspect(name, args, wanted, gpus)
        except TorchpickError as error:
            if len(args.things) == 1:
                raise
            worst = 1
            results.append(inspected.failure(name, error))
            if not args.json:
                print(text.error(error), file=sys.stderr)
            continue
        if worst != 1 and any(verdict.word in (judge.PARTLY, judge.NOT) for verdict in verdicts):
            worst = 3
        results.append(inspected.facts(reading, verdicts))
        if not args.json:
            print(inspected.page(reading, verdicts))
    if args.json:
        status = {0: "ok", 1: "error", 3: "no_build"}[worst]
        print(envelope.dumps(envelope.new("inspect", status=status, exit_status=worst, results=results)))
    return worst


def _inspect(name: str, args: Namespace, wanted: Wanted, gpus: list[Arch]) -> tuple[Reading, list[Verdict]]:
    progress = inspected.Progress(sys.stderr, name, quiet=args.quiet or args.json)
    how = How(
        args.depth,
        wanted,
        offline=args.offline,
        allow_full=None if args.allow_full is None else args.allow_full << 20,
        tell=progress.add,
        talk=None if args.quiet or args.json else progress.say,
    )
    try:
        reading = thing.read(name, how)
    finally:
        progress.clear()
    cuda = args.torch_cuda or _torch_cuda(reading, wanted)
    return reading, [judge.verdict(reading, Judge(gpu, args.cuda_driver), cuda) for gpu in gpus]


def _torch_cuda(reading: Reading, wanted: Wanted) -> str | None:
    """The CUDA of the torch that is installed for the target, where it decides which library is loaded."""
    if judge.chosen(reading.libraries, None)[0] == reading.libraries:
        return None
    return installed.torch_cuda(wanted.python)


def _wanted(python: str | None, platform: str | None) -> Wanted:
    if python is not None and is_dotted(python):
        if python.count(".") != 1:
            raise UsageError(f"`{python}` is no Python version", hint="write it as 3.12, or name an interpreter")
        return Wanted(version=python, platform=platform)
    return Wanted(python=python, platform=platform)


def _gpu(spec: str) -> Arch:
    """`sm_61`, `6.1`, `61` → the architecture."""
    digits = spec.removeprefix("sm_").replace(".", "", 1)
    try:
        if not (digits.isascii() and digits.isdigit() and len(digits) in (2, 3)):
            return Arch.parse(spec)
        return Arch.parse(f"sm_{digits}")
    except ValueError as error:
        raise UsageError(f"`{spec}` is no GPU that inspect knows", hint="write its capability, as 8.6 or sm_86") from (
            error
        )
