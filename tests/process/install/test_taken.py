"""What a plan pins is what the real pip and the real uv install."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from tests.fakes.tinywheel import TinyWheel
from tests.process.install.conftest import GTX_1080_TI, TAG, World
from tests.process.install.test_install import kind


class Planned(NamedTuple):
    """A question, what its answer pins, and what is installed beside that."""

    words: tuple[str, ...]
    pins: dict[str, str]
    plain: dict[str, str]


QUESTIONS = (
    # What is named is at its newest, and torch gives way: not what a resolver takes that begins with torch.
    Planned(("robots",), {"robots": "0.6", "torch": "2.9.1+cu126"}, {"numpy": "2.0.0"}),
    # What a plain project wants binds a named plain one, whose newest is not pinned.
    Planned(("compilers", "numpy", "torch"), {"torch": "2.14.1+cu126", "compilers": "1.0"}, {"numpy": "1.26.4"}),
)


@pytest.fixture
def own(world: World) -> World:
    """The user's index with projects that bind torch, or numpy through others."""
    index = world.wheels("127.0.0.1")
    index["robots"] = [
        TinyWheel("robots", "0.6", requires=("torch<2.10", "numpy")),
        TinyWheel("robots", "0.3", requires=("torch", "numpy")),
    ]
    index["compilers"] = [TinyWheel("compilers", "1.0", TAG, ("torch", "numbers==0.65"))]
    index["numbers"] = [TinyWheel("numbers", "0.65", requires=("numpy<2",))]
    index["numpy"].append(TinyWheel("numpy", "1.26.4"))
    return world


@pytest.mark.parametrize(
    ("newest", "planned"),
    [
        ("uv", QUESTIONS[0]), ("pip", QUESTIONS[1]),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (("pip", QUESTIONS[0]), ("uv", QUESTIONS[1]))),
    ],
)  # fmt: skip
def test_what_is_planned_is_what_is_installed(own: World, newest: str, planned: Planned) -> None:
    python = own.environment(newest)
    words = (*planned.words, *GTX_1080_TI)

    plan = json.loads(own.torchpick("plan", *words, "--json", python=python).stdout)["stack"]["packages"]
    own.install(*planned.words, "--installer", kind(newest), python=python)

    assert {each["name"]: each["version"] for each in plan if each["pinned"]} == planned.pins
    found = own.installed(python)
    assert planned.pins.items() | planned.plain.items() <= found.items()
    own.family_is_clean()
