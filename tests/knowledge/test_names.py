"""What a GPU's name is answered with, word for word: `names.json` has names of every kind, by `tests/recorded.py`.

A name that is understood is answered with the GPU, and with others of the name; another with what is said of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests import recorded
from tests.recorded import Answers, Case
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.fields import plain

NO_MAC = ", where it is no Mac"


def answered(name: str, *, mac: bool) -> object:
    try:
        gpu = Knowledge(os.environ).gpu(name, mac=mac)
    except UsageError as error:
        return [error.code, error.message, error.hint]
    others = tuple({"name": other.name, "arch": other.arch} for other in gpu.others)
    facts = plain({**gpu._asdict(), "others": others})
    return {fact: value for fact, value in facts.items() if value != type(gpu)._field_defaults.get(fact)}


@recorded.cases(Path(__file__).with_name("names.json"))
def test_a_name_is_answered(case: Case, answers: Answers) -> None:
    answers.same(answered(case.name.removesuffix(NO_MAC), mac=not case.name.endswith(NO_MAC)))
