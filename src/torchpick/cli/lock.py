"""Write a lock: the pick and its dependencies, with URLs and sha256, for `pip install -r` and `uv pip sync`.

Torch's family comes from the wheel host, everything else from your own indexes; uv or pip resolves. CUDA packages are
judged as `install` judges them. If an index gives no hash, the file is downloaded to compute it. A lock is for one
machine. uv and pip 26.1 or newer read it; its name must be pylock.toml or pylock.NAME.toml.

examples:
  torchpick lock torch torchvision -o pylock.torch.toml
  torchpick lock -r requirements.txt --gpu sm_61 --driver 580.95.05
  torchpick lock torch --platform windows-x86_64 --python 3.12 --gpu "RTX 4090"
  torchpick lock torch --machine node1.json -o pylock.node1.toml
  pip install -r pylock.torch.toml
"""

from __future__ import annotations

import os
from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show.text import plain
from torchpick.environment import rewrite
from torchpick.environment.requirements import Given
from torchpick.errors import UsageError
from torchpick.install.lock import making, pylock
from torchpick.install.lock.ground import LockOrder
from torchpick.install.lock.making import Made
from torchpick.installers import choice
from torchpick.model import envelope
from torchpick.model.fields import written
from torchpick.model.pick import as_json
from torchpick.model.requirement import first_three
from torchpick.session import Session

DEFAULT = "pylock.torch.toml"
_MOST_MB = 4096  # the largest torch wheel, for Windows with CUDA inside, has 2.8 GB


class LockArguments(Arguments):
    requirement: list[str]
    constraint: list[str]
    output: str
    no_deps: bool
    installer: str
    download_most: int


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    group = parser.add_argument_group("what to lock (default: torch)")
    group.add_argument("-r", "--requirement", action="append", default=[], metavar="FILE", help="a requirements file")
    group.add_argument("-c", "--constraint", action="append", default=[], metavar="FILE", help="a constraints file")
    group.add_argument("--no-deps", action="store_true", help="do not lock dependencies")
    group = parser.add_argument_group("how")
    group.add_argument("-o", "--output", default=DEFAULT, metavar="FILE", help=f"where to write ({DEFAULT})")
    group.add_argument(
        "--installer",
        choices=choice.INSTALLERS,
        default="auto",
        help="which one resolves (for other machines always uv)",
    )
    group.add_argument(
        "--download-most",
        type=int,
        default=_MOST_MB,
        metavar="MB",
        help=f"largest file to download for a missing hash, in MB ({_MOST_MB}; 0: none)",
    )
    arguments.add_decision_flags(parser)


def run(args: LockArguments) -> int:
    _check(args)
    order = LockOrder(
        given=Given(tuple(args.requirements), tuple(args.requirement), tuple(args.constraint)),
        installer=args.installer,
        no_deps=args.no_deps,
        most=args.download_most << 20,
    )
    progress = console.progress(args)
    with progress.during("lock"):
        made = making.make(Session(arguments.request_of(args), report=progress), order)
    path = os.path.normpath(args.output)
    rewrite.put(path, made.text)
    if args.json:
        print(envelope.dumps({**as_json(made.pick, "lock"), "lock": _facts(made, path)}))
        return 0
    _notes(args, made)
    print(plain(path))
    return 0


def _check(args: LockArguments) -> None:
    """Before any request or download: whether the result can be written to the given place."""
    if not 0 <= args.download_most < 1 << 20:
        raise UsageError(
            f"`--download-most {args.download_most}` is not a size in MB", hint="such as 4096, or 0 for none"
        )
    path = args.output
    if os.path.isdir(path):
        raise UsageError(f"`-o {path}` is a folder", hint=f"give a file: `-o {os.path.join(path, DEFAULT)}`")
    if not pylock.is_name(os.path.basename(path)):
        hint = f"pip and uv recognize a lock by its name: pylock.toml or pylock.NAME.toml, such as `-o {DEFAULT}`"
        raise UsageError(f"`-o {path}` is not a valid name for a lock", hint=hint)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"`-o {path}`: there is no such folder", hint="create it first")


def _notes(args: LockArguments, made: Made) -> None:
    said = dict.fromkeys(note.text for note in (*made.pick.every_note, *made.notes))
    if made.computed:
        said[f"the index gives no sha256 for {first_three(made.computed)}; it was computed from today's download"] = (
            None
        )
    console.notes(args, *said)


def _facts(made: Made, path: str) -> dict[str, object]:
    packages = [
        {
            "name": package.name,
            "version": package.version,
            "files": [written(file, "url", "sha256") for file in package.files],
        }
        for package in made.lock.packages
    ]
    return {
        "path": path,
        "environment": made.lock.environment.marker,
        "packages": packages,
        **written(made, "computed", "notes"),
    }
