"""The run of an installer: its start, what came of it, and whether the torch that is there now computes."""

from __future__ import annotations

import os
import sys

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.cli.text import plain
from torchpick.errors import InstallerError
from torchpick.install.asking import TargetQuestion
from torchpick.install.command import Command, Ended, die_of, run_command
from torchpick.install.handover import explain_failure, missing_torch, verify_pick
from torchpick.install.job import Job
from torchpick.machine.verify import Ran, Verified
from torchpick.model.address import redacted
from torchpick.model.pick import Pick


def start(args: Arguments, question: TargetQuestion, handed: tuple[Job, Command], *, verify: bool) -> int:
    """Run it, and look at what came of it: 3 where torch is not what it was to be, or does not compute."""
    sys.stdout.flush()
    job, command = handed
    ended = run_command(command, os.environ, talk_only=args.json)
    pick = job.pick
    failure = _unfinished(pick, command, ended) if ended.status else _lacking(job, command)
    verified = None
    if verify and failure is None:
        question.run.report("running a product and a convolution on each GPU")
        verified = verify_pick(pick, job.target.program, os.environ)
        failure = _broken(verified, pick)
    status = ended.status or (0 if failure is None else 3)
    if args.json:
        print(console.as_json(pick, "install", **_outcome(pick, command, status, verified, failure)))
        return die_of(status)
    for ran in () if verified is None else verified.ran:
        if ran.ok:
            print(f"verified: {plain(_name(ran))}: computes", file=sys.stderr)
    if failure is not None:
        console.error(failure)
    if ended.status:
        how = f"exited with status {ended.status}" if ended.status > 0 else f"was ended by signal {-ended.status}"
        print(f"{command.installer} {how}", file=sys.stderr)
    return die_of(status)


def _unfinished(pick: Pick, command: Command, ended: Ended) -> InstallerError:
    """Ours after the installer's own words: what was to come from where."""
    if ended.interrupted:
        return InstallerError(
            f"interrupted while {command.installer} was at work; the environment may be changed in part",
            hint="the same command again finishes it; `torchpick doctor` looks at what is there now",
        )
    source = redacted(pick.index_url) or "your own index"
    has_mirror = pick.index_url and pick.build.vendor is None
    mirror = "`--index-base URL` names a mirror, " if has_mirror else ""
    return InstallerError(
        f"{command.installer} did not finish; torch {pick.version} was to come from {source}",
        hint=f"{mirror}`torchpick refresh` reads what the index holds now",
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


def _broken(verified: Verified, pick: Pick) -> InstallerError | None:
    broken = [_words(ran, verified, pick) for ran in verified.ran if not ran.ok]
    if not broken:
        return None
    message = f"torch {verified.torch or pick.version} does not compute here: {'; '.join(broken)}"
    return InstallerError(
        message, hint="`torchpick doctor` looks for the cause, `torchpick explain` knows such errors", code="VERIFY"
    )


def _outcome(
    pick: Pick, command: Command, status: int, verified: Verified | None, failure: InstallerError | None
) -> dict[str, object]:
    of_installer = status if failure is None or failure.code == "INSTALLER" else 0
    answer: dict[str, object] = {"installer": {"name": command.installer, "status": of_installer}}
    if failure is not None:
        answer.update(status="error", exit=status if status > 0 else 128 - status, error=failure)
    if verified is not None:
        answer["verify"] = {"torch": verified.torch, "ran": [_ran(ran, verified, pick) for ran in verified.ran]}
    return answer


def _ran(ran: Ran, verified: Verified, pick: Pick) -> dict[str, object]:
    objection = None if ran.ok else explain_failure(ran, verified, pick)
    return {**ran._asdict(), "code": objection and objection.code}


def _name(ran: Ran) -> str:
    return f"GPU {ran.gpu}, {ran.name}" if ran.gpu is not None else ran.name


def _words(ran: Ran, verified: Verified, pick: Pick) -> str:
    """A GPU where it failed: what the table says of the build there, and what torch itself said."""
    objection = explain_failure(ran, verified, pick)
    first = next(iter(ran.text.strip().splitlines()), "") or ran.error
    return f"{_name(ran)}: {f'{objection.code}, {objection.text}; ' if objection else ''}{first}"
