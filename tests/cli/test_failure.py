"""How errors reach a person and a program."""

from __future__ import annotations

import pytest

from torchpick.cli import console, main
from torchpick.errors import NetworkError


def test_the_installers_json_is_not_ours(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["install", "torch==0.0.1", "--gpu", "6.1", "--driver", "580", "--", "--json"])
    out, err = capsys.readouterr()

    assert (status, out) == (3, "")
    assert err.startswith("error: ")


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_no_error_shows_a_secret(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    error = NetworkError("https://me:p@ss@mirror.example/whl: no", hint="try https://TOKEN@mirror.example/whl")
    console.failed(error, "pick", words, None)
    out, err = capsys.readouterr()

    assert "mirror.example" in out + err
    assert not [part for part in ("p@ss", "@ss", "TOKEN") if part in out + err]
