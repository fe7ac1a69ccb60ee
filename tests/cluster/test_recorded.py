"""What a real Slurm 22.05, OpenSSH 9.2 and Ray 2.60 said, failures included, is given to `torchpick fleet` again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from torchpick.cli import main

pytestmark = pytest.mark.process
RECORDED = Path(__file__).parent / "recorded"
SAID = json.loads((RECORDED / "slurm.json").read_text("utf-8"))
SRUN = """\
#!/bin/sh
case "$*" in
  *--partition=apart*) said=apart ;;
  *--nodelist=n12\\ *) said=busy ;;
  *) said=all ;;
esac
cat {folder}/$said.stderr >&2
cat {folder}/$said.stdout
exit $(cat {folder}/$said.status)
"""


# A status of null is one that had to be stopped; no real ssh said `endless`, which is stopped for all that it prints.
SSH = """\
#!/bin/sh
while [ "$1" != -- ]; do shift; done
cat "{folder}/$2.stderr" >&2
cat "{folder}/$2.stdout"
status=$(cat "{folder}/$2.status")
[ "$status" != None ] || exec sleep 600
[ "$status" != endless ] || exec yes
exit "$status"
"""
# As much of ray as a program of ours asks for.
RAY = """\
import json
SAID = json.loads(open({said!r}).read())
def init(address, **quiet):
    assert (address, quiet) == ("auto", dict(log_to_driver=False, logging_level="ERROR", configure_logging=False))
def nodes(): return SAID["nodes"]
def remote(**words):
    assert words == dict(num_cpus=0, max_retries=0)
    return lambda function: Task()
def wait(tasks, num_returns, timeout):
    assert num_returns == len(tasks) and timeout > 10
    return tasks, []
class Task:
    def options(self, scheduling_strategy):
        self.remote = lambda command, limit_s: scheduling_strategy
        return self
def get(node, timeout):
    said = SAID["results"][node]
    if "raises" in said:
        raise RuntimeError(said["raises"])
    return said["stdout"], said["stderr"]
"""


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any], **programs: str) -> None:
    """These on PATH, and beside them what is to be said."""
    for name, streams in said.items():
        for stream, text in streams.items():
            (folder / f"{name}.{stream}").write_text(str(text), "utf-8")
    (folder / "bin").mkdir()
    for name, text in programs.items():
        (folder / "bin" / name).write_text(text.format(folder=folder), "utf-8")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


@pytest.fixture
def _slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scontrol = "#!/bin/sh\ncat {folder}/scontrol.stdout\n"
    programs(tmp_path, monkeypatch, SAID, scontrol=scontrol, srun=SRUN, scancel="#!/bin/sh\n")


def ask(
    capsys: pytest.CaptureFixture[str], *words: str, source: str = "slurm", program: str = "/opt/site/torchpick-here"
) -> tuple[int, dict[str, Any]]:
    status = main(["fleet", source, "--program", program, "--python", "3.12", "--json", *words])
    return status, json.loads(capsys.readouterr().out)


def left_out(answer: dict[str, Any]) -> dict[str, str]:
    return {part["hosts"]: part["code"] for part in answer["left_out"]}


@pytest.mark.usefixtures("_slurm")
def test_every_state_of_a_node_has_its_own_cause(capsys: pytest.CaptureFixture[str]) -> None:
    status, answer = ask(capsys)

    assert status == 0
    assert [(crowd["hosts"], crowd["count"]) for crowd in answer["machines"]] == [("n[1-3,13]", 4), ("n[4-5]", 2)]
    assert left_out(answer) == {
        "n6": "NO_ANSWER", "n[7-8]": "NO_GPU_LEFT_OUT", "n9": "NO_TORCHPICK", "n10": "NO_GPU_GIVEN",
        "n11": "NODE_DOWN", "n12": "BUSY",
    }  # fmt: skip


@pytest.mark.usefixtures("_slurm")
def test_a_node_that_others_hold_in_part_is_busy_by_sruns_own_word(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "scontrol.stdout").write_text(
        SAID["scontrol"]["stdout"].replace("State=ALLOCATED", "State=MIXED"), "utf-8"
    )

    _, answer = ask(capsys)
    [busy] = [part for part in answer["left_out"] if part["code"] == "BUSY"]
    assert (busy["hosts"], busy["text"].endswith("Requested nodes are busy")) == ("n12", True)
    _, answer = ask(capsys, "--driver", "580.95.05")
    assert "n12" in [crowd["hosts"] for crowd in answer["machines"]]
    assert "n12" not in left_out(answer)


def test_each_host_has_the_cause_that_ssh_gives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = json.loads((RECORDED / "ssh.json").read_text("utf-8"))
    said["endless"] = {"stdout": "", "stderr": "", "status": "endless"}
    programs(tmp_path, monkeypatch, said, ssh=SSH)
    (tmp_path / "hosts").write_text("\n".join(said), "utf-8")

    status, answer = ask(capsys, "--timeout", "6", program="tp", source=f"ssh:{tmp_path / 'hosts'}")
    texts = {part["hosts"]: part["text"] for part in answer["left_out"]}

    assert status == 0
    assert [crowd["hosts"] for crowd in answer["machines"]] == ["ok[1-2]"]
    assert left_out(answer) == {
        "bare": "NO_TORCHPICK",
        "hangs": "LOGIN_HANGS",
        **dict.fromkeys(("stuck", "endless", "nowhere", "denied", "unknown", "newkey"), "NO_ANSWER"),
    }
    assert texts["endless"] == "it prints more than 65536 bytes"
    assert texts["denied"].endswith("Permission denied (publickey,password,keyboard-interactive).")
    assert texts["newkey"] == "Host key verification failed."
    assert texts["unknown"].endswith("Name or service not known")


def test_each_node_has_the_cause_that_ray_gives(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    strategies = tmp_path / "modules" / "ray" / "util"
    strategies.mkdir(parents=True)
    (strategies.parent / "__init__.py").write_text(RAY.format(said=str(RECORDED / "ray.json")), "utf-8")
    (strategies / "scheduling_strategies.py").write_text(
        "def NodeAffinitySchedulingStrategy(node_id, soft): return soft or node_id", "utf-8"
    )
    monkeypatch.syspath_prepend(strategies.parents[1])

    status, answer = ask(capsys, source="ray")
    texts = {part["hosts"]: part["text"] for part in answer["left_out"]}

    assert status == 0
    # One that came back after its death is listed as dead as well.
    assert [(crowd["hosts"], crowd["count"]) for crowd in answer["machines"]] == [("again,ok", 2)]
    assert left_out(answer) == {
        "bare": "NO_TORCHPICK",
        **dict.fromkeys(("hangs", "dies"), "NO_ANSWER"),
        **dict.fromkeys(("killed", "stopped"), "NODE_DOWN"),
    }
    assert texts["killed"] == "Ray reports it as dead: health check failed due to missing too many heartbeats"
    assert texts["dies"].startswith("The worker died unexpectedly")
    assert texts["hangs"].endswith("timed out after 12 seconds")
