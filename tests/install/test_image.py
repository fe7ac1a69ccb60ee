"""The image of an environment: what a Dockerfile can say of it, and what no line of one could."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchpick
from torchpick.errors import UsageError
from torchpick.install.env import dockerfile
from torchpick.model.pick import Request
from torchpick.run import Run, start_run

VLLM = torchpick.plan("vllm", gpus=["a100"], driver="535.183.01", platform="linux-x86_64", python="3.12", offline=True)
ORIGIN = "https://wheels.example/simple"


def run_for(folder: Path) -> Run:
    request = Request(gpus=("a100",), driver="535.183.01", platform="linux-x86_64", python="3.12", offline=True)
    return start_run(request, {"TORCHPICK_CACHE_DIR": str(folder)})


def test_torch_comes_from_its_own_index_and_all_else_from_the_users(tmp_path: Path) -> None:
    lines = dockerfile(run_for(tmp_path), VLLM).splitlines()

    torch = VLLM.version("torch")
    assert lines[0] == f"# vllm for {VLLM.machine.in_short}."
    assert lines[2:5] == [
        "FROM --platform=linux/amd64 python:3.12",
        "",
        "# Torch and its companions come from their own index, and nothing else does.",
    ]
    assert "/opt/torchpick/" in "\n".join(lines)
    installs = lines[-1].removeprefix("RUN python -m pip install --no-cache-dir ").split()
    assert installs == list(VLLM.requirements)
    assert f"torch=={torch}" in installs


def test_what_lies_on_an_index_of_its_own_is_in_no_image(tmp_path: Path) -> None:
    first, *others = VLLM.packages
    stack = VLLM._replace(packages=(*others, first._replace(index=ORIGIN)))

    with pytest.raises(UsageError) as caught:
        dockerfile(run_for(tmp_path), stack)

    text = f"{first.requirement} comes from {ORIGIN}, which no line here may add"
    hint = "`torchpick install vllm` in an image of your own says what to do about it"
    assert (caught.value.message, caught.value.hint) == (text, hint)


def test_without_torch_there_is_nothing_to_make(tmp_path: Path) -> None:
    stack = VLLM._replace(packages=tuple(each for each in VLLM.packages if each.name != "torch"))

    with pytest.raises(UsageError, match="this environment has no torch"):
        dockerfile(run_for(tmp_path), stack)
