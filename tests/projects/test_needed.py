"""What a project needs that it does not name, by the table of packages."""

from __future__ import annotations

import os

import pytest

from torchpick.environment.projectfile import Project
from torchpick.knowledge import compat
from torchpick.knowledge.packages import READ_PLATFORM, KnownPackages
from torchpick.model.request import Wish
from torchpick.projects import app
from torchpick.projects.served import PLATFORMS

TABLE = compat.Knowledge(os.environ).table(PLATFORMS)
KNOWN = KnownPackages(os.environ, READ_PLATFORM)


@pytest.mark.parametrize(
    ("needs", "companions"),
    [
        (("timm",), ("torchvision",)),
        (("speechbrain",), ("torchaudio",)),
        (("speechbrain", "timm"), ("torchvision", "torchaudio")),
        (("numpy", "nonesuch"), ()),
    ],
)
def test_companions_below_known_packages(needs: tuple[str, ...], companions: tuple[str, ...]) -> None:
    assert app.completed(Project(needs=needs), KNOWN).companions == companions


def test_what_is_built_against_torch() -> None:
    project = Project(needs=("flash-attn", "llama-cpp-python", "timm", "torch-scatter"))

    assert app.completed(project, KNOWN).builds_with_torch == ("flash-attn", "torch-scatter")


@pytest.mark.parametrize(
    ("needs", "extras"),
    [
        # vllm 0.33.0 pins torch 2.14.0 for CUDA 13, 0.19.1 torch 2.10.0 for CUDA 12 (compat/packages/vllm.json).
        (("vllm",), {"cpu": "2.14.0", "cu126": "2.10.0", "cu129": "2.10.0", "cu130": "2.14.0"}),
        # Each release of xformers links CUDA 12, so nothing of CUDA 13 goes with it.
        (("xformers",), {"cpu": "2.15.0", "cu126": "2.14.1", "cu129": "2.13.0"}),
        (("timm",), {"cpu": "2.15.0", "cu126": "2.14.1", "cu132": "2.15.0"}),
    ],
)
def test_an_extra_is_a_torch_that_the_projects_packages_go_with(needs: tuple[str, ...], extras: dict[str, str]) -> None:
    project = app.completed(Project(requires_python=">=3.11", needs=needs), KNOWN)

    plan = app.plan(TABLE, project, app.backends(TABLE, project, Wish()), "uv", Wish(), groups=False)

    pins = {extra.name: extra.requirements[0].partition("==")[2].partition("+")[0] for extra in plan.extras}
    assert pins == extras
