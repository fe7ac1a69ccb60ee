"""What is built from source: what must be there first, and the lines that put it there."""

from __future__ import annotations

import pytest

from tests.install.jobs import TARGET
from torchpick.decide.answer import Answer
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import InstallerError
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.handover import check_builds
from torchpick.knowledge.packages import KnownPackages
from torchpick.model.machine import Note
from torchpick.model.package import Catalog
from torchpick.model.pick import Request
from torchpick.run import start_run

PAIR = Request(
    gpus=("sm_86", "sm_80", "sm_86"), driver="535.183.01", platform="linux-x86_64", python="3.12", glibc="2.35"
)
CPU = PAIR._replace(gpus=("none",), driver=None, backends=("cpu",))
FLAG = "--no-build-isolation"
ARCHES = 'TORCH_CUDA_ARCH_LIST="8.0;8.6"'
TORCH = {"torch": "2.9.1+cu126"}
HINT = f"`torchpick install torch==2.9.1+cu126`, then `{ARCHES} torchpick install mamba-ssm -- {FLAG}`"


def checked(
    *words: str, there: dict[str, str] = TORCH, request: Request = PAIR, flag: str = "", plan: bool = False
) -> tuple[Note, ...]:
    found = requirements.read_requirements(RequirementArgs(words), {})
    order = Order(found.given, passed_on=(flag,) if flag else (), only_planned=plan)
    asking = TargetQuestion(start_run(request, {}), order, found, TARGET._replace(installed=there))
    catalog = Catalog(KnownPackages({}, "linux-x86_64"))
    answer = asking.answer_or_needs(catalog)
    assert isinstance(answer, Answer)
    return check_builds(asking, answer, catalog.packages)


def test_with_torch_in_place_and_without_isolation_it_is_built_for_these_gpus() -> None:
    text = f"mamba-ssm is built from source, which needs nvcc of CUDA 12.6; `{ARCHES}`"

    assert checked("mamba-ssm", "numpy", flag=FLAG) == (Note("BUILT_FROM_SOURCE", text),)
    assert checked("mamba-ssm", flag=FLAG, plan=True) == (Note("BUILT_FROM_SOURCE", text),)


@pytest.mark.parametrize(
    ("there", "flag"), [(TORCH, ""), (TORCH, "--no-cache-dir"), ({"torch": "2.9.1"}, FLAG), ({}, FLAG)]
)
def test_otherwise_it_is_said_before_anything_starts_what_comes_first(there: dict[str, str], flag: str) -> None:
    asked = "mamba-ssm", "torch==2.9.1+cu126"
    with pytest.raises(InstallerError) as caught:
        checked(*asked, there=there, flag=flag)

    error = caught.value
    assert error.message.startswith("mamba-ssm is built from source, with torch and nvcc of CUDA 12.6 in place: the ")
    assert (error.code, error.hint) == ("BUILT_FROM_SOURCE", HINT)
    assert checked(*asked, there=there, flag=flag, plan=True) == (Note("BUILT_FROM_SOURCE", f"mamba-ssm: {HINT}"),)


def test_without_a_gpu_a_compiler_is_enough() -> None:
    with pytest.raises(InstallerError, match="with torch and a compiler in place: ") as caught:
        checked("torch-scatter", there={}, request=CPU)
    assert str(caught.value.hint).endswith(f"then `torchpick install torch-scatter -- {FLAG}`")


def test_what_is_there_or_named_by_its_place_needs_no_building_here() -> None:
    assert checked("mamba-ssm", there={**TORCH, "mamba-ssm": "2.0"}) == ()
    assert checked("mamba-ssm @ https://own.example/mamba_ssm-2.0-py3-none-any.whl") == ()
    assert checked("torch", "torchvision", "numpy") == ()
