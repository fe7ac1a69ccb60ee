"""A pipe in the place of a file: whatever the program reads, it waits for nobody who may never write.

Each command first runs with true files, which tells the names that it reads; then each name in turn is a pipe.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.project import COMMANDS, GPU, words_of

pytestmark = [pytest.mark.process, pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")]
WITHIN_S = 30
# Tells every file that is opened, and those that are asked for and absent, on a line of stderr that begins so.
OPENED = "opened: "
PROGRAM = f"""
import os, sys
def hear(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        os.write(2, f"{OPENED}{{os.fspath(arguments[0])}}\\n".encode(errors="replace"))
sys.addaudithook(hear)
from torchpick.cli import main
sys.exit(main(sys.argv[1:]))
"""
QUICK = ("doctor", "install")


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    words = words_of(command, folder)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True, text=True, check=False, timeout=WITHIN_S, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def names_read(folder: Path, command: str) -> list[Path]:
    """The files in the folder that the command opens, those included that are not there."""
    lines = run(folder, command).stderr.splitlines()
    opened = {os.path.abspath(line.removeprefix(OPENED)) for line in lines if line.startswith(OPENED)}
    paths = (Path(name) for name in sorted(opened) if Path(name).is_relative_to(folder))
    # Python itself waits for its pyvenv.cfg, until the deadline of whoever asked it.
    skipped = (".torchpick-", "pyvenv.cfg")
    return [path for path in paths if not path.is_dir() and not path.name.startswith(skipped)]


@pytest.mark.parametrize(
    "command", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in COMMANDS]
)
def test_no_command_waits_for_a_pipe_in_a_files_place(
    folder: Path, command: str, count: Callable[[str, int, int], None]
) -> None:
    run(folder, command)  # what it leaves in the cache is read by the next
    ended = 0
    names = names_read(folder, command)
    assert names
    for path in names:
        kept = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)

        done = run(folder, command)

        assert "Traceback" not in done.stderr, (path, done.stderr)
        assert done.returncode in range(5), (path, done.stderr)
        ended += 1
        path.unlink(missing_ok=True)
        if kept is not None:
            path.write_bytes(kept)
    count(f"pipes read by {command}", len(names), ended)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty"])
@pytest.mark.parametrize("words", [("install", "--dry-run", "-r"), ("--machine",), ("explain",), ("inspect", "--from")])
def test_no_device_is_read(folder: Path, words: tuple[str, ...], device: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torchpick", *words, device, *(GPU if words[0] == "install" else ())],
        capture_output=True, text=True, check=False, timeout=WITHIN_S, cwd=folder, start_new_session=True,
    )  # fmt: skip

    assert done.returncode == 2
    assert device in done.stderr


def test_a_pipe_of_the_shell_is_read(folder: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m torchpick url --machine <(cat machines.json)"],
        capture_output=True, text=True, check=False, timeout=WITHIN_S, cwd=folder,
    )  # fmt: skip

    assert "torch==" in done.stdout, done.stderr
