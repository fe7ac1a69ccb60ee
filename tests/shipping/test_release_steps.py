"""The shell steps of a release, run in a clone with a tag; only what needs a service is stood in for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts.shipping.version import version_in
from tests import documents
from tests.fakes import venvs
from tests.shipping import steps

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
pytestmark = [pytest.mark.process, pytest.mark.network, pytest.mark.long]


def step(name: str) -> str:
    return steps.script(WORKFLOW, f" name: {name}\n")


class Runner:
    """A runner that has checked out a tag and has a Python with nothing but pip."""

    def __init__(self, folder: Path, tag: str) -> None:
        self.work, self.asked = folder / "work", folder / "asked"
        self.tools = venvs.with_pip(folder / "python").parent
        steps.stand_in_for_gh(self.tools / "gh", self.asked)
        self.given = {"GITHUB_REF_NAME": tag, "GITHUB_REPOSITORY": "some/project", "GH_TOKEN": "none"}
        self.given["TORCHPICK_COMPAT_DIR"] = ""  # the checkout's own table
        steps.bash(f"git clone -q {ROOT} {self.work}", folder, [], {})

    def bash(self, text: str) -> subprocess.CompletedProcess[str]:
        return steps.bash(text, self.work, [self.tools], self.given, check=False)


def made_ready(runner: Runner) -> None:
    """What CONTRIBUTING asks for before the first tag: the changelog's section, and what the texts then say."""
    changelog = runner.work / "CHANGELOG.md"
    heading = f"## [Unreleased]\n\n## [{version_in(ROOT)}] - 2026-11-30"
    changelog.write_text(changelog.read_text("utf-8").replace("## [Unreleased]", heading), "utf-8")
    [published] = [each for each in documents.blocks(CONTRIBUTING) if "OWNER/torchpick" in each.text]
    said = runner.bash(published.text)
    assert said.returncode == 0, said.stderr
    assert runner.bash("git commit -qam Release").returncode == 0


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path, f"v{version_in(ROOT)}")


def test_a_tag_builds_once_and_that_is_what_is_published(runner: Runner) -> None:
    made_ready(runner)

    built = runner.bash(step("Build twice and compare"))

    assert built.returncode == 0, built.stderr
    assert "byte for byte equal" in built.stdout
    assert built.stdout.count("PASSED") == 2, "twine looked at both archives"
    files = {each.name: each for each in (runner.work / "dist").iterdir()}
    number = version_in(ROOT)
    assert set(files) == {
        f"torchpick_cli-{number}.tar.gz", f"torchpick_cli-{number}-py3-none-any.whl", "torchpick.pyz",
        "torchpick.cdx.json", "table.json", "vectors.jsonl", "table.schema.json", "SHA256SUMS",
    }  # fmt: skip
    answered = runner.bash(step("Test the one-file program"))
    assert answered.returncode == 0, answered.stderr
    assert answered.stdout == "--index-url https://download.pytorch.org/whl/cu126 torch==2.14.1+cu126\n"
    assert runner.bash(step("Keep what the index takes apart")).returncode == 0
    assert {each.name for each in (runner.work / "upload").iterdir()} == {each for each in files if "cli-" in each}
    assert runner.bash(step("Take the notes out of the changelog")).returncode == 0
    assert "### Added" in (runner.work / "notes.md").read_text("utf-8")
    assert runner.bash(step("Add the files to the release")).returncode == 0
    _, created, uploaded, edited = runner.asked.read_text("utf-8").splitlines()
    assert created == f"release create v{number} --draft --verify-tag --title v{number} --notes-file notes.md"
    assert all(f"dist/{name}" in uploaded for name in files)
    assert edited == f"release edit v{number} --draft=false"


def test_what_is_not_ready_builds_nothing(runner: Runner) -> None:
    built = runner.bash(step("Build twice and compare"))

    assert built.returncode == 1
    assert "CHANGELOG.md has no section" in built.stderr
    named = "README.md, docs/tools.md, pyproject.toml, scripts/shipping/selector.py, scripts/shipping/site"
    assert f"an address that stands for your repository's is still in CITATION.cff, {named}.py: " in built.stderr
    assert not (runner.work / "dist").exists()
