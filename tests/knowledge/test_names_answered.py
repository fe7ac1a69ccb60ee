"""What a GPU's name is answered with, word for word: `names_answered.json` has names of every kind.

A name that is understood is answered with the GPU, and with others of the name; another with what is said of it.
Where an answer was changed on purpose, TORCHPICK_TEST_RENEW=1 writes the new one into the file, to be read in the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.transcripts import RENEW
from torchpick.errors import UsageError
from torchpick.knowledge.compat import Knowledge
from torchpick.model.fields import plain

FILE = Path(__file__).with_name("names_answered.json")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def answered(name: str, *, mac: bool) -> object:
    try:
        gpu = Knowledge(os.environ).gpu(name, mac=mac)
    except UsageError as error:
        return [error.code, error.message, error.hint]
    return {fact: value for fact, value in plain(gpu).items() if value != type(gpu)._field_defaults.get(fact)}


def test_names_of_every_kind_are_answered_as_they_were() -> None:
    known = json.loads(FILE.read_text(encoding="utf-8"))
    now = {name: answered(name, mac=True) for name in known["names"]}
    elsewhere = {name: answered(name, mac=False) for name in known["where it is no Mac"]}
    found = {"names": now, "where it is no Mac": elsewhere}
    if RENEW:
        parts = [
            f" {_json(part)}: {{\n"
            + ",\n".join(f"  {_json(name)}: {_json(answer)}" for name, answer in answers.items())
            for part, answers in found.items()
        ]
        FILE.write_text("{\n" + "\n },\n".join(parts) + "\n }\n}\n", encoding="utf-8")
    for part, answers in found.items():
        for name, answer in answers.items():
            assert json.loads(json.dumps(answer)) == known[part][name], name
