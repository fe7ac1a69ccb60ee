"""Install the PyTorch that runs on this machine's GPUs, with uv or pip doing the work.

Takes what they take: names, specifiers, extras, files, folders, URLs; what stands after `--` is passed on.
Torch and its companions come from the wheel index of the pick, by their exact build; all else from your own indexes.

examples:
  torchpick install torch torchvision transformers
  torchpick install -r requirements.txt --verify
  torchpick install "mylib[nvidia-old]" --python .venv/bin/python
  torchpick install torch --dry-run                          the exact command; nothing is installed
  torchpick install torch --installer pip -- --no-cache-dir  more for the installer
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick.cli import arguments, console
from torchpick.cli.arguments import Arguments
from torchpick.cli.show.text import plain
from torchpick.environment.requirements import Given
from torchpick.errors import InstallerError, UsageError
from torchpick.install import answering, asking, files, handover, verification
from torchpick.install.asking import Order, TargetQuestion
from torchpick.installers import choice, shell, store
from torchpick.installers import run as runner
from torchpick.installers.job import Job
from torchpick.installers.run import Command
from torchpick.model import envelope
from torchpick.model.pick import Pick, as_json
from torchpick.model.redaction import redacted
from torchpick.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.cli.show.progress import Progress
    from torchpick.installers.run import Ended
    from torchpick.machine.verify import Ran, Verified

# What stands after `--` belongs to the installer.
PASSES_ON = True


class InstallArguments(Arguments):
    requirement: list[str]
    constraint: list[str]
    editable: list[str]
    group: list[str]
    upgrade: bool
    no_deps: bool
    allow_mixed: bool
    dry_run: bool
    prove: bool
    verify: bool
    installer: str


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    group = parser.add_argument_group("what to install, as pip and uv take it")
    for names, metavar, words in (
        (("-r", "--requirement"), "FILE", "a requirements file; repeat for more"),
        (("-c", "--constraint"), "FILE", "a constraints file; repeat for more"),
        (("-e", "--editable"), "PATH", "a project of yours, installed in place"),
        (("--group",), "[PATH:]NAME", "a dependency group of a pyproject.toml; repeat for more"),
    ):
        group.add_argument(*names, action="append", default=[], metavar=metavar, help=words)
    for names, words in (
        (("-U", "--upgrade"), "take newer versions of what is named"),
        (("--no-deps",), "leave out what the named packages need"),
        (("--allow-mixed",), "two CUDA majors in one environment where nothing else fits"),
    ):
        group.add_argument(*names, action="store_true", help=words)
    group = parser.add_argument_group("how")
    group.add_argument(
        "--installer", choices=choice.INSTALLERS, default="auto", help="uv, pip, or what the environment suggests"
    )
    for name, words in (
        ("--dry-run", "show the exact command and its files; install nothing"),
        ("--prove", "first resolve the final command, print the host of each file, refuse a wrong one"),
        ("--verify", "then run small kernels on each GPU; exit 3 if one fails"),
    ):
        group.add_argument(name, action="store_true", help=words)
    arguments.add_decision_flags(parser)


def run(args: InstallArguments) -> int:
    order = _order(args)
    progress = console.progress(args)
    session = Session(arguments.request_of(args), report=progress, installer=args.installer)
    question = asking.look(session, order)
    resolves = f"{question.installer.name} resolves"
    with progress.during(resolves):
        learnt = answering.learn(question, rehearse=args.dry_run)
    # The family alone is answered without the network; where that is asked anyway, a page more tells the files.
    pages = not args.dry_run or learnt.resolution is not None
    with progress.during("wheel index"):
        job, command = handover.handed_over(question, learnt, pages=pages)
    console.tell(job.pick, args)
    if args.prove:
        with progress.during(resolves):
            _tell_hosts(args, question, job)
    store.keep(command.files)  # a dry run too: so the command that it shows can be run
    if not args.json:
        console.notes(args, *job.pick.every_note, *(note.text for note in command.notes))
    if args.dry_run:
        return _show(args, job.pick, command)
    return _start(args, question, job, command, progress)


def _order(args: InstallArguments) -> Order:
    if args.verify and args.dry_run:
        raise UsageError("`--verify` runs what was installed, and a dry run installs nothing", hint="leave one out")
    given = Given(
        tuple(args.requirements),
        tuple(args.requirement),
        tuple(args.constraint),
        tuple(args.editable),
        tuple(args.group),
    )
    return Order(given, args.installer, args.upgrade, args.no_deps, args.allow_mixed, tuple(args.passed_on))


def _tell_hosts(args: InstallArguments, question: TargetQuestion, job: Job) -> None:
    for item in handover.proved(question, job):
        if not args.json:
            host = plain(redacted(files.host_of(item.url)))
            print(f"  {plain(item.name)} {plain(item.version)}  {host}", file=sys.stderr)


def _show(args: InstallArguments, pick: Pick, command: Command) -> int:
    if args.json:
        print(envelope.dumps({**as_json(pick, "install"), "install": command.shown()}))
        return 0
    shown = command.shown()
    print(shell.command(shown.argv, shown.set, shown.unset))
    for file in shown.files:
        print(f"\n{plain(file.path)}")
        print("".join(f"  {plain(line)}\n" for line in file.content.splitlines()), end="")
    return 0


def _start(args: InstallArguments, question: TargetQuestion, job: Job, command: Command, progress: Progress) -> int:
    """Run it, and look at what came of it: 3 where torch is not what it was to be, or does not compute."""
    pick = job.pick
    sys.stdout.flush()
    ended = runner.run(command, os.environ, talk_only=args.json)
    failure = _unfinished(pick, command, ended) if ended.status else _lacking(question, job, command)
    verified = None
    if args.verify and failure is None:
        progress("running a product and a convolution on each GPU")
        verified = verification.verified(pick, job.target.python, os.environ)
        failure = _broken(verified, pick)
    status = ended.status or (0 if failure is None else 3)
    if args.json:
        print(envelope.dumps(_outcome(pick, command, status, verified, failure)))
        return runner.die_of(status)
    for ran in () if verified is None else verified.ran:
        if ran.ok:
            print(f"verified: {plain(_name(ran))}: computes", file=sys.stderr)
    if failure is not None:
        console.error(failure)
    if ended.status:
        print(f"{command.installer} {_how(ended.status)}", file=sys.stderr)
    return runner.die_of(status)


def _unfinished(pick: Pick, command: Command, ended: Ended) -> InstallerError:
    """Ours after the installer's own words: what was to come from where."""
    if ended.interrupted:
        return InstallerError(
            f"interrupted while {command.installer} was at work; the environment may be changed in part",
            hint="the same command again finishes it; `torchpick doctor` looks at what is there now",
        )
    source = redacted(pick.index_url) or "your own index"
    mirror = "`--index-base URL` names a mirror, " if pick.index_url else ""
    return InstallerError(
        f"{command.installer} did not finish; torch {pick.version} was to come from {source}",
        hint=f"{mirror}`torchpick refresh` reads what the index holds now",
    )


