"""Each rule of the judgement by its smallest example, and the order of preference step by step."""

from __future__ import annotations

import pytest

from tests.laws.strategies import gpu, table
from torchpick.decide import buildfit, matrix, refusal, several
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, Objection, Reason
from torchpick.model.machine import Driver, Machine, Platform, Python
from torchpick.model.pick import Limit, Pick, Wish


def build(
    torch: str = "2.10.0",
    backend: str = "cu128",
    arches: str | None = "sm_80 sm_90",
    cudnn: str | None = "9.10.2",
    nccl: str = "2.27.5",
    published: bool | None = True,
    yanked: bool = False,
    lacks: dict[str, tuple[Arch, ...]] | None = None,
    companions: dict[str, str | None] | None = None,
) -> Build:
    digits = backend.removeprefix("cu")
    return Build(
        torch=torch,
        backend=backend,
        platform="linux-x86_64",
        version=f"{torch}+{backend}",
        cuda=f"{digits[:-1]}.{digits[-1]}" if backend.startswith("cu") else None,
        arches=None if arches is None else tuple(map(Arch.parse, arches.split())),
        pythons=("cp310", "cp312"),
        tags=("manylinux_2_28_x86_64",),
        glibc="2.28",
        libraries={"nccl": nccl, **({"cudnn": cudnn} if cudnn else {})},
        lacks=lacks or {},
        published=published,
        yanked=yanked,
        companions=companions or {},
        companion_basis=dict.fromkeys(companions or {}, "declared"),
        evidence=Evidence("declared", "made up"),
    )


def machine(*gpus: str, driver: str | None = "580.95.05", python: str = "3.12", glibc: str | None = "2.35") -> Machine:
    return Machine(
        Platform("linux", "x86_64", glibc, "glibc"),
        Python(python),
        None if driver is None else Driver(driver),
        tuple(gpu(index, Arch.parse(arch)) for index, arch in enumerate(gpus)),
    )


def answer(where: Machine, *builds: Build, wish: Wish | None = None) -> Pick:
    wanted = wish or Wish()
    known = table([*builds])
    return buildfit.pick(where, known, wanted)


def objections(where: Machine, one: Build, wish: Wish | None = None) -> dict[Reason, Objection]:
    return {each.reason: each for each in answer(where, one, wish=wish).considered[0].objections}


TOO_OLD_FOR_BOTH = ["PTX_ONLY_DRIVER_TOO_OLD", "DRIVER_TOO_OLD"]


@pytest.mark.parametrize(
    ("where", "one", "reasons"),
    [
        (machine("sm_80"), build(), []),
        (machine("sm_75"), build(), ["NO_KERNELS"]),
        (machine("sm_80", "sm_75"), build(), ["NO_KERNELS"]),
        (machine("sm_80", driver="525.60.12"), build(), ["DRIVER_TOO_OLD"]),
        (machine("sm_80", driver="525.60.13"), build(), []),
        (machine("sm_120"), build(arches="compute_90"), []),
        (machine("sm_120", driver="570.26"), build(backend="cu130", arches="compute_90"), TOO_OLD_FOR_BOTH),
        (machine("sm_90", driver="525.60.13"), build(arches="compute_80"), ["PTX_ONLY_DRIVER_TOO_OLD"]),
        (machine("sm_90", driver="570.26"), build(arches="compute_80"), []),
        (machine("sm_61"), build(arches="sm_60", cudnn="9.11.0"), ["LIBRARY_DROPPED_GPU"]),
        (machine("sm_61"), build(arches="sm_60"), []),
        (machine("sm_61", driver="595.58.03"), build(arches="sm_60"), ["GPU_NOT_SERVED_BY_DRIVER"]),
        (machine("sm_80", python="3.11"), build(), ["NO_WHEEL_FOR_PYTHON"]),
        (machine("sm_80", glibc="2.27"), build(), ["GLIBC_TOO_OLD"]),
        (machine("sm_80", glibc="2.28"), build(), []),
        (machine("sm_80", glibc=None), build(), []),
        (machine("sm_80"), build(published=None), ["UNCONFIRMED"]),
        (machine("sm_80"), build(yanked=True), ["YANKED"]),
        (machine("sm_80"), build(arches=None), ["UNKNOWN_ARCHES"]),
        (machine("sm_80"), build(backend="cpu", arches=""), ["BACKEND_NOT_ALLOWED"]),
        (machine(driver=None), build(), ["BACKEND_NOT_ALLOWED"]),
        (machine("gfx1100", driver=None), build(), ["NO_KERNELS", "BACKEND_NOT_ALLOWED"]),
        (machine("sm_87", driver="595.58.03"), build("2.14.0", "cu132", "sm_80"), []),
        (machine("sm_87", driver="580.95.05"), build("2.14.0", "cu132", "sm_80"), ["DRIVER_TOO_OLD"]),
        (machine("sm_87", driver="595.58.03"), build("2.14.0", "cu130", "sm_80"), ["NO_KERNELS"]),
        (machine("sm_87", driver="595.58.03"), build("2.13.0", "cu132", "sm_80"), ["NO_KERNELS"]),
    ],
)  # fmt: skip
def test_a_build_is_judged(where: Machine, one: Build, reasons: list[str]) -> None:
    assert {reason.name for reason in objections(where, one)} == set(reasons)


def test_a_limit_on_a_companion_that_nobody_asks_for_refuses_no_build() -> None:
    wish = Wish(limits=(Limit("torchvision", "<0.1", "limits.txt"),))

    assert not objections(machine("sm_80"), build(companions={"torchvision": "0.25.0"}), wish)


def test_musl_has_no_wheel() -> None:
    where = machine("sm_80")
    musl = where._replace(platform=where.platform._replace(glibc=None, libc="musl"))

    assert [each.text for each in objections(musl, build()).values()] == [
        "there is no wheel for linux-x86_64 with musl"
    ]


