"""A real Ray cluster on loopback. Ray is large, so it is taken from where RAY_PYTHON names a Python that has it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchpick

RAY_PYTHON = os.environ.get("RAY_PYTHON", "")
pytestmark = [
    pytest.mark.process,
    pytest.mark.long,
    pytest.mark.skipif(not RAY_PYTHON, reason="RAY_PYTHON names no Python with ray"),
]
SOURCE = str(Path(torchpick.__file__).parents[1])
PORT = "6399"


def ray(*words: str) -> None:
    env = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    subprocess.run([str(Path(RAY_PYTHON).parent / "ray"), *words], env=env, timeout=90, check=True, capture_output=True)


@pytest.fixture
def cluster() -> Iterator[str]:
    ray("start", "--head", "--node-ip-address=127.0.0.1", f"--port={PORT}", "--num-cpus=1", "--include-dashboard=false")
    try:
        yield f"127.0.0.1:{PORT}"
    finally:
        ray("stop", "--force")


def ask(*words: str, path: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"}
    argv = [RAY_PYTHON, "-m", "torchpick", "fleet", *words, "--python", "3.12", "--json"]
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=150, check=False)


def test_a_task_on_each_node(cluster: str, tmp_path: Path) -> None:
    program = tmp_path / "there"
    program.write_text(
        f"#!/bin/sh\nexport PYTHONPATH={SOURCE} TORCHPICK_GPU=a100 TORCHPICK_DRIVER=580.95.05\n"
        f'exec {RAY_PYTHON} -m torchpick "$@"\n'
    )
    program.chmod(0o755)

    done = ask(f"ray:{cluster}", "--program", str(program), path=SOURCE)
    answer = json.loads(done.stdout)

    assert done.returncode == 0, done.stdout + done.stderr
    assert [(crowd["count"], crowd["gpus"][0]["arch"]) for crowd in answer["machines"]] == [(1, "sm_80")]


def test_a_cluster_that_is_not_there_is_said_in_time() -> None:
    done = ask("ray:127.0.0.1:1", "--timeout", "15", path=SOURCE)

    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["text"].startswith("ray: ")
