"""What a GPU's name is answered with, word for word: `names_answered.json` has names of every kind.

A name that is understood is answered with the GPU, and with others of the name; another with what is said of it. A new
name needs no answer but null: TORCHPICK_TEST_RENEW=1 writes it into the file, to be read in the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.transcripts import hold
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.fields import plain

FILE = Path(__file__).with_name("names_answered.json")
NO_MAC = ", where it is no Mac"


def answered(name: str, *, mac: bool) -> object:
    try:
        gpu = Knowledge(os.environ).gpu(name, mac=mac)
    except UsageError as error:
        return [error.code, error.message, error.hint]
    return {fact: value for fact, value in plain(gpu).items() if value != type(gpu)._field_defaults.get(fact)}


def test_names_of_every_kind_are_answered_as_they_were() -> None:
    names = json.loads(FILE.read_text(encoding="utf-8"))

    hold(FILE, {name: answered(name.removesuffix(NO_MAC), mac=not name.endswith(NO_MAC)) for name in names})
