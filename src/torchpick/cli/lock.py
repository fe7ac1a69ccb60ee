"""Write a lock: the pick and its dependencies, with URLs and sha256, for `pip install -r` and `uv pip sync`.

Torch's family comes from the wheel host, everything else from your own indexes; uv or pip resolves. CUDA packages are
judged as `install` judges them. If an index gives no hash, the file is downloaded to compute it. For machines of
several platforms or Pythons one lock covers all, or with --each every machine gets its own. uv and pip 26.1 or newer
read it; its name must be pylock.toml or pylock.NAME.toml.

examples:
  torchpick lock torch torchvision -o pylock.torch.toml
  torchpick lock -r requirements.txt --gpu sm_61 --driver 580.95.05
  torchpick lock torch --platform windows-x86_64 --python 3.12 --gpu "RTX 4090"
  torchpick lock torch --machine fleet.jsonl -o pylock.fleet.toml     one lock for all of them
  torchpick lock torch --machine fleet.jsonl --each -o locks          locks/pylock.NAME.toml for each
  pip install -r pylock.torch.toml
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show.progress import Progress
from torchpick.cli.show.text import plain
from torchpick.environment import rewrite
from torchpick.environment.requirements import Given
from torchpick.errors import UsageError
from torchpick.index.source import Tell
from torchpick.install.lock import making, pylock
from torchpick.install.lock.ground import LockOrder
from torchpick.install.lock.making import Made
from torchpick.installers import choice
from torchpick.model import envelope
from torchpick.model.fields import written
from torchpick.model.names import first_three
from torchpick.model.pick import as_json
from torchpick.session import Session

DEFAULT = "pylock.torch.toml"
_MOST_MB = 4096  # the largest torch wheel, for Windows with CUDA inside, has 2.8 GB


class LockArguments(Arguments):
    requirement: list[str]
    constraint: list[str]
    output: str | None
    each: bool
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
    group.add_argument(
        "-o", "--output", metavar="FILE", help=f"where to write ({DEFAULT}); with --each a folder (the current one)"
    )
    group.add_argument("--each", action="store_true", help="one lock for each machine, pylock.NAME.toml")
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
        each=args.each,
        most=args.download_most << 20,
    )
    listener = _Listener(quiet=args.quiet or args.json)
    try:
        made = making.make(Session(arguments.request_of(args), report=console.waiting), order, listener)
    finally:
        listener.clear()
    paths = [_write(args, each) for each in made]
    if args.json:
        print(envelope.dumps(_answer(made, paths, single=not args.each)))
        return 0
    _notes(args, made)
    for own in paths:
        print(*map(plain, own), sep="\n")
    return 0


def _check(args: LockArguments) -> None:
    """Before any request or download: whether the result can be written to the given place."""
    if not 0 <= args.download_most < 1 << 20:
        raise UsageError(
            f"`--download-most {args.download_most}` is not a size in MB", hint="such as 4096, or 0 for none"
        )
    if args.each:
        folder = args.output or "."
        if folder.endswith(".toml") or not os.path.isdir(folder):
            raise UsageError(
                f"`-o {folder}` is not an existing folder", hint="with `--each` give a folder, such as `-o .`"
            )
        return
    path = args.output or DEFAULT
    if os.path.isdir(path):
        raise UsageError(f"`-o {path}` is a folder", hint=f"give a file: `-o {os.path.join(path, DEFAULT)}`")
    if not pylock.is_name(os.path.basename(path)):
        hint = f"pip and uv recognize a lock by its name: pylock.toml or pylock.NAME.toml, such as `-o {DEFAULT}`"
        raise UsageError(f"`-o {path}` is not a valid name for a lock", hint=hint)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"`-o {path}`: there is no such folder", hint="create it first")


def _write(args: LockArguments, made: Made) -> list[str]:
    """The files of a lock: one, or with `--each` one for each of its machines."""
    paths = [args.output or DEFAULT]
    if args.each:
        paths = [os.path.join(args.output or ".", f"pylock.{name}.toml") for name in made.names]
    paths = [os.path.normpath(path) for path in paths]
    for path in paths:
        rewrite.put(path, made.text)
    return paths


def _notes(args: LockArguments, made: list[Made]) -> None:
    said = dict.fromkeys(note.text for each in made for note in (*each.pick.every_note, *each.notes))
    computed = list(dict.fromkeys(name for each in made for name in each.computed))
    if computed:
        said[f"the index gives no sha256 for {first_three(computed)}; it was computed from today's download"] = None
    console.notes(args, *said)


def _answer(made: list[Made], paths: list[list[str]], *, single: bool) -> dict[str, object]:
    locks = [{**_facts(each), "path": own[0], "paths": own} for each, own in zip(made, paths, strict=True)]
    if single:
        return {**as_json(made[0].pick, "lock"), "locks": locks}
    machines = [each.pick.machine for each in made]
    picks = [{"pick": as_json(each.pick, "lock")["pick"]} for each in made]
    locks = [{**lock, **pick} for lock, pick in zip(locks, picks, strict=True)]
    machine = machines[0] if len(machines) == 1 else None
    answer = envelope.new("lock", machine=machine, locks=locks)
    return answer if machine is not None else {**answer, "machines": machines}


def _facts(made: Made) -> dict[str, object]:
    packages = [
        {
            "name": entry.package.name,
            "version": entry.package.version,
            "marker": entry.marker or None,
            "files": [written(file, "url", "sha256") for file in entry.package.files],
        }
        for entry in made.lock.entries
    ]
    return {
        "name": made.names[0] if made.names else None,
        "environments": made.lock.environments,
        "packages": packages,
        **written(made, "computed", "notes"),
    }


class _Listener:
    """Progress of long steps, on stderr: sentences, and on a terminal one line of progress."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._shown = Progress(sys.stderr, "lock", quiet=quiet)

    def say(self, sentence: str) -> None:
        self.clear()
        if not self._quiet:
            print(f"torchpick: {plain(sentence)}", file=sys.stderr, flush=True)

    def progress(self, name: str) -> Tell:
        self.clear()
        self._shown = Progress(sys.stderr, name, quiet=self._quiet)
        return self._shown.add

    def clear(self) -> None:
        self._shown.clear()
