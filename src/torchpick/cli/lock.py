"""Write a lock: the pick and its dependencies, with URLs and sha256, for `pip install -r` and `uv pip sync`."""

from __future__ import annotations

import os
from pathlib import Path

from packaging.pylock import is_valid_pylock_path

from torchpick.cli import console
from torchpick.cli.arguments import Arguments, file_rules
from torchpick.cli.text import plain
from torchpick.environment import rewrite
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import UsageError
from torchpick.install.asking import Order
from torchpick.install.lock import Lock, make_lock
from torchpick.model.fields import written

DEFAULT = "pylock.torch.toml"


def run(args: Arguments) -> int:
    _check(args)
    given = RequirementArgs(tuple(args.words), tuple(args.requirement), tuple(args.constraint))
    order = Order(given, args.installer, no_deps=args.no_deps, passed_on=file_rules(args))
    progress = console.progress(args)
    with progress.during("lock"):
        made = make_lock(console.start(args, args.installer, progress), order)
    path = os.path.normpath(args.output)
    rewrite.put(path, made.text)
    if args.json:
        print(console.as_json(made.pick, "lock", lock=_facts(made, path)))
        return 0
    console.notes(args, *dict.fromkeys(note.text for note in (*made.pick.every_note, *made.notes)))
    print(plain(path))
    return 0


def _check(args: Arguments) -> None:
    """Before any request or download: whether the result can be written to the given place."""
    path = args.output
    if os.path.isdir(path):
        raise UsageError(f"`-o {path}` is a folder", hint=f"give a file: `-o {os.path.join(path, DEFAULT)}`")
    if not is_valid_pylock_path(Path(path)):
        hint = f"pip and uv recognize a lock by its name: pylock.toml or pylock.NAME.toml, such as `-o {DEFAULT}`"
        raise UsageError(f"`-o {path}` is not a valid name for a lock", hint=hint)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise UsageError(f"`-o {path}`: there is no such folder", hint="create it first")


def _facts(made: Lock, path: str) -> dict[str, object]:
    packages = [
        {**written(each, "name", "version"), "files": [written(file, "url", "sha256") for file in each.files]}
        for each in made.packages
    ]
    return {"path": path, **written(made, "environment", "notes"), "packages": packages}
