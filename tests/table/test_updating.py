"""What happens to the table when the world moves on: the user's by `refresh`, the repository's by `update-compat`.

Both are asked after the same event, on the same host: before and after, what the command answers, and what a pull
request would hold.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.table import checking, index, layout, news, updating
from tests import tables
from tests.index.server import Host, serving
from tests.wheels import making
from torchpick.cli import main
from torchpick.errors import silent
from torchpick.knowledge.compat import READ, Knowledge
from torchpick.wheels import refresh
from torchpick.wheels.refresh import CacheStore, RefreshJob

NVIDIA = (
    "--gpu", "sm_90", "--driver", "610.43.02", "--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35",
)  # fmt: skip
AMD = ("--gpu", "gfx1100", "--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35")
ORIN = ("--gpu", "Orin", "--driver", "540.4.0", "--platform", "linux-aarch64", "--python", "3.10", "--glibc", "2.35")
ROOT = Path(__file__).parents[2]
OWN = "torch-2.15.1-cp312-cp312-manylinux_2_28_x86_64.whl"
SM = "sm_75 sm_80 sm_90 sm_100 sm_120"


class Day:
    """The servers of a day, the table of a user and that of the repository, which are one at its beginning."""

    def __init__(self, folder: Path, host: Host, capsys: pytest.CaptureFixture[str]) -> None:
        self.host, self.capsys = host, capsys
        self.users, self.ours, self.cache = folder / "users", folder / "ours", folder / "cache"
        self.evidence = folder / "evidence"
        self.base = f"{host.url}/whl"
        self.lines: dict[str, dict[str, str]] = {}

    def publish(  # what a page says
        self, page: str, wheel: str, data: bytes, *, folder: str = "/files", attributes: str = "", hashed: bool = True
    ) -> None:
        """Put a wheel on a page, or its link anew."""
        file = wheel.replace("+", "%2B")
        self.host.files[f"{folder}/{file}"] = data
        digest = f"#sha256={hashlib.sha256(data).hexdigest()}" if hashed else ""
        link = f'<a href="{folder}/{file}{digest}"{attributes}>x</a>'
        self.lines.setdefault(page, {})[wheel] = link
        self.host.files[page] = "\n".join(self.lines[page].values()).encode()
        self.host.types[page] = "text/html"

    def publish_all(self) -> None:
        """The wheel host and the default index as the table knows them, with files that nobody reads."""
        for build in Knowledge({"TORCHPICK_COMPAT_DIR": str(self.ours)}).every_build:
            page = "/simple/torch/" if build.backend == "default" else "/whl/torch/"
            for python in build.pythons if build.vendor is None and build.published else ():
                tag = build.tags[0] if build.tags else "manylinux_2_28_x86_64"
                wheel = f"torch-{build.version}-{python.rstrip('t')}-{python}-{tag}.whl"
                self.publish(page, wheel, b"", folder=f"/whl/{build.backend}", hashed=build.backend != "default")
        for name in ("torchvision", "torchaudio", "torchcodec", "torchtext", "torchdata", "torchao"):
            known = layout.read(self.evidence / "companions.json")["requires"][name]
            for version in known:
                self.publish(f"/simple/{name}/", f"{name}-{version}-py3-none-any.whl", b"")
        for build in layout.read(self.ours / "vendors.json")["builds"]:
            self.jetson(build["version"])

    def jetson(self, version: str, flags: str = "sm_72 sm_87") -> None:
        data = making.torch_wheel(flags, version=version, cuda="12.6")
        wheel = f"torch-{version}-cp310-cp310-linux_aarch64.whl"
        self.publish("/jp6/cu126/torch/", wheel, data, folder="/jp6/cu126/+f/46b")

    def torch(  # what a wheel says
        self,
        version: str,
        flags: str | None = SM,
        *,
        python: str = "cp312",
        hip: str | None = None,
        attributes: str = "",
    ) -> None:
        label = version.partition("+")[2]
        cuda = f"{label[2:-1]}.{label[-1]}" if label.startswith("cu") else None
        more = {"torch/version.py": making.version_py(version, cuda, hip)}
        data = making.torch_wheel(flags, version=version, cuda=cuda, more=more)
        name = f"torch-{version}-{python}-{python}-manylinux_2_28_x86_64.whl"
        self.publish("/whl/torch/", name, data, folder=f"/whl/{label}", attributes=attributes)

    def companion(self, name: str, version: str, requires: str) -> None:
        """On the wheel host for each CUDA, and on the user's own index without a label."""
        for page, label in (("/whl", "+cu132"), ("/whl", "+cu133"), ("/simple", "")):
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}{label}\nRequires-Dist: {requires}\n"
            data = making.wheel({f"{name}-{version}.dist-info/METADATA": text.encode()})
            wheel = f"{name}-{version}{label}-cp312-cp312-manylinux_2_28_x86_64.whl"
            self.publish(f"{page}/{name}/", wheel, data, folder=f"/whl/{label[1:]}" if label else "/files")

    def refresh(self) -> refresh.Refreshed:
        """As `torchpick refresh` does for the wheel host, which this one stands for."""
        builds = Knowledge({"TORCHPICK_COMPAT_DIR": str(self.users)}).shipped(default_index=False)
        shipped = {build.key: build for build in builds}
        store = CacheStore(self.cache, self.base, "stable", "2026-12-01")
        places = refresh.places(self.base, "stable", ["cu132"])
        job = RefreshJob(store, places, lambda _: True, False, of_table=True, most=60)
        return refresh.refresh_table(job, shipped, silent)

    def answer(self, *words: str) -> str:
        """The line of `url`, less the index."""
        self.capsys.readouterr()
        main(["url", *words])
        return " ".join(self.capsys.readouterr().out.split()[2:])

    def update(self, *words: str) -> int:
        folders = ["--out", str(self.ours), "--evidence", str(self.evidence)]
        return updating.main(["--index-base", self.base, *folders, *words])

    def pull_request(self, *words: str) -> dict[str, Any]:
        """What changed in the repository, by file; and whether it may be merged unseen."""
        before = {path.name: path.read_text("utf-8") for path in self.ours.glob("*.json")}
        known_evidence = {path.name: path.read_text("utf-8") for path in self.evidence.iterdir()}
        self.capsys.readouterr()
        assert self.update(*words) == 0, self.capsys.readouterr().err
        changed: dict[str, Any] = {}
        for path in sorted(self.ours.glob("*.json")):
            if before.get(path.name) != path.read_text("utf-8"):
                if path.name != "vendors.json":  # an address on this computer has no TLS
                    checking.check_file(path, path.name)
                changed[path.name] = layout.read(path)
        evidence = {path.name: path.read_text("utf-8") for path in self.evidence.iterdir()}
        changed["evidence"] = [name for name, text in evidence.items() if text != known_evidence[name]]
        releases = [name for name in changed if name.startswith("torch-")]
        old = {name: json.loads(before[name])["builds"] if name in before else [] for name in releases}
        changed["unseen"] = all(news.only_read(old[name], changed[name]["builds"]) for name in releases)
        return changed


