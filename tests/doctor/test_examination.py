"""From findings to the one command: whose build is kept, what is said where none is, and what real kernels add."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.homes import VERSION, Home, codes, examine, linking
from tests.wheels import making
from torchpick.doctor import examination
from torchpick.doctor.examination import Examination
from torchpick.environment import distributions
from torchpick.environment.interpreter import EnvironmentChoice
from torchpick.errors import TorchpickError, UsageError
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python, Trouble
from torchpick.model.pick import Request
from torchpick.run import Run, start_run

pytestmark = pytest.mark.process

PLATFORM = Platform("linux", "x86_64", "2.35", "glibc")
MACHINE = Machine(PLATFORM, Python(VERSION, "cp", False, None, "test"), Driver("580.95.05"))
GPU = Gpu(0, "nvidia", "Tesla T4", Arch.parse("sm_75"))
WITH_GPU = MACHINE._replace(gpus=(GPU,))
SILENT = Trouble("DRIVER_NOT_LOADED", "no answer", "load it")


def examined(home: Home, monkeypatch: pytest.MonkeyPatch, machine: Machine, **request: Any) -> Examination:
    """With the computer's own machine being this one."""
    monkeypatch.setattr(Run, "find_machine", lambda _: machine)
    variables = {"HOME": str(home.root), "XDG_CONFIG_DIRS": str(home.root)}
    return examination.examine(start_run(Request(python=home.python, **request), variables))


def words(exam: Examination, home: Home) -> str:
    assert exam.remedy is not None
    return " ".join(exam.remedy.command).replace(home.python, "HERE")


@pytest.mark.parametrize(("lacks", "kept"), [("NO", False), ("PARTLY", False), ("VERSION", True)])
def test_a_build_with_which_something_is_wrong_on_the_gpu_is_not_kept(lacks: str, kept: bool, home: Home) -> None:
    """The companion of cu126 may have the code that the one of cu128 lacks."""
    home.torch()
    if lacks == "VERSION":
        home.companion("torchvision", "0.20.1+cu128")
    else:
        files = {"torchvision/_C.so": making.library(making.module("sm_80", "sm_90"))}
        files |= {"torchvision/_D.so": making.library(making.module("sm_75"))} if lacks == "PARTLY" else {}
        home.add("torchvision", "0.24.1", files)

    found = examine(home, "sm_75", driver="595.58.03")

    assert (words(found, home)[-15:] == "--backend cu128") is kept


