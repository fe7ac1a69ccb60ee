"""What a project needs that it does not name: by the table of packages, and by the lock beside its file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchpick.environment.projectfile import Project
from torchpick.knowledge import compat
from torchpick.knowledge.packages import READ_PLATFORM, KnownPackages
from torchpick.model.request import Wish
from torchpick.projects import app, needed
from torchpick.projects.served import PLATFORMS

TABLE = compat.Knowledge(os.environ).table(PLATFORMS)
KNOWN = KnownPackages(os.environ, READ_PLATFORM)


@pytest.mark.parametrize(
    ("needs", "companions"),
    [
        (("timm",), {"torchvision": "timm"}),
        (("speechbrain",), {"torchaudio": "speechbrain"}),
        (("speechbrain", "timm"), {"torchvision": "timm", "torchaudio": "speechbrain"}),
        (("numpy", "nonesuch"), {}),
    ],
)
def test_companions_below_known_packages(tmp_path: Path, needs: tuple[str, ...], companions: dict[str, str]) -> None:
    found = needed.companions(Project(needs=needs), KNOWN, str(tmp_path))

    assert {one.name: one.by for one in found} == companions


@pytest.mark.parametrize("lock", ["uv.lock", "poetry.lock", "pdm.lock"])
def test_a_lock_tells_of_packages_that_the_table_does_not_know(tmp_path: Path, lock: str) -> None:
    (tmp_path / lock).write_text('[[package]]\nname = "easyocr"\n\n[[package]]\nname = "torchvision"\n')

    found = needed.companions(Project(needs=("easyocr",)), KNOWN, str(tmp_path))

    assert [(one.name, one.by) for one in found] == [("torchvision", lock)]


def test_what_is_built_against_torch() -> None:
    project = Project(needs=("flash-attn", "llama-cpp-python", "timm", "torch-scatter"))

    assert needed.built_with_torch(project, KNOWN) == ("flash-attn", "torch-scatter")


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
def test_an_extra_is_a_torch_that_the_projects_packages_go_with(
    needs: tuple[str, ...], extras: dict[str, str], tmp_path: Path
) -> None:
    project = Project(requires_python=">=3.11", needs=needs)
    names = tuple(one.name for one in needed.companions(project, KNOWN, str(tmp_path)))
    project = project._replace(companions=names, packages=needed.pinning(project, KNOWN))

    plan = app.plan(TABLE, project, app.backends(TABLE, project, None, Wish()), "uv", Wish(), groups=False)

    pins = {extra.name: extra.requirements[0].partition("==")[2].partition("+")[0] for extra in plan.extras}
    assert pins == extras
