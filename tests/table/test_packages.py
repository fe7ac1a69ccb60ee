"""compat/packages: made from the evidence and the rules beside it, and refused where a row is not of its format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.table import measuring_packages, packages
from tests.index.server import serving
from tests.wheels import making
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


def test_a_package_without_code_is_read_again_and_one_that_has_some_now_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"project": "trl", "version": "1.0", "file": "trl-1.0-py3-none-any.whl", "sha256": "ab", "needed": []}
    (tmp_path / "without-code.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    with serving() as host:
        monkeypatch.setenv("PIP_INDEX_URL", f"{host.url}/simple")
        host.types["/simple/trl/"] = "text/html"
        for version, code, status in (("1.1", b"", 0), ("1.2", making.library(making.module("sm_80")), 1)):
            host.files["/simple/trl/"] = b'<a href="/files/trl-%s-py3-none-any.whl">x</a>' % version.encode()
            metadata = f"Metadata-Version: 2.4\nName: trl\nVersion: {version}\n".encode()
            members = {"trl/a.so": code, f"trl-{version}.dist-info/METADATA": metadata}
            host.files[f"/files/trl-{version}-py3-none-any.whl"] = making.wheel(members)
            assert measuring_packages.main(["--new", "9", "--out", str(tmp_path / "packages.jsonl")]) == status
        host.types["/simple/vllm/"], host.files["/simple/vllm/"] = "application/vnd.pypi.simple.v1+json", b"{"
        host.files["/simple/trl/"] = b""
        assert measuring_packages.main(["--new", "9", "--out", str(tmp_path / "packages.jsonl")]) == 1

    assert json.loads((tmp_path / "without-code.jsonl").read_text("utf-8"))["version"] == "1.1"
    assert (tmp_path / "packages.jsonl").read_text("utf-8") == ""
    err = capsys.readouterr().err
    assert "trl-1.2-py3-none-any.whl: has code for GPUs now" in err
    assert "/simple/vllm/" in err, "a page that cannot be read"
