"""What is said beside a pick: of libraries, compilers and systems, and what would have to change."""

from __future__ import annotations

import pytest

from tests.decide import test_buildfit as small
from tests.decide.test_stack import machine
from tests.laws.strategies import table
from torchpick.decide import buildfit, remarks
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Reason
from torchpick.model.machine import PLATFORMS, Driver, Gpu, Machine, Note, Platform, Python
from torchpick.model.pick import Limit, Wish
from torchpick.model.table import BuildsByRelease

KNOWLEDGE = Knowledge({})
LINUX = KNOWLEDGE.table(["linux-x86_64"])


def build(version: str, platform: str = "linux-x86_64") -> Build:
    return next(each for each in KNOWLEDGE.table([platform]).of(platform) if each.version == version)


def notes(found: Machine, version: str) -> list[str]:
    wish = Wish(torch=f"=={version}", allow_unconfirmed=True)
    return [note.code for note in buildfit.pick(found, KNOWLEDGE.table([found.platform.name]), wish).notes]


@pytest.mark.parametrize(("tags", "oldest"), [
        (("macosx_14_0_arm64", "macosx_11_0_arm64"), "11.0"), (("macosx_10_9_x86_64", "macosx_11_0_x86_64"), "10.9"),
        (("manylinux_2_28_x86_64",), None), (("macosx_11_x86_64",), None), (("macosx_11",), None), (("macosx",), None),
        (("macosx_x_0_arm64",), None), (("win_11_0",), None), ((), None),
])  # fmt: skip
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


@pytest.mark.parametrize(("gpus", "wish", "said"), [
        (["gfx1100"], Wish(), "2.15.0 for ROCm"), (["gfx1100"], Wish(torch=">=2.15"), "2.15.0 for ROCm"),
        (["gfx1100"], Wish(torch="<2.15"), None), (["gfx1100"], Wish(backends=("rocm7.2",)), "2.15.0 for ROCm"),
        (["gfx1100"], Wish(backends=("cpu",)), None), (["Arc B580"], Wish(), "2.15.0 for XPU"),
        (["sm_90"], Wish(), None), ([], Wish(), None), (["gfx1100", "sm_90"], Wish(), None),
        (["gfx1100"], Wish(channel="test"), None),
])  # fmt: skip
def test_a_newer_release_that_the_table_lacks_for_amd_or_intel_is_said(
    gpus: list[str], wish: Wish, said: str | None
) -> None:
    read = [KNOWLEDGE.gpu(gpu) for gpu in gpus]
    found = tuple(Gpu(number, gpu.vendor, gpu.name, gpu.arch) for number, gpu in enumerate(read))
    pick = buildfit.pick(Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), None, found), LINUX, wish)

    texts = [note.text for note in pick.notes if note.code == "RELEASE_MISSING"]

    text = f"the table from {LINUX.date} has no torch {said}; `torchpick refresh` looks"
    assert texts == ([] if said is None else [text])


OTHER = Wish(companions={"torchvision": "", "torchaudio": ""})
PAIR: dict[str, str | None] = {"torchvision": "0.25.0", "torchaudio": "2.10.0"}
THREE = (
    small.build("2.11.0", "cu130"), small.build("2.10.0", "cu128"),
    small.build("2.9.0", "cu118")._replace(pythons=("cp310", "cp39", "cp313", "cp313t")),
)  # fmt: skip
ASSUMED = Driver("470", source="assumed")


