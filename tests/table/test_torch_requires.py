"""compat/requires.json: made from what the wheels of torch require, one list for every build of a release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.table import layout, torch_requires
from scripts.table.reading_torch_requires import EVIDENCE, Group, read_evidence
from torchpick.model.versions import release_key

COMPAT = Path(__file__).parents[2] / "compat"


def merged(*wheels: tuple[str, str, tuple[str, ...]]) -> dict[str, list[str]]:
    """The rows of one release whose wheels (platform, file, requirements) are these."""
    groups: dict[Group, dict[str, str]] = {}
    for platform, file, lines in wheels:
        groups.setdefault(("2.4.0", platform, lines), {})[file] = "0" * 64
    releases = torch_requires.build(groups)["releases"]
    return releases["2.4.0"]  # type: ignore[index, no-any-return]


def test_the_file_is_what_the_evidence_makes() -> None:
    built = torch_requires.build(read_evidence(EVIDENCE))

    assert layout.readable(built) + "\n" == (COMPAT / "requires.json").read_text("utf-8")


def test_every_release_of_the_table_has_its_requirements() -> None:
    """But for one that the wheel host has before the default index."""
    releases = json.loads((COMPAT / "requires.json").read_text("utf-8"))["releases"]
    in_table = sorted((path.stem.removeprefix("torch-") for path in COMPAT.glob("torch-*.json")), key=release_key)

    assert {*in_table[:-1]} <= set(releases) <= {*in_table}
    assert all(row["plain"] for row in releases.values())


def test_what_the_wheels_of_one_python_alone_require_is_marked_so() -> None:
    linux, cp311, cp312 = "linux-x86_64", "torch-2.4.0-cp311-cp311-a.whl", "torch-2.4.0-cp312-cp312-a.whl"
    row = merged((linux, cp311, ("jinja2",)), (linux, cp312, ("jinja2", "setuptools")))

    assert row["plain"] == ["jinja2", 'setuptools; python_version >= "3.12"']


def test_what_one_platform_alone_requires_is_marked_so_and_what_is_of_cuda_is_left_out() -> None:
    line = 'nvidia-cublas-cu11 (==11.10.3.66) ; platform_system == "Linux"'
    row = merged(
        ("linux-x86_64", "torch-2.4.0-cp312-cp312-a.whl", ("sympy", "numpy", line)),
        ("linux-aarch64", "torch-2.4.0-cp312-cp312-b.whl", ("sympy",)),
    )

    assert row["plain"] == ['numpy; platform_machine == "x86_64"', "sympy"]


@pytest.mark.parametrize("lines", [("sympy (==1.13.1)",), ("sympy ==1.13.1",), ("Sympy==1.13.1",)])
def test_however_a_line_is_written_it_is_one(lines: tuple[str, ...]) -> None:
    file = "torch-2.4.0-cp312-cp312-"
    row = merged(("linux-x86_64", f"{file}a.whl", lines), ("windows-x86_64", f"{file}b.whl", ("sympy==1.13.1",)))

    assert row["plain"] == ["sympy==1.13.1"]
