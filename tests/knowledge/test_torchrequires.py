"""What a release of torch requires of other packages."""

from __future__ import annotations

import pytest

from torchpick.decide.answer import REQUIRED_BY_TORCH
from torchpick.knowledge.compat import Knowledge
from torchpick.knowledge.packages import catalog_of
from torchpick.model.versions import named, release_key

requirements_of = catalog_of(Knowledge({}), {}, "linux-x86_64").torch_requirements


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
    assert line in requirements_of(release)


def test_of_a_release_that_is_not_known_nothing_is_said() -> None:
    assert requirements_of("99.0.0") == ()


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
