"""Plan one whole environment: every pin, where it comes from, whether it runs here, and why. Nothing is installed."""

from __future__ import annotations

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.pick import older_drivers
from torchpick.cli.show import answer
from torchpick.cli.show.text import block
from torchpick.decide import refusal
from torchpick.errors import TorchpickError, UsageError
from torchpick.install import env, image, planning


def run(args: Arguments) -> int:
    if args.dockerfile and args.json:
        raise UsageError("--dockerfile and --json are two forms of one answer", hint="use only one of them")
    progress = console.progress(args)
    session = console.session(args, report=progress)
    with progress.during("index"):
        found = planning.plan(session, allow_mixed=args.allow_mixed)
    if args.json:
        print(console.dated(found.to_json(args.command), session.table.date))
        return 0 if found.ok else 3
    bold = console.painter()
    if found.ok and args.dockerfile:
        lines = image.dockerfile(session, found)
        print(lines)
        console.notes(args, *env.password_notes(lines, image=True))
    elif found.ok:
        print(answer.table(found, console.width(), bold))
        if older := older_drivers(session, found.machine):
            print("", block(older, console.width(), bold, 15), sep="\n")
    else:
        why, remedy = refusal.of_stack(found)
        console.error(TorchpickError(why, hint=remedy))
    console.notes(args, *found.machine.notes, *found.notes)
    return 0 if found.ok else 3
