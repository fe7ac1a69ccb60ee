"""What is said where no build runs on all of several machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.cli import main

CASES = json.loads(Path(__file__).with_name("refusals.json").read_text("utf-8"))

LINUX = {"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12"}}
AMPERE = {**LINUX, "driver": {"version": "580.95.05"}, "gpus": [{"arch": "sm_86"}]}
KEPLER = {**LINUX, "driver": {"version": "470.256.02"}, "gpus": [{"arch": "sm_35"}]}
MAC = {"platform": {"os": "macos", "cpu": "arm64", "macos": "15.0"}, "python": {"version": "3.12"}}


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        ([AMPERE, MAC], "what runs on one of them does not run on another"),
        ([KEPLER, MAC], "the nearest is "),
    ],
)
def test_machines_with_builds_of_their_own_are_told_apart_from_one_without(
    machines: list[dict[str, object]], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet.jsonl"
    fleet.write_text("".join(json.dumps(each) + "\n" for each in (*machines, LINUX)), "utf-8")

    assert main(["url", "--machine", str(fleet)]) == 3

    first, *more = capsys.readouterr().err.splitlines()
    assert "1 machine left out: no GPU" in " ".join(more)
    assert first.startswith("error: no PyTorch build runs on all 2 machines")
    assert said in first
    assert not first.endswith(", ")


@pytest.mark.parametrize(("words", "said"), CASES["why_what_was_asked_for_does_not_run_comes_first"])
def test_why_what_was_asked_for_does_not_run_comes_first(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, "--platform", "linux-x86_64", "--python", "3.12"]) == 3

    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("error: torch 2.")
    assert said in first


def test_environments_for_one_machine_are_said_without_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.json"
    gpus = [{"arch": "sm_61"}, {"arch": "sm_120"}]
    file.write_text(json.dumps({**AMPERE, "name": "node1", "gpus": gpus}), "utf-8")

    assert main(["url", "torch>=2.15", "--machine", str(file)]) == 3

    assert "node1" not in capsys.readouterr().err
    file.write_text(json.dumps({**LINUX, "gpus": gpus[:1]}), "utf-8")
    assert main(["url", "--machine", str(file)]) == 0
    assert "no driver was specified" in capsys.readouterr().err  # a note of its own


@pytest.mark.parametrize(
    ("platform", "oldest"),
    [("linux-x86_64", "1.7.1"), ("windows-x86_64", "2.13.0")],  # there they are of AMD's own index alone
)
def test_a_gpu_that_no_build_has_code_for_is_told_since_when(
    platform: str, oldest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["url", "--gpu", "gfx803", "--platform", platform, "--python", "3.12"]) == 3

    said = (
        f"hint: no published build from torch {oldest} on is known to run on gfx803: an older release, or torch built"
    )
    assert said in capsys.readouterr().err