def test_where_the_driver_is_silent_code_for_the_gpu_is_nobodys_business(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.torch(more={"torch/lib/libc10.so": linking([])}).companion("torchvision", "0.24.1+cu128", codes="sm_90")
    machine = MACHINE._replace(gpus=(GPU._replace(arch=Arch.parse("sm_61")),), trouble=SILENT)

    found = examined(home, monkeypatch, machine)

    assert codes(found) == ["DRIVER_NO_ANSWER", "PACKAGE_NO_KERNELS"]
    assert found.remedy is None
    assert found.findings[1].cure is None
    home.companion("torchaudio", "2.5.0+cu128", codes="")
    found = examined(home, monkeypatch, machine)
    assert words(found, home) == (
        "torchpick install torch==2.9.1 torchvision torchaudio --python HERE --gpu none --backend cu128"
    )
    assert [finding.cure is None for finding in found.findings] == [True, False, True]


@pytest.mark.parametrize(
    ("wish", "end"), [({"backends": ("cu126",)}, "--gpu none"), ({}, "--gpu none --backend cu128")]
)
def test_what_was_wished_for_counts_where_the_driver_is_silent(
    wish: Mapping[str, Any], end: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.torch().companion("torchvision", "0.20.1+cu128", codes="")

    found = examined(home, monkeypatch, MACHINE._replace(gpus=(GPU,), trouble=SILENT), **wish)

    assert words(found, home).endswith(end)
    assert found.remedy is not None
    assert found.remedy.backend == (wish["backends"][0] if wish else "cu128")


def test_an_empty_environment_is_given_the_best_for_its_machine(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    found = examined(home, monkeypatch, MACHINE)
    none = examined(home, monkeypatch, MACHINE._replace(gpus=(GPU,), trouble=SILENT))

    assert words(found, home) == "torchpick install torch --python HERE"
    assert found.remedy is not None
    assert found.remedy.backend == "cpu"
    assert found.findings[0].brings == f"that is {found.remedy.version}, the best for this machine"
    assert none.remedy is None
    advice = next(finding.advice for finding in none.findings if finding.code == "TORCH_MISSING")
    assert str(advice).startswith("neither the backend it had nor a GPU is known")


def test_no_wheel_for_a_platform_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    musl = MACHINE._replace(platform=Platform("linux", "x86_64", None, "musl"))

    found = examined(home, monkeypatch, musl)

    (advice,) = [finding.advice for finding in found.findings if finding.code == "TORCH_MISSING"]
    assert advice == found.refused
    assert f"no PyTorch build runs with Python {VERSION}, linux-x86_64" in str(advice)
    assert "musl" in str(advice)
    assert found.remedy is None


@pytest.mark.parametrize("mark", ["uv-receipt.toml", "pipx_metadata.json"])
def test_the_environment_of_a_tool_is_not_the_one_that_is_meant(
    mark: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / mark).touch()
    program = tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "tool"))
    tool = "uv tool" if "uv" in mark else "pipx"

    found = examination.target(None, {"PATH": str(program.parent)}, str(tmp_path))

    assert found == EnvironmentChoice(str(program), f"Python on PATH (torchpick itself runs in a {tool} environment)")
    program.rename(program.with_name("python"))
    found = examination.target(None, {"PATH": str(program.parent)}, str(tmp_path))
    assert found.python == str(program.with_name("python"))
    with pytest.raises(UsageError, match=f"torchpick runs in a {tool} environment, and no Python is on PATH"):
        examination.target(None, {"PATH": "/nowhere"}, str(tmp_path))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert examination.target(None, {"PATH": "/nowhere"}, str(tmp_path)) == EnvironmentChoice(
        sys.executable, "the Python that runs torchpick"
    )


def test_a_program_is_meant_before_a_folder_of_its_name_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin" / "env"
    program.parent.mkdir()
    program.touch(mode=0o755)
    environ = {"PATH": str(program.parent)}

    with pytest.raises(TorchpickError, match=re.escape(f"{program} does not start")):
        distributions.read_environment("env", environ)
    for gone in (os.path.join(".", "env"), "nowhere"):
        with pytest.raises(UsageError, match="neither a Python nor an environment"):
            distributions.read_environment(gone, environ)
    (tmp_path / "env").mkdir()
    with pytest.raises(TorchpickError, match=re.escape(f"{program} does not start")):
        distributions.read_environment("env", environ)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /gone\n", "utf-8")
    with pytest.raises(TorchpickError, match=re.escape(f"the interpreter of {tmp_path / 'env'} is gone")):
        distributions.read_environment("env", {"PATH": ""})


def test_of_a_text_no_more_than_torch_and_what_goes_with_it_is_judged() -> None:
    """Whether a package that it names would run is not known from its version alone."""
    request = Request(gpus=("T4",), driver="535.183.01", platform="linux-x86_64", python="3.12")
    packages = {"torch": "2.2.2+cu121", "numpy": "2.1.0", "torchvision": "0.19.0+cu118", "cupy-cuda13x": "14.2.0"}

    found = examination.described(start_run(request, {}), packages, None)

    assert codes(found) == ["COMPANION_MISMATCH", "COMPANION_OTHER_CUDA", "NUMPY_TOO_NEW"]
    assert found.subject.environment.prefix == "the machine of the text"


def test_of_several_machines_none_is_examined(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "fleet.jsonl"
    file.write_text(
        "".join(f"{json.dumps(WITH_GPU._replace(name=name).to_dict())}\n" for name in ("one", "two")), "utf-8"
    )

    with pytest.raises(UsageError) as caught:
        examination.examine(start_run(Request(machine=(str(file),), python=home.python), {}))

    assert str(caught.value) == "2 machines were given, and one environment is examined"
    assert caught.value.hint == "give `--machine` a file with one machine"
