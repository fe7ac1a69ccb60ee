"""How errors reach a person and a program."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

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


@pytest.mark.parametrize(
    "mirror",
    [
        *("https:/me:SEC@mirror.example/whl", "//me:SEC@mirror.example", "https//me:SEC@mirror.example/whl"),
        *("ftp://me:SEC@mirror.example", "me:SEC@mirror.example/whl", "https:\\\\me:SEC@mirror.example"),
        *("https://me:SEC RET@mirror.example/whl", "https://me:SEC\nRET@mirror.example/whl"),
    ],
)
def test_the_address_of_a_mirror_shows_no_password_however_it_is_mistyped(
    mirror: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ("url", "plan", "install torch", "lock torch", "env", "list", "doctor", "refresh"):
        gpu = [] if words == "refresh" else ["--gpu", "6.1"]
        assert main([*words.split(), *gpu, "--index-base", mirror]) == 2, words
        said = "".join(capsys.readouterr())
        assert "mirror.example" in said, words
        assert "SEC" not in said, words
        assert "RET" not in said, words


def test_the_password_of_a_mirror_is_hidden_before_cmd_quotes_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--gpu", "6.1", "--driver", "580", "--shell", "cmd", "--index-base", 'https://me:A"SEC@mirror.example/whl']
    assert main(words) == 0
    said = capsys.readouterr().out
    assert ("SEC" in said, said.count("mirror.example")) == (False, 2)


@pytest.mark.parametrize(("error", "way_out"), [
        (FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"), "export TMPDIR="),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.ENOSPC, "No space left on device"), "make room"),
])  # fmt: skip
def test_what_the_system_refuses_is_said_with_a_way_out(
    error: OSError, way_out: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> str:
        raise error

    monkeypatch.setattr("tempfile.gettempdir", refuse)
    monkeypatch.setenv("TORCHPICK_CACHE_DIR", os.devnull + "/none")

    assert main(["run", "--gpu", "6.1", "--driver", "580.95.05", "--", sys.executable]) == 1
    message, hint = capsys.readouterr().err.split("\n\nhint: ")
    assert str(error.strerror) in message
    assert way_out in hint


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no folder that somebody is in")
@pytest.mark.parametrize("words", ["url", "plan torch", "doctor", "install torch", "inspect torch"])
def test_a_folder_that_was_removed_meanwhile_is_said(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    assert main(words.split()) == 1

    out, err = capsys.readouterr()
    assert out == ("--no-index torch==0+see.the.error\n" if words == "url" else "")
    assert err.endswith("error: the current folder does not exist any more\n\nhint: `cd` to one that does\n")


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("env --shell", "false"), ("env --shell=fish --nonsense", "false"), ("env --json --shell", ""),
        ("env --shell cmd --nonsense", "cmd /c exit 1"), ("unpin x.py --python x", ""), ("unpin x.py --project x", ""),
        ("env --shell pwsh --nonsense", "throw 'torchpick has nothing to set here'"), ("pin x.py y.py", ""),
        ("pin x.py --project x", ""),
    ],
)  # fmt: skip
def test_what_is_refused_leaves_a_line_that_fails_where_lines_are_expected(
    words: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    printed, err = capsys.readouterr()
    assert (printed.strip() if "--json" not in words else "") == out
    assert ("alone" in err) is ("pin" in words)
