"""The day of the first release: one script turns every text, and the pages' own tests hold before and after it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.shipping import published
from scripts.shipping.release import placeholders
from tests.shipping import steps

ROOT = Path(__file__).parents[2]
PLACE = "someone/torchpick"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What git tracks, in a repository of its own."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no git, or no checkout")
    for name in filter(None, listed.stdout.split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name)
    steps.bash("git init -q . && git add -A && git commit -qm start", tmp_path, [], {})
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module, with this folder's own torchpick and scripts."""
    paths = os.pathsep.join([str(folder), str(folder / "src")])
    environ = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


@pytest.mark.process
def test_after_it_every_text_names_the_index_and_the_pages_tests_hold(checkout: Path) -> None:
    done = run(checkout, "scripts.shipping.published", PLACE)

    assert (done.returncode, done.stderr) == (0, "")
    assert placeholders(checkout) == []
    pages = {page: page.read_text(encoding="utf-8") for page in (checkout / "README.md", *checkout.glob("docs/*.md"))}
    assert sum(published.NAMED in text for text in pages.values()) >= 3
    for page, text in pages.items():
        assert not re.search(r"not (yet )?published yet|git clone|/example/torchpick|pip install \.\s", text), page.name
    tests = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", "tests/test_docs.py", "tests/test_language.py")
    assert tests.returncode == 0, tests.stdout[-2000:]


@pytest.mark.process
def test_where_a_text_is_another_than_it_expects_nothing_is_written(checkout: Path) -> None:
    page = checkout / "docs" / "windows.md"
    page.write_text(page.read_text(encoding="utf-8").replace("python -m pip", "py -m pip", 1), encoding="utf-8")

    done = run(checkout, "scripts.shipping.published", PLACE)

    assert done.returncode == 1
    assert "docs/windows.md" in done.stderr
    changed = subprocess.run(["git", "diff", "--name-only"], cwd=checkout, capture_output=True, text=True, check=True)
    assert changed.stdout.split() == ["docs/windows.md"]


@pytest.mark.parametrize("words", [[], ["torchpick"], ["a/b", "c/d"]])
def test_without_a_place_nothing_is_done(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert published.main(words) == 2
    assert "OWNER/NAME" in capsys.readouterr().err
