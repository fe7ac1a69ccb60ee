"""The steps of a release after its build: nothing but what was built, by who has no more rights than it needs."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shipping import steps

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = (WORKFLOWS / "release.yml").read_text("utf-8")
JOBS = dict(
    zip(*[iter(re.split(r"^  (\w+):\n", WORKFLOW.partition("\njobs:\n")[2], flags=re.MULTILINE)[1:])] * 2, strict=True)
)
TAKE = "Take only what was built"
pytestmark = pytest.mark.process


def run(name: str, folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
    """One step of a release, with the files that it has."""
    first = [folder / "bin", Path(sys.executable).parent]
    given = {"GITHUB_REF_NAME": "v1.2.0", "GH_TOKEN": "none", **given}
    work = folder / "work"
    return steps.bash(steps.script(WORKFLOW, f" name: {name}\n"), work, first, given, check=False)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "work" / "dist").mkdir(parents=True)
    for name in ("dist/some.whl", "dist/some.tar.gz", "dist/some.cdx.json", "notes.md"):
        (tmp_path / "work" / name).write_text(name, "utf-8")
    steps.stand_in_for_gh(tmp_path / "bin" / "gh", tmp_path / "asked")
    return tmp_path


def said(folder: Path) -> str:
    """What the job that builds tells the others."""
    assert run("Say what was built", folder, GITHUB_OUTPUT=str(folder / "out")).returncode == 0
    return (folder / "out").read_text("utf-8").removeprefix("hashes=").strip()


def test_what_was_built_is_taken(files: Path) -> None:
    hashes = said(files)

    done = run(TAKE, files, HASHES=hashes)

    assert (done.returncode, done.stdout.count(": OK\n")) == (0, 4)
    lines = base64.b64decode(hashes).decode().splitlines()
    assert f"{hashlib.sha256(b'notes.md').hexdigest()}  notes.md" in lines


@pytest.mark.parametrize(("name", "text"), [("dist/some.whl", "other"), ("dist/other.whl", "more"), ("notes.md", None)])
def test_another_file_one_more_or_one_less_is_refused(files: Path, name: str, text: str | None) -> None:
    hashes = said(files)
    if text is None:
        (files / "work" / name).unlink()
    else:
        (files / "work" / name).write_text(text, "utf-8")

    assert run(TAKE, files, HASHES=hashes).returncode != 0


def test_each_job_checks_what_it_takes_before_anything_else() -> None:
    verified = set()
    for name, job in JOBS.items():
        uses = re.findall(r"uses: ([\w/-]+)@", job)
        if name == "build":
            assert "actions/download-artifact" not in uses
            continue
        assert "build" in re.findall(r"\w+", re.findall(r"needs: (.*)", job)[0])
        before, _, after = job.partition(f"- name: {TAKE}\n")
        assert "- run:" not in before
        assert "- name:" not in before
        assert "download-artifact" not in after
        assert "actions/checkout" not in uses
        verified.add(steps.script(job, f" name: {TAKE}\n"))

    assert set(JOBS) == {"build", "test", "attest", "index", "page"}
    assert len(verified) == 1


def test_rights_are_split_and_who_has_one_runs_nothing_that_was_built_or_fetched() -> None:
    rights = {name: re.findall(r"^      ([\w-]+: write)", job, re.MULTILINE) for name, job in JOBS.items()}

    assert "\npermissions: {}\n" in WORKFLOW
    assert rights == {
        "build": [], "test": [], "attest": ["id-token: write", "attestations: write"], "index": ["id-token: write"],
        "page": ["contents: write"],
    }  # fmt: skip
    assert [name for name, job in JOBS.items() if "environment: release" in job] == ["index"]
    for name, found in rights.items():
        if found:
            assert not re.search(r"\b(?:python|pip|uv|npm|scripts/)", JOBS[name].replace("pypi-publish", "")), name


def test_every_tool_that_builds_or_tests_a_release_is_named_with_its_hash() -> None:
    installs = re.findall(r"pip install (.*)", WORKFLOW)

    assert installs == ["--require-hashes -r source/scripts/locks/test.txt", "--no-deps dist/*.whl"]
    release = (ROOT / "scripts" / "release").read_text("utf-8")
    assert "\nlocked .venv-release run build\n" in release
    assert "--require-hashes --only-binary=:all:" in (ROOT / "scripts" / "environment").read_text("utf-8")


def test_what_failed_may_be_run_again(files: Path) -> None:
    for _ in range(2):
        for name in ("Keep what the index takes apart", "Add the files to the release"):
            assert run(name, files).returncode == 0

    assert {each.name for each in (files / "work" / "upload").iterdir()} == {"some.whl", "some.tar.gz"}
    asked = (files / "asked").read_text("utf-8").splitlines()
    assert [line.split()[1] for line in asked] == ["view", "create", "upload", "edit", "view", "upload", "edit"]
    assert "--draft" in asked[1].split(), "the page appears with all files"
    assert asked[5] == "release upload v1.2.0 dist/some.cdx.json dist/some.tar.gz dist/some.whl --clobber"
    assert asked[6] == "release edit v1.2.0 --draft=false"
    assert "          skip-existing: true\n" in WORKFLOW


@pytest.mark.parametrize(("program", "status"), [
        ("print('--index-url some torch==2.14.1+cu126')", 0), ("print('--index-url some torch==')", 1),
        ("raise SystemExit(1)", 1),
])  # fmt: skip
def test_the_one_file_program_must_name_a_torch(files: Path, program: str, status: int) -> None:
    (files / "work" / "dist" / "torchpick.pyz").write_text(program, "utf-8")

    assert run("Test the one-file program", files).returncode == status


def test_every_action_is_named_by_its_commit_with_its_version_beside_it() -> None:
    used = [line for file in WORKFLOWS.iterdir() for line in re.findall(r"uses: (.*)", file.read_text("utf-8"))]

    assert used
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []
    # Twine knows the metadata that hatchling writes from this version on.
    [publishing] = [line.rpartition("# v")[2] for line in used if "gh-action-pypi-publish" in line]
    assert tuple(map(int, publishing.split("."))) >= (1, 14, 2)


def test_the_floors_of_the_dependencies_are_tried_on_every_push() -> None:
    workflow = (WORKFLOWS / "ci.yml").read_text("utf-8")
    [job] = re.findall(r"^  oldest:\n(.*?)(?=^  [\w#])", workflow, re.MULTILINE | re.DOTALL)
    project = (ROOT / "pyproject.toml").read_text("utf-8")

    assert "\n  push:\n" in workflow
    assert "\n    if:" not in job
    assert "- run: scripts/test --oldest\n" in job
    assert re.findall(r'python-version: "(.*)"', job) == re.findall(r'requires-python = ">=(.*)"', project)


@pytest.mark.skipif(shutil.which("zizmor", path=str(Path(sys.executable).parent)) is None, reason="no zizmor")
def test_zizmor_finds_nothing_in_the_workflows() -> None:
    """Above what it calls informational; what it is told to pass over says why beside it."""
    words = [str(Path(sys.executable).with_name("zizmor")), "--offline", "--no-progress", "--min-severity=low", "."]

    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout
    ignored = [
        line
        for file in [*WORKFLOWS.iterdir(), ROOT / "action.yml"]
        for line in re.findall(r"zizmor: .*", file.read_text("utf-8"))
    ]
    assert ignored == [
        "zizmor: ignore[github-env] a folder of the action's own, with one command in it",
        "zizmor: ignore[github-env] this is what the action is for",
    ]
