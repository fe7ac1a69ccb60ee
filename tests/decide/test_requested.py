"""Requirements that narrow a decision."""

from __future__ import annotations

import pytest

from torchpick.decide import demands
from torchpick.decide.demands import narrowed
from torchpick.errors import RequirementError
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.request import Wish
from torchpick.model.versions import named

HERE = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"))


def test_torch_and_its_companions_narrow_and_nothing_else_does() -> None:
    texts = ["torch<2.12", "torch >= 2.5", "TorchVision", "torchcodec>=0.5", "torch[opt-einsum]"]

    wish = narrowed(Wish(), texts)

    assert set(wish.torch.split(",")) == {"<2.12", ">=2.5"}
    assert dict(wish.companions) == {"torchvision": ""}


def test_a_requirement_counts_where_its_marker_holds() -> None:
    texts = ["torch<2.12; python_version<'3.9'", "torch<2.14; python_version>='3.9'"]

    assert narrowed(Wish(), texts, lambda: HERE).torch == "<2.14"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("torch==", "is not a valid requirement"),
        ("", "is not a valid requirement"),
        ("torch @ https://x.example/torch.whl", "has a URL"),
        ("torch torchvision", "is not a valid requirement"),
    ],
)
def test_what_is_no_name_with_a_specifier_is_refused(text: str, words: str) -> None:
    with pytest.raises(RequirementError, match=words) as caught:
        demands.asked([text])

    assert caught.value.hint


@pytest.mark.parametrize(("text", "name"), [("Torch_Vision>=1", "torch-vision"), ("mylib[extra]", "mylib"), ("-x", "")])
def test_the_name_of_a_requirement(text: str, name: str) -> None:
    assert named(text) == name