@pytest.fixture
def today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Day]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    with serving() as host:
        day = Day(tmp_path, host, capsys)
        older = shutil.ignore_patterns("torch-1.*", "torch-2.?.*", "torch-2.1[0-3].*", "index", "packages")
        shutil.copytree(tables.frozen(), day.ours, ignore=older)
        vendors = day.ours / "vendors.json"
        table = vendors.read_text("utf-8").replace("https://pypi.jetson-ai-lab.io", host.url)
        vendors.write_text(table, "utf-8")
        keep_vendor(vendors, "jetson-ai-lab-jp6")
        shutil.copytree(ROOT / "evidence", day.evidence, ignore=shutil.ignore_patterns("gpus", "[flt]*.jsonl"))
        shutil.copy(ROOT / "evidence" / "torch-requires.jsonl", day.evidence)
        index.write(day.ours)
        for name, value in (
            ("TORCHPICK_COMPAT_DIR", str(day.users)), ("TORCHPICK_CACHE_DIR", str(day.cache)),
            ("TORCHPICK_INDEX_BASE", day.base), ("PIP_INDEX_URL", f"{host.url}/simple"),
            ("SOURCE_DATE_EPOCH", "1798761600"),
        ):  # fmt: skip
            monkeypatch.setenv(name, value)
        day.publish_all()
        day.update()
        shutil.copytree(day.ours, day.users)
        index.write(day.users)
        READ.clear()
        yield day


