"""What stands around an answer: the day, the width, notes, and an error in the form that was asked for."""

from __future__ import annotations

import io
import json
import os
from types import SimpleNamespace
from typing import cast

import pytest

from torchpick.cli import console
from torchpick.cli.arguments import Arguments
from torchpick.errors import DetectionError, ResolverError, TorchpickError
from torchpick.model.machine import Machine, Note, Platform, Python


@pytest.mark.parametrize(
    ("epoch", "ago", "day"),
    [
        ("86400", 0, "1970-01-02"), ("86400", 1, "1970-01-01"), ("86400", 5, "1970-01-01"),
        ("1764000000", 0, "2025-11-24"), ("1764000000", 30, "2025-10-25"), ("99999999999", 0, "5138-11-16"),
    ],
)  # fmt: skip
def test_the_day_is_the_clocks_that_is_given(epoch: str, ago: int, day: str) -> None:
    assert console.day({"SOURCE_DATE_EPOCH": epoch}, ago=ago) == day


@pytest.mark.parametrize("epoch", ["", "x", "-1", "²", "999999999999"])
def test_what_is_no_clock_is_none(epoch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "time", SimpleNamespace(time=lambda: 0.0, strftime=_strftime, gmtime=_gmtime))

    assert console.day({"SOURCE_DATE_EPOCH": epoch}) == "1970-01-01"


def _gmtime(seconds: float) -> float:
    return seconds


def _strftime(_: str, seconds: float) -> str:
    return {0.0: "1970-01-01"}.get(seconds, "another day")


def test_json_has_the_tables_day_and_its_age(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1764000000")

    ages = {day: json.loads(console.dated({"a": 1}, day))["table"] for day in ("2025-11-20", "2025-12-31")}
    none = json.loads(console.dated({"a": 1}, None))

    assert {day: table["age_days"] for day, table in ages.items()} == {"2025-11-20": 4, "2025-12-31": 0}
    assert none == {"a": 1, "table": {"date": None, "age_days": None}}


@pytest.mark.parametrize(
    ("columns", "width"),
    [("80", 80), ("1", 1), ("99999", 99999), ("0", None), ("-1", None), ("100000", None), ("²", None)],
)
def test_the_width_is_that_of_the_variable_and_elsewhere_none(columns: str, width: int | None) -> None:
    assert console.width(io.StringIO(), {"COLUMNS": columns}) == width


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

    status = console.failed(failure, "url", ["--verbose", "--", "--json"], "https://nowhere.invalid")
    out, err = capsys.readouterr()
    assert (status, out) == (failure.exit_status, "https://nowhere.invalid\n")
    assert "torchpick: platform: linux-x86_64, glibc 2.36" in err
    assert err.endswith("error: it hangs\n\nhint: reboot\n")

    assert console.failed(failure, "url", ["--json"], None) == failure.exit_status
    out, err = capsys.readouterr()
    assert (json.loads(out)["error"]["code"], err) == ("DRIVER_HANGS", "")
