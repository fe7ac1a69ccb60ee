"""What is said beside a pick: of libraries, compilers and systems, and what would have to change."""

from __future__ import annotations

import pytest

from tests.decide.test_stack import machine
from torchpick.decide import buildfit, remarks
from torchpick.knowledge.compat import Knowledge
from torchpick.model.build import Build
from torchpick.model.machine import Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish

KNOWLEDGE = Knowledge({})
LINUX = KNOWLEDGE.table(["linux-x86_64"])


def build(version: str, platform: str = "linux-x86_64") -> Build:
    return next(each for each in KNOWLEDGE.table([platform]).of(platform) if each.version == version)


def notes(found: Machine, version: str) -> list[str]:
    wish = Wish(torch=f"=={version}", allow_unconfirmed=True)
    return [note.code for note in buildfit.pick(found, KNOWLEDGE.table([found.platform.name]), wish).notes]


@pytest.mark.parametrize(
    ("tags", "oldest"),
    [
        (("macosx_14_0_arm64", "macosx_11_0_arm64"), "11.0"), (("macosx_10_9_x86_64", "macosx_11_0_x86_64"), "10.9"),
        (("manylinux_2_28_x86_64",), None), (("macosx_11_x86_64",), None), (("macosx_11",), None), (("macosx",), None),
        (("macosx_x_0_arm64",), None), (("win_11_0",), None), ((), None),
    ],
)  # fmt: skip
def test_the_oldest_macos_stands_in_the_tags(tags: tuple[str, ...], oldest: str | None) -> None:
    assert remarks.installs_from(build("2.9.1+cpu")._replace(tags=tags)) == oldest


@pytest.mark.parametrize(
    ("asked", "unknown"),
    [
        ("==2.99.1", "2.99.1"), ("==v2.99", "2.99"), ("==2.99.*", "2.99"), (">=2.99", "2.99"), ("~=2.99.0", "2.99.0"),
        (">2.0, == 2.99", "2.99"), ("<3", None), ("<=3.0", None), ("!=3.0", None), ("==2.9.1", None), ("", None),
    ],
)  # fmt: skip
def test_a_release_that_is_newer_than_the_table_is_named(asked: str, unknown: str | None) -> None:
    pick = buildfit.pick(machine(), LINUX, Wish(torch=asked))

    said = remarks.on_age(pick, "2000-01-01")

    if unknown is None:
        assert said is None
        day = str(pick.table_date)
        text = (
            f"the table of builds is from {day}, more than 45 days old; run `torchpick refresh` to read the live index"
        )
        assert remarks.on_age(pick, "2100-01-01") == text
        assert remarks.on_age(pick, day) is None
        assert remarks.on_age(pick._replace(table_date=None), "2100-01-01") is None
    else:
        known = f"the table from {pick.table_date} knows no torch {unknown} for linux-x86_64"
        assert said == f"{known}; run `torchpick refresh` to read the live index"


@pytest.mark.parametrize(
    ("gpus", "wish", "said"),
    [
        (["gfx1100"], Wish(), "2.15.0 for ROCm"),
        (["gfx1100"], Wish(torch=">=2.15"), "2.15.0 for ROCm"),
        (["gfx1100"], Wish(torch="<2.15"), None),
        (["gfx1100"], Wish(backends=("rocm7.2",)), "2.15.0 for ROCm"),
        (["gfx1100"], Wish(backends=("cpu",)), None),
        (["Arc B580"], Wish(), "2.15.0 for XPU"),
        (["sm_90"], Wish(), None),
        ([], Wish(), None),
    ],
)
def test_a_newer_release_that_the_table_lacks_for_amd_or_intel_is_said(
    gpus: list[str], wish: Wish, said: str | None
) -> None:
    read = [KNOWLEDGE.gpu(gpu) for gpu in gpus]
    found = tuple(Gpu(number, gpu.vendor, gpu.name, gpu.arch) for number, gpu in enumerate(read))
    pick = buildfit.pick(Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), None, found), LINUX, wish)

    texts = [note.text for note in pick.notes if note.code == "RELEASE_MISSING"]

    text = f"the table from {LINUX.date} has no torch {said}; `torchpick refresh` looks"
    assert texts == ([] if said is None else [text])
