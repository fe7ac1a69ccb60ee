"""compat/packages: made from the evidence and the rules beside it, and refused where a row is not of its format."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scripts.table import packages
from scripts.table.checking import check_file
from torchpick.cli import main
from torchpick.decide import packagefit
from torchpick.errors import CompatError
from torchpick.knowledge import packages as known
from torchpick.knowledge.compat import Knowledge
from torchpick.model.versions import parsed

COMPAT = Path(__file__).parents[2] / "compat"
FILES = sorted((COMPAT / "packages").glob("*.json"))


@pytest.fixture(scope="module")
def built() -> dict[str, dict[str, object]]:
    return packages.build(packages.read_evidence(packages.EVIDENCE), COMPAT)


def test_the_files_are_those_that_the_evidence_makes(built: dict[str, dict[str, object]]) -> None:
    assert {file.stem for file in FILES} == set(built)
    for file in FILES:
        assert json.loads(file.read_text(encoding="utf-8")) == built[file.stem], file.name


def test_a_measured_row_names_the_file_that_was_read() -> None:
    for file in FILES:
        for package in known.facts_of(str(file), known.READ_PLATFORM).versions:
            if package.evidence.kind == "measured" and package.name != "torch":
                assert package.file
                assert package.sha256
                assert package.sha256 in package.evidence.ref


def test_of_a_wheel_elsewhere_nothing_is_left_to_guess() -> None:
    """What is printed, or taken by its address, is known by torch, the Python and the version; a hash is whole."""
    torch = next(build for build in Knowledge({}).every_build if build.backend.startswith("cu"))
    for file in FILES:
        facts = known.facts_of(str(file), known.READ_PLATFORM)
        versions = [version for version in facts.versions if version.place]
        for text in (each for version in versions for place in facts.elsewhere for each in (version.place, place.text)):
            assert text is not None
            shown = packagefit.filled(text, versions[0], torch, "cp312")
            assert not re.search(r"[{}]|XY|NNN|cpNN", shown), (file.name, text)
            assert re.fullmatch(r"[^#]*(#sha256=[0-9a-f]{64})?", text), (file.name, text)


def test_no_wheel_for_windows_needs_what_there_is_for_linux_alone() -> None:
    for file in FILES:
        for package in known.facts_of(str(file), known.WINDOWS).versions:
            if package.file is not None and package.file.endswith("win_amd64.whl"):
                assert "libnccl.so.2" not in package.needs, package.who


@pytest.mark.usefixtures("live_table")
@pytest.mark.parametrize("gpu", ["none", "sm_89"])
def test_who_asks_for_nunchaku_learns_whose_that_name_is(gpu: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", "nunchaku", "torch", "--gpu", gpu, "--driver", "580.95.05", "--platform", "linux-x86_64"])

    assert "nunchaku on the default index is another project of that name" in capsys.readouterr().err


def test_what_links_cuda_says_so_or_links_nothing_of_it() -> None:
    """A library of another major among the needs would be judged by the wrong torch."""
    for file in FILES:
        for package in known.facts_of(str(file), known.READ_PLATFORM).versions:
            named = [need for need in package.needs if need.startswith(("libcudart.", "libcublas."))]
            majors = {need.partition(".so.")[2].partition(".")[0] for need in named}
            if majors:
                assert majors == {str(package.major)}, f"{package.name} {package.version}"


def test_an_unread_version_gets_only_what_both_neighbours_have(built: dict[str, dict[str, object]]) -> None:
    rows = {row["version"]: row for row in built["vllm"]["versions"]}  # type: ignore[attr-defined]
    unread = {arch for library in rows["0.10.1.1"]["code"] if library["main"] for arch in library["arches"].split()}

    assert rows["0.10.1.1"]["evidence"]["kind"] == "declared"
    assert {"sm_70", "sm_90", "sm_100"} <= unread
    assert not {"sm_86", "sm_110"} & unread
    assert built["vllm"]["versions"][-1]["version"] == "0.5.5"  # type: ignore[index]


def test_a_row_has_all_that_its_wheel_requires(built: dict[str, dict[str, object]]) -> None:
    lines = {line["file"]: line for line in packages.read_evidence(packages.EVIDENCE)}
    for value in built.values():
        for row in value["versions"]:  # type: ignore[attr-defined]
            if line := lines.get(row["file"]):
                assert {parsed(text).name for text in line["requires"]} <= {
                    parsed(text).name for text in row["requires"]
                }

    rows = {row["version"]: row for row in built["vllm"]["versions"]}  # type: ignore[attr-defined]
    assert "flashinfer-python==0.7.2.post1" in rows["0.33.0"]["requires"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"glibc": "new"}, "glibc"),
        ({"jit": "newer ones"}, "jit"),
        ({"optional": "yes"}, "optional"),
        ({"cuda": "cu12"}, "cuda"),
        ({"requires": ["no no"]}, "requires"),
        ({"sha256": None}, "evidence.kind"),
        ({"evidence": {"kind": "believed", "ref": ""}}, "evidence.kind"),
        ({"code": [{"path": "a", "main": True, "cuda": None, "arches": "sm80"}]}, "code[0].arches"),
    ],
)
def test_a_fault_is_told_by_its_place(change: dict[str, object], place: str, tmp_path: Path) -> None:
    value = json.loads((COMPAT / "packages" / "xformers.json").read_text(encoding="utf-8"))
    value["versions"][0].update(change)
    file = tmp_path / "xformers.json"
    file.write_text(json.dumps(value), encoding="utf-8")

    with pytest.raises(CompatError, match="versions") as caught:
        check_file(file, "packages/xformers.json")

    assert place in str(caught.value)