def keep_vendor(file: Path, name: str) -> None:
    """The table with the index of one vendor alone, which is on this host."""
    table = layout.read(file)
    table["indexes"] = [row for row in table["indexes"] if row["name"] == name]
    table["builds"] = [row for row in table["builds"] if row["index"] == name]
    layout.write(file, table)


def test_a_patch_release(today: Day) -> None:
    today.torch("2.15.1+cu132")
    today.publish("/simple/torch/", OWN, making.torch_wheel(SM, version="2.15.1+cu132"))
    assert today.answer(*NVIDIA) == "torch==2.15.0+cu132"
    assert [build.version for build in today.refresh().read] == ["2.15.1+cu132"]

    assert today.answer(*NVIDIA) == "torch==2.15.1+cu132"
    changed = today.pull_request()
    assert changed.keys() == {"torch-2.15.1.json", "companions.json", "requires.json", "evidence", "unseen"}
    assert changed["requires.json"]["releases"]["2.15.1"]["wheels"] == 1
    assert {*changed["evidence"]} == {"dates.json", "torch-requires.jsonl"}
    rows = changed["torch-2.15.1.json"]["builds"]
    assert [(row["version"], row["backend"], row["arches"], row["evidence"]["kind"]) for row in rows] == [
        ("2.15.1+cu132", "cu132", SM.split(), "measured"), ("2.15.1", "default", SM.split(), "measured"),
    ]  # fmt: skip
    assert changed["unseen"] is True
    assert today.pull_request().keys() == {"evidence", "unseen"}, "nothing twice"
    requires = today.evidence / "torch-requires.jsonl"
    requires.write_text("".join(requires.read_text("utf-8").splitlines(keepends=True)[:-1]), "utf-8")
    assert today.pull_request()["evidence"] == [requires.name], "what could not be read is read by the next run"


def test_a_release_with_a_new_cuda_and_its_companion_a_week_later(today: Day) -> None:
    today.torch("2.16.0+cu133")
    both = ("torch", "torchvision")
    today.refresh()
    assert today.answer(*NVIDIA) == "torch==2.16.0+cu133"
    assert today.answer(*both, *NVIDIA) == "torch==2.15.0+cu132 torchvision==0.29.2+cu132"
    first = today.pull_request()
    assert {"torch-2.16.0.json", "unseen"} <= first.keys()

    today.companion("torchvision", "0.31.0", "torch==2.16.0")
    assert today.answer(*both, *NVIDIA) == "torch==2.15.0+cu132 torchvision==0.29.2+cu132"
    today.refresh()
    assert today.answer(*both, *NVIDIA) == "torch==2.16.0+cu133 torchvision==0.31.0+cu133"
    second = today.pull_request()
    assert second["evidence"] == ["companions.json"]
    pair = next(pair for pair in second["companions.json"]["pairs"] if pair["torch"] == "2.16.0")
    assert (pair["torchvision"], pair["basis"]) == ("0.31.0", "metadata")


def test_a_backend_that_comes_a_week_after_its_release(today: Day) -> None:
    today.torch("2.15.0+rocm7.2", "gfx942 gfx1100", hip="7.2.1")
    assert today.answer(*AMD) == "torch==2.14.1+rocm7.2"
    today.refresh()

    assert today.answer(*AMD) == "torch==2.15.0+rocm7.2"
    changed = today.pull_request()
    assert changed.keys() == {"torch-2.15.0.json", "companions.json", "evidence", "unseen"}
    row = next(row for row in changed["torch-2.15.0.json"]["builds"] if row["backend"] == "rocm7.2")
    assert (sorted(row["arches"]), row["evidence"]["kind"]) == (["gfx1100", "gfx942"], "measured")
    assert changed["unseen"] is True


