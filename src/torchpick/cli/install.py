"""Install the PyTorch that runs on this machine's GPUs, with uv or pip doing the work."""

from __future__ import annotations

import sys

from torchpick.cli import console
from torchpick.cli.arguments import Arguments, file_rules, given
from torchpick.cli.progress import Progress
from torchpick.cli.text import plain
from torchpick.decide.answer import Answer
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import TorchpickError, UsageError
from torchpick.install import shell
from torchpick.install.asking import Order, TargetQuestion, read_question
from torchpick.install.command import Command, write_files
from torchpick.install.files import host_of
from torchpick.install.handover import Learnt, find_answer, hand_over, prove
from torchpick.model.address import redacted
from torchpick.model.pick import Pick
from torchpick.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.doctor.remedy import Remedy


def run(args: Arguments) -> int:
    order = _order(args)
    progress = console.progress(args)
    run = console.start(args, args.installer, progress)
    question = read_question(run, order)
    with progress.during("index"):
        learnt = find_answer(question)
    return install_answer(args, question, learnt, progress)


def install_answer(args: Arguments, question: TargetQuestion, learnt: Learnt, progress: Progress) -> int:
    """Hand an answer over to the installer, or show how that would be done."""
    # The family alone is answered without the network; where that is asked anyway, a page more tells the files.
    pages = not args.dry_run or not question.is_of_family
    with progress.during("wheel index"):
        job, command = hand_over(question, learnt, pages=pages)
    console.tell(job.pick, args)
    if args.prove:
        with progress.during(f"{question.installer.name} resolves"):
            for item in prove(question, job):
                if not args.json:
                    host = plain(redacted(host_of(item.url)))
                    print(f"  {plain(item.name)} {plain(item.version)}  {host}", file=sys.stderr)
    write_files(command.files)  # a dry run too: so the command that it shows can be run
    if not args.json:
        console.notes(args, *job.pick.every_note, *(note.text for note in command.notes))
    if args.dry_run:
        return _show(args, job.pick, command)
    from torchpick.cli import installed  # what a dry run has no use for

    return installed.start(args, question, (job, command), verify=args.verify)


def install_remedy(args: Arguments, run: Run, remedy: Remedy, pick: Pick) -> int:
    """Hand the build that doctor judged over to the installer; the exit status."""
    passed_on = ("--force-reinstall",) if remedy.reinstalled else ()
    order = Order(RequirementArgs(remedy.words), no_deps=remedy.alone, passed_on=passed_on)
    try:
        question = read_question(run.with_request(remedy.request), order)
        return install_answer(args, question, Learnt(Answer(question.question, pick)), console.progress(args))
    except TorchpickError as error:
        console.error(error)
        return error.exit_status


def _order(args: Arguments) -> Order:
    if args.verify and args.dry_run:
        raise UsageError("`--verify` runs what was installed, and a dry run installs nothing", hint="leave one out")
    passed_on = (*file_rules(args), *args.passed_on)
    return Order(given(args), args.installer, args.upgrade, args.no_deps, args.allow_mixed, passed_on)


def _show(args: Arguments, pick: Pick, command: Command) -> int:
    shown = command.shown()
    if args.json:
        print(console.as_json(pick, "install", install=shown))
        return 0
    if shown.before is not None:
        print(shell.command(shown.before.argv, shown.before.set, shown.before.unset))
    print(shell.command(shown.argv, shown.set, shown.unset))
    for file in shown.files:
        print(f"\n{plain(file.path)}")
        print("".join(f"  {plain(line)}\n" for line in file.content.splitlines()), end="")
    return 0
