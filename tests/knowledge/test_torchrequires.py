"""What a release of torch requires of other packages, by the build."""

from __future__ import annotations

import pytest

from torchpick.decide.answer import REQUIRED_BY_TORCH
from torchpick.knowledge.compat import Knowledge
from torchpick.model.torchrequires import TorchRequirements
from torchpick.model.versions import named, release_key

REQUIRES = TorchRequirements(
    ("sympy",), ("nvidia-nccl-cu13==2.30.7", "triton~=3.8.0"), {"rocm": "triton-rocm~=3.8.0"}, "13.0"
)


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("2.10.0", 'setuptools; python_version >= "3.12"'),
        ("2.11.0", "setuptools<82"),
        ("2.12.1", "setuptools<82"),
        ("2.13.0", "setuptools>=77.0.3"),
        ("2.15.0", "typing-extensions>=4.13.0"),
        ("2.6.0", 'sympy==1.13.1; python_version >= "3.9"'),
    ],
)
def test_the_plain_requirements_of_a_release_are_known(release: str, line: str) -> None:
    requires = Knowledge({}).torch_requirements(release)

    assert requires is not None
    assert line in requires.plain


def test_of_a_release_that_is_not_known_nothing_is_said() -> None:
    assert Knowledge({}).torch_requirements("99.0.0") is None


@pytest.mark.parametrize(
    ("backend", "beside"),
    [
        ("cpu", ()),
        ("default", ("nvidia-nccl-cu13==2.30.7", "triton~=3.8.0")),
        ("cu130", ("nvidia-nccl-cu13==2.30.7", "triton~=3.8.0")),
        ("cu126", ("triton~=3.8.0",)),
        ("rocm7.2", ("triton-rocm~=3.8.0",)),
        ("xpu", ()),
    ],
)
def test_a_build_requires_the_plain_ones_and_those_of_its_backend(backend: str, beside: tuple[str, ...]) -> None:
    assert REQUIRES.of(backend) == ("sympy", *beside)


def test_the_names_that_a_constraint_is_held_against_are_those_of_the_table() -> None:
    releases = [build.torch for build in Knowledge({}).table(["linux-x86_64"]).of("linux-x86_64")]
    required = {
        named(line)
        for release in set(releases)
        if release_key(release) >= release_key("2.4")
        for line in requirements_of(release)
        if "extra ==" not in line
    }

    assert required == REQUIRED_BY_TORCH


def requirements_of(release: str) -> tuple[str, ...]:
    known = Knowledge({}).torch_requirements(release)
    assert known is not None, release
    return known.plain
