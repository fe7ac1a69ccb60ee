"""The answer to an order: torch's family is answered from the table, for anything else what it lacks is learnt."""

from __future__ import annotations

from contextlib import suppress

from torchpick.errors import TorchpickError
from torchpick.install.asking import TargetQuestion
from torchpick.install.handover import Learnt
from torchpick.session import decided


def learn(asking: TargetQuestion, *, rehearse: bool = False) -> Learnt:
    """The answer to what is asked, with all that is to be learnt for it; of torch's family there is nothing to learn.

    `rehearse` says that the resolver is asked in any case where packages are.
    """
    if asking.is_of_family:
        return Learnt(decided(asking.answer({}), asking.session.knowledge.rules), {})
    from torchpick.install.learning import Learner

    return Learner(asking, rehearse=rehearse).learn()


def instead(asking: TargetQuestion, refused: Learnt) -> Learnt | None:
    """What a resolver finds where an installer refused the table's own answer: a mirror may lack its versions."""
    if refused.resolution is not None:
        return None
    with suppress(TorchpickError):  # the installer has said why
        learnt = learn(asking, rehearse=True)
        if learnt.answer.stack != refused.answer.stack:
            return learnt
    return None
