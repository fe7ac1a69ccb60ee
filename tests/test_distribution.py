"""The artefact under test: sdist and wheel are built once, and the installed wheel is asked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests import documents
from torchpick.model import VERSION

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.process

BUILD = """
import sys
from hatchling import build
print(getattr(build, sys.argv[1])(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("dist")
    names = []
    for hook in ("build_sdist", "build_wheel"):
        done = subprocess.run(
            [sys.executable, "-c", BUILD, hook, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=120,
            check=True,
        )  # fmt: skip
        names.append(done.stdout.split()[-1])
    return folder / names[0], folder / names[1]


def test_the_wheel_holds_the_package_and_the_table_and_nothing_else(artefacts: tuple[Path, Path]) -> None:
    names = zipfile.ZipFile(artefacts[1]).namelist()
    roots = {name.split("/")[0] for name in names}

    assert roots == {"torchpick", f"torchpick_cli-{VERSION}.dist-info"}
    assert "torchpick/py.typed" in names
    assert "torchpick/compat/torch-2.15.0.json" in names
    assert "torchpick/compat/index/linux-x86_64.json" in names
    assert not [name for name in names if "tests" in name or name.endswith(".pyc")]


def test_the_table_adds_at_most_600_kb_to_the_wheel(artefacts: tuple[Path, Path]) -> None:
    files = zipfile.ZipFile(artefacts[1]).infolist()

    assert sum(file.compress_size for file in files if file.filename.startswith("torchpick/compat/")) <= 600_000


def test_the_page_of_the_package_has_whole_links(artefacts: tuple[Path, Path]) -> None:
    """It has no files beside it; README's own are relative, for any checkout."""
    archive = zipfile.ZipFile(artefacts[1])
    page = archive.read(f"torchpick_cli-{VERSION}.dist-info/METADATA").decode().partition("\n\n")[2]
    targets = re.findall(r"\]\(([^)\s]+)\)", page)

    assert [target for target in targets if not target.startswith("https://")] == []
    assert any(
        re.match(r"https://raw\.[^/]+/\w+/torchpick/main/docs/pictures/timeline\.svg$", each) for each in targets
    )
    assert any(re.match(r"https://github\.com/\w+/torchpick/blob/main/docs/users\.md$", each) for each in targets)


def test_the_sdist_can_be_tested(artefacts: tuple[Path, Path]) -> None:
    with tarfile.open(artefacts[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "compat/drivers.json", "scripts/test"} <= names
    assert "tests/test_commands.py" in names
    linked = {
        (page.parent / path).resolve().relative_to(ROOT).as_posix()
        for page in documents.pages(ROOT)
        for target in documents.links(page.read_text("utf-8"))
        if "://" not in target and (path := target.partition("#")[0])
    }
    assert linked <= {*names, "."}, "what a page links to is there"


def test_the_installed_wheel_answers(artefacts: tuple[Path, Path], tmp_path: Path) -> None:
    """Both command names and `python -m`, away from the checkout."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=120)
    python = venv / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index",
         "--disable-pip-version-check", str(artefacts[1])],
        check=True, timeout=120,
    )  # fmt: skip
    told = ["--json", "--gpu", "GTX 1080 Ti", "--driver", "580.95.05", "--platform", "linux-x86_64", "--python", "3.12"]

    for command in (
        [str(venv / "bin" / "torchpick")],
        [str(venv / "bin" / "torchpick-cli")],
        [str(python), "-m", "torchpick"],
    ):
        done = subprocess.run([*command, *told], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
        assert json.loads(done.stdout)["pick"]["version"] == "2.14.1+cu126"
    # It stands there without its dependencies: what needs one says which.
    torchpick = str(venv / "bin" / "torchpick")
    for words, status in (
        (["url", *told[1:]], 0),
        (["detect"], 0),
        (["doctor"], 3),
        (["plan", "vllm"], 1),
        (["lock"], 1),
    ):
        done = subprocess.run(
            [torchpick, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, "Traceback" in done.stderr) == (status, False), done.stderr
        if status == 1:
            assert "'\n\nhint: install torchpick with its dependencies" in done.stderr
