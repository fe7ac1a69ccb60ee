"""What is read out of a project file."""

from __future__ import annotations

import pytest

from torchpick.environment.project.document import project
from torchpick.environment.project.plan import Project
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

    assert project(text) == Project(
        "mylib", ">=2.5,<3", ("torchvision",), ">=3.10", "", packaged=True, needs=("numpy",), always=("numpy", "torch")
    )


def test_poetrys_own_tables() -> None:
    text = """
        [tool.poetry]
        name = "app"
        [tool.poetry.dependencies]
        python = "^3.10"
        torch = "^2.5"
        torchvision = { version = "*", optional = true }
        [tool.poetry.group.dev.dependencies]
        timm = "~1.0"
    """

    found = project(text)

    assert (found.name, found.torch, found.requires_python) == ("app", ">=2.5,<3.0", ">=3.10,<4.0")
    assert (found.companions, found.needs, found.classic) == (("torchvision",), ("timm",), True)


@pytest.mark.parametrize(
    ("poetry", "pep_440"),
    [
        ("^2.5", ">=2.5,<3.0"),
        ("^2.5.1", ">=2.5.1,<3.0"),
        ("^0.3.1", ">=0.3.1,<0.4"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^2", ">=2,<3"),
        ("~2.5", ">=2.5,<2.6"),
        ("~2.5.1", ">=2.5.1,<2.6"),
        ("~2", ">=2,<3"),
        ("~=2.5", "~=2.5"),
        ("2.5.1", "==2.5.1"),
        ("2.*", "==2.*"),
        ("*", ""),
        (">=2.5 <3", ">=2.5,<3"),
        (">= 2.5, < 3", ">=2.5,<3"),
    ],
)
def test_constraints_of_poetry(poetry: str, pep_440: str) -> None:
    assert project(f'[tool.poetry.dependencies]\ntorch = "{poetry}"\n').torch == pep_440


@pytest.mark.parametrize("constraint", ["^2.5 || ^3", "^x"])
def test_a_constraint_that_is_no_range_is_refused(constraint: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        project(f'[tool.poetry.dependencies]\ntorch = "{constraint}"\n')

    assert caught.value.hint


def test_dependency_groups_are_read() -> None:
    text = """
        [project]
        name = "app"
        [dependency-groups]
        train = ["torch>=2.6", "TorchAudio", { include-group = "test" }]
        test = ["pytest"]
    """

    found = project(text)

    assert (found.torch, found.companions, found.needs) == (">=2.6", ("torchaudio",), ("pytest",))


def test_the_authors_own_extras_are_kept_apart_from_ours() -> None:
    text = """
        [project]
        dependencies = ["torch>=2.5"]
        [project.optional-dependencies]
        nvidia-old = ["torch>=2.5,<2.8"]
        cu126 = [
            # torchpick: ours
            "torch==2.14.1+cu126",
        ]
        plain = ["torch"]
    """

    found = project(text)

    assert found.torch == ">=2.5"
    assert [(each.name, dict(each.ranges)) for each in found.own] == [("nvidia-old", {"torch": "<2.8,>=2.5"})]


@pytest.mark.parametrize(
    ("text", "tool", "packaged"),
    [
        ("[tool.poetry]\nname = 'x'\n", "poetry", False),
        ("[build-system]\nrequires = []\n[tool.uv]\npackage = false\n", "uv", False),
        ("[build-system]\nrequires = []\n", "", True),
        ("", "", False),
    ],
)
def test_what_kind_it_is(text: str, tool: str, *, packaged: bool) -> None:
    found = project(text)

    assert (found.tool, found.packaged) == (tool, packaged)


@pytest.mark.parametrize(
    "requirement", ["torch @ https://x.example/t.whl", "torch>=2 ; sys_platform == 'linux'", "torch>>2"]
)
def test_a_torch_that_is_no_plain_range_asks_for_the_flag(requirement: str) -> None:
    with pytest.raises(TorchpickError) as caught:
        project(f'[project]\nname = "x"\ndependencies = ["{requirement}"]\n')

    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "project = 3",
        "[project]\ndependencies = 3",
        "[project]\ndependencies = [1, 2]",
        "[project]\noptional-dependencies = 3",
        "[project]\nname = 3",
        "[tool]\npoetry = 1",
    ],
)
def test_what_is_not_of_the_form_counts_as_not_said(text: str) -> None:
    assert project(text).torch == ""


@pytest.mark.parametrize(
    ("listed", "limit"),
    [
        ('["torch<2.15"]', "<2.15"),
        ('["torch<2.15", "Torch>=2.5", "numpy<3"]', "<2.15,>=2.5"),
        ("[\"torch<2.15 ; sys_platform == 'darwin'\"]", ""),
        ('[\n  "torch==2.14.1+cu126", # torchpick pin\n  "torch<2.15",\n]', "<2.15"),
        ('["torch??", "torch"]', ""),
        ('"torch<2.15"', ""),
        ("3", ""),
    ],
)
def test_what_uvs_constraints_allow_of_torch(listed: str, limit: str) -> None:
    text = f'[project]\nname = "app"\ndependencies = ["torch>=2.5"]\n[tool.uv]\nconstraint-dependencies = {listed}\n'

    assert (project(text).torch, project(text).limit) == (">=2.5", limit)
