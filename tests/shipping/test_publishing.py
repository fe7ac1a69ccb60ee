"""The last steps of a release, as they are run again after one that failed, and the program that must answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shipping import steps

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text()
pytestmark = pytest.mark.process


def run(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """One step of a release, with the files that it has."""
    given = {"GITHUB_REF_NAME": "v1.2.0", "GH_TOKEN": "none"}
    first = [folder / "bin", Path(sys.executable).parent]
    return steps.bash(steps.script(WORKFLOW, f" name: {name}\n"), folder, first, given, check=False)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("bin", "dist"):
        (tmp_path / name).mkdir()
    for name in ("some.whl", "some.tar.gz", "some.cdx.json"):
        (tmp_path / "dist" / name).touch()
    steps.stand_in_for_gh(tmp_path / "bin" / "gh", tmp_path / "asked")
    return tmp_path


def test_what_failed_may_be_run_again(files: Path) -> None:
    for _ in range(2):
        for name in ("Keep what the index takes apart", "Add the files to the release"):
            assert run(name, files).returncode == 0

    assert {each.name for each in (files / "upload").iterdir()} == {"some.whl", "some.tar.gz"}
    asked = (files / "asked").read_text().splitlines()
    assert [line.split()[1] for line in asked] == ["view", "create", "upload", "edit", "view", "upload", "edit"]
    assert "--draft" in asked[1].split(), "the page appears with all files"
    assert asked[5] == "release upload v1.2.0 dist/some.cdx.json dist/some.tar.gz dist/some.whl --clobber"
    assert asked[6] == "release edit v1.2.0 --draft=false"
    assert "          skip-existing: true\n" in WORKFLOW


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("print('--index-url some torch==2.14.1+cu126')", 0),
        ("print('--index-url some torch==')", 1),
        ("raise SystemExit(1)", 1),
    ],
)
def test_the_one_file_program_must_name_a_torch(files: Path, program: str, status: int) -> None:
    (files / "dist" / "torchpick.pyz").write_text(program)

    assert run("Test the one-file program", files).returncode == status
