"""Files of the current folder, those above it and an environment: none runs, whatever its name, whoever is started."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.attacks.project import COMMANDS, GPU, words_of
from tests.process.install.conftest import GTX_1080_TI, World
from tests.process.install.installers import NEWEST
from torchpick import cli

pytestmark = [pytest.mark.process, pytest.mark.skipif(os.name == "nt", reason="the programs planted are shell scripts")]
# As the command is started; `python -m torchpick` and `python -c` themselves look into the current folder first.
START = "import sys; del sys.path[0]; from torchpick.cli import main; sys.exit(main())"
OTHERS = {"torch", "pynvml", "pip", "uv", "ray", "numpy", "sitecustomize", "usercustomize", "setuptools", "ensurepip"}
MODULES = sorted({*sys.stdlib_module_names, *packages_distributions(), *OTHERS} - {"__init__", "__main__"})
PROGRAMS = (
    *("python", "python3", "pip", "pip3", "uv", "git", "ssh", "pdsh", "srun", "scontrol", "kubectl", "ray"),
    *("nvidia-smi", "nvcc", "rocminfo", "ldconfig", "ldd", "cuobjdump", "openssl", "sh", "bash", "cmd.exe", "uv.exe"),
)
SETTINGS = {
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/planted\n",
    "pip.ini": "[global]\nindex-url = http://127.0.0.1:9/planted\n",
    "setup.py": "open('MARK', 'a').write('setup.py\\n')\n",
    "planted.pth": "import os; open('MARK', 'a').write('pth\\n')\n", "python._pth": ".\n", "pyvenv.cfg": "home = .\n",
    ".pythonrc": "open('MARK', 'a').write('rc\\n')\n",
}  # fmt: skip
HERE = {
    **{name: words for name, words in COMMANDS.items() if name != "hosts"},
    "detect": ("detect",), "completion": ("completion", "bash"), "bare": (), "ssh": ("fleet", "ssh:localhost"),
    "ray": ("fleet", "ray:"), "matrix": ("matrix", *GPU), "arch": ("arch", "--for", "nvcc", *GPU),
    "run": ("run", "--offline", *GPU, "true"),
}  # fmt: skip
QUICK = ("bare", "doctor", "install", "ray")


def planted(place: Path, mark: Path) -> None:
    """A file under every name that might be looked for; whatever runs leaves its name."""
    for name in MODULES:
        (place / f"{name}.py").write_text(f"open({str(mark)!r}, 'a').write('{name}.py\\n')\n", "utf-8")
    for name in PROGRAMS:
        (place / name).write_text(f"#!/bin/sh\necho {name} >> '{mark}'\n", "utf-8")
        (place / name).chmod(0o755)
    for name, text in SETTINGS.items():
        (place / name).write_text(text.replace("MARK", str(mark)), "utf-8")
    for package in (place / "venv").glob("lib/*/site-packages/*/__init__.py"):
        package.write_text(f"open({str(mark)!r}, 'a').write('{package.parent.name}, installed\\n')\n", "utf-8")


@pytest.fixture
def below(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder below the project, with the project's files; both are full of what wants to run."""
    (folder / "below").mkdir()
    for path in folder.iterdir():
        if path.name != "below":
            (folder / "below" / path.name).symlink_to(path)
    mark = folder / "ran"
    planted(folder, mark)
    planted(folder / "below", mark)
    monkeypatch.chdir("/")  # what the test itself starts
    (folder.parent / "start.py").write_text(START, "utf-8")
    return folder / "below"


def ran(below: Path) -> list[str]:
    mark = below.parent / "ran"
    return sorted(set(mark.read_text("utf-8").splitlines())) if mark.exists() else []


def test_what_is_planted_runs_where_somebody_looks_into_the_folder(below: Path) -> None:
    (below / "look.py").write_text("import torch, json", "utf-8")

    for line in ([sys.executable, str(below / "look.py")], [str(below / "nvidia-smi")]):
        subprocess.run(line, cwd=below, check=False, timeout=60, capture_output=True)

    assert {*ran(below)} >= {"torch.py", "json.py", "nvidia-smi"}


@pytest.mark.parametrize(
    "command", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in HERE]
)
def test_nothing_of_the_folder_runs(below: Path, command: str, count: Callable[[str, int, int], None]) -> None:
    words = words_of(command, below.parent) if command in COMMANDS else HERE[command]

    done = subprocess.run(
        [sys.executable, str(below.parents[1] / "start.py"), *words],
        cwd=below, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip

    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in range(5), done.stderr
    count(
        f"files of the folder and the one above it by {command}",
        2 * (len(MODULES) + len(PROGRAMS)),
        2 * (len(MODULES) + len(PROGRAMS)) - len(ran(below)),
    )
    assert ran(below) == []


INSTALLING = {
    "install": ("install", "torch", "torchvision"), "verify": ("install", "torch", "--verify"),
    "prove": ("install", "torch", "--prove"), "lock": ("lock", "torch", "-o", "pylock.toml"), "env": ("env",),
    "pin": ("pin",), "run": ("run", "true"),
}  # fmt: skip


def test_every_command_is_tried() -> None:
    assert {words[0] for words in (*HERE.values(), *INSTALLING.values()) if words} >= {*cli.COMMANDS} - {"pick"}


@pytest.mark.parametrize("newest", NEWEST)
@pytest.mark.parametrize("command", [pytest.param(name, marks=pytest.mark.long) for name in INSTALLING])
def test_nothing_of_the_folder_runs_with_real_tools(
    world: World, below: Path, command: str, newest: str, tmp_path: Path, count: Callable[[str, int, int], None]
) -> None:
    python = world.installers.environment(tmp_path / "real", newest)
    installer = ("--installer", newest) if command in ("install", "verify", "prove", "lock") else ()
    name, *rest = INSTALLING[command]
    told = [*GTX_1080_TI, "--python", str(python), *installer]

    done = world.run([sys.executable, str(below.parents[1] / "start.py"), name, *told, *rest], cwd=below, status=None)

    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in ((3,) if command == "verify" else (0, 4)), done.stderr  # the stand-in has no torch.cuda
    count(f"files of the folder by {command} with {newest}", 2 * len(MODULES), 2 * len(MODULES) - len(ran(below)))
    assert ran(below) == []
