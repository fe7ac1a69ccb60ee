"""What stands around an answer: the day, the width, notes, and an error in the form that was asked for."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import cast

import pytest

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.errors import DetectionError, ResolverError, TorchpickError
from torchpick.model.machine import Machine, Note, Platform, Python


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals to be had")
def test_the_width_of_a_terminal_is_asked() -> None:
    import fcntl
    import struct
    import termios

    ends = os.openpty()
    fcntl.ioctl(ends[1], termios.TIOCSWINSZ, struct.pack("HHHH", 24, 77, 0, 0))
    with open(ends[1], "w", encoding="utf-8") as stream:
        assert console.width(stream, {}) == 77
        fcntl.ioctl(ends[1], termios.TIOCSWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
        assert console.width(stream, {}) is None
    os.close(ends[0])


def asked(*, quiet: bool = False) -> Arguments:
    return cast(Arguments, SimpleNamespace(quiet=quiet))


def test_notes_are_lines_of_their_own_and_a_text_loses_its_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    console.notes(asked(), "https://me:secret@e.org", "", Note("CODE", "one two three four five six seven\x07"))
    console.notes(asked(quiet=True), "nothing")
    console.notes(asked())

    out, err = capsys.readouterr()
    assert (out, err) == ("", "note: https://me:****@e.org\nnote: one two three four five six\n  seven\\x07\n")


MACHINE = Machine(Platform("linux", "x86_64", "2.36", "glibc"), Python("3.12"))


def test_an_error_as_json_has_what_is_known_beside_it() -> None:
    plain = json.loads(console.error_json(TorchpickError("it failed", hint="try", code="CODE"), "pick"))
    detection = json.loads(console.error_json(DetectionError("x", hint="y", code="Z", machine=MACHINE), "detect"))

    assert (plain["command"], plain["status"], plain["exit"]) == ("pick", "error", 1)
    assert (plain["error"]["code"], plain["error"]["text"], plain["error"]["hint"]) == ("CODE", "it failed", "try")
    assert "machine" not in plain
    assert (detection["error"]["code"], detection["machine"]["platform"]["os"]) == ("Z", "linux")


def test_an_installers_failure_names_it_with_its_status() -> None:
    failure = ResolverError("it failed", hint="try", installer="uv", status=7)

    found = json.loads(console.error_json(failure, "install"))

    assert (found["status"], found["exit"], found["installer"]) == ("error", 7, {"name": "uv", "status": 7})


def test_a_failed_command_prints_its_guard_and_its_error_or_its_json(capsys: pytest.CaptureFixture[str]) -> None:
    failure = DetectionError("it hangs", hint="reboot", code="DRIVER_HANGS", machine=MACHINE)

    for verbose in ("-v", "--verbose"):
        status = console.failed(failure, "url", [verbose, "--", "--json"], "https://nowhere.invalid")
        out, err = capsys.readouterr()
        assert (status, out) == (failure.exit_status, "https://nowhere.invalid\n")
        assert "torchpick: platform: linux-x86_64, glibc 2.36" in err
        assert err.endswith("error: it hangs\n\nhint: reboot\n")

    assert console.failed(failure, "url", ["--json"], None) == failure.exit_status
    out, err = capsys.readouterr()
    assert (json.loads(out)["error"]["code"], err) == ("DRIVER_HANGS", "")


def test_a_table_is_as_old_as_the_days_since_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for seconds, age in ((1795305600, 21), (86400, 0)):  # by a clock that is behind it is of today
        monkeypatch.setenv("SOURCE_DATE_EPOCH", str(seconds))
        assert json.loads(console.dated({}, "2026-11-01"))["table"] == {"date": "2026-11-01", "age_days": age}