@pytest.mark.parametrize(("where", "builds", "wish", "texts"), [
        # The best build of each reason, and after the newest driver the smallest step.
        (small.machine("sm_80", driver="470.82.01"), THREE, Wish(), ["with driver 580 or newer: torch 2.11.0+cu130",
         "with driver 525.60.13 or newer: torch 2.10.0+cu128", "with Python 3.13: torch 2.9.0+cu118"]),
        (small.machine("sm_80", driver="470.82.01"), THREE[1:2], Wish(),
         ["with driver 525.60.13 or newer: torch 2.10.0+cu128"]),
        # The GPU needs a newer driver too: the higher number is asked for.
        (small.machine("sm_120", driver="560.28.03"), (small.build("2.11.0", "cu130", "sm_120"),), Wish(),
         ["with driver 580 or newer: torch 2.11.0+cu130"]),
        (small.machine("sm_120", driver="525.60.13"), (small.build(arches="sm_120"),), Wish(),
         ["with driver 570.26 or newer: torch 2.10.0+cu128"]),
        (small.machine("sm_37", "sm_80")._replace(driver=ASSUMED), (small.build("2.9.0", "cu118", "sm_37 sm_80"),),
         Wish(), []),
        (small.machine("sm_37", "sm_120")._replace(driver=ASSUMED),
        (small.build("2.9.0", "cu118", "sm_37 sm_120", "8.7.0"),),
         Wish(), []),
        # Only of the machine's own builds, PyTorch's and the vendor's.
        (small.machine("sm_80"), (small.build(backend="cpu", arches=""),), Wish(), []),
        (small.machine("gfx1100", driver=None, python="3.11"), (small.ROCM._replace(vendor=small.AMD),), Wish(),
         ["with Python 3.12: torch 2.10.0+rocm7.2"]),
        (small.machine("sm_80"), (small.build(companions=PAIR)._replace(companion_pythons={"torchvision": ("cp310",
         "cp311")}), small.build("2.9.0", companions=PAIR)._replace(companion_pythons={"torchvision": ("cp310",)})),
         OTHER, ["without that companion: torch 2.10.0+cu128"]),
])  # fmt: skip
def test_what_would_have_to_change(where: Machine, builds: tuple[Build, ...], wish: Wish, texts: list[str]) -> None:
    pick = small.answer(where, *builds, wish=wish)

    assert [change.text for change in pick.changes] == texts if not pick.ok else not texts


@pytest.mark.parametrize(("rocm", "lacking"), [
        ("6.4", False), ("7.0", True), ("7.1", True), ("7.2", False), ("7.14", False), ("8.0", True), ("8.1", True),
])  # fmt: skip
def test_a_target_that_rocblas_lacks_for_a_while_is_refused_as_long(rocm: str, lacking: bool) -> None:
    gaps = (("7.0", "7.2", (Arch.parse("gfx1100"),)), ("8.0", None, (Arch.parse("gfx1101"), Arch.parse("gfx1100"))))
    known = table([small.build(backend=f"rocm{rocm}", arches="gfx1100 gfx1102")])._replace(rocblas_gaps=gaps)

    for arch, dropped in (("gfx1100", lacking), ("gfx1101", False), ("gfx1102", False)):
        (verdict,) = buildfit.pick(small.machine(arch, driver=None), known, Wish()).considered
        texts = [each.text for each in verdict.objections if each.reason is Reason.LIBRARY_DROPPED_GPU]
        assert texts == ([f"rocBLAS of ROCm {rocm} in it supports other targets, not {arch}"] if dropped else [])


@pytest.mark.parametrize(("version", "torch", "idle"), [
        ("12.3", "1.12.0", False), ("12.2", "1.12.0", True), ("15.0", "1.11.0", True), ("12.9", "2.4.1", False),
        ("12.9", "2.5.0", True), ("13.0", "2.5.0", False), ("14.0", "2.9.0", False), ("13.9", "2.10.0", True),
])  # fmt: skip
def test_from_which_macos_on_a_release_reaches_the_gpu(version: str, torch: str, idle: bool) -> None:
    where = Machine(Platform("macos", "arm64", macos=version), Python("3.12"), gpus=(Gpu(0, "apple", "M3", None),))
    one = small.build(torch, "cpu", "")._replace(platform="macos-arm64", tags=("macosx_11_0_arm64",), glibc=None)
    known = KNOWLEDGE.rules._replace(builds={"macos-arm64": BuildsByRelease.of([one])})

    for wish, ok in ((Wish(), not idle), (Wish(allow_cpu=True), True), (Wish(backends=("cpu",)), True)):
        pick = buildfit.pick(where, known, wish)
        assert pick.ok is ok
        assert not ok or [note.code for note in pick.notes] == ["NO_GPU_FOUND" if idle else "MPS"]
    too_old = where._replace(platform=where.platform._replace(macos="10.16"))
    assert not buildfit.pick(too_old, known, Wish(allow_cpu=True)).ok
    assert buildfit.pick(
        too_old._replace(platform=where.platform._replace(macos="11.0")), known, Wish(allow_cpu=True)
    ).ok


def test_what_a_vendor_does_not_promise_is_said() -> None:
    vendor = small.AMD._replace(
        documented=(Arch.parse("gfx1201"),), inferred=("cp312",), needs=("libatomic1", "glibc 2.39")
    )
    one = small.ROCM._replace(vendor=vendor, arches=tuple(map(Arch.parse, ("gfx1100", "gfx1201"))))

    pick = small.answer(small.machine("gfx1201", "gfx1100", driver=None), one)

    assert [note.text for note in pick.notes] == [
        "AMD's own index has it, https://amd.example/; PyTorch's has nothing that runs here; AMD has packages for "
        "gfx1100 there and does not list it as supported; that it has wheels for Python 3.12 is inferred",
        "its wheels need libatomic1, glibc 2.39, and do not say so; `torchpick doctor` looks for them",
    ]


