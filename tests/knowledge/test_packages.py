"""The packages of the table: each file is read when it is asked for, and once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.errors import CompatError
from torchpick.knowledge import packages
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.machine import Machine, Platform, Python
from torchpick.model.package import PackageFacts
from torchpick.model.pick import Request
from torchpick.run import start_run


def test_a_file_is_read_when_its_package_is_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = packages.facts_of

    def counted(file: str, platform: str) -> PackageFacts:
        read.append(Path(file).stem)
        return real(file, platform)

    monkeypatch.setattr(packages, "facts_of", counted)
    known = KnownPackages({}, "linux-x86_64")

    assert "vllm" in known
    assert "no-such-package" not in known
    assert read == []
    assert known["vllm"] is known["vllm"]
    assert read == ["vllm"]
    assert known.get("no-such-package") is None
    assert len(list(known)) == len(known) > 40


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


def test_a_table_without_packages_knows_none(tmp_path: Path) -> None:
    assert dict(KnownPackages({"TORCHPICK_COMPAT_DIR": str(tmp_path)}, "linux-x86_64")) == {}


def test_the_code_is_that_of_the_platforms_own_wheel() -> None:
    linux, windows = (
        KnownPackages({}, platform)["xformers"].versions[0] for platform in ("linux-x86_64", "windows-x86_64")
    )

    assert [library.path for library in linux.code or ()] == ["xformers/_C.so"]
    assert [library.path for library in windows.code or ()] == ["xformers/_C.pyd"]
    assert str(windows.file).endswith("win_amd64.whl")
    assert windows.cuda == linux.cuda


@pytest.mark.parametrize("platform", ["linux-aarch64", "windows-arm64"])
def test_code_of_a_platform_whose_wheel_nobody_read_is_not_known(platform: str) -> None:
    assert KnownPackages({}, platform)["bitsandbytes"].versions[0].code is None


@pytest.mark.parametrize("platform", ["windows-x86_64", "linux-aarch64"])
def test_where_only_the_wheel_for_every_platform_fits_there_is_no_native_code(platform: str) -> None:
    torchao = KnownPackages({}, platform)["torchao"].versions[0]

    assert "any" in torchao.platforms
    assert (torchao.code, torchao.cuda, torchao.links_torch) == ((), None, False)


def test_a_wheel_for_windows_without_gpu_code_links_no_cuda() -> None:
    tensorflow = KnownPackages({}, "windows-x86_64")["tensorflow"].versions[0]

    assert (tensorflow.code, tensorflow.cuda, tensorflow.needs) == ((), None, ())


def test_a_session_has_the_packages_of_each_platform_once() -> None:
    run = start_run(Request(), {})
    linux, windows = (Machine(Platform(os, "x86_64"), Python("3.12")) for os in ("linux", "windows"))

    assert run.read_catalog(linux) is run.read_catalog(linux)
    assert run.read_catalog(windows) is not run.read_catalog(linux)
