"""What a real Slurm 22.05 printed, failures included, is given to `torchpick fleet slurm` again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchpick.cli import main

pytestmark = pytest.mark.process
SAID = json.loads((Path(__file__).parent / "recorded" / "slurm.json").read_text("utf-8"))
SRUN = """\
#!/bin/sh
case "$*" in
  *--gres=*) said=gres ;;
  *--partition=apart*) said=apart ;;
  *--nodelist=n12\\ *) said=busy ;;
  *) said=all ;;
esac
cat {folder}/$said.stderr >&2
cat {folder}/$said.stdout
exit $(cat {folder}/$said.status)
"""


@pytest.fixture(autouse=True)
def _slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in SAID.items():
        for stream, text in said.items():
            (tmp_path / f"{name}.{stream}").write_text(str(text))
    programs = {
        "scontrol": f"#!/bin/sh\ncat {tmp_path}/scontrol.stdout\n",
        "srun": SRUN.format(folder=tmp_path),
        "scancel": "#!/bin/sh\n",
    }
    (tmp_path / "bin").mkdir()
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    status = main(["fleet", "slurm", "--program", "/opt/site/torchpick-here", "--python", "3.12", "--json", *words])
    return status, json.loads(capsys.readouterr().out)


def left_out(answer: dict[str, Any]) -> dict[str, str]:
    return {part["hosts"]: part["code"] for part in answer["left_out"]}


def test_every_state_of_a_node_has_its_own_cause(capsys: pytest.CaptureFixture[str]) -> None:
    status, answer = ask(capsys)

    assert status == 0
    assert [(crowd["hosts"], crowd["count"]) for crowd in answer["machines"]] == [("n[1-3,13]", 4), ("n[4-5]", 2)]
    assert left_out(answer) == {
        "n6": "NO_ANSWER",
        "n[7-8]": "NO_GPU_LEFT_OUT",
        "n9": "NO_TORCHPICK",
        "n10": "NO_GPU_GIVEN",
        "n11": "NODE_DOWN",
        "n12": "BUSY",
    }


def test_a_node_that_others_hold_in_part_is_busy_by_sruns_own_word(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "scontrol.stdout").write_text(SAID["scontrol"]["stdout"].replace("State=ALLOCATED", "State=MIXED"))

    _, answer = ask(capsys)
    [busy] = [part for part in answer["left_out"] if part["code"] == "BUSY"]
    assert (busy["hosts"], busy["text"].endswith("Requested nodes are busy")) == ("n12", True)
    _, answer = ask(capsys, "--driver", "580.95.05")
    assert "n12" in [crowd["hosts"] for crowd in answer["machines"]]
    assert "n12" not in left_out(answer)


def test_a_job_that_no_node_can_have_is_refused_by_sruns_own_word(capsys: pytest.CaptureFixture[str]) -> None:
    status, answer = ask(capsys, "--", "--gres=gpu:1")

    assert status == 1
    assert "Requested node configuration is not available" in answer["error"]["text"]