def test_no_release_is_missed_that_was_published_for_nobody() -> None:
    builds = [small.build("2.12.0", published=None), small.build("2.11.0"), small.ROCM]
    known = table([*builds, small.ROCM._replace(torch="2.11.0", published=None)])
    known = known._replace(date="2026-01-01", notes=(Note("KNOWN", "x"),))

    found = buildfit.pick(small.machine("gfx1100", driver=None), known, Wish())

    assert [(note.code, note.text) for note in found.notes] == [
        ("RELEASE_MISSING", "the table from 2026-01-01 has no torch 2.11.0 for ROCm; `torchpick refresh` looks"),
        ("KNOWN", "x"),
    ]


def test_a_library_without_code_is_named_with_what_fails_and_the_newest_build_that_is_whole() -> None:
    lacking = {"libtorch_cuda_linalg.so": (Arch.parse("sm_80"),)}
    builds = (
        small.build(lacks={**lacking, "libother.so": (Arch.parse("sm_80"),)}),
        small.build("2.9.1", lacks={"libx.so": (Arch.parse("sm_90"),)}),
        small.build("2.9.0")._replace(pythons=("cp310",)), small.build("2.8.0"), small.build("2.7.0"),
    )  # fmt: skip

    found = small.answer(small.machine("sm_90", "sm_80"), *builds)

    what = "in it was built mostly without sm_80: "
    way = "; `--whole` takes 2.8.0+cu128, the newest that is not known to lack it"
    assert [note.text for note in found.notes] == [
        f"libtorch_cuda_linalg.so {what}LU of large matrices (solve, inv, det, lu_factor) and LDL, which use MAGMA, "
        f"may fail there, and the rest of torch.linalg works{way}",
        f"libother.so {what}what needs it fails there{way}",
    ]
    whole = buildfit.pick(small.machine("sm_90", "sm_80"), table([*builds]), Wish(), everything=False)
    assert whole.notes == found.notes
    # Discrete code crosses to Tegra in a library too.
    orin = small.build("2.14.0", "cu132", "sm_80 sm_90", lacks={"libx.so": (Arch.parse("sm_90"),)})
    assert not small.answer(small.machine("sm_87", driver="595.58.03"), orin).notes


INTEL = small.machine(driver=None)._replace(gpus=(Gpu(0, "intel", "Arc", None),))
HIDDEN = small.machine()._replace(gpus=(Gpu(0, "nvidia", None, None, counted=False),))
CPU = "; `--gpu` specifies a GPU of another machine"


@pytest.mark.parametrize(("where", "one", "wish", "text"), [
    (small.machine(), small.build(backend="cpu", arches=""), Wish(), f"there is no GPU, so this is the cpu build{CPU}"),
    (small.machine()._replace(gpus=(Gpu(0, "nvidia", None, None, counted=False),)), small.build(backend="cpu",
     arches=""),
     Wish(), f"this is the cpu build, which uses no GPU{CPU}"),
    (small.machine(), small.build(), Wish(backends=("cu128",)),
     "no NVIDIA GPU was specified or found, so neither GPU nor driver was checked"),
    (small.machine(), small.build(backend="xpu", arches=""), Wish(backends=("xpu",)),
     "no Intel GPU was specified or found, so neither GPU nor driver was checked"),
    (INTEL, small.build(backend="xpu", arches=""), Wish(), None),
])  # fmt: skip
def test_what_uses_no_gpu_says_why(where: Machine, one: Build, wish: Wish, text: str | None) -> None:
    assert [note.text for note in small.answer(where, one, wish=wish).notes] == ([] if text is None else [text])


def test_intel_s_gpus_count_where_there_are_builds_for_them() -> None:
    where = [INTEL._replace(platform=Platform.parse(name)) for name in PLATFORMS]

    assert [one.platform.name for one in where if remarks.counts_for_xpu(one)] == ["linux-x86_64", "windows-x86_64"]
    assert not remarks.counts_for_xpu(small.machine("sm_80"))


def test_of_many_limits_three_are_named_each_once() -> None:
    bounds = [Limit(name, "<1", "x") for name in ("a", "a", "b", "c")]

    text = remarks.limits_note((*bounds[:3], bounds[3]), ["a 1", "b 1", "c 1", "d 1"]).text

    assert text == "bound by a<1 in x and b<1 in x; without that it would be a 1 and b 1 and c 1"
