"""The cure keeps what it can: the version, the companions, what others ask of torch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.doctor.homes import CU126, CU128, Home, codes, examine
from torchpick import question, resolve, shipped
from torchpick.doctor import cure
from torchpick.doctor.cure import Ask, Cure
from torchpick.model.specifiers import admits
from torchpick.model.verdict import Verdict
from torchpick.model.wish import Wish
from torchpick.request import Request


def verdicts(*gpus: str, driver: str, python: str = "3.12") -> tuple[Verdict, ...]:
    request = Request(gpus=gpus, driver=driver, python=python, platform="linux-x86_64", glibc="2.35")
    rules = shipped.rules(os.environ)
    machine = question.machine_of(request, os.environ, rules)
    return tuple(resolve.judge(machine, question.table_of((machine,), os.environ, rules), Wish()))


OLD = verdicts("sm_61", driver="580.95.05")
NEW = verdicts("sm_120", driver="580.95.05")


def mended(release: str | None, *companions: str, among: tuple[Verdict, ...] = OLD, asks: tuple[Ask, ...] = ()) -> Cure:
    found = cure.find(release, companions, asks, among)
    assert found is not None
    return found


def ask(specifier: str, package: str = "needy 1.0") -> Ask:
    return Ask(package, f"torch{specifier}", admits(specifier, prereleases=True))


def test_the_same_release_on_another_backend_is_kept() -> None:
    found = mended("2.9.1", "torchvision")

    assert (found.version, found.kept, found.lost) == ("2.9.1+cu126", True, ())
    assert found.requirements == ("torch==2.9.1", "torchvision")


@pytest.mark.parametrize(
    ("release", "among", "version"),
    [
        ("2.15.0", OLD, "2.14.1+cu126"),  # the newest of the old GPU's
        ("2.6.0", NEW, "2.7.0"),  # the first of the new GPU's
        ("2.13.0.dev20260601", OLD, "2.13.0"),  # a nightly: the release it was to become is the nearest
        ("1.0", OLD, "1.7.0"),
        ("local build", OLD, "1.7.0"),
    ],
)
def test_else_the_nearest_release_is_taken(release: str, among: tuple[Verdict, ...], version: str) -> None:
    found = mended(release, among=verdicts("sm_61", driver="580.95.05", python="3.8") if "1.7.0" in version else among)

    assert found.version.startswith(version)
    assert not found.kept


def test_companions_decide_between_releases_that_are_as_near() -> None:
    """The last torchaudio is that of 2.11.0, so it is lost only where the version itself is kept."""
    assert mended("2.15.0", "torchaudio").version.startswith("2.11.0")
    assert mended("2.14.1", "torchaudio").lost == ("torchaudio (none was published for torch 2.14.1)",)


def test_what_other_packages_ask_of_torch_is_kept_where_it_can_be() -> None:
    found = mended("2.15.0", asks=(ask("<2.13"),))

    assert found.version == "2.12.1+cu126"
    assert found.lost == ()


def test_what_cannot_be_kept_is_named() -> None:
    found = mended("2.15.0", asks=(ask(">=2.15"),))

    assert found.version == "2.14.1+cu126"
    assert found.lost == ("needy 1.0 (it requires torch>=2.15)",)


def test_without_a_version_to_keep_the_best_is_asked_for_by_name_alone() -> None:
    assert mended(None).requirements == ("torch",)
    assert mended(None, asks=(ask("<2.10"),)).requirements == ("torch==2.9.1",)


def test_where_nothing_runs_there_is_no_cure() -> None:
    assert cure.find("2.9.1", (), (), verdicts("sm_61", driver="595.1")) is None


def test_uv_s_auto_fails_where_the_newest_cuda_of_the_driver_has_no_code() -> None:
    assert cure.auto_fails(OLD)
    assert not cure.auto_fails(NEW)
    assert not cure.auto_fails(())


@pytest.mark.process
def test_the_command_tells_the_machine_and_the_python_as_they_were_told(home: Home) -> None:
    home.torch().companion("torchvision", "0.24.1+cu128")

    found = examine(home, "MX330", driver="580.119.02")

    expected = "torchpick install torch==2.9.1 torchvision --gpu MX330 --driver 580.119.02 --python"
    assert found.command is not None
    assert " ".join(found.command) == f"{expected} {home.python}"
    assert {finding.cure for finding in found.findings} == {" ".join(found.command)}
    assert found.cure is not None
    assert found.cure.version == "2.9.1+cu126"


@pytest.mark.process
def test_a_broken_torch_is_put_there_anew(home: Home) -> None:
    home.torch()
    (home.site / "torch" / "lib" / "libtorch_cpu.so").unlink()

    found = examine(home, "sm_86", driver="580.1")

    assert found.command is not None
    assert found.command[-2:] == ("--", "--force-reinstall")


@pytest.mark.process
def test_a_driver_that_is_too_old_for_everything_is_told_what_would_have_to_change(home: Home) -> None:
    home.torch("2.9.1+cu126", "12.6", CU126)

    (finding,) = examine(home, "sm_61", driver="380.1").findings

    assert finding.code == "DRIVER_TOO_OLD"
    assert finding.cure is None
    assert finding.advice is not None
    assert "driver 525.60.13 or newer" in finding.advice


@pytest.mark.process
def test_the_newest_build_that_this_driver_runs_is_the_cure(home: Home) -> None:
    home.torch("2.15.0+cu132", "13.2", "sm_75 sm_80 sm_90 sm_120")

    (finding,) = examine(home, "a100", driver="535.183.01").findings

    assert finding.code == "DRIVER_TOO_OLD"
    assert "580" in finding.text
    assert finding.advice is not None
    assert "2.14.1+cu126" in finding.advice
    assert "driver 580" in finding.advice


@pytest.mark.process
def test_without_a_torch_that_runs_settings_are_held_against_the_cure(home: Home) -> None:
    """They lead to what is installed, and that is what must go."""
    home.torch()

    found = examine(home, "sm_61", driver="580.1", environ={"UV_TORCH_BACKEND": "cu128"})

    assert codes(found) == ["NO_KERNELS", "SETTINGS_UNDO"]
    assert "cu126" in found.findings[1].text
    assert codes(examine(home, "sm_61", driver="580.1", environ={"UV_TORCH_BACKEND": "cu126"})) == ["NO_KERNELS"]


@pytest.mark.process
def test_other_packages_pins_reach_the_cure(home: Home) -> None:
    home.torch("2.15.0+cu132", "13.2", "sm_75 sm_80 sm_90 sm_120")
    home.add("needy", "1.0", requires=["torch>=2.12,!=2.14.1", "torch<2; extra == 'old'"])

    found = examine(home, "sm_61", driver="580.1")

    assert found.cure is not None
    assert found.cure.version == "2.14.0+cu126"


@pytest.mark.process
def test_a_lock_that_names_the_broken_version_will_undo_the_cure(home: Home) -> None:
    home.torch("2.9.1+cu128", "12.8", CU128)
    Path(home.root.parent, "uv.lock").write_text('[[package]]\nname = "torch"\nversion = "2.9.1"\n')

    assert codes(examine(home, "sm_61", driver="580.1")) == ["NO_KERNELS", "LOCK_UNDO"]
