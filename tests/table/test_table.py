"""The shipped table: of its format, in step with its indexes, and holding what its sources say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import tool
from scripts.table import index, layout
from tests import tables
from torchpick.model.versions import release_key

CASES = json.loads(Path(__file__).with_name("labels.json").read_text("utf-8"))

ROOT = Path(__file__).parents[2]
COMPAT = ROOT / "compat"
RELEASES = {
    path.stem.removeprefix("torch-"): json.loads(path.read_text("utf-8"))["builds"]
    for path in COMPAT.glob("torch-*.json")
}
ROWS = [(torch, row) for torch, rows in RELEASES.items() for row in rows]
DRIVERS = json.loads((COMPAT / "drivers.json").read_text("utf-8"))


def build(torch: str, backend: str, platform: str = "linux-x86_64") -> dict[str, Any]:
    found = [row for row in RELEASES[torch] if (row["backend"], row["platform"]) == (backend, platform)]
    assert len(found) == 1, (torch, backend, platform)
    return dict(found[0])


def test_an_index_holds_every_row_but_the_default_index_s_own() -> None:
    for platform in layout.PLATFORMS:
        told = [
            (torch, row["backend"], row["version"], row["arches"], row["pythons"], row["published"], row["libraries"])
            for torch, row in ROWS
            if row["platform"] == platform and row["backend"] != "default"
        ]
        compact = json.loads((COMPAT / "index" / f"{platform}.json").read_text("ascii"))
        read = [
            (row[0], row[1], row[2], compact["arch_sets"][row[4]], compact["python_sets"][row[5]], row[10], row[8])
            for row in compact["builds"]
            if row[18] is None  # a vendor's own index
        ]
        assert sorted(map(repr, read)) == sorted(map(repr, told))
        releases = [release_key(row[0]) for row in compact["builds"]]
        assert releases == sorted(releases, reverse=True)


@pytest.mark.process
@pytest.mark.parametrize("module", ["checking", "index"])
def test_a_tool_takes_another_table(module: str, tmp_path: Path) -> None:
    copy = tmp_path / "compat"
    for path in COMPAT.rglob("*.json"):
        (copy / path.relative_to(COMPAT)).parent.mkdir(parents=True, exist_ok=True)
        (copy / path.relative_to(COMPAT)).write_bytes(path.read_bytes())

    done = subprocess.run(
        [sys.executable, "-m", "scripts.tool", "x", f"scripts.table.{module}", copy],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    for path in COMPAT.rglob("*.json"):
        assert (copy / path.relative_to(COMPAT)).read_bytes() == path.read_bytes()


def test_the_releases_are_all_there() -> None:
    assert {path.stem.removeprefix("torch-") for path in tables.FROZEN.glob("torch-*.json")} <= RELEASES.keys()
    assert min(RELEASES, key=release_key) == "1.7.0"


@pytest.mark.parametrize(("torch", "backend", "platform", "arches"), CASES["known_arches"])
def test_known_arches(torch: str, backend: str, platform: str, arches: str) -> None:
    assert build(torch, backend, platform)["arches"] == arches.split()


def test_known_versions_and_libraries() -> None:
    assert build("2.14.1", "cu126")["version"] == "2.14.1+cu126"
    assert build("2.14.1", "cu126")["libraries"]["cudnn"] == "9.10.2.21"
    assert build("2.3.1", "cu118")["libraries"]["cudnn"] == "8.7.0.84"
    assert build("2.5.1", "cu124", "linux-aarch64")["version"] == "2.5.1"
    assert build("1.8.0", "cu102")["version"] == "1.8.0"
    assert build("2.14.1", "cu126")["glibc"] == "2.28"
    assert build("2.3.1", "cu118")["glibc"] is None
    assert build("2.14.1", "cpu", "macos-arm64")["version"] == "2.14.1"
    assert build("2.15.0", "default")["real"] == "2.15.0+cu132"
    assert build("2.15.0", "default")["version"] == "2.15.0"
    assert build("2.15.0", "default")["arches"]
    assert "cp314t" in build("2.14.1", "cu126")["pythons"]


def test_a_backend_names_its_cuda() -> None:
    for torch, row in ROWS:
        if row["backend"].startswith("cu"):
            assert row["backend"] == "cu" + row["cuda"].replace(".", ""), torch
            assert row["version"].endswith(("+" + row["backend"], torch)), torch
        elif row["real"] is not None and row["cuda"] is not None and "+" in row["real"]:
            assert row["real"] == f"{torch}+cu{row['cuda'].replace('.', '')}"


def test_what_was_never_published_is_not_listed_as_a_build() -> None:
    never = json.loads((COMPAT / "never.json").read_text("utf-8"))["rows"]
    for row in never:
        for torch, listed in ROWS:
            same = listed["backend"] == row["backend"] and listed["platform"] in row["platforms"]
            assert not (same and row["torch"] in ("*", torch)), (torch, row)
    assert {"cu120", "cu122", "cu125", "cu127", "cu131"} <= {row["backend"] for row in never if row["torch"] == "*"}


def test_every_release_has_its_companions() -> None:
    pairs = json.loads((COMPAT / "companions.json").read_text("utf-8"))["pairs"]
    told = {pair["torch"]: (pair["torchvision"], pair["torchaudio"]) for pair in pairs}

    assert told.keys() == RELEASES.keys()
    assert told["2.15.0"] == ("0.29.2", None)
    assert told["2.14.1"] == ("0.29.1", None)
    assert told["2.11.0"] == ("0.26.0", "2.11.0")
    assert told["2.0.1"] == ("0.15.2", "2.0.2")
    assert told["1.7.0"] == ("0.8.1", "0.7.0")
    assert all(vision is not None for vision, _ in told.values())
    assert all(audio is not None for torch, (_, audio) in told.items() if release_key(torch) <= release_key("2.11.0"))


@pytest.mark.parametrize(
    ("platform", "torch", "backend", "companions"), CASES["a_companion_carries_a_label_only_where_its_wheel_does"]
)
def test_a_companion_carries_a_label_only_where_its_wheel_does(
    platform: str, torch: str, backend: str, companions: dict[str, str | None]
) -> None:
    compact = json.loads((COMPAT / "index" / f"{platform}.json").read_text("ascii"))

    assert [row[12] for row in compact["builds"] if row[:2] == [torch, backend]] == [companions]


def test_the_last_branches_and_the_floors() -> None:
    last = {capability: row["branch"] for row in DRIVERS["last_branch"] for capability in row["capabilities"]}
    assert (last["3.7"], last["6.1"], last["7.0"]) == (470, 580, 580)
    assert {row["cuda_major"]: row["linux"] for row in DRIVERS["majors"]} == {
        13: "580", 12: "525.60.13", 11: "450.80.02",
    }  # fmt: skip
    first = {
        capability: (row["linux"], row["windows"])
        for row in DRIVERS["first_driver"]
        for capability in row["capabilities"]
    }
    assert (first["8.6"], first["8.9"], first["9.0"]) == (("455", "456"), ("520", "522"), ("520", "520"))
    assert (first["12.0"], first["12.1"]) == (("570.26", "570.65"), ("575.51.03", "576.02"))


def test_the_date_is_that_of_the_newest_evidence() -> None:
    dates = {json.loads((ROOT / "evidence" / name).read_text("utf-8"))["date"] for name in ("companions.json",)}
    recorded = json.loads((COMPAT / "date.json").read_text("utf-8"))["date"]

    assert recorded == index.newest(ROOT / "evidence")
    assert recorded >= max(dates)
    assert json.loads((COMPAT / "index" / "rules.json").read_text("ascii"))["date"] == recorded


def test_a_measured_row_names_the_file_that_pip_takes_of_its_python() -> None:
    """Of one version that is the one with the highest build number: 2.10.0 has wheels `-3` for Linux."""
    lines = map(json.loads, (ROOT / "evidence" / "torch.jsonl").read_text("utf-8").splitlines())
    read = {(line["torch"], line["platform"], line["python"], line["file"].count("-"), line["file"]) for line in lines}
    numbered = {(torch, platform, python): file for torch, platform, python, dashes, file in read if dashes == 5}
    measured = [
        (row["evidence"]["ref"].split()[0], numbered.get((torch, row["platform"], "cp312-cp312")))
        for torch, row in ROWS
        if row["evidence"]["kind"] == "measured"
    ]

    assert [file for file, better in measured if better is not None] == [
        "torch-2.10.0-3-cp312-cp312-manylinux_2_28_x86_64.whl"
    ]
    assert [file for file, better in measured if better not in (None, file)] == []


def test_the_readme_names_every_file() -> None:
    text = (COMPAT / "README.md").read_text("utf-8")

    for path in COMPAT.rglob("*.json"):
        name = path.relative_to(COMPAT).as_posix()
        platform = next((each for each in layout.PLATFORMS if path.stem.endswith(each)), None)
        generic = name if platform is None else name.replace(platform, "PLATFORM")
        generic = "packages/NAME.json" if path.parent.name == "packages" else generic
        assert f"`{'torch-X.Y.Z.json' if name.startswith('torch-') else generic}`" in text, name


SCRIPTS = sorted(path.name for path in (ROOT / "scripts").iterdir() if path.is_file() and "." not in path.name)


# A script of these three lines is a module of scripts/: one of them is started, of the others the module is asked.
STUB = re.compile(
    r"#!/usr/bin/env bash\n(?:#.*\n)+(?:\. \"\$\(dirname \"\$\{BASH_SOURCE\[0\]\}\"\)/environment\"\n"
    r"|cd \"\$\(dirname \"\$0\"\)/\.\.\"\n\. scripts/environment\n)(?:tool|reader) (scripts\.[\w.]+) \"\$@\"\n"
)
STUBS = {name: found[1] for name in SCRIPTS if (found := STUB.fullmatch((ROOT / "scripts" / name).read_text("utf-8")))}


@pytest.mark.parametrize("name", STUBS)
def test_each_module_of_a_script_knows_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = tool.main(name, STUBS[name], ["--help"])
    except SystemExit as ended:
        status = int(str(ended.code))
    said = capsys.readouterr()

    assert (status, said.err) == (0, "")
    assert len(said.out) > 40


@pytest.mark.process
@pytest.mark.skipif(not (ROOT / ".venv-dev").is_dir(), reason="the scripts' own environment is not there")
@pytest.mark.parametrize(
    "name", [name for name in SCRIPTS if name not in ("environment", "start", *STUBS) or name == "build-index"]
)
def test_each_script_finds_its_environment_and_knows_help(name: str, tmp_path: Path) -> None:
    # Its own Python, whichever comes first here: with another one the environment would be made anew under the tests.
    python = {"PYTHON": str(ROOT / ".venv-dev" / "bin" / "python")}
    done = subprocess.run(
        [ROOT / "scripts" / name, "--help"],
        cwd=tmp_path, env={**os.environ, **python}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout) > 40
    assert list(tmp_path.iterdir()) == []
