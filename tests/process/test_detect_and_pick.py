"""From the driver's answer to the pick, through real processes: the stories a person would tell."""

from __future__ import annotations

import json
import re
from pathlib import Path

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


def test_list_does_not_decide_so_it_only_notes_the_silent_driver(libraries: Path) -> None:
    done = run("torchpick", "list", env=environ(libraries, "nvml.init 18\ncuda.init 803"))

    assert done.returncode == 0
    assert "reboot" in done.stderr
    assert re.search(r"(?m)^2\.14\.1 +.*\bcu126\b", done.stdout)
