"""What is read out of a project file."""

from __future__ import annotations

import pytest

from torchpick.environment.projectfile import Project, read_requirements, torch_range
from torchpick.environment.projectfile import read_project as project
from torchpick.errors import TorchpickError


def test_the_projects_own_words() -> None:
    text = """
        [build-system]
        requires = ["hatchling"]
        [project]
        name = "mylib"
        requires-python = ">=3.10"
        dependencies = ["torch <3, >=2.5", "numpy"]
        [project.optional-dependencies]
        vision = ["TorchVision"]
    """

    dependencies = ("torch <3, >=2.5", "numpy")
    assert project(text) == Project(">=3.10", True, dependencies, (*dependencies, "TorchVision"))
    assert not project(f"{text}\n[tool.uv]\npackage = false").packaged
    assert torch_range(dependencies) == ">=2.5,<3"


@pytest.mark.parametrize(
    "requirement", ["torch @ https://x.example/t.whl", "torch>=2 ; sys_platform == 'linux'", "torch>>2"]
)
def test_a_torch_that_is_no_plain_range_asks_for_the_flag(requirement: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        torch_range([requirement])

    assert caught.value.hint


@pytest.mark.parametrize(
    ("listed", "limits"),
    [
        ('["torch<2.15", "Torch>=2.5", "numpy<3"]', ("torch<2.15", "Torch>=2.5")),
        ('["torch==2.14.1+cu126"] # torchpick pin', ()), ('["torch??", "torch"]', ()), ('"torch<2.15"', ()),
        ("3", ()),
    ],
)  # fmt: skip
def test_what_uvs_constraints_allow_of_torch(listed: str, limits: tuple[str, ...]) -> None:
    text = f'[project]\nname = "app"\ndependencies = ["torch>=2.5"]\n[tool.uv]\nconstraint-dependencies = {listed}\n'

    assert read_requirements(text) == ("torch>=2.5", *limits)


def test_what_a_lock_holds_at_once_is_all_but_what_conflicts_or_has_a_place_of_its_own() -> None:
    text = """
[project]
name = "App"
dependencies = ["vllm==0.19.1", "member", "torch"]
[project.optional-dependencies]
cpu = ["torch==2.14.1+cpu"]
all = ["app[docs]", "sphinx"]
[dependency-groups]
dev = ["pytest", { include-group = "all" }]
[tool.uv]
conflicts = [[{ group = "a" }, { group = "b" }], [{ package = "app", extra = "cpu" }, { extra = "cu126" }]]
constraint-dependencies = ["torch==2.14.1+cu126"] # torchpick pin
dev-dependencies = ["ruff"]
[tool.uv.sources]
member = [{ workspace = true, marker = "os_name == 'x'" }, { index = "a" }]
torch = { index = "pytorch-cu126" }
"""
    assert read_requirements(text) == ("vllm==0.19.1", "torch", "sphinx", "pytest", "ruff")
    assert read_requirements("") == ()
