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
from torchpick.install import asking, files, learning
from torchpick.install.asking import Order, TargetQuestion
from torchpick.installers import choice, store
from torchpick.installers.command import Command
from torchpick.installers.job import Job
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
    for short, name, metavar, words in (
        ("-r", "--requirement", "FILE", "a requirements file; repeat for more"),
        ("-c", "--constraint", "FILE", "a constraints file; repeat for more"),
        ("-e", "--editable", "PATH", "a project of yours, installed in place"),
    ):
        group.add_argument(short, name, action="append", default=[], metavar=metavar, help=words)
    words = "a dependency group of a pyproject.toml; repeat for more"
    group.add_argument("--group", action="append", default=[], metavar="[PATH:]NAME", help=words)
    group.add_argument("-U", "--upgrade", action="store_true", help="take newer versions of what is named")
    group.add_argument("--no-deps", action="store_true", help="leave out what the named packages need")
    group.add_argument(
        "--allow-mixed", action="store_true", help="two CUDA majors in one environment where nothing else fits"
    )
    group = parser.add_argument_group("how")
    group.add_argument(
        "--installer", choices=choice.INSTALLERS, default="auto", help="uv, pip, or what the environment suggests"
    )
    group.add_argument("--dry-run", action="store_true", help="show the exact command and its files; install nothing")
    words = "first resolve the final command, print the host of each file, refuse a wrong one"
    group.add_argument("--prove", action="store_true", help=words)
    group.add_argument("--verify", action="store_true", help="then run small kernels on each GPU; exit 3 if one fails")
    arguments.add_decision_flags(parser)


def run(args: InstallArguments) -> int:
    order = _order(args)
    progress = console.progress(args)
    session = Session(arguments.request_of(args), report=progress, installer=args.installer)
    question = asking.look(session, order)
    resolves = f"{question.installer.name} resolves"
    with progress.during(resolves):
        learnt = learning.learn(question, rehearse=args.dry_run)
    # The family alone is answered without the network; where that is asked anyway, a page more tells the files.
    pages = not args.dry_run or learnt.resolution is not None
    with progress.during("wheel index"):
        job, command = learning.handed_over(question, learnt, pages=pages)
    console.tell(job.pick, args)
    if args.prove:
        with progress.during(resolves):
            _tell_hosts(args, question, job)
    store.keep(command.files)  # a dry run too: so the command that it shows can be run
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
    for item in learning.proved(question, job):
        if not args.json:
            host = plain(redacted(files.host_of(item.url)))
            print(f"  {plain(item.name)} {plain(item.version)}  {host}", file=sys.stderr)


def _show(args: InstallArguments, pick: Pick, command: Command) -> int:
    from torchpick.installers import shell

    if args.json:
        print(envelope.dumps({**as_json(pick, "install"), "install": command.shown()}))
        return 0
    _notes(args, pick, command)
    shown = command.shown()
    print(shell.command(shown.argv, shown.set, shown.unset))
    for file in shown.files:
        print(f"\n{plain(file.path)}")
        print("".join(f"  {plain(line)}\n" for line in file.content.splitlines()), end="")
    return 0


def _start(args: InstallArguments, question: TargetQuestion, job: Job, command: Command, progress: Progress) -> int:
    from torchpick.install import verification
    from torchpick.installers import run as runner

    pick = job.pick
    _notes(args, pick, command)
    sys.stdout.flush()
    ended = runner.run(command, os.environ, talk_only=args.json)
    status = ended.status
    verified = None
    lacking = verification.lacking(question, job) if status == 0 else None
    if status == 0 and args.verify:
        progress("running a product and a convolution on each GPU")
        verified = verification.verified(pick, job.target.python, os.environ)
    if args.json:
        print(envelope.dumps(_outcome(pick, command, status, verified, lacking)))
    elif status != 0:
        _failed(pick, command, ended)
    elif lacking is not None:
        _fail(f"{_short_of(pick, command, lacking)}", _AGAIN)
    elif verified is not None:
        _tell(verified, pick)
    if lacking is not None or (verified is not None and not verified.ok):
        return 3
    return runner.die_of(status)