def test_a_file_that_is_withdrawn_and_one_that_is_gone(today: Day) -> None:
    today.torch("2.15.1+cu132")
    today.pull_request()
    today.refresh()
    today.torch("2.15.1+cu132", attributes=' data-yanked="wrong results"')
    assert today.answer(*NVIDIA) == "torch==2.15.1+cu132"
    today.refresh()

    assert today.answer(*NVIDIA) == "torch==2.15.0+cu132"
    changed = today.pull_request()
    assert [row["yanked"] for row in changed["torch-2.15.1.json"]["builds"]] == [True]
    assert changed["unseen"] is False

    lines = today.lines["/whl/torch/"]
    for wheel in [wheel for wheel in lines if "2.14.1+cu126" in wheel and "x86_64" in wheel]:
        del lines[wheel]
    today.torch("2.15.1+cu132")
    assert [build.version for build in today.refresh().gone] == ["2.14.1+cu126"]
    changed = today.pull_request()
    rows = changed["torch-2.14.1.json"]["builds"]
    row = next(row for row in rows if (row["backend"], row["platform"]) == ("cu126", "linux-x86_64"))
    assert row["published"] is None
    assert row["notes"][-1].startswith("not on the index's page of ")
    assert changed["unseen"] is False


def test_pages_alone_say_what_changed_and_name_what_comes_with_its_wheel(today: Day) -> None:
    lines = today.lines["/whl/torch/"]
    for wheel in [wheel for wheel in lines if "2.14.1+cu126" in wheel and "x86_64" in wheel]:
        del lines[wheel]
    today.torch("2.15.1+cu132")
    today.host.seen.clear()

    changed = today.pull_request("--most", "0")
    assert "unread: 2.15.1+cu132 linux-x86_64" in today.capsys.readouterr().out
    assert {name for name in changed if name.startswith("torch-")} == {"torch-2.14.1.json"}
    assert changed["unseen"] is False
    assert not [request for request in today.host.seen if request.path.endswith(".whl")]
    assert "torch-2.15.1.json" in today.pull_request(), "as the next night has it"


def test_a_page_without_most_of_the_table_marks_nothing(today: Day) -> None:
    lines = today.lines["/whl/torch/"]
    for wheel in [wheel for wheel in lines if "2.14" in wheel]:
        del lines[wheel]
    today.torch("2.15.1+cu132")

    assert today.pull_request().keys() == {"torch-2.15.1.json", "companions.json", "evidence", "unseen"}


def test_a_vendor_s_index_moves_and_has_a_new_release(today: Day) -> None:
    new = f'"{today.host.url}/jp6/cu126"'
    for folder in (today.ours, today.users):
        table = (folder / "vendors.json").read_text("utf-8")
        assert new in table
        (folder / "vendors.json").write_text(table.replace(new, new.replace("/jp6/", "/redirect/jp6/")), "utf-8")
    index.write(today.users)
    READ.clear()
    assert today.answer(*ORIN) == "torch==2.11.0"
    today.jetson("2.12.0")
    report = today.refresh()

    assert not report.failures
    assert ([build.version for build in report.read], report.notes) == (["2.12.0"], ())
    assert report.moved == ((f"{today.host.url}/redirect/jp6/cu126", f"{today.host.url}/jp6/cu126"),)
    assert today.answer(*ORIN) == "torch==2.12.0"
    changed = today.pull_request()
    assert changed.keys() == {"vendors.json", "evidence", "unseen"}
    (place,) = changed["vendors.json"]["indexes"]
    assert place["url"] == f"{today.host.url}/jp6/cu126"
    newest = changed["vendors.json"]["builds"][0]
    assert (newest["torch"], newest["arches"], newest["confidence"]) == ("2.12.0", ["sm_72", "sm_87"], "certain")

    del today.host.files["/jp6/cu126/torch/"]
    (note,) = today.refresh().notes
    assert "has no files of torch any more" in note


def test_a_declared_row_becomes_measured_and_what_differs_is_said(
    today: Day, capsys: pytest.CaptureFixture[str]
) -> None:
    today.torch("2.14.1+cu126", "sm_50 sm_60 sm_90", python="cp315")
    assert today.update("--release", "2.14.1", "--declared", "30") == 1, "most files here are empty"

    assert "contradiction: 2.14.1+cu126 on linux-x86_64: sm_50" in capsys.readouterr().err
    rows = layout.read(today.ours / "torch-2.14.1.json")["builds"]
    (row,) = (row for row in rows if (row["backend"], row["platform"]) == ("cu126", "linux-x86_64"))
    assert (row["evidence"]["kind"], row["arches"]) == ("measured", ["sm_50", "sm_60", "sm_90"])


def test_an_index_without_torch_is_an_error(today: Day, capsys: pytest.CaptureFixture[str]) -> None:
    del today.host.files["/whl/torch/"]

    assert today.update() == 1
    assert "has no page for torch" in capsys.readouterr().err
