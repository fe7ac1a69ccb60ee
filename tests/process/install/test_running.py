"""The installer as a child: its status, its signals, its failures are its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from tests.process.install.conftest import GTX_1080_TI, World
from tests.process.install.test_install import kind

WORDS = ("install", "torch", "--installer", "uv", *GTX_1080_TI)


def stand_in(world: World, script: str) -> dict[str, str]:
    """A uv that does what the script says."""
    program = world.folder / "stand-in-uv"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    return {"UV": str(program)}


def test_a_failing_installer_gives_its_own_status_and_words(world: World, installer: str) -> None:
    python = world.environment(installer)

    done = world.install(
        "torch==2.14.1", "--installer", kind(installer), "--", "--no-index", python=python, status=None
    )

    assert done.returncode == 1
    assert "filelock" in done.stderr
    assert f"{kind(installer)} exited with status 1" in done.stderr


def test_a_wheel_host_that_lacks_what_was_promised_is_named(world: World, installer: str) -> None:
    python = world.environment(installer)
    world.wheels("download.pytorch.org").clear()

    done = world.install("torch", "--installer", kind(installer), python=python, status=1)

    assert "https://download.pytorch.org/whl/cu126" in done.stderr
    assert "--index-base URL" in done.stderr
    assert world.installed(python) == {}, "it fell back to another index"


def start(world: World, python: Path, script: str) -> subprocess.Popen[str]:
    environ = {**world.environ, **stand_in(world, script)}
    words = [*world.torchpick_without_its_uv, *WORDS, "--python", str(python)]
    child = subprocess.Popen(
        words, env=environ, cwd=world.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    world.started.append(child)
    return child


def wait_for(file: Path) -> None:
    until = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < until, file
        time.sleep(0.02)


def test_an_installer_that_leaves_torch_out_is_found_out(world: World) -> None:
    python = world.environment("uv")

    child = start(world, python, "exit 0")
    _, err = child.communicate(timeout=30)

    assert child.returncode == 3
    assert "there is no torch in the environment where 2.14.1+cu126 was needed" in err
    assert "hint: `torchpick install torch` puts it there" in err


def test_its_death_by_a_signal_is_ours(world: World) -> None:
    python = world.environment("uv")

    child = start(world, python, "kill -SEGV $$")
    _, err = child.communicate(timeout=30)

    assert child.returncode == -signal.SIGSEGV
    assert "hint: the same command again finishes it" in err
    assert "--index-base" not in err, "no index is to blame where memory ran out"


def test_an_interrupt_of_the_group_ends_both_and_leaves_nothing_half_written(world: World) -> None:
    python = world.environment("uv")
    up = world.folder / "up"

    child = start(world, python, f"trap 'exit 130' INT; touch {up}; while :; do sleep 0.05; done")
    wait_for(up)
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=30)

    assert child.returncode == 130
    assert "Traceback" not in err
    assert not list((world.folder / "cache").rglob("*.part"))


def test_it_has_the_terminal(world: World) -> None:
    """Its stdout and stdin are ours, so its progress bar is its own."""
    import pty

    python = world.environment("uv")
    (site,) = (python.parent.parent / "lib").glob("python*/site-packages")
    put = f"mkdir '{site}/torch-2.14.1+cu126.dist-info'"
    environ = {**world.environ, **stand_in(world, f"test -t 1 && test -t 0 && echo has the terminal && {put}")}
    words = [*world.torchpick_without_its_uv, *WORDS, "--python", str(python)]
    leader, follower = pty.openpty()
    child = subprocess.Popen(
        words, env=environ, cwd=world.folder, stdin=follower, stdout=follower, stderr=subprocess.DEVNULL
    )
    os.close(follower)
    seen = b""
    while b"has the terminal" not in seen:
        try:
            more = os.read(leader, 1024)
        except OSError:
            break
        if not more:
            break
        seen += more
    os.close(leader)

    assert child.wait(30) == 0
    assert b"has the terminal" in seen


def test_an_interrupted_run_is_called_that_and_blames_no_index(world: World) -> None:
    """Pip ends an interrupted run with status 1, as any that failed."""
    python = world.environment("uv")
    up = world.folder / "up"

    child = start(world, python, f"trap 'exit 1' INT; touch {up}; while :; do sleep 0.05; done")
    wait_for(up)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=30)

    assert child.returncode == 1
    assert "error: interrupted while uv was at work" in err
    assert "torchpick doctor" in err
    assert "--index-base" not in err
