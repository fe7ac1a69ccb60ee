"""The rounds between the installer's resolver and the judgement of one environment, until both agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torchpick.errors import NoBuildError
from torchpick.install.agreement import FAMILY, ROUNDS, Agreement, AgreementMove, outcome, passed_over, refused
from torchpick.installers import needs
from torchpick.installers.command import Command
from torchpick.installers.jobs import Job
from torchpick.installers.needs import Learnt
from torchpick.model.machine import Note
from torchpick.model.noun import Noun
from torchpick.model.pick import Pick
from torchpick.model.versions import first_three


class Tried(Noun):
    """A job, what its packages were found at, and what moved for it."""

    job: Job
    learnt: Learnt
    notes: tuple[Note, ...] = ()


class Agreeing(Noun):
    """Who takes part: the judgement, the resolver, who picks a torch by its version."""

    agreement: Agreement
    resolver: Command
    environ: Mapping[str, str]
    everything: Pick
    pick_of: Callable[[str], Pick]

    def agreed(self, job: Job, learnt: Learnt) -> Tried:
        """The job whose packages agree with its torch; NoBuildError with what stands in the way."""
        agreement, found, trouble = self.agreement, learnt, learnt.conflict
        said: dict[Note, None] = {}
        agreement.read_placed()
        for _ in range(ROUNDS):
            found = found._replace(versions=agreement.completed(found.versions))
            agreement.read(found)
            stack = None if trouble else agreement.of_versions(found.versions)
            unread = agreement.unread(found.versions)
            if stack is None and not trouble:
                notes = (*job.notes, *said, *unread)
                made = job._replace(needs=found.needs, held=found.versions, taken=found.items, notes=notes)
                return Tried(made, found)
            if stack is not None and stack.ok:
                result = outcome(stack, job.pick)
                if result.torch is None:
                    notes = (*job.notes, *said, *unread, *result.notes)
                    job = job._replace(needs=found.needs, held=found.versions, taken=found.items, notes=notes)
                    return Tried(job._replace(added=result.added), found)
                moves = [AgreementMove(stack, found.versions)]
            else:
                moves = [*agreement.moves(found.versions)]
            tried = self._first_that_resolves(job, moves)
            if tried is None:
                stacks = [move.stack for move in moves]
                if all(not each.ok for each in stacks):
                    raise refused(stacks[-1], agreement.machine, job.pick)
                break
            job, found, trouble = tried.job, tried.learnt, ()
            said |= dict.fromkeys(tried.notes)
        raise conflict(trouble or ("the packages agree with no torch that runs here",), self.everything)

    def _first_that_resolves(self, job: Job, moves: list[AgreementMove]) -> Tried | None:
        """The first of these environments that the installer's own resolver can make."""
        for move in moves:
            if not move.stack.ok:
                continue
            result = outcome(move.stack, job.pick)
            pick = job.pick if result.torch is None else self.pick_of(result.torch)
            limits = {**result.versions, **{name: each for name, each in move.held.items() if name not in FAMILY}}
            learnt = needs.held_to(self.resolver, pick.build, limits, job.place, self.environ)
            if not learnt.conflict:
                return Tried(job._replace(pick=pick), learnt, passed_over(move.stack))
        return None


def question(installer: str, strangers: tuple[str, ...]) -> str:
    """What the resolver is asked, in words."""
    return f"asking {installer} what {first_three(strangers)} {'need' if len(strangers) > 1 else 'needs'} of torch"


def conflict(asks: tuple[str, ...], everything: Pick) -> NoBuildError:
    """What the requirements ask for, and which releases there are instead."""
    runs = list(dict.fromkeys(each.build.torch for each in everything.considered if each.ok))
    hint = f"torch {runs[-1]} to {runs[0]} has builds that run here (`torchpick list`); ask for what needs one of these"
    message = f"no torch that runs here suits every requirement: {'; '.join(asks)}"
    return NoBuildError(message, pick=everything._replace(verdicts=()), hint=hint)
