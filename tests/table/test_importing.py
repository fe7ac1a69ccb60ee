"""Collected facts become rows as the format says, and a wrong fact is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.table import builds, importing, wording
from torchpick.model.fields import Fields

WHEEL: dict[str, Any] = {
    "release": "2.9.0",
    "backend": "cu126",
    "platform": "linux_x86_64",
    "published": True,
    "index": "https://example.org/whl/cu126",
    "pythons": ["cp312", "cp313t"],
    "pythons_free_threaded_basis": "PyPI tags",
    "arches": [50, 90],
    "ptx": [90],
    "arches_confidence": "high",
    "arches_source": "build_cuda.sh",
    "cuda": "12.6.3 (runtime 12.6.85)",
    "cudnn": "9.10.2.21",
    "nccl": None,
    "triton": "~=3.5.0",
    "manylinux": "manylinux_2_28_x86_64",
    "local_version": "+cu126",
    "source": "PyPI simple page for torch; METADATA via pip",
    "confidence": "medium",
    "notes": [],
}

OLD_TARGETS = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"]


def row(**changes: object) -> dict[str, Any]:
    facts = [Fields({**WHEEL, **changes})]
    return dict(builds.releases(facts)["2.9.0"][0])


def test_a_fact_becomes_a_row() -> None:
    assert row() == {
        "backend": "cu126",
        "platform": "linux-x86_64",
        "version": "2.9.0+cu126",
        "real": None,
        "cuda": "12.6",
        "arches": ["sm_50", "sm_90", "compute_90"],
        "pythons": ["cp312", "cp313t"],
        "tags": ["manylinux_2_28_x86_64"],
        "glibc": "2.28",
        "libraries": {"cudnn": "9.10.2.21", "triton": "3.5.0"},
        "lacks": {},
        "published": True,
        "yanked": False,
        "evidence": {
            "kind": "declared",
            "ref": "arches: build_cuda.sh; wheel: the default index's page for torch and METADATA of its wheels",
            "confidence": "medium",
            "twin": None,
        },
        "notes": [],
    }


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({"manylinux": "manylinux1_x86_64"}, "glibc", "2.5"),
        ({"manylinux": "manylinux2014_aarch64"}, "glibc", "2.17"),
        ({"manylinux": "linux_x86_64"}, "glibc", None),
        ({"manylinux": None}, "tags", []),
        ({"manylinux": "macosx_11_0_arm64,macosx_14_0_arm64"}, "tags", ["macosx_11_0_arm64", "macosx_14_0_arm64"]),
        ({"ptx": None}, "arches", ["sm_50", "sm_90"]),
        ({"ptx": None}, "notes", ["PTX unknown; counted as none"]),
        ({"arches": None, "ptx": None}, "arches", None),
        ({"local_version": ""}, "version", "2.9.0"),
        ({"backend": "pypi", "local_version": "", "real_version": "2.9.0+cu128"}, "real", "2.9.0+cu128"),
        ({"backend": "pypi", "local_version": "", "real_version": "2.9.0+cu128"}, "backend", "default"),
        ({"real_version": "2.9.0+cu128"}, "real", None),
        ({"platform": "windows"}, "platform", "windows-x86_64"),
        ({"platform": "windows_arm64"}, "platform", "windows-arm64"),
        ({"platform": "linux_s390x"}, "platform", "linux-s390x"),
        ({"backend": "rocm7.14", "arches": None}, "arches", None),
        ({"backend": "xpu", "arches": None, "cuda": None}, "arches", []),
        ({"published": None}, "published", None),
        ({"arches_confidence": "low", "confidence": "certain"}, "evidence", None),
    ],
)
def test_a_fact_is_read_as_it_is_meant(changes: dict[str, object], key: str, value: object) -> None:
    found = row(**changes)

    if key == "evidence":
        assert found[key]["confidence"] == "low"
    else:
        assert found[key] == value


def test_what_was_not_published_is_kept_apart() -> None:
    unpublished = {"published": False, "notes": ["never existed"], "local_version": None, "arches": None}
    facts = [
        Fields({**WHEEL, **unpublished, "release": release, "backend": "cu122", "platform": platform})
        for release in ("2.9.0", "*")
        for platform in ("windows", "linux_x86_64")
    ]

    assert builds.releases(facts) == {}
    assert [(each["torch"], each["platforms"], each["reason"]) for each in builds.never(facts)] == [
        ("*", ["linux-x86_64", "windows-x86_64"], "never existed"),
        ("2.9.0", ["linux-x86_64", "windows-x86_64"], "never existed"),
    ]


def test_rows_stand_in_a_fixed_order() -> None:
    backends = ("pypi", "xpu", "rocm7.14", "rocm7.2", "cu130", "cu92", "cu126", "cpu")
    facts = [Fields({**WHEEL, "backend": backend}) for backend in backends]

    found = [each["backend"] for each in builds.releases(facts)["2.9.0"]]

    assert found == ["cpu", "cu92", "cu126", "cu130", "rocm7.2", "rocm7.14", "xpu", "default"]


def test_tags_by_python_survive_for_the_wheel_host_too() -> None:
    note = "platform tags by python: macosx_11_0_arm64: cp312; macosx_14_0_arm64: cp313t"
    mac: dict[str, Any] = {"platform": "macos_arm64", "local_version": "", "cuda": None, "arches": [], "ptx": []}
    facts = [Fields({**WHEEL, **mac, "backend": "pypi", "notes": [note]}), Fields({**WHEEL, **mac, "backend": "cpu"})]

    cpu, default = builds.releases(facts)["2.9.0"]

    assert default["notes"] == [note]
    assert cpu["notes"] == [f"{note} (file names of the default index)"]


def test_sources_name_the_default_index_in_words() -> None:
    assert wording.source("PyPI wheel flags; not on PyPI") == "default-index wheel flags; not on the default index"


def test_a_wrong_fact_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wheels.json").write_text(json.dumps([WHEEL, {**WHEEL, "platform": "plan9"}]), "utf-8")

    assert importing.main([str(tmp_path), str(tmp_path / "compat")]) == 1
    assert "wheels.json[1].platform: is unknown: 'plan9'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--help"], ["a", "b", "c"]])
def test_the_usage_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert importing.main(words) == 2
    assert "usage: scripts/import-facts" in capsys.readouterr().err


def test_missing_facts_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert importing.main([str(tmp_path)]) == 1
    assert "wheels.json" in capsys.readouterr().err
