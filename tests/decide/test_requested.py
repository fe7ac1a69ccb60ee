"""Requirements that narrow a decision."""

from __future__ import annotations

import pytest

from torchpick.decide.requested import named, narrowed
from torchpick.errors import RequirementError
from torchpick.model.request import Wish

FAMILY = ("torch", "torchvision", "torchaudio", "torchcodec")


def test_torch_companions_and_the_rest_of_the_family() -> None:
    wish = narrowed(Wish(), ["torch<2.12", "torch>=2.5", "TorchVision", "torchcodec>=0.5"], lambda: FAMILY)

    assert set(wish.torch.split(",")) == {"<2.12", ">=2.5"}
    assert dict(wish.companions) == {"torchvision": ""}
    assert wish.others == ("torchcodec>=0.5",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("numpy", "is not part of the torch family"),
        ("torch==", "is not a valid requirement"),
        ("", "is not a valid requirement"),
        ("torch[opt]", "has an extra"),
        ("torch @ https://x.example/torch.whl", "has a URL"),
        ("torch; python_version<'3.9'", "has a marker"),
        ("torch torchvision", "is not a valid requirement"),
    ],
)
def test_what_says_nothing_about_a_build_is_refused(text: str, words: str) -> None:
    with pytest.raises(RequirementError, match=words) as caught:
        narrowed(Wish(), [text], lambda: FAMILY)

    assert caught.value.hint


@pytest.mark.parametrize(("text", "name"), [("Torch_Vision>=1", "torch-vision"), ("mylib[extra]", "mylib"), ("-x", "")])
def test_the_name_of_a_requirement(text: str, name: str) -> None:
    assert named(text) == name
