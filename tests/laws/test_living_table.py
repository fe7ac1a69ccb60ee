"""Laws of a pick on every build that the table has today, and on the table of a day to come."""

from __future__ import annotations

from pathlib import Path

import pytest

import torchpick
from scripts.table import checking
from torchpick.model.pick import Pick
from torchpick.model.versions import numbers, release_key

GPUS = ("sm_50", "sm_61", "sm_70", "sm_75", "sm_86", "sm_90", "sm_120")
DRIVERS = ("525.147.05", "550.127.08", "580.95.05", "595.58.03")
PLATFORMS = ("linux-x86_64", "linux-aarch64", "windows-x86_64")
pytestmark = pytest.mark.usefixtures("living_table")


def picked(gpu: str, driver: str, platform: str, **wish: str) -> Pick | None:
    pick = torchpick.pick(gpus=[gpu], driver=driver, platform=platform, python="3.12", **wish)  # type: ignore[arg-type]
    return pick if pick.ok else None


def test_each_file_passes_the_check(living_table: str) -> None:
    assert [str(fault) for fault in checking.check(Path(living_table))] == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_gpu_gets_a_build_with_code_for_it_or_none(platform: str) -> None:
    picks = [pick for gpu in GPUS for driver in DRIVERS if (pick := picked(gpu, driver, platform)) is not None]

    assert len(picks) > len(DRIVERS)
    assert {pick.build.family for pick in picks} == {"cuda"}
    assert all(fit.fit for pick in picks for fit in pick.verdicts[0].fits)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_newer_driver_of_a_gpu_never_gives_an_older_torch(platform: str) -> None:
    for gpu in GPUS:
        found = [pick for driver in sorted(DRIVERS[:3], key=numbers) if (pick := picked(gpu, driver, platform))]
        releases = [release_key(pick.build.torch) for pick in found]

        assert releases == sorted(releases), gpu


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_was_picked_is_picked_again_by_its_version_and_its_companions(platform: str) -> None:
    for gpu in GPUS:
        pick = picked(gpu, DRIVERS[-2], platform)
        if pick is not None:
            again = torchpick.pick(
                gpus=[gpu], driver=DRIVERS[-2], platform=platform, python="3.12", torch=f"=={pick.version}",
                companions={name: f"=={version}" for name, version in pick.companions.items()},
            )  # fmt: skip
            assert (again.version, again.index_url) == (pick.version, pick.index_url)
