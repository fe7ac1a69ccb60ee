"""The shell steps of the workflow that reads new wheels, run in scratch clones, without what needs a service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.table import news
from tests.index.server import Host, serving
from tests.shipping import steps
from tests.wheels import making

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = (WORKFLOWS / "update-compat.yml").read_text("utf-8")
FLAGS = "sm_75 sm_80 sm_90 sm_120"
NEW = "9.9.0"  # later than any
VISION = f"Metadata-Version: 2.4\nName: torchvision\nVersion: {NEW}\nRequires-Dist: torch=={NEW}\n".encode()
PLATFORM_TAGS = {
    "linux-x86_64": "manylinux_2_17_x86_64", "linux-aarch64": "manylinux_2_17_aarch64", "windows-x86_64": "win_amd64",
    "windows-arm64": "win_arm64", "macos-arm64": "macosx_11_0_arm64", "macos-x86_64": "macosx_10_9_x86_64",
}  # fmt: skip
OLD = ("cp36", "cp37")  # whose tags end in `m`
pytestmark = pytest.mark.process


def script(after: str) -> str:
    return steps.script(WORKFLOW, after)


def bash(text: str, folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return steps.bash(text, folder, [folder.parent / "bin", Path(sys.executable).parent], environ)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What is checked out, with nothing stubbed but the network: the tests' own environment is not made anew."""
    folder = tmp_path / "work"
    listed = bash("git ls-files -z --cached --others --exclude-standard", ROOT).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    with (folder / "scripts" / "environment").open("a", encoding="utf-8") as environment:
        environment.write(f"development() {{ python={sys.executable}; }}\nlocked() {{ python={sys.executable}; }}\n")
    (tmp_path / "bin").mkdir()
    steps.stand_in_for_gh(tmp_path / "bin" / "gh", tmp_path / "asked")
    bash("git init -q -b main && git add -A && git commit -qm start", folder)
    bash(f"git init -q --bare {tmp_path}/origin.git && git remote add origin {tmp_path}/origin.git", folder)
    return folder


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """The wheel host and the default index, on the day when a release has come out that the table does not know."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "TORCHPICK_COMPAT_DIR"):
        monkeypatch.delenv(name, raising=False)
    with serving() as host:
        name = f"torch-{NEW}%2Bcu132-cp312-cp312-manylinux_2_28_x86_64.whl"
        host.files[f"/whl/cu132/{name}"] = making.torch_wheel(FLAGS, version=f"{NEW}+cu132", cuda="13.2")
        pages = {"/whl/torch/": [f"/whl/cu132/{name}#sha256={'ab' * 32}"], "/simple/torch/": [], **companions()}
        vision = "torchvision-9.9.0-cp312-cp312-manylinux_2_28_x86_64.whl"
        host.files[f"/files/{vision}"] = making.wheel({f"{vision[:17]}.dist-info/METADATA": VISION})
        pages["/simple/torchvision/"].append(f"/files/{vision}")
        for path, links in pages.items():
            host.files[path] = "".join(f'<a href="{link}">x</a>' for link in links).encode()
            host.types[path] = "text/html"
        monkeypatch.setenv("TORCHPICK_INDEX_BASE", f"{host.url}/whl")
        monkeypatch.setenv("PIP_INDEX_URL", f"{host.url}/simple")
        yield host


def companions() -> dict[str, list[str]]:
    """The pages of the default index, with a file for each version, platform and Python that was seen there."""
    seen = json.loads((ROOT / "evidence" / "companions.json").read_text("utf-8"))
    found = {}
    for name, versions in seen["requires"].items():
        tags = {version: ["py3-none-any"] for version in versions}
        for version, platforms in seen["pythons"].get(name, {}).items():
            pairs = [(python, PLATFORM_TAGS[platform]) for platform in platforms for python in platforms[platform]]
            tags[version] = [f"{python}-{python}{'m' if python in OLD else ''}-{tag}" for python, tag in pairs]
        found[f"/simple/{name}/"] = [f"/files/{name}-{one}-{tag}.whl" for one in versions for tag in tags[one]]
    return found


def without_tests(clone: Path) -> None:
    (clone / "scripts" / "test").write_text("#!/bin/sh\nexit 0\n", "utf-8")
    bash("git commit -qam 'other tests'", clone)


def outputs(file: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines()) if file.exists() else {}


def read(clone: Path, tmp_path: Path, schedule: str = "43 3 * * *") -> str:
    """The job that reads, and what it says."""
    summary, said = tmp_path / "summary", {"GITHUB_OUTPUT": str(tmp_path / "out"), "SCHEDULE": schedule}
    bash(script("- id: read"), clone, GITHUB_STEP_SUMMARY=str(summary), **said)
    return summary.read_text("utf-8")


def test_an_hour_reads_pages_alone_and_what_failed_is_said(clone: Path, tmp_path: Path, world: Host) -> None:
    assert "\n    unread: 9.9.0+cu132 linux-x86_64\n" in read(clone, tmp_path, "17 * * * *")
    assert outputs(tmp_path / "out") == {"found": "yes"}, "a companion is new"
    assert "torch-9.9.0" not in (clone / "compat.patch").read_text("utf-8"), "the night reads its wheel"
    assert not [request for request in world.seen if "/torch-" in request.path]

    world.files.clear()
    assert "/whl has no page for torch" in read(clone, tmp_path, "17 * * * *")
    assert outputs(tmp_path / "out")["failed"] == "yes"
    assert "\n    if: always() && needs.read.outputs.failed == 'yes'\n" in WORKFLOW.partition("\n  outcome:\n")[2]


def judge(clone: Path, tmp_path: Path) -> dict[str, str]:
    """The job that judges: a checkout with nothing installed, and the patch."""
    bash(script("- id: judged"), clone, GITHUB_OUTPUT=str(tmp_path / "judged"))
    bash("git reset -q --hard", clone)
    return outputs(tmp_path / "judged")


@pytest.fixture
def patched(clone: Path, tmp_path: Path, world: Host) -> dict[str, str]:
    """What the jobs that read and judge leave to the one that writes: a checkout with a patch, and outputs."""
    assert world.files
    without_tests(clone)
    read(clone, tmp_path)
    bash("git reset -q --hard && git clean -qfd -e compat.patch && git push -q origin main", clone)
    return {**outputs(tmp_path / "out"), **judge(clone, tmp_path)}


def write(clone: Path, measured: str) -> None:
    """The job that writes, an hour after another one, with the patch that is there as the one that was judged."""
    bash(f"cp compat.patch {clone.parent}/kept && git switch -q main", clone)
    judged = bash("sha256sum compat.patch", clone).stdout.strip()
    bash(script("PATCH:"), clone, MEASURED=measured, PATCH=judged, GH_TOKEN="none")
    bash(f"cp {clone.parent}/kept compat.patch && git switch -q main", clone)
    bash("git branch -q -D new-wheels || git branch -q -D new-wheels-to-check", clone)


def branches(clone: Path) -> dict[str, str]:
    lines = bash("git ls-remote --heads origin", clone).stdout.splitlines()
    return {name.removeprefix("refs/heads/"): commit for commit, name in (line.split() for line in lines)}


def test_a_new_release_becomes_a_branch_and_a_request(clone: Path, tmp_path: Path, patched: dict[str, str]) -> None:
    assert patched.keys() == {"found", "patch", "measured"}, (
        "the rows were read out of wheels and nothing was taken away"
    )
    patch = (clone / "compat.patch").read_text("utf-8")
    assert "compat/torch-9.9.0.json" in patch
    assert "compat/companions.json" in patch

    # The patch says more than it may.
    head = "diff --git a/scripts/evil b/scripts/evil\nnew file mode 100755\n--- /dev/null\n+++ b/scripts/evil\n"
    (clone / "compat.patch").write_text(f"{patch}{head}@@ -0,0 +1 @@\n+rm\n", "utf-8")
    with pytest.raises(subprocess.CalledProcessError) as error:
        bash(script("PATCH:"), clone, MEASURED="yes", PATCH=patched["patch"], GH_TOKEN="none")
    assert "compat.patch: FAILED" in error.value.stdout
    assert set(branches(clone)) == {"main"}, "another patch than the judged one is written nowhere"
    write(clone, "yes")

    assert set(branches(clone)) == {"main", "new-wheels"}
    changed = bash("git diff --name-only main origin/new-wheels", clone).stdout.split()
    assert "compat/torch-9.9.0.json" in changed
    assert {name.partition("/")[0] for name in changed} == {"compat", "docs", "evidence"}
    pairs = json.loads(bash("git show origin/new-wheels:compat/companions.json", clone).stdout)["pairs"]
    assert [(pair["torchvision"], pair["basis"]) for pair in pairs if pair["torch"] == NEW] == [(NEW, "metadata")]
    assert "Read the wheels of torch-9.9.0" in bash("git log -1 --format=%s origin/new-wheels", clone).stdout
    asked = (tmp_path / "asked").read_text("utf-8")
    assert "pr create --base main --head new-wheels " in asked
    assert "pr merge --auto --squash new-wheels\n" in asked


@pytest.mark.long
@pytest.mark.usefixtures("world")
def test_the_laws_hold_on_the_day_of_a_release(clone: Path, tmp_path: Path) -> None:
    """What is read, and then everything that a request's checks run without processes, on the table that it made."""
    read(clone, tmp_path)

    assert outputs(tmp_path / "out")["found"] == "yes"
    bash("scripts/test --quick", clone)


