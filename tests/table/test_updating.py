"""A release that the table does not know becomes a file of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.table import checking, updating
from tests.wheels import making


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A wheel host in a folder: one new release, one that has a file, one candidate."""
    lines = []
    for version, flags, cuda in (
        ("2.99.0+cu126", "sm_50 sm_60 compute_60", "12.6"),
        ("2.99.0+cpu", None, None),
        ("2.98.0+cu126", "sm_50 sm_60", "12.6"),
        ("3.0.0rc1+cu126", "sm_50 sm_60", "12.6"),
    ):
        name = f"torch-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
        linalg = making.library(making.module("sm_60"))
        path = tmp_path / "whl" / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            making.torch_wheel(flags, version=version, cuda=cuda, more={"torch/lib/libtorch_cuda_linalg.so": linalg})
        )
        lines.append(f'<a href="{name.replace("+", "%2B")}#sha256={"cd" * 32}">x</a>')
    (tmp_path / "whl" / "torch" / "index.html").write_text("\n".join(lines), "utf-8")
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "torch-2.98.0.json").write_text("mine", "utf-8")
    return (tmp_path / "whl").as_uri()


def test_a_new_release_becomes_a_file_that_passes_the_check(base: str, tmp_path: Path) -> None:
    out = tmp_path / "compat"
    assert updating.main(["--index-base", base, "--out", str(out)]) == 0

    assert sorted(path.name for path in out.iterdir()) == ["torch-2.98.0.json", "torch-2.99.0.json"]
    assert (out / "torch-2.98.0.json").read_text("utf-8") == "mine"
    checking.check_file(out / "torch-2.99.0.json", "torch-2.99.0.json")
    cpu, cuda = json.loads((out / "torch-2.99.0.json").read_text("utf-8"))["builds"]
    assert (cpu["backend"], cpu["arches"], cpu["evidence"]["kind"]) == ("cpu", [], "declared")
    assert (cuda["backend"], cuda["arches"]) == ("cu126", ["sm_50", "sm_60", "compute_60"])
    assert cuda["lacks"] == {"libtorch_cuda_linalg.so": ["sm_50"]}
    assert cuda["evidence"]["kind"] == "measured"
    assert cuda["evidence"]["ref"].startswith("torch-2.99.0+cu126-cp312-cp312-manylinux_2_28_x86_64.whl sha256:cdcd")


def test_one_release_alone(base: str, tmp_path: Path) -> None:
    assert updating.main(["--index-base", base, "--out", str(tmp_path / "compat"), "--release", "2.97.0"]) == 0
    assert len(list((tmp_path / "compat").iterdir())) == 1


def test_an_index_without_torch_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert updating.main(["--index-base", tmp_path.as_uri(), "--out", str(tmp_path)]) == 1
    assert "has no page of torch" in capsys.readouterr().err
