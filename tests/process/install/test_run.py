"""A command under `torchpick run`: what it installs, where it ends, and what torchpick says of what it cannot reach."""

from __future__ import annotations

import signal
import subprocess

from tests.process.install.conftest import GTX_1080_TI, World


def test_a_plain_installation_in_it_takes_the_pick(world: World, installer: str) -> None:
    python = world.environment(installer)
    start = [world.installers.uv, "pip", "install", "--python", python]
    install = start if installer == "uv" else [python, "-m", "pip", "install"]

    world.torchpick("run", *GTX_1080_TI, *map(str, install), "-U", "accelerate")

    assert world.installed(python)["torch"] == "2.14.1+cu126"
    world.family_is_clean()


def test_its_status_and_its_signals_are_its_own(world: World) -> None:
    assert world.torchpick("run", *GTX_1080_TI, "sh", "-c", "exit 7", status=None).returncode == 7

    words = [*world.torchpick_words, "run", *GTX_1080_TI, "sh", "-c", "trap 'exit 9' TERM; echo on; sleep 60 & wait"]
    with subprocess.Popen(words, env=world.environ, cwd=world.folder, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "on\n"
        started.send_signal(signal.SIGTERM)
        assert started.wait(timeout=30) == 9

    words[-1] = "echo on; kill -TERM $$; sleep 60"
    with subprocess.Popen(words, env=world.environ, cwd=world.folder, stdout=subprocess.PIPE, text=True) as started:
        assert started.wait(timeout=30) == -signal.SIGTERM
