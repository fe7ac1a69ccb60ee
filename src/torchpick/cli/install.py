"""Install the PyTorch that runs on this machine's GPUs, with uv or pip doing the work.

Takes what they take: names, specifiers, extras, files, folders, URLs; what stands after `--` is passed on.
Torch and its companions come from the wheel index of the pick, by their exact build; all else from your own indexes.

examples:
  torchpick install torch torchvision transformers
  torchpick install -r requirements.txt --verify
  torchpick install "mylib[nvidia-old]" --python .venv/bin/python
  torchpick install mylib --extra auto --among nvidia,nvidia-old,cpu
  torchpick install torch --dry-run                          the exact command, nothing is started
  torchpick install torch --dry-run --report                 and what would come from where
  torchpick install torch --installer pip -- --no-cache-dir  more for the installer
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from torchpick import installation
from torchpick.cli import arguments, console
from torchpick.cli.arguments import Asked
from torchpick.emit.text import plain
from torchpick.errors import UsageError
from torchpick.install import choice, store
from torchpick.install.command import Command
from torchpick.install.plan import Job
from torchpick.install.requirements import Given
from torchpick.install.settings import redacted
from torchpick.installation import Order
from torchpick.model import envelope
from torchpick.model.verdict import Pick

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.install.reporting import Item
    from torchpick.install.verify import Ran, Verified

# What stands after `--` belongs to the installer.
PASSES_ON = True


class Install(Asked):
    requirement: list[str]
    constraint: list[str]
    editable: list[str]
    upgrade: bool
    no_deps: bool
    dry_run: bool
    report: bool
    verify: bool
    installer: str
    extra: str | None
    among: str | None
    passed_on: list[str]


def add_arguments(parser: ArgumentParser) -> None:
    arguments.add_requirements(parser)
    group = parser.add_argument_group("what to install, as pip and uv take it")
    for short, name, metavar, words in (
        ("-r", "--requirement", "FILE", "a requirements file; repeat for more"),
        ("-c", "--constraint", "FILE", "a constraints file; repeat for more"),
        ("-e", "--editable", "PATH", "a project of yours, installed in place"),
    ):
        group.add_argument(short, name, action="append", default=[], metavar=metavar, help=words)
    group.add_argument("-U", "--upgrade", action="store_true", help="take newer versions of what is named")
    group.add_argument("--no-deps", action="store_true", help="leave out what the named packages need")
    group.add_argument(
        "--extra", metavar="NAME", help="an extra of the library; `auto` takes the one of --among that fits"
    )
    group.add_argument("--among", metavar="NAME,…", help="the extras to choose from, such as nvidia,nvidia-old,cpu")
    group = parser.add_argument_group("how")
    group.add_argument(
        "--installer", choices=choice.INSTALLERS, default="auto", help="uv, pip, or what the environment suggests"
    )
    group.add_argument("--dry-run", action="store_true", help="show the exact command and its files; start nothing")
    group.add_argument("--report", action="store_true", help="with --dry-run: what would come from where")
    group.add_argument("--verify", action="store_true", help="then run a small kernel on each GPU; exit 3 if one fails")
    arguments.add_decision_flags(parser)


def run(args: Install) -> int:
    order = _order(args)
    environ = os.environ
    if args.extra is not None or args.among is not None:
        order = _with_extra(args, order)
    scene = installation.look(order, environ, tell=console.waiting)
    everything = args.json or args.verify or args.verbose
    pick = installation.decide(order, scene, environ, everything=everything)
    tool = installation.tool(order, scene, environ)
    job = installation.job_of(order, scene, pick, environ)
    strangers = installation.strangers(order, scene)
    if strangers and (args.report or not args.dry_run):
        name = tool.chosen.name
        _say(args, f"asking {name} what {_shortened(strangers)} {'need' if len(strangers) > 1 else 'needs'} of torch")
        job = installation.narrowed(order, scene, job, tool, environ)
    elif not strangers:
        job = job._replace(needs=frozenset())
    else:
        _say(args, f"a dry run starts nothing, so what {_shortened(strangers)} may need of torch is not known yet")
    console.tell(job.pick, args)
    job = installation.with_relatives(job, tool, scene)
    command = installation.command(job, tool, environ)
    store.keep(command.files)  # a dry run too: so the command that it shows can be run
    if args.dry_run:
        taken = installation.report(job, tool, command, environ) if args.report else None
        return _show(args, job.pick, command, taken)
    return _start(args, job, command)


def _shortened(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _say(args: Install, text: str) -> None:
    if not args.quiet:
        print(f"torchpick: {plain(text)}", file=sys.stderr, flush=True)


def _with_extra(args: Install, order: Order) -> Order:
    """The order with the extra that is named, or with the one that fits."""
    from torchpick import choosing

    if (args.extra == choosing.AUTO) != (args.among is not None):
        hint = "such as `torchpick install mylib --extra auto --among nvidia,nvidia-old,cpu`"
        raise UsageError("`--extra auto` and `--among` belong together", hint=hint)
    if args.among is None:
        return choosing.with_extra(order, choosing.names(str(args.extra))[0], os.environ)
    if args.dry_run and not args.report:
        raise UsageError("a dry run starts nothing, so what the extras pin is not known", hint="add `--report`")
    name = choosing.chosen(order, choosing.names(args.among), os.environ, lambda text: _say(args, text))
    return choosing.with_extra(order, name, os.environ)


def _order(args: Install) -> Order:
    if args.report and not args.dry_run:
        raise UsageError("`--report` says what a dry run would take", hint="add `--dry-run`")
    if args.verify and args.dry_run:
        raise UsageError("`--verify` runs what was installed, and a dry run installs nothing", hint="leave one out")
    return Order(
        request=arguments.request_of(args),
        given=Given(tuple(args.requirements), tuple(args.requirement), tuple(args.constraint), tuple(args.editable)),
        installer=args.installer,
        upgrade=args.upgrade,
        no_deps=args.no_deps,
        passed_on=tuple(args.passed_on),
    )


def _show(args: Install, pick: Pick, command: Command, taken: tuple[Item, ...] | None) -> int:
    from torchpick.emit import shell

    if args.json:
        answer = {**envelope.of_pick(pick, "install"), "install": command.shown().to_json()}
        if taken is not None:
            answer["report"] = [each.to_json() for each in taken]
        print(envelope.dumps(answer))
        return 0
    _notes(args, pick, command)
    shown = command.shown()
    print(shell.command(shown.argv, shown.set, shown.unset))
    for file in shown.files:
        print(f"\n{plain(file.path)}")
        print("".join(f"  {plain(line)}\n" for line in file.content.splitlines()), end="")
    if taken is not None:
        print("\nwould take" if taken else "\nwould change nothing")
        for each in taken:
            print(f"  {plain(each.name)} {plain(each.version)}  {plain(redacted(each.url))}")
    return 0


def _start(args: Install, job: Job, command: Command) -> int:
    from torchpick.install import run as runner

    pick = job.pick
    _notes(args, pick, command)
    sys.stdout.flush()
    status = runner.run(command, os.environ, talk_only=args.json)
    found = None
    if status == 0 and args.verify:
        _say(args, "running a product and a convolution on each GPU")
        from torchpick import verification

        found = verification.verified(pick, job.target.python, os.environ)
    if args.json:
        print(envelope.dumps(_outcome(pick, command, status, found)))
    elif status != 0:
        _failed(pick, command, status)
    elif found is not None:
        _tell(found, pick)
    if found is not None and not found.ok:
        return 3
    return runner.die_of(status)


def _outcome(pick: Pick, command: Command, status: int, found: Verified | None) -> dict[str, object]:
    answer = {**envelope.of_pick(pick, "install"), "installer": {"name": command.installer, "status": status}}
    if status != 0:
        told = {"code": "INSTALLER", "text": f"{command.installer} {_how(status)}", "hint": None}
        answer.update(status="error", exit=status if status > 0 else 128 - status, error=told)
    if found is not None:
        answer["verify"] = {"torch": found.torch, "ran": [_ran(each, found, pick) for each in found.ran]}
        if not found.ok:
            told = {"code": "VERIFY", "text": "; ".join(_words(each, found, pick) for each in found.ran if not each.ok)}
            answer.update(status="error", exit=3, error={**told, "hint": "torchpick doctor"})
    return answer


def _ran(ran: Ran, found: Verified, pick: Pick) -> dict[str, object]:
    from torchpick import verification

    objection = None if ran.ok else verification.why(ran, found, pick)
    return {**ran.to_json(), "code": None if objection is None else objection.reason.name}


def _words(ran: Ran, found: Verified, pick: Pick) -> str:
    """One GPU in a line: what the table says of the build there, and what torch itself said."""
    name = f"GPU {ran.gpu}, {ran.name}" if ran.gpu is not None else ran.name
    if ran.ok:
        return f"{name}: computes"
    from torchpick import verification

    objection = verification.why(ran, found, pick)
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    return f"{name}: {f'{objection.reason.name}, {objection.text}; ' if objection else ''}{first}"


def _tell(found: Verified, pick: Pick) -> None:
    for ran in found.ran:
        if ran.ok:
            print(f"verified: {plain(_words(ran, found, pick))}", file=sys.stderr)
    broken = [_words(ran, found, pick) for ran in found.ran if not ran.ok]
    if broken:
        message = f"torch {found.torch or pick.version} does not compute here: {'; '.join(broken)}"
        _fail(message, "`torchpick doctor` looks for the cause")


def _fail(message: str, hint: str) -> None:
    """An error after the installer has done its work, in the form of all others."""
    from torchpick.emit import text
    from torchpick.errors import InstallerError

    print(text.error(InstallerError(message, hint=hint)), file=sys.stderr)


def _notes(args: Install, pick: Pick, command: Command) -> None:
    if args.quiet or args.json:
        return
    from torchpick.emit import text

    for line in text.notes(pick):
        print(line, file=sys.stderr)
    for note in command.notes:
        print(f"note: {plain(note.text)}", file=sys.stderr)


def _how(status: int) -> str:
    return f"exited with status {status}" if status >= 0 else f"was ended by signal {-status}"


def _failed(pick: Pick, command: Command, status: int) -> None:
    """Ours after the installer's own words: what was to come from where, and whose the status is."""
    source = redacted(pick.index_url)
    _fail(
        f"{command.installer} did not finish; torch {pick.version} was to come from {source}",
        "`--index-base URL` names a mirror, `torchpick refresh` reads what the wheel index holds now",
    )
    print(f"{command.installer} {_how(status)}", file=sys.stderr)
