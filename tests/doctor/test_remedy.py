"""The remedy keeps what it can: the version, the companions, what others ask of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.doctor.homes import CU126, Home, codes, examine
from tests.skips import has_torch_2_2
from tests.wheels import making
from torchpick.doctor import examination, remedy
from torchpick.doctor.remedy import Remedy
from torchpick.model.finding import Ailment, Finding
from torchpick.model.pick import Request
from torchpick.run import start_run

pytestmark = pytest.mark.process
OLD, NEW = "sm_61", "sm_120"


def mended(home: Home, release: str, *companions: str, gpu: str = OLD, driver: str = "580.95.05") -> Remedy:
    """What is done about a torch without code for the GPU."""
    home.torch(f"{release}+cu126", "12.6", "sm_75")
    for name in companions:
        home.companion(name, "0.1+cu126", codes="", requires=["torch==0.1"])  # its own is no demand that binds
    found = examine(home, gpu, driver=driver).remedy
    assert found is not None
    return found


def test_the_same_release_on_another_backend_is_kept(home: Home) -> None:
    found = mended(home, "2.9.1", "torchvision", "torchaudio")

    assert (found.version, found.kept, found.lost) == ("2.9.1+cu126", True, ())
    assert found.requirements == ("torch==2.9.1", "torchvision", "torchaudio")


@pytest.mark.parametrize(("release", "gpu", "version"), [
        ("2.15.0", OLD, "2.14.1+cu126"),  # the newest of the old GPU's
        ("2.6.0", NEW, "2.7.0"),  # the first of the new GPU's
        ("2.13.0.dev20260601", OLD, "2.13.0"),  # a nightly: the release it was to become is the nearest
        ("2.9.99", OLD, "2.10.0"),
])  # fmt: skip
def test_else_the_nearest_release_is_taken(release: str, gpu: str, version: str, home: Home) -> None:
    found = mended(home, release, gpu=gpu)

    assert found.version.startswith(version)
    assert not found.kept


def test_companions_decide_between_releases_that_are_as_near(home: Home) -> None:
    """The index of cu132 holds no torchaudio, so it is lost only where the version itself is kept."""
    found = mended(home, "2.15.1", "torchaudio", gpu=NEW, driver="610.43.02")

    assert (found.version, found.narrowed) == ("2.14.1+cu130", False)


def test_a_companion_is_lost_where_the_version_itself_is_kept(tmp_path: Path, made_up: str) -> None:
    found = mended(Home(tmp_path / ".venv", version=made_up), "2.15.0", "torchaudio", gpu=NEW, driver="610.43.02")

    assert found.lost == ("torchaudio (none is known for torch 2.15.0)",)


def test_what_other_packages_ask_of_torch_is_kept_where_it_can_be(home: Home) -> None:
    home.add("needy", "1.0", requires=["torch<2.13"])
    home.add("other", "1.0", requires=["torch!=2.12.1"])
    found = mended(home, "2.15.0")

    assert (found.version, found.lost, found.bound_by) == ("2.12.0+cu126", (), ())


def test_what_cannot_be_kept_is_named(home: Home) -> None:
    home.add("needy", "1.0", requires=["torch>=2.15"])
    home.add("other", "2.0", requires=["torch>2.14.1"])
    found = mended(home, "2.15.0")

    assert found.version == "2.14.1+cu126"
    assert found.lost == ("needy 1.0 (it requires torch>=2.15)", "other 2.0 (it requires torch>2.14.1)")
    found = found._replace(lost=found.lost[:1])
    broken = Finding(Ailment.NO_KERNELS, "no code")
    nearest = "that is 2.14.1+cu126: torch 2.14.1 is the nearest release that runs"
    assert remedy.brings(found, broken) == f"{nearest}; it cannot keep needy 1.0 (it requires torch>=2.15)"
    bound = found._replace(lost=(), bound_by=("torch<2.15 of a.txt", "torch<2.15 of b.txt"))
    assert remedy.brings(bound, broken) == f"{nearest}; bound by torch<2.15 of a.txt and torch<2.15 of b.txt"


@pytest.mark.parametrize(("requires", "words"), [((), ("torch",)), (("torch<2.10",), ("torch==2.9.1",))])
def test_without_a_version_to_keep_the_best_is_asked_for_by_name_alone(
    requires: tuple[str, ...], words: tuple[str, ...], home: Home
) -> None:
    home.add("needy", "1.0", requires=requires)
    found = examine(home, OLD, driver="580.95.05")

    assert found.remedy is not None
    assert found.remedy.requirements == words


@pytest.mark.parametrize(("named", "requires", "end"), [
        ("2.9.1+cu128", (), ("--no-deps", "--", "--force-reinstall")),  # nothing but torch is touched
        ("2.9.1+cu128", ("sympy",), ("cu128", "--", "--force-reinstall")),  # with what is missing
        ("2.9.1", (), ("--backend", "cu128")),  # the default index's record is another version than the pick's
])  # fmt: skip
def test_a_broken_torch_is_installed_again(
    named: str, requires: tuple[str, ...], end: tuple[str, ...], home: Home
) -> None:
    home.torch(named=named, requires=requires)
    (home.site / "torch" / "lib" / "libtorch_cpu.so").unlink()

    found = examine(home, "sm_86", driver="580.1")

    assert found.remedy is not None
    assert found.remedy.command[-len(end) :] == end


def test_a_driver_that_is_too_old_for_everything_is_told_what_would_have_to_change(home: Home) -> None:
    home.torch("2.9.1+cu126", "12.6", CU126)

    (finding,) = examine(home, "sm_61", driver="380.1").findings

    assert finding.code == "DRIVER_TOO_OLD"
    assert finding.cure is None
    assert finding.advice == "install driver 525.60.13 or newer and keep this torch"


def with_wrong_vision(home: Home) -> Home:
    return home.torch("2.14.1+cu126", "12.6", CU126).companion("torchvision", "0.22.1+cu126", codes="")


def test_without_a_gpu_the_environment_keeps_its_own_backend(home: Home) -> None:
    """A login node has none, and its environments are for the nodes that have."""
    found = examine(with_wrong_vision(home), "none")

    assert codes(found) == ["COMPANION_MISMATCH"]
    assert found.remedy is not None
    assert found.remedy.version == "2.14.1+cu126"
    expected = "torchpick install torch==2.14.1 torchvision --gpu none --python HERE --backend cu126"
    assert " ".join(found.remedy.command).replace(home.python, "HERE") == expected


def test_a_cpu_build_is_taken_only_where_it_is_asked_for(home: Home) -> None:
    with_wrong_vision(home)
    variables = {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root)}
    asked = Request(gpus=("none",), python=home.python, cpu=True)

    found = examination.examine(start_run(asked, variables))

    assert found.remedy is not None
    assert found.remedy.version == "2.14.1+cpu"
    assert "--cpu" in found.remedy.command
    assert "--backend" not in found.remedy.command


def test_a_torch_that_runs_keeps_its_build_when_another_is_newer(home: Home) -> None:
    """On a GPU that both serve, the companions of the same build are the fix, not another CUDA."""
    home.add("kern", "1.0", {"kern/_C.so": making.library(making.module("sm_90"))})  # another torch would not fix that
    found = examine(with_wrong_vision(home), "sm_86", driver="595.58.03")

    assert found.remedy is not None
    assert found.remedy.version == "2.14.1+cu126"
    assert found.remedy.command[-2:] == ("--backend", "cu126")


@pytest.mark.parametrize(("version", "requires", "backend"), [
        ("2.9.1+cu126", [], "cu126"),
        ("2.9.1", ["nvidia-cuda-runtime-cu12==12.8.90; platform_system == 'Linux'"], "cu128"),
        ("2.11.0", ["cuda-toolkit[cublas,cudart]==13.0.2; platform_system == 'Linux'"], "cu130"),
])  # fmt: skip
def test_a_torch_that_is_gone_comes_back_with_the_backend_of_its_metadata(
    version: str, requires: list[str], backend: str, home: Home
) -> None:
    home.add("torch", version, requires=requires)

    found = examine(home, "none")

    assert "TORCH_BROKEN" in codes(found)
    assert found.remedy is not None
    assert found.remedy.version == f"{version.partition('+')[0]}+{backend}"


def test_a_torch_that_is_gone_and_says_nothing_is_not_replaced_by_a_guess(home: Home) -> None:
    home.add("torch", "2.9.1")

    found = examine(home, "none")

    assert found.remedy is None
    assert "--gpu" in str(found.findings[0].advice)


@pytest.mark.parametrize("by", ["PIP_CONSTRAINT", "pip.conf", "UV_CONSTRAINT"])
def test_what_binds_the_installer_binds_the_command_and_is_named(by: str, home: Home, tmp_path: Path) -> None:
    home.torch("2.15.0+cu132", "13.2", "sm_75 sm_80 sm_90 sm_120")
    limits = tmp_path / "limits.txt"
    limits.write_text("torch<2.13\ntorch<2.14\nnumpy<3\n", "utf-8")
    environ = {by: str(limits)} if by != "pip.conf" else {}
    if by != "UV_CONSTRAINT":
        home.add("pip", "26.3")
    if by == "pip.conf":
        (home.root / "pip.conf").write_text(f"[install]\nconstraint = {limits}\n", "utf-8")

    found = examine(home, "sm_61", driver="580.1", environ=environ)

    assert found.remedy is not None
    assert found.remedy.requirements == ("torch==2.12.1",)
    brings = str(found.findings[0].brings)
    assert brings.startswith("that is 2.12.1+cu126: torch 2.12.1 is the nearest release that runs; bound by torch<2.13")
    assert (brings.count(limits.name), "torch<2.14" in brings) == (2, True)


def test_a_constraint_that_nothing_runs_within_is_said(home: Home, tmp_path: Path) -> None:
    home.torch("2.15.0+cu132", "13.2", "sm_75 sm_80 sm_90 sm_120").add("pip", "26.3")
    (tmp_path / "limits.txt").write_text("torch>=2.15\n", "utf-8")

    found = examine(home, "sm_61", driver="580.1", environ={"PIP_CONSTRAINT": str(tmp_path / "limits.txt")})

    assert found.remedy is None
    assert "torch>=2.15 in PIP_CONSTRAINT" in str(found.findings[0].advice)


@has_torch_2_2
def test_a_broken_torch_beside_a_numpy_that_is_too_new_takes_both(home: Home) -> None:
    """Without their dependencies nothing else would be touched, numpy neither."""
    home.torch("2.2.2+cu121", "12.1", named="2.2.2+cu121").add("numpy", "2.0.0")
    (home.site / "torch" / "lib" / "libtorch_cpu.so").unlink()

    found = examine(home, "sm_86", driver="580.1")

    assert found.remedy is not None
    words = " ".join(found.remedy.command)
    assert words.startswith("torchpick install torch==2.2.2 'numpy<2' ".replace("'", ""))
    assert words.endswith("-- --force-reinstall")
    assert "--no-deps" not in words
    newer = examine(home, "sm_120", driver="580.1").remedy
    assert newer is not None
    assert newer.needs == (), "a torch that supports it needs no other"


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({"platform": "linux-x86_64", "glibc": "2.35"}, ""),
        ({"glibc": "2.35"}, " --glibc 2.35"),
    ],
)
def test_a_command_for_the_machine_itself_names_no_other(given: dict[str, str], flags: str, home: Home) -> None:
    home.torch()
    request = Request(gpus=("sm_61",), driver="580.1", python=home.python, **given)  # type: ignore[arg-type]

    found = examination.examine(start_run(request, {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root)}))

    assert found.remedy is not None
    words = " ".join(found.remedy.command).replace(home.python, "HERE")
    at = words.index(" --gpu")
    assert words[:at] == "torchpick install torch==2.9.1"
    assert words[at:] == f" --gpu sm_61 --driver 580.1{flags} --python HERE"


@pytest.mark.parametrize(("broken", "end"), [(False, ""), (True, " --no-deps -- --force-reinstall")])
def test_a_command_for_a_mac_names_no_macos(broken: bool, end: str, home: Home) -> None:
    """Whose wheels have no label by which an installer could know another build."""
    home.torch("2.9.1", None, None).companion("torchvision", "0.22.0", codes="")
    if broken:
        (home.site / "torch" / "lib" / "libtorch_cpu.so").unlink()
    request = Request(platform="macos-arm64", macos="14.0", gpus=("M2",), python=home.python)

    found = examination.examine(start_run(request, {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root)}))

    assert found.remedy is not None
    words = " ".join(found.remedy.command).replace(home.python, "HERE")
    assert words == f"torchpick install torch==2.9.1 torchvision --gpu M2 --python HERE --backend cpu{end}"


@pytest.mark.parametrize(("recorded", "again"), [("0.24.1+cu128", True), ("0.24.1", False), ("0.24.1+cu126", False)])
def test_what_is_recorded_as_the_very_build_is_installed_by_force(recorded: str, again: bool, home: Home) -> None:
    """An installer is content with a companion that says to be there already."""
    home.torch(named="2.9.1").add("torchvision", recorded)
    (home.site / "torch" / "lib" / "libtorch_cpu.so").unlink()

    found = examine(home, "sm_86", driver="580.1")

    assert found.remedy is not None
    assert ("--force-reinstall" in found.remedy.command) is again
