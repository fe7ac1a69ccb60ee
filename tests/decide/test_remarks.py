"""What is said beside a pick: of libraries, compilers and systems, and what would have to change."""

from __future__ import annotations

import pytest

from tests.decide.test_stack import machine
from torchpick.decide import remarks, resolve
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.pick import Wish

KNOWLEDGE = Knowledge({})
LINUX = KNOWLEDGE.table(["linux-x86_64"])


def build(version: str, platform: str = "linux-x86_64") -> Build:
    return next(each for each in KNOWLEDGE.table([platform]).of(platform) if each.version == version)


def notes(found: Machine, version: str) -> list[str]:
    wish = Wish(torch=f"=={version}", allow_unconfirmed=True)
    return [note.code for note in resolve.pick(found, KNOWLEDGE.table([found.platform.name]), wish).notes]


@pytest.mark.parametrize(
    ("arch", "os", "version", "said"),
    [
        ("sm_100", "linux", "2.9.1+cu128", True), ("sm_103", "linux", "2.14.1+cu130", True),
        ("sm_120", "linux", "2.9.1+cu130", True), ("sm_121", "linux", "2.9.1+cu130", True),
        ("sm_90", "linux", "2.9.1+cu130", False), ("sm_86", "linux", "2.14.0+cu132", False),
        ("sm_120", "linux", "2.14.0+cu132", True), ("sm_120", "linux", "2.14.1+cu132", False),
        ("sm_120", "linux", "2.15.0+cu132", False), ("sm_120", "windows", "2.14.1+cu132", True),
        ("sm_120", "linux", "2.14.1+cu130", True),
    ],
)  # fmt: skip
def test_code_for_blackwell_of_a_compiler_that_nvidia_reports_is_said(
    arch: str, os: str, version: str, said: bool
) -> None:
    driver = "610.43.02" if os == "linux" else "616.92"
    here = machine(arch, driver)._replace(platform=Platform(os, "x86_64", "2.35" if os == "linux" else None))

    assert ("CUDA_MISCOMPILE" in notes(here, version)) is said


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
    ("torch", "reaches"),
    [("1.11.0", None), ("1.12.0", "12.3"), ("1.13.1", "12.3"), ("2.9.1", "14.0"), ("2.10.0", "14.0")],
)  # fmt: skip
def test_a_release_reaches_apples_gpu_from_a_macos_on(torch: str, reaches: str | None) -> None:
    floors = (("2.9", "14.0"), ("1.12", "12.3"))

    assert remarks.mps_from(build("2.9.1+cpu")._replace(torch=torch), floors) == reaches


def test_of_a_gpu_that_nobody_knows_no_library_is_said_to_lack_it() -> None:
    known, unknown = Gpu(0, "nvidia", "one", Arch.parse("sm_50")), Gpu(1, "nvidia", "two", None)
    held = (Arch.parse("sm_50"), Arch.parse("sm_80"))
    both = build("2.9.1+cu126")._replace(arches=held, lacks={"libone.so": held[:1], "libtwo.so": held[1:]})

    assert remarks.lacking(both, known) == ["libone.so"]
    assert remarks.lacking(both, unknown) == []
    assert remarks.lacking(both._replace(arches=None), known) == []
    assert remarks.nccl_gap(both._replace(libraries={"nccl": "2.29.3"}), known, LINUX) == ("NCCL 2.29.3", "sm_60")
    for other in (both._replace(libraries={}), both._replace(libraries={"nccl": "2.18.1"})):
        assert remarks.nccl_gap(other, known, LINUX) is None
    assert remarks.nccl_gap(both._replace(libraries={"nccl": "2.29.3"}), unknown, LINUX) is None
    assert remarks.nccl_gap(both._replace(libraries={"nccl": "2.29.3"}, cuda=None), known, LINUX) is None


@pytest.mark.parametrize(
    ("vendor", "platform", "counted", "counts"),
    [
        ("intel", Platform("linux", "x86_64"), True, True), ("intel", Platform("windows", "x86_64"), True, True),
        ("intel", Platform("linux", "aarch64"), True, False), ("intel", Platform("linux", "x86_64"), False, False),
        ("nvidia", Platform("linux", "x86_64"), True, False),
    ],
)  # fmt: skip
def test_the_xpu_builds_are_for_an_intel_gpu_that_counts(
    vendor: str, platform: Platform, *, counted: bool, counts: bool
) -> None:
    gpu = Gpu(0, vendor, "one", None)
    gpu = gpu._replace(counted=counted)
    here = Machine(platform, Python("3.12"), Driver("580.95.05"), (gpu,))

    assert remarks.counts_for_xpu(here) is counts


@pytest.mark.parametrize(
    ("asked", "unknown"),
    [
        ("==2.99.1", "2.99.1"), ("==v2.99", "2.99"), ("==2.99.*", "2.99"), (">=2.99", "2.99"), ("~=2.99.0", "2.99.0"),
        (">2.0, == 2.99", "2.99"), ("<3", None), ("<=3.0", None), ("!=3.0", None), ("==2.9.1", None), ("", None),
    ],
)  # fmt: skip
def test_a_release_that_is_newer_than_the_table_is_named(asked: str, unknown: str | None) -> None:
    pick = resolve.pick(machine(), LINUX, Wish(torch=asked))

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
    pick = resolve.pick(Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), None, found), LINUX, wish)

    texts = [note.text for note in pick.notes if note.code == "RELEASE_MISSING"]

    text = f"the table from {LINUX.date} has no torch {said}; `torchpick refresh` looks"
    assert texts == ([] if said is None else [text])
