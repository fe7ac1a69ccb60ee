"""From the driver's answer to the pick, through real processes: the stories a person would tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.nvidia import gpu
from tests.process.test_detect import environ, libraries, pytestmark, run

__all__ = ["libraries", "pytestmark"]  # the fixture and the marks of the neighbour

MIXED = "\n".join((gpu(1, "8.6", "a"), gpu(2, "8.9", "b"), gpu(3, "6.1", "c"), "cuda.order 1,0,2"))


def answer(*words: str, env: dict[str, str]) -> dict[str, object]:
    done = run("torchpick", *words, "--json", "--python", "3.12", "--glibc", "2.35", env=env)
    value: dict[str, object] = json.loads(done.stdout)
    assert done.returncode == value["exit"]
    return value


def test_a_mixed_machine_gets_a_build_for_all_whatever_the_shell_hides(libraries: Path) -> None:
    env = environ(libraries, MIXED, CUDA_VISIBLE_DEVICES="0")

    everything, narrowed = answer(env=env), answer("--gpus", "visible", env=env)

    assert everything["pick"]["version"] == "2.14.1+cu126"  # type: ignore[index]
    assert [fit["via"] for fit in everything["pick"]["fits"]] == ["sm_86", "sm_86", "sm_60"]  # type: ignore[index]
    assert narrowed["pick"]["torch"] == "2.15.0"  # type: ignore[index]


def test_only_some_of_the_gpus(libraries: Path) -> None:
    picked = answer("--only", "0,1", env=environ(libraries, MIXED))["pick"]

    assert [fit["gpu"] for fit in picked["fits"]] == [0, 1]  # type: ignore[index]


def test_a_driver_that_will_not_answer_stops_what_decides_and_url_fails_closed(libraries: Path) -> None:
    env = environ(libraries, "nvml.init 18\ncuda.init 803")

    told = answer(env=env)
    url = run("torchpick", "url", env=env)

    assert (told["status"], told["exit"]) == ("no_answer", 4)
    assert "reboot" in told["error"]["hint"]  # type: ignore[index]
    assert told["machine"]["trouble"]["code"] == "DRIVER_MISMATCH"  # type: ignore[index]
    assert (url.returncode, url.stdout) == (4, "--no-index torch==0+no.build.runs.here\n")
    assert "reboot" in url.stderr


def test_no_hardware_is_the_cpu_build_and_says_how_to_tell_a_gpu() -> None:
    env = environ(None)

    told = answer(env=env)
    spoken = run("torchpick", env=env)

    assert told["pick"]["backend"] == "cpu"  # type: ignore[index]
    assert [note["code"] for note in told["pick"]["notes"]] == ["NO_GPU_FOUND"]  # type: ignore[index]
    assert "there is no GPU" in spoken.stdout
    assert "`--gpu`" in spoken.stdout


def test_many_nodes_one_line_each_are_one_question(libraries: Path) -> None:
    lines = "".join(
        run("torchpick", "detect", "--json", env=environ(libraries, gpu(1, capability))).stdout
        for capability in ("8.0", "8.6", "7.0")
    )
    env = environ(None)

    done = subprocess.run(
        [sys.executable, "-m", "torchpick", "--machine", "-", "--json", "--python", "3.12"],
        input=lines, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    told = json.loads(done.stdout)

    assert (done.returncode, told["machine"], len(told["machines"])) == (0, None, 3)
    assert told["pick"]["version"] == "2.14.1+cu126"
    assert [(fit["machine"], fit["via"]) for fit in told["pick"]["fits"]] == [(0, "sm_80"), (1, "sm_86"), (2, "sm_70")]


def test_a_node_without_an_answer_is_named_by_its_host_and_the_rest_is_answered(libraries: Path) -> None:
    good = run("torchpick", "detect", "--json", env=environ(libraries, gpu(1, "8.0"))).stdout
    bad = run(
        "torchpick", "detect", "--json", env=environ(libraries, "nvml.init 18\ncuda.init 803", SLURMD_NODENAME="n7")
    ).stdout

    def asked(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "torchpick", "--machine", "-", *words],
            input=good + bad, env=environ(None), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    done, strict = asked(), asked("--strict")

    assert (done.returncode, strict.returncode) == (0, 4)
    assert "1 machine did not answer and is left out: n7: " in done.stdout
    assert "n7: " in strict.stderr
    assert "reboot" in strict.stderr


def test_list_does_not_decide_so_it_only_notes_the_silent_driver(libraries: Path) -> None:
    done = run("torchpick", "list", env=environ(libraries, "nvml.init 18\ncuda.init 803"))

    assert done.returncode == 0
    assert "reboot" in done.stderr
    assert re.search(r"(?m)^2\.14\.1 +.*\bcu126\b", done.stdout)


@pytest.mark.parametrize("command", ["list", "url"])
def test_a_machine_file_and_a_told_gpu_contradict_each_other(command: str, tmp_path: Path) -> None:
    done = run("torchpick", command, "--machine", str(tmp_path), "--gpu", "sm_61", env=environ(None))

    assert done.returncode == 2
    assert "both describe the machine" in done.stderr
