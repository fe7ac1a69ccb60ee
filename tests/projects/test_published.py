"""A library's extras are ranges; what is promised of them is what the default index gives, Python by Python."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchpick.decide import buildfit
from torchpick.environment.projectfile import Project
from torchpick.errors import UsageError
from torchpick.knowledge import compat
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import Build
from torchpick.model.machine import Driver, Gpu, Machine, Platform
from torchpick.model.pick import Wish
from torchpick.model.table import Kind, Table
from torchpick.model.versions import admits, release_key
from torchpick.projects.extras import Extra, Shop, default_table, python_of, ranges, served

RULES = compat.Knowledge(os.environ).rules
BUILDS = compat.Knowledge(os.environ).every_build
DEFAULT = default_table(BUILDS, RULES)


def shop(torch: str = ">=2.5", requires_python: str = ">=3.10") -> Shop:
    project = Project(torch=torch, requires_python=requires_python)
    return Shop(BUILDS, RULES, project)


def by_name(extras: tuple[Extra, ...]) -> dict[str, tuple[str, ...]]:
    return {each.name: each.requirements for each in extras}


@pytest.mark.parametrize(("torch", "requires_python", "expected"), [
        # From 2.8 on the default index has nothing for Maxwell and Pascal: the name says whom it is for.
        (">=2.9", ">=3.10", {"nvidia-volta": ("torch>=2.9,<2.11",)}),
        # Python 3.14 came after the last release that serves Maxwell and Pascal.
        (">=2.5", ">=3.14", {"nvidia-volta": ("torch>=2.5,<2.11",)}),
        # An upper bound of the author that says less than the cap is left out; the cap may be the next patch release.
        (">=2.5,!=2.7.1,<3", ">=3.10", {"nvidia-old": ("torch>=2.5,!=2.7.1,<2.7.1",),
         "nvidia-cuda12": ("torch>=2.5,!=2.7.1,<2.11",)}),
        # The newest of the range serves all but Kepler, which an older one does.
        ("<2.8", ">=3.10", {"nvidia-kepler": ("torch<2.1",)}), (">=2.15", ">=3.11", {}),
])  # fmt: skip
def test_ranges(torch: str, requires_python: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert by_name(ranges(shop(torch, requires_python))) == expected


@pytest.mark.parametrize("torch", [">=99", "<1.0"])
def test_a_range_without_releases_is_refused(torch: str) -> None:
    with pytest.raises(UsageError, match="no PyTorch release of the default index"):
        ranges(shop(torch))


@pytest.mark.parametrize("torch", ["~2", "two", ">=2.x"])
def test_nonsense_is_refused(torch: str) -> None:
    with pytest.raises(UsageError, match="not a valid version specifier"):
        shop(torch)


RELEASES = sorted({build.torch for build in DEFAULT.of("linux-x86_64")}, key=release_key)


def newest_in(requirement: str, tag: str) -> Build | None:
    """What an installer takes: the newest release within the specifier that has a wheel for the Python."""
    admitted = admits(requirement.removeprefix("torch"))
    fitting = [build for build in DEFAULT.of("linux-x86_64") if admitted(build.torch) and tag in build.pythons]
    return max(fitting, key=lambda build: release_key(build.torch), default=None)


def runs(build: Build, kind: Kind, tag: str, driver: str | None, table: Table) -> bool:
    """Asked about one machine: this build, this GPU, this Python, this driver."""
    version = driver or table.drivers.assumed_for((kind.arch,))
    said = Driver(version, table.drivers.speaks(Driver(version)))
    machine = Machine(Platform.parse("linux-x86_64"), python_of(tag), said, (Gpu(0, "nvidia", None, kind.arch),))
    wish = Wish(backends=(build.backend,), torch=f"=={build.torch}")
    return any(verdict.ok and verdict.fits[0].fit > Fit.JIT for verdict in buildfit.judge(machine, table, wish))


@settings(max_examples=25)
@given(
    st.sampled_from(RELEASES),
    st.sampled_from([None, *RELEASES]),
    st.sampled_from([">=3.8", ">=3.9", ">=3.10", ">=3.12", ">=3.9,<3.12"]),
)
def test_what_the_comment_promises_is_what_an_installer_gets(low: str, high: str | None, requires_python: str) -> None:
    torch = f">={low}" + (f",<={high}" if high else "")
    drawn = shop(torch, requires_python)
    if not drawn.builds:
        return
    for extra in ranges(drawn):
        (requirement,) = extra.requirements
        for tag, promised in drawn.newest(requirement.rpartition("<")[2]).items():
            got = newest_in(requirement, tag)
            if promised is None or got is None:
                assert got is promised
                continue
            assert got.torch == promised.torch
            kinds, floor = drawn.audience(promised)
            for kind in kinds:
                assert runs(got, kind, tag, None, DEFAULT), (extra, tag, kind)
            # and the named driver is the oldest: one of the branch before does not carry it
            assert floor is not None
            assert RULES.drivers.supports_cuda(Driver(floor), got.cuda or "", "linux")


def test_a_build_serves_the_gpus_that_run_its_machine_code_and_no_newer_ones_by_ptx() -> None:
    build = next(build for build in DEFAULT.of("linux-x86_64") if build.cuda == "12.6")
    build = build._replace(arches=tuple(map(Arch.parse, ("sm_80", "sm_90", "compute_90"))))

    kinds, floor = served(build, DEFAULT)

    assert {str(kind.arch) for kind in kinds} == {"sm_80", "sm_86", "sm_89", "sm_90"}
    assert floor == "525.60.13"  # NVIDIA's for every CUDA 12 on Linux (CUDA 12.x release notes, table 2)
    assert served(build._replace(platform="windows-x86_64"), DEFAULT)[1] == "527.41"
    assert served(build._replace(pythons=()), DEFAULT) == ((), None)
    assert shop(requires_python=">=3.10.4").tags[0] == "cp310"  # for its later releases
