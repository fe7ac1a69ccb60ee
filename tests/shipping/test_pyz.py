"""The one-file program, built and run: from a folder that cannot be written, away from the checkout."""

from __future__ import annotations

import ast
import json
import os
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import pytest

from scripts.shipping import building, pyz

ROOT = Path(__file__).parents[2]
MACHINE = ["--gpu", "GTX 1080 Ti", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]
MOMENT = "1795305600"
pytestmark = [pytest.mark.process, pytest.mark.network]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pyz")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SOURCE_DATE_EPOCH", MOMENT)
            made = pyz.build(building.distributions(ROOT, folder / "dist")[1], folder / "torchpick.pyz")
    except SystemExit as error:
        pytest.skip(f"the package index gave no dependencies: {error}")
    made.file.chmod(stat.S_IRUSR | stat.S_IXUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    return made.file


def run(program: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """As a user with an empty home that is no writable one."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-I", str(program), *words],
        cwd=home, env=environ, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_it_decides_with_the_table_inside(program: Path, tmp_path: Path) -> None:
    done = run(program, tmp_path, "--json", *MACHINE)

    assert json.loads(done.stdout)["pick"]["version"] == "2.14.1+cu126"
    assert done.stderr == ""


def test_it_is_found_by_whatever_path_it_is_started(program: Path, tmp_path: Path) -> None:
    roundabout = program.parent / ".." / program.parent.name / program.name

    assert "cu126" in run(roundabout, tmp_path, "url", *MACHINE).stdout


@pytest.mark.parametrize(
    "words",
    [
        ["detect", "--json"], ["list", "--all", *MACHINE], ["matrix", "--html", "page.html"],
        ["extras", "torch>=2.5"], ["arch", "--for", "nvcc", *MACHINE],
        ["explain", "no kernel image is available for execution on the device", *MACHINE[:4]],
        ["install", "torch", "--dry-run", *MACHINE[:4], "--python", sys.executable, "--", "--break-system-packages"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_kind_of_command_finds_its_files(program: Path, tmp_path: Path, words: list[str]) -> None:
    done = run(program, tmp_path, *words)

    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert done.stdout


def test_a_driver_is_asked_in_a_child_that_finds_the_program(program: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(program)!r}); import torchpick.machine.nvidia as m; print(m.__file__)"
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )

    assert done.stdout.startswith(str(program))


def test_an_older_python_is_told_which_one_is_needed(program: Path, tmp_path: Path) -> None:
    with ZipFile(program) as archive:
        ast.parse(archive.read("__main__.py"), feature_version=(3, 6))
    code = f"import runpy, sys; sys.version_info = (3, 6, 15); runpy.run_path({str(program)!r}, {{}}, '__main__')"

    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )

    wanted = f"error: torchpick needs Python 3.10 or later, and {sys.executable} is 3.6\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", wanted)


@pytest.mark.long  # it builds the program once more
def test_the_same_sources_give_the_same_bytes(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was imported in between: the names that a process knows show in the bytecode that it writes."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", MOMENT)
    first = building.distributions(ROOT, tmp_path / "first")
    second = building.distributions(ROOT, tmp_path / "second")
    import_module("scripts.shipping.site")

    again = pyz.build(second[1], tmp_path / program.name).file

    assert building.differences([*first, program], [*second, again]) == []
