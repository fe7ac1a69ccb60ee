"""Take out of an environment or a script what `torchpick pin` wrote."""

from __future__ import annotations

from collections.abc import Sequence

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.pin import chosen
from torchpick.cli.text import plain
from torchpick.environment import world
from torchpick.errors import UsageError
from torchpick.install.pin import check_named, unpin
from torchpick.model.fields import dumps, envelope
from torchpick.model.request import Request
from torchpick.projects import scripts
from torchpick.run import start_run


def run(args: Arguments) -> int:
    if args.words:
        if args.project or args.no_project or args.python:
            raise UsageError("a script is unpinned alone", hint=f"`torchpick unpin {args.words[0]}`")
        return _told(args, [file for file in args.words if scripts.unpin(file)], ", ".join(args.words))
    project = chosen(args.project, no_project=args.no_project)
    check_named(args.python)
    python = start_run(Request(gpus=("none",), python=args.python)).find_machine().python
    if python.executable is None:
        raise UsageError("no environment is named or found", hint="name its interpreter with `--python PATH`")
    prefix = world.prefix_of(python.executable)
    return _told(args, unpin(prefix, project), prefix)


def _told(args: Arguments, touched: Sequence[str], where: str) -> int:
    if args.json:
        print(dumps(envelope("unpin", files=list(touched))))
        return 0
    for file in touched:
        print(plain(file))
    if not touched:
        console.notes(args, f"nothing was pinned in {where}")
    return 0