_AGAIN = "`torchpick install torch` puts it there; `torchpick doctor` looks at what is there now"


def _short_of(pick: Pick, command: Command, lacking: str) -> str:
    return f"{command.installer} is done, and {lacking} in the environment where {pick.version} was needed"


def _outcome(
    pick: Pick, command: Command, status: int, verified: Verified | None, lacking: str | None
) -> dict[str, object]:
    answer = {**as_json(pick, "install"), "installer": {"name": command.installer, "status": status}}
    if status != 0:
        error = {"code": "INSTALLER", "text": f"{command.installer} {_how(status)}", "hint": None}
        answer.update(status="error", exit=status if status > 0 else 128 - status, error=error)
    if lacking is not None:
        error = {"code": "TORCH_LACKING", "text": _short_of(pick, command, lacking), "hint": _AGAIN}
        answer.update(status="error", exit=3, error=error)
    if verified is not None:
        answer["verify"] = {"torch": verified.torch, "ran": [_ran(ran, verified, pick) for ran in verified.ran]}
        if not verified.ok:
            words = "; ".join(_words(ran, verified, pick) for ran in _broken(verified))
            answer.update(status="error", exit=3, error={"code": "VERIFY", "text": words, "hint": "torchpick doctor"})
    return answer


def _ran(ran: Ran, verified: Verified, pick: Pick) -> dict[str, object]:
    from torchpick.install import verification

    objection = None if ran.ok else verification.why(ran, verified, pick)
    return {**ran.to_json(), "code": None if objection is None else objection.code}


def _words(ran: Ran, verified: Verified, pick: Pick) -> str:
    """One GPU in a line: what the table says of the build there, and what torch itself said."""
    name = f"GPU {ran.gpu}, {ran.name}" if ran.gpu is not None else ran.name
    if ran.ok:
        return f"{name}: computes"
    from torchpick.install import verification

    objection = verification.why(ran, verified, pick)
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    return f"{name}: {f'{objection.code}, {objection.text}; ' if objection else ''}{first}"


def _broken(verified: Verified) -> list[Ran]:
    return [ran for ran in verified.ran if not ran.ok]


def _tell(verified: Verified, pick: Pick) -> None:
    for ran in verified.ran:
        if ran.ok:
            print(f"verified: {plain(_words(ran, verified, pick))}", file=sys.stderr)
    if broken := [_words(ran, verified, pick) for ran in _broken(verified)]:
        message = f"torch {verified.torch or pick.version} does not compute here: {'; '.join(broken)}"
        _fail(message, "`torchpick doctor` looks for the cause")


def _fail(message: str, hint: str) -> None:
    """An error after the installer has done its work, in the form of all others."""
    console.error(InstallerError(message, hint=hint))


def _notes(args: InstallArguments, pick: Pick, command: Command) -> None:
    if not args.json:
        console.notes(args, *pick.every_note, *(note.text for note in command.notes))


def _how(status: int) -> str:
    return f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"


def _failed(pick: Pick, command: Command, ended: Ended) -> None:
    """Ours after the installer's own words: what was to come from where, and whose the status is."""
    if ended.interrupted:
        _fail(
            f"interrupted while {command.installer} was at work; the environment may be changed in part",
            "the same command again finishes it; `torchpick doctor` looks at what is there now",
        )
    else:
        source, hint = redacted(pick.index_url), "`--index-base URL` names a mirror, "
        if not source:
            source, hint = "your own index", ""
        _fail(
            f"{command.installer} did not finish; torch {pick.version} was to come from {source}",
            f"{hint}`torchpick refresh` reads what the index holds now",
        )
    print(f"{command.installer} {_how(ended.status)}", file=sys.stderr)
