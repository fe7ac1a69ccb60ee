"""An app's extras are exact builds, one for each backend that its users' GPUs need."""

from __future__ import annotations

import os

import pytest

from torchpick.environment.projectfile import Project
from torchpick.errors import UsageError
from torchpick.knowledge import compat
from torchpick.model.pick import Wish
from torchpick.projects import app
from torchpick.projects.extras import PLATFORMS

TABLE = compat.Knowledge(os.environ).table(PLATFORMS)


def own(project: Project, wish: Wish = Wish()) -> app.App:  # noqa: B008 # a Wish cannot be changed
    return app.App(project, TABLE, {}, wish)


def requirements(project: Project, backend: str) -> tuple[str, ...]:
    return own(project).exact(backend).requirements


@pytest.mark.parametrize(
    ("torch", "requires_python", "expected"),
    [
        (">=2.5", ">=3.11", ["cpu", "cu126", "cu132"]),
        ("", "", ["cpu", "cu126", "cu132"]),
        ("<2.8", ">=3.10", ["cpu", "cu118", "cu126", "cu128"]),
        (">=2.15", ">=3.11", ["cpu", "cu132"]),
        (">=2.0", ">=3.9", ["cpu", "cu118", "cu126", "cu129"]),
        (">=2.0", ">=3.8", ["cpu", "cu118", "cu124"]),
    ],
)
def test_the_backends_are_those_that_the_gpus_need(torch: str, requires_python: str, expected: list[str]) -> None:
    project = Project(torch=torch, requires_python=requires_python)

    found = own(project).backends()

    assert list(found) == expected


def test_a_companion_is_counted_before_the_backends_are_chosen() -> None:
    """cu132 holds no torchaudio (compat/companions.json), so no extra is named after it."""
    project = Project(requires_python=">=3.11", companions=("torchaudio",))

    plan = app.plan(own(project), own(project).backends(), groups=False)

    assert [extra.name for extra in plan.extras][:2] == ["cpu", "cu126"]
    assert len(plan.extras) >= 3
    assert "cu132" not in [extra.name for extra in plan.extras]
    for extra in plan.extras:
        assert any(line.startswith("torchaudio==") for line in extra.requirements)


@pytest.mark.parametrize(
    ("project", "backend"),
    [
        (Project(torch="<2.0"), "cu132"),
        (Project(torch=">=99"), "cu126"),
        (Project(requires_python=">=3.20"), "cu126"),
        (Project(), "cu999"),
        (Project(companions=("torchaudio",)), "cu132"),  # whose index holds none
    ],
)
def test_what_is_not_there_is_refused(project: Project, backend: str) -> None:
    with pytest.raises(UsageError) as caught:
        requirements(project, backend)

    assert caught.value.hint


def test_a_mirror_takes_the_wheel_hosts_place_and_a_flat_one_cannot() -> None:
    project = Project(requires_python=">=3.11")
    mirror = Wish(index_base="https://mirror.example/whl")

    plan = app.plan(own(project, mirror), ("cu126",), groups=False)

    assert plan.indexes[0].url == "https://mirror.example/whl/cu126"
    with pytest.raises(UsageError, match="flat mirror"):
        app.plan(own(project, Wish(index_base="flat+https://m.example")), ("cu126",), groups=False)


def test_where_no_backend_fits_the_first_one_says_so() -> None:
    project = Project(torch=">=99", requires_python=">=3.11")

    with pytest.raises(UsageError, match=r"no build of `torch>=99` for cpu is known"):
        app.plan(own(project), own(project).backends(), groups=False)
