"""The torch that is installed stays, where it runs and nobody asks for another."""

from __future__ import annotations

import pytest

from tests.decide.test_stack import machine
from torchpick.decide import answer as answers
from torchpick.decide.answer import Answer, Question
from torchpick.decide.demands import PackageDemand
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.build import DEFAULT_INDEX
from torchpick.model.machine import Note
from torchpick.model.package import Catalog
from torchpick.model.pick import Limit, Wish

PLATFORM = "linux-x86_64"
DEFAULT = Wish(backends=(DEFAULT_INDEX,))


@pytest.mark.parametrize("wanted", [(), ("numpy",)])
@pytest.mark.parametrize(("stays", "taken"), [
        (("2.9.1+cu126", None, (Wish(),)), "2.9.1+cu126"),
        (("2.9.1", "12.8", (Wish(), DEFAULT)), "2.9.1"),  # the default index's own
        (("2.9.1", "11.8", (Wish(), DEFAULT)), "2.15.0+cu132"),  # somebody else's build
        (("2.6.0+cpu", None, (Wish(),)), "2.15.0+cu132"),  # it does not use the GPU
])  # fmt: skip
def test_the_installed_torch_stays_where_it_runs(
    stays: tuple[str, str | None, tuple[Wish, ...]], taken: str, wanted: tuple[str, ...]
) -> None:
    question = Question(Wish(), tuple(map(PackageDemand, (*wanted, "torch") if wanted else ())), stays)

    found = answered(question)

    assert found.pick.version == taken
    assert found.question == question


def answered(question: Question) -> Answer:
    knowledge = Knowledge({})
    found = answers.answer(
        question,
        (machine(),),
        lambda wish: knowledge.table((PLATFORM,), default_index=DEFAULT_INDEX in wish.backends),
        lambda: Catalog(KnownPackages({}, PLATFORM)),
    )
    assert isinstance(found, Answer)
    return found


def limits(*texts: str) -> tuple[Limit, ...]:
    rows = enumerate(map(str.split, texts), 1)
    return tuple(Limit(name, specifier, f"limits.txt line {line}") for line, (name, specifier) in rows)


def test_what_was_not_judged_is_said_with_the_command_that_learns_it() -> None:
    given = answered(Question(Wish(), (PackageDemand("vllm"), PackageDemand("nobodys"))))

    found = answers.saying_unjudged(given, "torchpick plan vllm nobodys")

    note = Note("NOT_JUDGED", "not judged: nobodys; `torchpick plan vllm nobodys` does")
    assert found.pick.notes == (*given.pick.notes, note)
    hint = "`torchpick plan vllm nobodys` also looks for versions that the table does not know"
    assert found.environment.hints == (hint, *given.environment.hints)
    assert (given.unknown, answered(Question(Wish())).unknown) == ({"nobodys": ""}, {})
    assert given.taken == {"torch": given.pick.version, **given.judged}
    assert given.judged.keys() >= {"vllm"}
    assert given.judged.keys().isdisjoint({"torch", "torchvision", "torchaudio", "nobodys"})
