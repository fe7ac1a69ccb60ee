"""compat/packages: made from the evidence and the rules beside it, and refused where a row is not of its format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.table import packages
from torchpick.cli import main

COMPAT = Path(__file__).parents[2] / "compat"
FILES = sorted((COMPAT / "packages").glob("*.json"))


@pytest.fixture(scope="module")
def built() -> dict[str, dict[str, object]]:
    return packages.build(packages.read_evidence(packages.EVIDENCE), COMPAT)


def test_the_files_are_those_that_the_evidence_makes(built: dict[str, dict[str, object]]) -> None:
    assert {file.stem for file in FILES} == set(built)
    for file in FILES:
        assert json.loads(file.read_text(encoding="utf-8")) == built[file.stem], file.name


@pytest.mark.usefixtures("live_table")
@pytest.mark.parametrize("gpu", ["none", "sm_89"])
def test_who_asks_for_nunchaku_learns_whose_that_name_is(gpu: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "nunchaku", "torch", "--gpu", gpu, "--driver", "580.95.05", "--platform", "linux-x86_64"])

    assert "nunchaku on the default index is another project of that name" in capsys.readouterr().err


def test_an_unread_version_gets_only_what_both_neighbours_have(built: dict[str, dict[str, object]]) -> None:
    rows = {row["version"]: row for row in built["vllm"]["versions"]}  # type: ignore[attr-defined]
    unread = {arch for library in rows["0.10.1.1"]["code"] if library["main"] for arch in library["arches"].split()}

    assert rows["0.10.1.1"]["evidence"]["kind"] == "declared"
    assert {"sm_70", "sm_90", "sm_100"} <= unread
    assert not {"sm_86", "sm_110"} & unread
    assert built["vllm"]["versions"][-1]["version"] == "0.5.5"  # type: ignore[index]
