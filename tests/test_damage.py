"""A cache that was damaged: an answer whatever stands in it, never a traceback. What is shipped is trusted."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchpick.decide.answer import decided
from torchpick.errors import TorchpickError
from torchpick.install.question import answer_request
from torchpick.knowledge import locations
from torchpick.model.pick import Request
from torchpick.run import start_run

INDEX = Path(locations.compat_dir({}), "index", "linux-x86_64.json")
RELEASES = ("2.15.0", "2.14.1")
OLD_CARD = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")
WRONG: list[object] = [
    None, True, 0, -1, 1.5, 1 << 70, "", "x", "+", "1..2", "9" * 5000, "٣.١", "\ud800", [], [[]], {}, {"x": {}}, ["x"],
]  # fmt: skip


@pytest.fixture(scope="module")
def small() -> dict[str, Any]:
    """An index with few releases, so that a question takes a millisecond."""
    index: dict[str, Any] = json.loads(INDEX.read_text("utf-8"))
    return {**index, "builds": [row for row in index["builds"] if row[0] in RELEASES]}


def _damaged(value: Any, draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """The value with one thing in it replaced, taken away or doubled."""
    top = copy.deepcopy(value)
    here = top
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(min(len(here), 12)))
        key = draw(st.sampled_from(keys))
        child = here[key]
        if isinstance(child, dict | list) and child and draw(st.integers(0, 9)):
            here = child
            continue
        how = draw(st.sampled_from(("wrong", "wrong", "wrong", "gone", "inside")))
        if how == "gone":
            del here[key]
        elif how == "inside" and isinstance(child, dict):
            child["torchvision"] = draw(st.sampled_from(WRONG))
        else:
            here[key] = draw(st.sampled_from(WRONG))
        return top


@settings(max_examples=30)
@given(data=st.data())
def test_damage_in_the_cache_never_prevents_an_answer(
    small: dict[str, Any], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    cache = tmp_path_factory.mktemp("cache")
    file = cache / "table" / "stable-linux-x86_64.json"
    file.parent.mkdir()
    file.write_text(json.dumps(_damaged(small, data.draw)), "utf-8")

    for request in (
        OLD_CARD,
        OLD_CARD._replace(gpus=("sm_120", "sm_61")),
        OLD_CARD._replace(requirements=("torch<2.15", "torchvision")),
    ):
        answer = answer_request(start_run(request, {"TORCHPICK_CACHE_DIR": str(cache)}))
        assert len(answer.pick.considered) > len(RELEASES)
        with suppress(TorchpickError):
            decided(answer)
