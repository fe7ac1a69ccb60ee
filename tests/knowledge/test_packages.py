"""The packages of the table: each file is read when it is asked for, and once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.errors import CompatError
from torchpick.knowledge import packages
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.fields import Fields
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import start_run


def test_a_fault_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    row = {"schema": 1, "name": "app", "versions": [{"version": "1"}]}
    (tmp_path / "packages" / "app.json").write_text(json.dumps(row), "utf-8")
    known = KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")

    with pytest.raises(CompatError, match=r"app\.json: is damaged \(KeyError\('code'\)\)"):
        known["app"]


def test_an_address_that_would_end_early_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "packages").mkdir()
    for place in ({"url": "https://h.example/a b"}, {"url": "https://h.example", "wheels": [[*"12345", "/a.whl\n#x"]]}):
        row = {"schema": 1, "name": "app", "versions": [], "elsewhere": [{"text": "x", **place}]}
        (tmp_path / "packages" / "app.json").write_text(json.dumps(row), "utf-8")
        known = KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")

        with pytest.raises(CompatError, match=r"app\.json: is damaged"):
            known["app"]


def test_a_session_has_the_packages_of_each_platform_once() -> None:
    run = start_run(Request(), {})
    linux, windows = (Machine(Platform(os, "x86_64"), Python("3.12")) for os in ("linux", "windows"))

    assert run.read_catalog(linux) is run.read_catalog(linux)
    assert run.read_catalog(windows) is not run.read_catalog(linux)


LINUX, ARM, WINDOWS, MAC = "linux-x86_64", "linux-aarch64", "windows-x86_64", "macos-arm64"


def row(version: str, **facts: object) -> dict[str, object]:
    return {
        "version": version, "file": f"ext-{version}.whl", "platforms": [LINUX], "cuda": "12", "links_torch": True,
        "needs": ["libx.so"], "code": [{"path": "a.so", "arches": "sm_80 sm_90"}],
        "evidence": {"kind": "measured", "ref": "x"}, **facts,
    }  # fmt: skip


@pytest.mark.parametrize(("facts", "platform", "code", "cuda"), [
    ({}, LINUX, "sm_80 sm_90", "12"), ({}, ARM, None, "12"), ({}, WINDOWS, None, "12"), ({}, MAC, "", None),
    ({"code": []}, ARM, "", "12"), ({"code": None}, LINUX, None, "12"),
    ({"windows": {"code": [], "cuda": "13"}}, WINDOWS, "", "13"), ({"windows": {"code": []}}, ARM, None, "12"),
    ({"platforms": ["any", LINUX]}, ARM, "", None), ({"platforms": ["any", ARM]}, ARM, None, "12"),
    ({"platforms": ["any", LINUX]}, LINUX, "sm_80 sm_90", "12"), ({"file": None}, MAC, "sm_80 sm_90", "12"),
])  # fmt: skip
def test_of_a_wheel_for_another_platform_no_more_is_known_than_was_read(
    facts: dict[str, object], platform: str, code: str | None, cuda: str | None
) -> None:
    found = packages.package_of("ext", row("1", **facts), platform)

    arches = None if found.code is None else " ".join(str(arch) for library in found.code for arch in library.arches)
    assert (arches, found.cuda, found.links_torch, found.needs) == (
        code, cuda, cuda is not None, ("libx.so",) if cuda else (),
    )  # fmt: skip


def test_wheels_that_lie_elsewhere_are_what_is_built_there_from_the_source() -> None:
    wheels = [
        ["2.0", LINUX, "torch==2.9.* numpy", "cu128 cu13", "cp312 cp313"], ["2.0", WINDOWS, "", "cu128", "cp312"],
        ["2.1", LINUX, "", "cu130", "cp312", "/b/ext-2.1.whl#sha256=1", "sm_100"], ["10.0", LINUX, "", "", "cp39"],
    ]  # fmt: skip
    places = [
        {"url": "https://h.example", "text": "a", "wheels": wheels},
        {"url": "", "text": "b", "wheels": wheels[:1]},
    ]
    source = row("3.0", file=None, requires=["torch"])
    facts = packages.parse({"name": "ext", "versions": [source, row("1.0")], "elsewhere": places}, LINUX)

    shown = [(one.version, one.cuda, one.place, one.file, one.pythons) for one in facts.versions]
    first = [("2.0", cuda, "https://h.example", None, ("cp312", "cp313")) for cuda in ("12.8", "13")]
    assert shown == [
        *first, ("2.1", "13.0", "https://h.example/b/ext-2.1.whl#sha256=1", "ext-2.1.whl", ("cp312",)),
        ("10.0", None, "https://h.example", None, ("cp39",)),
        *((version, cuda, "", file, pythons) for version, cuda, _, file, pythons in first),
        ("3.0", "12", "", None, ("any",)), ("1.0", "12", "", "ext-1.0.whl", ("any",)),
    ]  # fmt: skip
    assert {one.requires for one in facts.versions[:2]} == {("torch", "torch==2.9.*", "numpy")}
    assert [one.code and [str(arch) for arch in one.code[0].arches] for one in facts.versions[:4]] == [
        ["sm_80", "sm_90"], ["sm_80", "sm_90"], ["sm_100"], (),
    ]  # fmt: skip
    assert [index.text for index in facts.elsewhere] == ["a"]
    # Where nothing is built, the newest of all comes first.
    alone = packages.parse({"name": "ext", "versions": [row("4.0")], "elsewhere": places[:1]}, LINUX)
    assert [one.version for one in alone.versions] == ["10.0", "4.0", "2.1", "2.0", "2.0"]
    assert [one.code for one in alone.versions[3:]] == [None] * 2


def test_two_wheels_share_what_those_of_their_versions_share_that_share_most() -> None:
    pairs = [{"names": ["a", "b"], "files": 9}, {"names": ["b", "a"], "files": 3}, {"names": ["a", "c"], "files": 0}]

    assert packages.shared_files(Fields({"pairs": pairs})) == {frozenset("ab"): 9}