def _lacking(question: TargetQuestion, job: Job, command: Command) -> InstallerError | None:
    lacking = verification.lacking(question, job)
    if lacking is None:
        return None
    return InstallerError(
        f"{command.installer} is done, and {lacking} in the environment where {job.pick.version} was needed",
        hint="`torchpick install torch` puts it there; `torchpick doctor` looks at what is there now",
        code="TORCH_LACKING",
    )


def _broken(verified: Verified, pick: Pick) -> InstallerError | None:
    broken = [_words(ran, verified, pick) for ran in verified.ran if not ran.ok]
    if not broken:
        return None
    message = f"torch {verified.torch or pick.version} does not compute here: {'; '.join(broken)}"
    return InstallerError(message, hint="`torchpick doctor` looks for the cause", code="VERIFY")


def _outcome(
    pick: Pick, command: Command, status: int, verified: Verified | None, failure: InstallerError | None
) -> dict[str, object]:
    of_installer = status if failure is None or failure.code == "INSTALLER" else 0
    answer = {**as_json(pick, "install"), "installer": {"name": command.installer, "status": of_installer}}
    if failure is not None:
        answer.update(status="error", exit=status if status > 0 else 128 - status, error=failure)
    if verified is not None:
        answer["verify"] = {"torch": verified.torch, "ran": [_ran(ran, verified, pick) for ran in verified.ran]}
    return answer


def _ran(ran: Ran, verified: Verified, pick: Pick) -> dict[str, object]:
    objection = None if ran.ok else verification.why(ran, verified, pick)
    return {**ran.to_json(), "code": None if objection is None else objection.code}


def _name(ran: Ran) -> str:
    return f"GPU {ran.gpu}, {ran.name}" if ran.gpu is not None else ran.name


def _words(ran: Ran, verified: Verified, pick: Pick) -> str:
    """A GPU where it failed: what the table says of the build there, and what torch itself said."""
    objection = verification.why(ran, verified, pick)
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    return f"{_name(ran)}: {f'{objection.code}, {objection.text}; ' if objection else ''}{first}"


def _how(status: int) -> str:
    return f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"
