"""What a project needs that it does not name, by the table of packages."""

from __future__ import annotations

import os

import pytest

from torchpick.environment.projectfile import Project
from torchpick.knowledge import compat
from torchpick.model.pick import Request
from torchpick.projects import app
from torchpick.projects.extras import PLATFORMS
from torchpick.run import start_run

TABLE = compat.Knowledge(os.environ).table(PLATFORMS)


def own(*needs: str) -> app.App:
    run = start_run(Request(offline=True))
    return app.App(run, Project(requires_python=">=3.11", requirements=needs), TABLE)


@pytest.mark.parametrize(
    ("needs", "pinned"),
    [
        (("timm",), ["torch", "torchvision"]),
        (("speechbrain",), ["torch", "torchaudio"]),
        (("speechbrain", "timm"), ["torch", "torchvision", "torchaudio"]),
        (("numpy", "nonesuch"), ["torch"]),
    ],
)
def test_companions_below_known_packages(needs: tuple[str, ...], pinned: list[str]) -> None:
    requirements = own(*needs).exact("cu126").requirements

    assert [each.partition("==")[0] for each in requirements] == pinned


def test_what_is_built_against_torch() -> None:
    found = own("flash-attn", "llama-cpp-python", "timm", "torch-scatter")

    assert found.builds_with_torch == ("flash-attn", "torch-scatter")


@pytest.mark.parametrize(
    ("needs", "extras"),
    [
        # vllm 0.33.0 pins torch 2.14.0 for CUDA 13, 0.19.1 torch 2.10.0 for CUDA 12 (compat/packages/vllm.json).
        (("vllm",), {"cu126": "2.10.0", "cu129": "2.10.0", "cu130": "2.14.0"}),
        # Each release of xformers links CUDA 12, so nothing of CUDA 13 goes with it, and not the cpu build.
        (("xformers",), {"cu126": "2.14.1", "cu129": "2.13.0"}),
        (("timm",), {"cpu": "2.15.0", "cu126": "2.14.1", "cu132": "2.15.0"}),
    ],
)
def test_an_extra_is_a_torch_that_the_projects_packages_go_with(needs: tuple[str, ...], extras: dict[str, str]) -> None:
    found = own(*needs)

    plan = app.plan(found, {backend: backend for backend in found.backends()})

    pins = {extra.name: extra.requirements[0].partition("==")[2].partition("+")[0] for extra in plan.extras}
    assert pins == extras