@pytest.mark.long
def test_the_next_hour_adds_to_the_same_request(clone: Path, tmp_path: Path, patched: dict[str, str]) -> None:
    assert patched["found"] == "yes"
    write(clone, "yes")
    first = branches(clone)

    bash("sleep 1", clone)  # another commit, by its time
    write(clone, "yes")
    assert branches(clone) == first, "nothing came: the checks of the branch go on"

    patch = clone / "compat.patch"
    patch.write_text(re.sub(r"^(\+.*)sm_120", r"\1sm_121", patch.read_text("utf-8"), flags=re.MULTILINE), "utf-8")
    write(clone, "yes")
    assert branches(clone).keys() == first.keys()
    assert branches(clone)["new-wheels"] != first["new-wheels"]
    assert "sm_121" in bash("git show origin/new-wheels:compat/torch-9.9.0.json", clone).stdout
    assert (tmp_path / "asked").read_text("utf-8").count("pr create") == 1


@pytest.mark.long
def test_what_a_person_has_to_see_joins_no_request_that_merges_itself(
    clone: Path, tmp_path: Path, patched: dict[str, str]
) -> None:
    assert patched["found"] == "yes"
    write(clone, "")

    assert set(branches(clone)) == {"main", "new-wheels-to-check"}
    assert "pr create --base main --head new-wheels-to-check " in (asked := (tmp_path / "asked").read_text("utf-8"))
    assert "pr merge" not in asked


