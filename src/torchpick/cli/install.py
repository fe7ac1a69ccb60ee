"""Install the PyTorch that runs on this machine's GPUs, with uv or pip doing the work."""

from __future__ import annotations

import os
import sys

from torchpick.cli import console
from torchpick.cli.arguments import Arguments, order_of
from torchpick.cli.progress import Progress, start_progress
from torchpick.cli.text import plain
from torchpick.decide.answer import Answer
from torchpick.environment import shell
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import InstallerError, TorchpickError, UsageError
from torchpick.install.asking import Order, TargetQuestion, read_question
from torchpick.install.command import Command, die_of, run_command, write_files
from torchpick.install.files import host_of
from torchpick.install.handover import Learnt, find_answer, hand_over, missing_torch, prove, verify_pick
from torchpick.install.job import Job
from torchpick.model.address import redacted
from torchpick.model.pick import Pick
from torchpick.run import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.doctor.remedy import Remedy
    from torchpick.machine.verify import Ran, Results


def run(args: Arguments) -> int:
    if args.verify and args.dry_run:
        raise UsageError("`--verify` runs what was installed, and a dry run installs nothing", hint="leave one out")
    progress = start_progress(args)
    run = console.start(args, installer=args.installer, report=progress)
    question = read_question(run, order_of(args))
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
                    console.message(f"  {plain(item.name)} {plain(item.version)}  {host}")
    write_files(command.files)  # a dry run too: so the command that it shows can be run
    if not args.json:
        console.notes(args, *job.pick.every_note, *(note.text for note in command.notes))
    if args.dry_run:
        return _show(args, question.run.shell, job.pick, command)

    return run_installer(args, question, (job, command), verify=args.verify)


def install_remedy(args: Arguments, run: Run, remedy: Remedy, pick: Pick) -> int:
    """Hand the build that doctor judged over to the installer; the exit status."""
    passed_on = ("--force-reinstall",) if remedy.reinstalled else ()
    order = Order(RequirementArgs(remedy.words), no_deps=remedy.alone, passed_on=passed_on)
    try:
        question = read_question(run.with_request(remedy.request), order)
        return install_answer(args, question, Learnt(Answer(question.question, pick)), start_progress(args))
    except TorchpickError as error:
        console.error(error)
        return error.exit_status


def _show(args: Arguments, quoting: str, pick: Pick, command: Command) -> int:
    shown = command.shown()
    if args.json:
        print(console.as_json(pick, "install", install=shown))
        return 0
    if shown.before is not None:
        print(shell.command(shown.before.argv, shown.before.set, shown.before.unset, quoting))
    print(shell.command(shown.argv, shown.set, shown.unset, quoting))
    for path, content in shown.files.items():
        print(f"\n{plain(path)}")
        print("".join(f"  {plain(line)}\n" for line in content.splitlines()), end="")
    return 0


def run_installer(args: Arguments, question: TargetQuestion, handed: tuple[Job, Command], *, verify: bool) -> int:
    """Run it, and look at what came of it: 3 where torch is not what it was to be, or does not compute."""
    sys.stdout.flush()
    job, command = handed
    ended, interrupted = run_command(command, os.environ, talk_only=args.json)
    pick = job.pick
    stopped = interrupted or ended < 0  # by somebody, or where memory ran out: no index is to blame
    failure = _unfinished(pick, command, interrupted=stopped) if ended else _lacking(job, command)
    verified = None
    if verify and failure is None:
        question.run.report("running a product and a convolution on each GPU")
        verified = verify_pick(pick, job.target.program, os.environ)
        failure = _broken(verified, pick)
    status = ended or (0 if failure is None else 3)
    if args.json:
        print(console.as_json(pick, "install", **_outcome(command, status, verified, failure)))
        return die_of(status)
    _, results, compiles = verified or (None, (), None)
    for ran in results:
        if ran.ok:
            console.message(f"verified: {plain(_gpu_name(ran))}: computes")
    if compiles is not None:
        how = f"does not work here: {plain(compiles)}" if compiles else "works"
        console.message(f"verified: torch.compile {how}")
    if failure is not None:
        console.error(failure)
    if ended:
        how = f"exited with status {ended}" if ended > 0 else f"was ended by signal {-ended}"
        console.message(f"{command.installer} {how}")
    return die_of(status)


def _unfinished(pick: Pick, command: Command, *, interrupted: bool) -> InstallerError:
    """Ours after the installer's own words: what was to come from where."""
    if interrupted:
        return InstallerError(
            f"interrupted while {command.installer} was at work; the environment may be changed in part",
            hint="the same command again finishes it; `torchpick doctor` looks at what is there now",
        )
    source = redacted(pick.index_url) or "your own index"
    has_mirror = pick.index_url and pick.build.vendor is None
    mirror = "`--index-base URL` names a mirror, " if has_mirror else ""
    return InstallerError(
        f"{command.installer} did not finish; torch {pick.version} was to come from {source}",
        hint=f"it says above why; {mirror}`torchpick refresh` reads what the index holds now",
    )


def _lacking(job: Job, command: Command) -> InstallerError | None:
    lacking = missing_torch(job)
    if lacking is None:
        return None
    return InstallerError(
        f"{command.installer} is done, and {lacking} in the environment where {job.pick.version} was needed",
        hint="`torchpick install torch` puts it there; `torchpick doctor` looks at what is there now",
        code="TORCH_LACKING",
    )


def _broken(verified: Results, pick: Pick) -> InstallerError | None:
    torch, results, _ = verified
    broken = [_failure(ran) for ran in results if not ran.ok]
    if not broken:
        return None
    message = f"torch {torch or pick.version} does not compute here: {'; '.join(broken)}"
    return InstallerError(
        message, hint="`torchpick doctor` looks for the cause, `torchpick explain` knows such errors", code="VERIFY"
    )


def _outcome(
    command: Command, status: int, verified: Results | None, failure: InstallerError | None
) -> dict[str, object]:
    of_installer = status if failure is None or failure.code == "INSTALLER" else 0
    answer: dict[str, object] = {"installer": {"name": command.installer, "status": of_installer}}
    if failure is not None:
        answer.update(status="error", exit=status if status > 0 else 128 - status, error=failure)
    if verified is not None:
        torch, results, compiles = verified
        answer["verify"] = {"torch": torch, "compiles": compiles, "ran": [ran._asdict() for ran in results]}
    return answer


def _gpu_name(ran: Ran) -> str:
    return f"GPU {ran.gpu}, {ran.name}" if ran.gpu is not None else ran.name


def _failure(ran: Ran) -> str:
    """A GPU where it failed, and what torch itself said."""
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    return f"{_gpu_name(ran)}: {first}"
