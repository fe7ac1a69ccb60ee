"""Write a lock: the pick and its dependencies, with URLs and sha256, for `pip install -r` and `uv pip sync`.

Torch's family comes from the wheel host, everything else from your own indexes; uv or pip resolves. CUDA packages are
judged as `install` judges them. Hashes are what the table or the index page has; a file without one is an error. A lock
is for one machine. uv and pip 26.1 or newer read it; its name must be pylock.toml or pylock.NAME.toml.

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
from pathlib import Path

from packaging.pylock import is_valid_pylock_path

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show.text import plain
from torchpick.environment import rewrite
from torchpick.environment.requirements import Given
from torchpick.errors import UsageError
from torchpick.install.asking import Order
from torchpick.install.lock import making
from torchpick.install.lock.making import Made
from torchpick.installers import choice
from torchpick.model import envelope
from torchpick.model.fields import written
from torchpick.model.pick import as_json
from torchpick.session import Session

DEFAULT = "pylock.torch.toml"


class LockArguments(Arguments):
    requirement: list[str]
    constraint: list[str]
    output: str
    no_deps: bool
    installer: str


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
    arguments.add_decision_flags(parser)


def run(args: LockArguments) -> int:
    _check(args)
    given = Given(tuple(args.requirements), tuple(args.requirement), tuple(args.constraint))
    order = Order(given, args.installer, no_deps=args.no_deps)
    progress = console.progress(args)
    with progress.during("lock"):
        made = making.make(Session(arguments.request_of(args), report=progress, installer=args.installer), order)
    path = os.path.normpath(args.output)
    rewrite.put(path, made.text)
    if args.json:
        print(envelope.dumps({**as_json(made.pick, "lock"), "lock": _facts(made, path)}))
        return 0
    console.notes(args, *dict.fromkeys(note.text for note in (*made.pick.every_note, *made.notes)))
    print(plain(path))
    return 0


def _check(args: LockArguments) -> None:
    """Before any request or download: whether the result can be written to the given place."""
    path = args.output
    if os.path.isdir(path):
        raise UsageError(f"`-o {path}` is a folder", hint=f"give a file: `-o {os.path.join(path, DEFAULT)}`")
    if not is_valid_pylock_path(Path(path)):
        hint = f"pip and uv recognize a lock by its name: pylock.toml or pylock.NAME.toml, such as `-o {DEFAULT}`"
        raise UsageError(f"`-o {path}` is not a valid name for a lock", hint=hint)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"`-o {path}`: there is no such folder", hint="create it first")


def _facts(made: Made, path: str) -> dict[str, object]:
    packages = [
        {**written(each, "name", "version"), "files": [written(file, "url", "sha256") for file in each.files]}
        for each in made.packages
    ]
    return {"path": path, **written(made, "environment", "notes"), "packages": packages}
