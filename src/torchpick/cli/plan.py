"""Plan one whole environment: every pin, where it comes from, whether it runs here, and why. Nothing is installed."""

from __future__ import annotations

from torchpick.cli import answer, console
from torchpick.cli.arguments import Arguments, file_rules, given
from torchpick.cli.pick import older_drivers
from torchpick.cli.text import block
from torchpick.decide import refusal
from torchpick.errors import TorchpickError, UsageError
from torchpick.install.asking import Order
from torchpick.install.env import password_notes
from torchpick.install.planning import dockerfile, plan_environment


def run(args: Arguments) -> int:
    if args.dockerfile and args.json:
        raise UsageError("--dockerfile and --json are two forms of one answer", hint="use only one of them")
    progress = console.progress(args)
    run = console.start(args, report=progress)
    with progress.during("index"):
        planned = plan_environment(run, _order(args))
    found = planned.stack
    if args.json:
        print(console.dated(found.to_json(args.command), run.read_table().date))
        return 0 if found.ok else 3
    bold = console.painter()
    if found.ok and args.dockerfile:
        lines = dockerfile(run, found)
        print(lines)
        console.notes(args, *password_notes(lines, image=True))
    elif found.ok:
        print(answer.table(found, console.width(), bold))
        beside = [*answer.download(found)]
        if planned.again is not None:
            beside += older_drivers(found.machine, run.knowledge.rules.drivers, planned.again)
        if beside:
            print("", block(beside, console.width(), bold, 15), sep="\n")
    else:
        why, remedy = refusal.explain_no_environment(found)
        console.error(TorchpickError(why, hint=remedy))
    # Why a package is not newer stands in the table.
    console.notes(args, *found.machine.notes, *(note for note in found.notes if note.code != "PACKAGE_MOVED"))
    return 0 if found.ok else 3


def _order(args: Arguments) -> Order:
    return Order(given(args), no_deps=args.no_deps, allow_mixed=args.allow_mixed, passed_on=file_rules(args))
