"""The torch that is installed stays, where it runs and nobody asks for another."""

from __future__ import annotations

import pytest

from tests.decide.test_stack import machine
from torchpick.decide import answer as answers
from torchpick.decide.answer import Question, StayingTorch
from torchpick.decide.demands import PackageDemand
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.request import Wish

PLATFORM = "linux-x86_64"
DEFAULT = Wish(backends=(DEFAULT_INDEX,))


@pytest.mark.parametrize("wanted", [(), ("numpy",)])
@pytest.mark.parametrize(
    ("stays", "taken"),
    [
        (StayingTorch("2.9.1+cu126", None, (Wish(),)), "2.9.1+cu126"),
        (StayingTorch("2.9.1", "12.8", (Wish(), DEFAULT)), "2.9.1"),  # the default index's own
        (StayingTorch("2.9.1", "11.8", (Wish(), DEFAULT)), "2.15.0+cu132"),  # somebody else's build
        (StayingTorch("2.6.0+cpu", None, (Wish(),)), "2.15.0+cu132"),  # it does not use the GPU
    ],
)
def test_the_installed_torch_stays_where_it_runs(stays: StayingTorch, taken: str, wanted: tuple[str, ...]) -> None:
    knowledge = Knowledge({})
    question = Question(Wish(), tuple(map(PackageDemand, (*wanted, "torch") if wanted else ())), stays)

    found = answers.answer(
        question,
        (machine(),),
        lambda wish: knowledge.table((PLATFORM,), default_index=DEFAULT_INDEX in wish.backends),
        lambda: KnownPackages({}, PLATFORM),
    )

    assert found.pick.version == taken
    assert found.question == question
