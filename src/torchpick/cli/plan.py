"""Plan one whole environment: every pin, where it comes from, whether it runs here, and why. Nothing is installed.

One CUDA major in everything that links torch, code for these GPUs in each CUDA wheel, companions of the same build;
if there is no such environment, what prevents it. The table of packages answers without the network; a version or a
package that it lacks is read from your own index, METADATA and parts of its wheel, unless `--offline`; pip or uv
resolves what a package that is not in the table brings.

examples:
  torchpick plan vllm                                  this machine
  torchpick plan "vllm>=0.12" --gpu a100 --driver 535.183.01
  torchpick plan vllm==0.27.0 --gpu a100               a version that the table lacks
  torchpick plan faster-whisper torch --gpu "RTX 5090" --json
  torchpick plan vllm --gpu a100 --driver 535.183.01 --dockerfile > Dockerfile
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show import answer
from torchpick.errors import UsageError
from torchpick.install import env, image, planning
from torchpick.model import envelope
from torchpick.session import Session


class PlanArguments(Arguments):
    allow_mixed: bool
    dockerfile: bool


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    parser.add_argument(
        "--allow-mixed", action="store_true", help="two CUDA majors in one environment if nothing else fits"
    )
    parser.add_argument("--dockerfile", action="store_true", help="print the Dockerfile of an image with this plan")
    arguments.add_decision_flags(parser)


def run(args: PlanArguments) -> int:
    if args.dockerfile and args.json:
        raise UsageError("--dockerfile and --json are two forms of one answer", hint="use only one of them")
    progress = console.progress(args)
    session = Session(arguments.request_of(args), report=progress)
    with progress.during("index"):
        found = planning.plan(session, allow_mixed=args.allow_mixed)
    if args.json:
        print(envelope.dumps(found.to_json(args.command)))
        return 0 if found.ok else 3
    bold = console.painter(args)
    if found.ok and args.dockerfile:
        lines = image.dockerfile(session, found)
        print(lines)
        console.notes(args, *env.password_notes(lines, image=True))
    elif found.ok:
        print(answer.table(found, console.width(), bold))
    else:
        print(answer.refusal(found), file=sys.stderr)
    console.notes(args, *found.machine.notes, *found.notes)
    return 0 if found.ok else 3
