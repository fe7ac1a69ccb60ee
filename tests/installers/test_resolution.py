"""What the installers' resolvers say, read and shown."""

from __future__ import annotations

import json

import pytest

from torchpick.installers import reporting, resolution
from torchpick.installers.run import Heard

CHATTER = (
    "Looking in indexes: https://me:secret@h.example/simple", "Collecting a", "  Downloading a-1.whl (5 kB)",
    "  Using cached b-1.whl (3 kB)", "Obtaining c from /srv/c", "WARNING: x is old", "Processing /srv/d.whl", "",
)  # fmt: skip


@pytest.mark.parametrize(("installer", "status"), [("uv", 2), ("pip", 1)])
def test_a_refusal_is_the_installers_own_words_and_status(installer: str, status: int) -> None:
    words = [f"line {number} https://me:secret@h.example" for number in range(18)]
    error = reporting.refused(installer, Heard(status, "", "\n".join([CHATTER[0], *words, *CHATTER])))

    assert error.message.splitlines()[0] == f"{installer} could not resolve the requirements:"
    assert error.message.splitlines()[1:] == [word.replace("me:secret", "me:****") for word in words[2:]]
    assert (error.installer, error.exit_status, error.code) == (installer, status, "RESOLVER")


def test_uvs_pins_say_who_needs_torch_or_cuda() -> None:
    text = """a==1.0
    # via -r needs.txt
b @ https://files.example/b-2.0-py3-none-any.whl
nvidia-cublas==13.0
    # via a
torch==2.14.1+cu126
    # via
    #   b
    #   c
"""
    found = resolution.of_pins(text)

    assert found.versions == {"a": "1.0", "b": "2.0", "nvidia-cublas": "13.0", "torch": "2.14.1+cu126"}
    assert found.users == {"a", "b"}


def test_pips_report_says_it_by_what_each_requires() -> None:
    def item(name: str, *requires: str) -> dict[str, object]:
        metadata = {"name": name, "version": "1.0", "requires_dist": list(requires)}
        return {"metadata": metadata, "download_info": {"url": "https://files.example/x.whl"}}

    found = resolution.of_report(
        json.dumps({"install": [item("A_b", "torch>=2"), item("c", "numpy"), item("d", "nvidia-x")]})
    )

    assert found.versions == {"a-b": "1.0", "c": "1.0", "d": "1.0"}
    assert found.users == {"a-b", "d"}