@pytest.mark.parametrize(
    ("better", "worse", "where"),
    [
        (build("2.10.0", "cu126"), build("2.9.1", "cu130"), machine("sm_80")),  # the newest torch
        (build("2.10.0", "cu126"), build("2.9.1", "cu126"), machine("sm_80")),  # 2.10 is newer than 2.9
        (build(backend="cu126", arches="sm_86"), build(arches="sm_80"), machine("sm_86")),  # then the better fit
        (
            build(backend="cu126", arches="sm_80"),
            build(arches="sm_89 compute_80"),
            machine("sm_86", "sm_89"),
        ),  # of the worst GPU: machine code for both beats a perfect fit for one
        (
            build(backend="cu126"),
            build(backend="cu128"),
            machine("sm_80", driver="560.28.03"),
        ),  # what it speaks itself
        (build(backend="cu130"), build(backend="cu128"), machine("sm_80")),  # then the newest CUDA
        (build("2.9.1", "cu126"), build("2.10.0", "cpu", ""), machine("sm_80")),  # cpu only where nothing else runs
    ],
)
def test_the_order_of_preference(better: Build, worse: Build, where: Machine) -> None:
    pick = answer(where, worse, better, wish=Wish(allow_cpu=True))

    assert [verdict.build for verdict in pick.considered if verdict.ok] == [better, worse]


def test_one_pick_for_several_machines_is_the_best_for_the_one_that_it_suits_least() -> None:
    native, newest = build(backend="cu126"), build(backend="cu128")
    one, other = machine("sm_80"), machine("sm_80", driver="560.28.03")

    for machines in ((one, other), (other, one)):
        assert several.pick(machines, table([newest, native]), Wish()).build == native


def test_rocm_versions_are_ordered_as_numbers() -> None:
    older, newer = (build(backend=f"rocm7.{minor}", arches="gfx1100", cudnn=None) for minor in (2, 10))

    assert answer(machine("gfx1100", driver=None), older, newer).build == newer


@pytest.mark.parametrize(
    ("one", "where", "codes"),
    [
        (build(), machine("sm_80"), []),
        (build(arches="compute_80"), machine("sm_90"), ["JIT_ONLY"]),
        (build(), machine("sm_80", driver="525.60.13"), ["MINOR_VERSION_COMPATIBILITY"]),
        (build(lacks={"libx.so": (Arch.parse("sm_80"),)}), machine("sm_80"), ["PARTIAL_LIBRARY"]),
        (build(arches="sm_50", nccl="2.28.9"), machine("sm_52", "sm_50"), ["PARTIAL_LIBRARY"]),
        (build(arches="sm_50", nccl="2.28.9"), machine("sm_52"), []),
        (build(arches="sm_70", cudnn=None), machine("sm_70"), ["LIBRARY_UNVERIFIED"]),
        (build(backend="cpu", arches=""), machine(driver=None), ["NO_GPU_FOUND"]),
    ],
)
def test_a_pick_carries_its_notes(one: Build, where: Machine, codes: list[str]) -> None:
    notes = answer(where, one).notes

    assert sorted({note.code for note in notes}) == codes


@pytest.mark.parametrize(("channel", "said"), [("stable", True), ("nightly", False)])
def test_the_channel_of_development_builds_is_named_where_it_was_not_asked(channel: str, *, said: bool) -> None:
    pick = answer(machine("sm_80"), build(), wish=Wish(torch="==2.16.0.dev20261007", channel=channel))

    assert ("development builds are on `--channel nightly`" in refusal.explain_no_build(pick)[1]) is said


def test_what_is_never_picked_says_why_and_comes_newest_first() -> None:
    there = [
        build("2.9.0")._replace(platform="macos-arm64"),
        build("2.10.0"),
        build("2.10.0", "default"),
        build("2.10.0")._replace(platform="linux-aarch64"),
        build("2.10.0")._replace(platform="macos-arm64"),
        build("2.10.0", "cu130")._replace(platform="linux-aarch64"),
    ]

    found = matrix.never_picked(there, ["windows-x86_64", "linux-x86_64"])

    assert [(each.build.torch, each.build.backend, each.build.platform) for each in found] == [
        ("2.10.0", "cu130", "linux-aarch64"),
        ("2.10.0", "cu128", "macos-arm64"),
        ("2.10.0", "cu128", "linux-aarch64"),
        ("2.10.0", "default", "linux-x86_64"),
        ("2.9.0", "cu128", "macos-arm64"),
    ]
    text = "there is no wheel for linux-x86_64/windows-x86_64"
    assert {each.objections[0].text for each in found if each.build.backend != "default"} == {text}
    assert [each.reasons for each in found if each.build.backend == "default"] == [{Reason.BACKEND_NOT_ALLOWED}]
    assert not any(each.ok or each.rank.preference for each in found)


def test_a_gpu_below_the_floor_of_nccl_is_named_with_it() -> None:
    pick = answer(machine("sm_75", "sm_50"), build(arches="sm_50 sm_75", nccl="2.28.9"))

    assert [note.text for note in pick.notes if note.code == "PARTIAL_LIBRARY"] == [
        "NCCL 2.28.9 in it supports sm_60 and newer: sm_50 cannot be used together with other GPUs"
    ]


def test_the_whole_of_a_build_is_judged_by_nccl_for_several_gpus_alone() -> None:
    one, wish = build(arches="sm_50 sm_75", nccl="2.28.9"), Wish(whole=True)

    assert {*objections(machine("sm_75", "sm_50"), one, wish)} == {Reason.LIBRARY_DROPPED_GPU}
    assert not objections(machine("sm_50"), one, wish)
