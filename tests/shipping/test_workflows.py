"""The shell steps of the workflow that reads new wheels, run in scratch clones, without what needs a service."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.table import news, updating
from tests.index.server import serving
from tests.shipping import steps
from tests.wheels import making

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = (WORKFLOWS / "update-compat.yml").read_text()
FLAGS = "sm_75 sm_80 sm_90 sm_120"
pytestmark = pytest.mark.process


def script(after: str) -> str:
    return steps.script(WORKFLOW, after)


def bash(text: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return steps.bash(text, folder, [folder.parent / "bin", Path(sys.executable).parent], environ)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What is checked out: the table and its tools; the tests and the companions' index answer at once."""
    folder = tmp_path / "work"
    for name in ("compat", "evidence", "scripts", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / ".gitignore", folder / ".gitignore")
    for name in ("test", "read-companions"):
        (folder / "scripts" / name).write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bin").mkdir()
    steps.stand_in_for_gh(tmp_path / "bin" / "gh", tmp_path / "asked")
    bash("git init -q -b main && git add -A && git commit -qm start", folder)
    bash(f"git init -q --bare {tmp_path}/origin.git && git remote add origin {tmp_path}/origin.git", folder)
    return folder


def release(folder: Path) -> None:
    """A wheel host with a release that the table does not know, read as the workflow does."""
    with serving() as host:
        name = "torch-2.99.0%2Bcu132-cp312-cp312-manylinux_2_28_x86_64.whl"
        host.files[f"/whl/cu132/{name}"] = making.torch_wheel(FLAGS, version="2.99.0+cu132", cuda="13.2")
        host.files["/whl/torch/"] = f'<a href="/whl/cu132/{name}#sha256={"ab" * 32}">x</a>'.encode()
        host.types["/whl/torch/"] = "text/html"
        assert updating.main(["--index-base", f"{host.url}/whl", "--out", str(folder / "compat")]) == 0


def outputs(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text().splitlines()) if file.exists() else {}


def test_nothing_new_is_nothing_to_do(clone: Path, tmp_path: Path) -> None:
    bash(script("- id: news"), clone, GITHUB_OUTPUT=str(tmp_path / "out"))

    assert outputs(tmp_path / "out") == {}
    assert not (clone / "compat.patch").exists()


@pytest.fixture
def patched(clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the job that reads leaves to the one that writes: a checkout of its own with a patch, and its outputs."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    release(clone)
    bash(script("- id: news"), clone, GITHUB_OUTPUT=str(tmp_path / "out"))
    bash("git reset -q --hard && git clean -qfd -e compat.patch && git push -q origin main", clone)
    return outputs(tmp_path / "out")


def write(clone: Path, measured: str) -> None:
    """The job that writes, an hour after another one."""
    bash(f"cp compat.patch {clone.parent}/kept && git switch -q main", clone)
    bash(script("MEASURED:"), clone, MEASURED=measured, GH_TOKEN="none")
    bash(f"cp {clone.parent}/kept compat.patch && git switch -q main", clone)
    bash("git branch -q -D new-wheels || git branch -q -D new-wheels-to-check", clone)


def branches(clone: Path) -> dict[str, str]:
    lines = bash("git ls-remote --heads origin", clone).stdout.splitlines()
    return {name.removeprefix("refs/heads/"): commit for commit, name in (line.split() for line in lines)}


def test_a_new_release_becomes_a_branch_and_a_request(clone: Path, tmp_path: Path, patched: dict[str, str]) -> None:
    assert patched["found"] == "yes"
    assert patched["measured"] == "yes", "the rows were read out of wheels and nothing was taken away"
    patch = (clone / "compat.patch").read_text()
    assert "compat/torch-2.99.0.json" in patch
    assert "compat/index/linux-x86_64.json" in patch

    # The patch says more than it may.
    head = "diff --git a/scripts/evil b/scripts/evil\nnew file mode 100755\n--- /dev/null\n+++ b/scripts/evil\n"
    (clone / "compat.patch").write_text(f"{patch}{head}@@ -0,0 +1 @@\n+rm\n")
    write(clone, "yes")

    assert set(branches(clone)) == {"main", "new-wheels"}
    changed = bash("git diff --name-only main origin/new-wheels", clone).stdout.split()
    assert "compat/torch-2.99.0.json" in changed
    assert all(name.startswith("compat/") for name in changed)
    assert "Read the wheels of torch-2.99.0" in bash("git log -1 --format=%s origin/new-wheels", clone).stdout
    asked = (tmp_path / "asked").read_text()
    assert "pr create --base main --head new-wheels " in asked
    assert "pr merge --auto --squash new-wheels\n" in asked


def test_the_next_hour_adds_to_the_same_request(clone: Path, tmp_path: Path, patched: dict[str, str]) -> None:
    assert patched["found"] == "yes"
    write(clone, "yes")
    first = branches(clone)

    bash("sleep 1", clone)  # another commit, by its time
    write(clone, "yes")
    assert branches(clone) == first, "nothing came: the checks of the branch go on"

    patch = clone / "compat.patch"
    patch.write_text(re.sub(r"^(\+.*)sm_120", r"\1sm_121", patch.read_text(), flags=re.MULTILINE))
    write(clone, "yes")
    assert branches(clone).keys() == first.keys()
    assert branches(clone)["new-wheels"] != first["new-wheels"]
    assert "sm_121" in bash("git show origin/new-wheels:compat/torch-2.99.0.json", clone).stdout
    assert (tmp_path / "asked").read_text().count("pr create") == 1


def test_what_a_person_has_to_see_joins_no_request_that_merges_itself(
    clone: Path, tmp_path: Path, patched: dict[str, str]
) -> None:
    assert patched["found"] == "yes"
    write(clone, "")

    assert set(branches(clone)) == {"main", "new-wheels-to-check"}
    assert "pr create --base main --head new-wheels-to-check " in (asked := (tmp_path / "asked").read_text())
    assert "pr merge" not in asked


ROW = {"backend": "cu132", "arches": ["sm_75"], "evidence": {"kind": "measured"}}
LISTED = {"backend": "cu132", "arches": None, "evidence": {"kind": "declared"}}


@pytest.mark.parametrize(
    ("before", "after", "unseen"),
    [
        ([], [ROW], True),
        ([], [ROW, {**LISTED, "backend": "cpu", "arches": []}], True),
        ([], [ROW, LISTED], False),
        ([LISTED], [LISTED, ROW], True),
        ([ROW], [], False),
        ([ROW], [{**ROW, "arches": ["sm_80"]}], False),
    ],
)
def test_what_is_merged_unseen(before: list[news.Row], after: list[news.Row], unseen: bool) -> None:
    assert news.only_read(before, after) is unseen


def test_reading_may_not_write_and_writing_runs_nothing_of_others() -> None:
    read, write = WORKFLOW.partition("\n  write:\n")[::2]

    assert "contents: read" in read
    assert ": write" not in read
    assert "secrets." not in read
    assert "persist-credentials: false" in read
    assert not re.search(r"^\s+(?:- run: )?(?:python|pip|scripts/)", write, re.MULTILINE)


def test_a_run_cancels_only_its_own_kind() -> None:
    groups = {
        name: re.findall(r"^  group: (\S.*?)(?: #.*)?$", (WORKFLOWS / f"{name}.yml").read_text(), re.MULTILINE)
        for name in ("ci", "release")
    }

    assert groups == {
        "ci": ["ci-${{ github.event_name }}-${{ github.ref }}"],
        "release": ["release-${{ github.ref_name }}"],
    }
