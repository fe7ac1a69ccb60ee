"""When the table is too old for a question, and when nothing is said."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from torchpick.cli import main
from torchpick.knowledge import compat

DAY = 86400
TABLE = str(compat.Knowledge({}).rules.date)
REFRESH = "run `torchpick refresh` to read the live index"
URL = ["url", "--gpu", "sm_80", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]


@pytest.mark.parametrize(("age", "words", "said"), [
        (45, [], ""), (46, [], f"note: the table of builds is from {TABLE}, more than 45 days old; {REFRESH}"),
        (46, ["--quiet"], ""), (46, ["--json"], "more than 45 days old"),
        (0, ["torch==2.16.0"],
         f"note: the table from {TABLE} knows no torch 2.16.0 for linux-x86_64; run `torchpick refresh`"),
        (0, ["torch>=2.99"], "knows no torch 2.99"), (0, ["torch~=2.16.1"], "knows no torch 2.16.1"),
        (0, ["torch>=2.10,<2.16"], ""), (0, ["torch==2.14.0"], ""), (0, ["torch==2.15.0"], ""),
        (0, ["torch>=2.15.0.0"], ""), (0, ["torch==2.16.0", "--quiet"], ""),
])  # fmt: skip
def test_the_line_is_for_stderr_alone(
    age: int,
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(
        "SOURCE_DATE_EPOCH", str(((dt.date.fromisoformat(TABLE) - dt.date(1970, 1, 1)).days + age) * DAY)
    )
    main([*URL, *words])
    out, err = capsys.readouterr()

    assert said in err
    assert ("run `torchpick refresh` to read the live index" in err) is bool(said)
    assert "refresh" not in out


MACHINE = URL[1:]


@pytest.mark.parametrize(
    "words",
    [
        MACHINE,
        URL,
        ["list", *MACHINE],
        ["list", "torch==9", *MACHINE],
        ["list", "vllm", *MACHINE],
        ["list", "--companions"],
        ["plan", "torch", *MACHINE],
        ["plan", "torch==9", *MACHINE],
        ["matrix", *MACHINE],
        ["doctor", *MACHINE[:4]],
        ["explain", *MACHINE, "CUDA error: no kernel image is available for execution on the device"],
        ["extras"],
        ["inspect", "packaging", "--gpu", "sm_80"],
        ["fleet", "machines.json"],
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_json_carries_the_tables_day_and_its_age(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = dt.datetime.fromisoformat(f"{TABLE}T00:00:00+00:00")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(known.timestamp()) + 3 * DAY))
    monkeypatch.chdir(tmp_path)
    main(["detect", *MACHINE, "--json"])
    Path("machines.json").write_text(capsys.readouterr().out, "utf-8")

    main([*words, "--json"])

    assert json.loads(capsys.readouterr().out)["table"] == {"date": TABLE, "age_days": 3}