ROW = {"backend": "cu132", "arches": ["sm_75"], "evidence": {"kind": "measured"}}
LISTED = {"backend": "cu132", "arches": None, "evidence": {"kind": "declared"}}


@pytest.mark.parametrize(("before", "after", "unseen"), [
        ([], [ROW], True), ([], [ROW, {**LISTED, "backend": "cpu", "arches": []}], True), ([], [ROW, LISTED], False),
        ([LISTED], [LISTED, ROW], True), ([{**LISTED, "arches": ["sm_75"]}], [ROW], True),
        ([{**LISTED, "arches": ["sm_80"]}], [ROW], False),
        ([{**ROW, "yanked": False}], [{**ROW, "yanked": True}], False), ([ROW], [], False),
        ([ROW], [{**ROW, "arches": ["sm_80"]}], False),
])  # fmt: skip
def test_what_is_merged_unseen(before: list[news.Row], after: list[news.Row], unseen: bool) -> None:
    assert news.only_read(before, after) is unseen


def test_what_a_release_required_changes_under_a_person_s_eyes(clone: Path, tmp_path: Path) -> None:
    row = json.loads((clone / "compat" / "torch-2.15.0.json").read_text("utf-8"))
    added = {**row, "builds": [{**row["builds"][0], "evidence": {"kind": "measured"}}]}
    (clone / "compat" / "torch-9.9.0.json").write_text(json.dumps(added), "utf-8")
    requires = clone / "compat" / "requires.json"
    for release, measured in (("9.9.0", {"measured": "yes"}), ("2.15.0", {})):
        lines = json.loads(requires.read_text("utf-8"))
        lines["releases"][release] = {"wheels": 1, "plain": ["evil"]}
        requires.write_text(json.dumps(lines), "utf-8")
        bash(
            "git add -A && git diff --cached --binary > ../patch && git reset -q --hard && mv ../patch compat.patch",
            clone,
        )
        assert {**judge(clone, tmp_path), "patch": ""} == {**measured, "patch": ""}
        (tmp_path / "judged").unlink()
        bash("git apply compat.patch && rm compat.patch", clone)


def test_reading_may_not_write_judging_installs_nothing_and_writing_runs_nothing_of_others() -> None:
    read, judge, write = re.split(r"\n  (?:judge|write):\n", WORKFLOW)

    for each in (read, judge):
        assert "contents: read" in each
        assert ": write" not in each
        assert "secrets." not in each
        assert "persist-credentials: false" in each
    runs = r"^\s+(?:- run: )?(?:python|pip|scripts/)"
    assert re.findall(runs + ".*", judge, re.MULTILINE) == [
        '          python3 -S -m scripts.tool judge-news scripts.table.news >> "$GITHUB_OUTPUT"'
    ]
    assert not re.search(runs, write, re.MULTILINE)


def test_a_run_cancels_only_its_own_kind() -> None:
    groups = {
        name: re.findall(r"^  group: (\S.*?)(?: #.*)?$", (WORKFLOWS / f"{name}.yml").read_text("utf-8"), re.MULTILINE)
        for name in ("ci", "release")
    }

    assert groups == {
        "ci": ["ci-${{ github.event_name }}-${{ github.ref }}"],
        "release": ["release-${{ github.ref_name }}"],
    }
