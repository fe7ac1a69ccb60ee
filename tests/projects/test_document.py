"""What is read out of a project file."""

from __future__ import annotations

import pytest

from torchpick.errors import TorchpickError
from torchpick.projects.document import project
from torchpick.projects.plan import Project


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

    assert project(text) == Project("mylib", ">=2.5,<3", ("torchvision",), ">=3.10", "", packaged=True)


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
