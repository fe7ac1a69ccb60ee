"""What the installers' resolvers say, read and shown."""

from __future__ import annotations

from subprocess import CompletedProcess

import pytest

from torchpick.install.reporting import resolver_error

CHATTER = (
    "Looking in indexes: https://me:secret@h.example/simple", "Collecting a", "  Downloading a-1.whl (5 kB)",
    "  Using cached b-1.whl (3 kB)", "Obtaining c from /srv/c", "WARNING: x is old", "Processing /srv/d.whl", "",
)  # fmt: skip


@pytest.mark.parametrize(("installer", "status"), [("uv", 2), ("pip", 1)])
def test_a_refusal_is_the_installers_own_words_and_status(installer: str, status: int) -> None:
    words = [f"line {number} https://me:secret@h.example" for number in range(18)]
    error = resolver_error(installer, CompletedProcess((), status, "", "\n".join([CHATTER[0], *words, *CHATTER])))

    assert error.message.splitlines()[0] == f"{installer} could not resolve the requirements:"
    assert error.message.splitlines()[1:] == [word.replace("me:secret", "me:****") for word in words[2:]]
    assert (error.installer, error.exit_status, error.code) == (installer, status, "RESOLVER")
