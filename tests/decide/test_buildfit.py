"""Each rule of the judgement by its smallest example, and the order of preference step by step."""

from __future__ import annotations

import pytest

from tests.laws.strategies import gpu, table
from torchpick.decide import buildfit, matrix, refusal, several
from torchpick.model.arch import Arch
from torchpick.model.build import Build, Evidence, Objection, Reason, VendorIndex
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
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


ROCM = build(backend="rocm7.2", arches="gfx1100", cudnn=None)
AMD = VendorIndex("AMD", "https://amd.example/", "--index-url")


def answer(where: Machine, *builds: Build, wish: Wish | None = None) -> Pick:
    wanted = wish or Wish()
    known = table([*builds])
    return buildfit.pick(where, known, wanted)


def objections(where: Machine, one: Build, wish: Wish | None = None) -> dict[Reason, Objection]:
    return {each.reason: each for each in answer(where, one, wish=wish).considered[0].objections}


TOO_OLD_FOR_BOTH = ["PTX_ONLY_DRIVER_TOO_OLD", "DRIVER_TOO_OLD"]


@pytest.mark.parametrize(("where", "one", "reasons"), [
        (machine("sm_80"), build(), []), (machine("sm_75"), build(), ["NO_KERNELS"]),
        (machine("sm_80", "sm_75"), build(), ["NO_KERNELS"]),
        (machine("sm_80", driver="525.60.12"), build(), ["DRIVER_TOO_OLD"]),
        (machine("sm_80", driver="525.60.13"), build(), []), (machine("sm_120"), build(arches="compute_90"), []),
        (machine("sm_120", driver="570.26"), build(backend="cu130", arches="compute_90"), TOO_OLD_FOR_BOTH),
        (machine("sm_90", driver="525.60.13"), build(arches="compute_80"), ["PTX_ONLY_DRIVER_TOO_OLD"]),
        (machine("sm_90", driver="570.26"), build(arches="compute_80"), []),
        (machine("sm_61"), build(arches="sm_60", cudnn="9.11.0"), ["LIBRARY_DROPPED_GPU"]),
        (machine("sm_61"), build(arches="sm_60"), []),
        (machine("sm_61", driver="595.58.03"), build(arches="sm_60"), ["GPU_NOT_SERVED_BY_DRIVER"]),
        (machine("sm_80", python="3.11"), build(), ["NO_WHEEL_FOR_PYTHON"]),
        (machine("sm_80", glibc="2.27"), build(), ["GLIBC_TOO_OLD"]), (machine("sm_80", glibc="2.28"), build(), []),
        (machine("sm_80", glibc=None), build(), []), (machine("sm_80"), build(published=None), ["UNCONFIRMED"]),
        (machine("sm_80"), build(yanked=True), ["YANKED"]), (machine("sm_80"), build(arches=None), ["UNKNOWN_ARCHES"]),
        (machine("sm_80"), build(backend="cpu", arches=""), ["BACKEND_NOT_ALLOWED"]),
        (machine(driver=None), build(), ["BACKEND_NOT_ALLOWED"]),
        (machine("gfx1100", driver=None), build(), ["NO_KERNELS", "BACKEND_NOT_ALLOWED"]),
        (machine("sm_61", driver="595.58.03"), ROCM, ["NO_KERNELS", "BACKEND_NOT_ALLOWED"]),
        (machine("sm_87", driver="595.58.03"), build("2.14.0", "cu132", "sm_80"), []),
        (machine("sm_87", driver="580.95.05"), build("2.14.0", "cu132", "sm_80"), ["DRIVER_TOO_OLD"]),
        (machine("sm_87", driver="595.58.03"), build("2.14.0", "cu130", "sm_80"), ["NO_KERNELS"]),
        (machine("sm_87", driver="595.58.03"), build("2.13.0", "cu132", "sm_80"), ["NO_KERNELS"]),
])  # fmt: skip
def test_a_build_is_judged(where: Machine, one: Build, reasons: list[str]) -> None:
    assert {reason.name for reason in objections(where, one)} == set(reasons)


def patch(exact: str) -> Machine:
    return machine("sm_80")._replace(python=Python("3.12", exact=exact))


VISION, ASKED = build(companions={"torchvision": "0.25.0+cu128", "torchaudio": None}), {"torchvision": ""}
UNNAMED = machine()._replace(gpus=(Gpu(0, "nvidia", None, None),))
MUSL = machine("sm_80")._replace(platform=Platform("linux", "x86_64", None, "musl"))
ELSEWHERE = build(backend="default")._replace(cuda="12.8")
IDLE = ELSEWHERE._replace(cuda=None)
TORCH = tuple(Limit("torch", text, "limits.txt") for text in ("<2.11", "<2.10", "!=2.10.0"))
EVERYTHING = [
    "`torch<2` was asked for", "`torch<2.10` in limits.txt excludes it", "`torch!=2.10.0` in limits.txt excludes it",
    "`cu126` was asked for", "lacks a companion: no torchvision is known for torch 2.10.0+cu128",
    "holds no code for sm_75: it was built for sm_80 sm_90",
    "CUDA 12.8 needs driver 525.60.13 or newer; this one is 450.80.02",
    "there is no wheel for Python 3.11: it has 3.10, 3.12", "needs glibc 2.28, this platform has 2.17",
    "it was withdrawn", "it is not confirmed on the index",
]  # fmt: skip


@pytest.mark.parametrize(("where", "one", "wish", "texts"), [
        (MUSL, build(), Wish(), ["there is no wheel for linux-x86_64 with musl"]),
        # The most important first.
        (machine("sm_75", driver="450.80.02", python="3.11", glibc="2.17"), build(yanked=True, published=None),
         Wish(torch="<2", backends=("cu126",), companions=ASKED, limits=TORCH), EVERYTHING),
        (machine("sm_80"), build(published=None), Wish(allow_unconfirmed=True), []),
        # A limit on a companion that nobody asks for, or that the build has not, refuses none.
        (machine("sm_80"), VISION, Wish(limits=(Limit("torchvision", "<0.1", "x"),)), []),
        (machine("sm_80"), VISION, Wish(companions=ASKED, limits=(Limit("torchvision", "<0.1", "x"),)),
         ["`torchvision<0.1` in x excludes it"]),
        (machine("sm_80"), VISION, Wish(companions={"torchaudio": ""}, limits=(Limit("torchaudio", "<1", "x"),)),
         ["lacks a companion: no torchaudio is known for torch 2.10.0+cu128"]),
        (machine("sm_80"), VISION, Wish(companions={"torchvision": "<0.25"}),
         ["lacks a companion: its torchvision is 0.25.0+cu128, and `torchvision<0.25` was asked for"]),
        (machine("sm_80"), build(companions={"torchvision": "0.25.0a0"}), Wish(companions=ASKED), []),
        (machine("sm_80"), build(companions={"torchvision": "0.25.0a0"}), Wish(companions={"torchvision": "<1"}),
         ["lacks a companion: its torchvision is 0.25.0a0, and `torchvision<1` was asked for"]),
        (machine("sm_80"), VISION._replace(companion_pythons={"torchvision": ("cp310", "cp311", "cp39")}),
         Wish(companions=ASKED),
         ["lacks a companion: torchvision 0.25.0+cu128 has no wheel for Python 3.12: it has 3.9 to 3.11"]),
        (patch("3.12.1"), VISION, Wish(companions=ASKED),
         ["lacks a companion: torchvision 0.25.0+cu128 leaves out Python 3.12.1"]),
        (patch("3.12.2"), VISION, Wish(companions=ASKED), []),
        (machine("sm_80", python="3.11"), VISION, Wish(companions=ASKED),
         ["there is no wheel for Python 3.11: it has 3.10, 3.12"]), (patch("3.12.1"), VISION, Wish(), []),
        (machine("sm_80"), VISION, Wish(companions=ASKED), []),
        # A candidate is asked for by its channel.
        (machine("sm_80"), build("2.10.0rc1"), Wish(), ["`torch (a final release)` was asked for"]),
        (machine("sm_80"), build("2.10.0rc1"), Wish(channel="test", limits=TORCH[:1]), []),
        # The default index's wheel is for a GPU where it holds code for any, and known where it was read.
        (machine("sm_80"), ELSEWHERE, Wish(backends=("default",)), ["which GPUs it was built for is not known"]),
        (machine("sm_80"), ELSEWHERE._replace(evidence=Evidence("measured", "")), Wish(backends=("default",)), []),
        (machine(), ELSEWHERE, Wish(backends=("default",)), []),
        (machine(), build(arches=None), Wish(backends=("cu128",)), []),
        (machine("sm_80"), IDLE, Wish(backends=("default",)),
         ["the default index's wheels for this platform have no GPU code"]),
        (machine("sm_80"), IDLE, Wish(backends=("default",), allow_cpu=True), []),
        (machine(), IDLE, Wish(backends=("default",)), []),
        (machine("sm_80"), build(), Wish(backends=("cu126", "cuda")), []),
        (machine("sm_80"), build(backend="cpu", arches=""), Wish(allow_cpu=True), []),
        (machine("sm_80"), build(backend="cpu", arches=""), Wish(),
         ["it would not use the GPU; `--cpu` or `--allow-cpu` allows it"]),
        # What was left out of a build counts where all of it has to run: each library, on each GPU.
        (machine("sm_90", "sm_80"), build(lacks=dict.fromkeys(("liba", "libb"), (Arch.parse("sm_80"),))),
         Wish(whole=True), ["liba in it supports other GPUs, not sm_80", "libb in it supports other GPUs, not sm_80"]),
        (machine("sm_80"), build(lacks={"liba": (Arch.parse("sm_80"),)}), Wish(), []),
        (UNNAMED, build(), Wish(), ["holds no code for GPU 0: it was built for sm_80 sm_90"]),
        # Libraries of a CUDA that is older than the GPU have no code for it, however new the driver is.
        (machine("sm_120"), build(backend="cu126", arches="compute_90"), Wish(),
         ["cuBLAS and cuDNN of CUDA 12.6 in it supports older GPUs, not sm_120"]),
        (machine("sm_120"), build(arches="compute_90"), Wish(), []),
        (machine("sm_90", driver="525.60.13"), build(arches="compute_80"), Wish(),
         ["has only PTX for sm_90, which needs a driver for CUDA 12.8; this one is for CUDA 12.0"]),
        (machine("sm_86", driver="525.60.13"), build(arches="sm_80"), Wish(), []),
])  # fmt: skip
def test_what_is_asked_and_what_is_there_object_in_their_order(
    where: Machine, one: Build, wish: Wish, texts: list[str]
) -> None:
    generations = (("12.6", frozenset(range(5, 10))), ("12.8", frozenset(range(5, 13))))
    known = table([one])
    known = known._replace(
        excluded={"3.12.1": ("torchvision 0.25.0",), "3.12": ("torchvision 0.25.0",)},
        drivers=known.drivers._replace(generations=generations),
    )

    (verdict,) = buildfit.pick(where, known, wish).considered

    assert [each.text for each in verdict.objections] == texts
    assert (verdict.build.companions.get("torchvision") is None) is (
        where.python.exact == "3.12.1" or "torchvision" not in one.companions or bool(one.companion_pythons)
    )


@pytest.mark.parametrize(("driver", "texts"), [
        (Driver(None, "13.2"), []), (Driver(None, "13.1"), ["for CUDA 13.1"]), (Driver("595.0"), []),
        (Driver("594.99"), ["594.99"]),
])  # fmt: skip
def test_discrete_code_crosses_to_tegra_on_the_unified_stack_alone(driver: Driver, texts: list[str]) -> None:
    where = machine("sm_87")._replace(driver=driver)

    found = answer(where, build("2.14.0", "cu132", "sm_80")).considered[0]

    needs = "CUDA 13.2 code of discrete GPUs on sm_87 needs driver 595 or newer; this one is"
    assert [each.text for each in found.objections] == [f"{needs} {has}" for has in texts]


def test_wheels_of_one_code_are_told_apart_by_the_stack_they_were_built_for() -> None:
    arches = (Arch.parse("sm_80"),)
    apart, one = (build("2.14.0", backend)._replace(arches=arches) for backend in ("cu130", "cu132"))

    for builds in ((apart, one), (one, apart)):
        assert answer(machine("sm_87", driver="595.58.03"), *builds).build == one


@pytest.mark.parametrize(("better", "worse", "where"), [
        (build("2.10.0", "cu126"), build("2.9.1", "cu130"), machine("sm_80")),  # the newest torch
        (build("2.10.0", "cu126"), build("2.9.1", "cu126"), machine("sm_80")),  # 2.10 is newer than 2.9
        (build(backend="cu126", arches="sm_86"), build(arches="sm_80"), machine("sm_86")),  # then the better fit
        # of the worst GPU: machine code for both beats a perfect fit for one
        (build(backend="cu126", arches="sm_80"), build(arches="sm_89 compute_80"), machine("sm_86", "sm_89")),
        (build(backend="cu126"), build(backend="cu128"), machine("sm_80", driver="560.28.03")),  # what it speaks itself
        (build(backend="cu130"), build(backend="cu128"), machine("sm_80")),  # then the newest CUDA
        (build("2.9.1", "cu126"), build("2.10.0", "cpu", ""), machine("sm_80")),  # cpu only where nothing else runs
        # a ROCm whose libraries are inside the wheel, then PyTorch's own before AMD's
        (ROCM, build(backend="rocm7.14", arches="gfx1100", cudnn=None), machine("gfx1100", driver=None)),
        (build(backend="rocm7.13", arches="gfx1100", cudnn=None), ROCM, machine("gfx1100", driver=None)),
        (ROCM, ROCM._replace(torch="2.11.0", vendor=AMD), machine("gfx1100", driver=None)),
])  # fmt: skip
def test_the_order_of_preference(better: Build, worse: Build, where: Machine) -> None:
    pick = answer(where, worse, better, wish=Wish(allow_cpu=True))

    assert [verdict.build for verdict in pick.considered if verdict.ok] == [better, worse]


def test_one_pick_for_several_machines_is_the_best_for_the_one_that_it_suits_least() -> None:
    native, newest = build(backend="cu126"), build(backend="cu128")
    one, other = machine("sm_80"), machine("sm_80", driver="560.28.03")

    for machines in ((one, other), (other, one)):
        found = several.pick(machines, table([newest, native]), Wish())
        assert found.build == native
        assert [where["driver"]["version"] for where in found.to_dict()["machines"]] == [  # type: ignore[attr-defined]
            where.driver and where.driver.version for where in machines
        ]
        assert [fit["machine"] for fit in found.to_dict()["pick"]["fits"]] == [0, 1]  # type: ignore[index]
        assert repr(found).endswith(", Python 3.12 and 1 more>")


@pytest.mark.parametrize(("vendors", "backends", "own"), [
        ("amd nvidia", "", "cuda"), ("amd", "", "rocm"), ("amd", "cu128", "rocm"), ("intel", "", "xpu"),
        ("intel", "xpu", "xpu"), ("intel", "cu128", "cuda"), ("intel", "cpu", "cpu"), ("", "cu128 cpu", "cpu"),
        ("", "rocm7.2 cu128", "rocm"), ("", "default", "cuda"), ("", "", "cpu"), ("apple", "", "cpu"),
])  # fmt: skip
def test_the_family_that_counts_is_that_of_the_gpus_else_of_what_is_asked(
    vendors: str, backends: str, own: str
) -> None:
    gpus = tuple(Gpu(place, vendor, None, None) for place, vendor in enumerate(vendors.split()))
    builds = (build(), ROCM, build(backend="xpu", arches=""), build(backend="cpu", arches=""))

    pick = answer(machine()._replace(gpus=gpus), *builds, wish=Wish(backends=tuple(backends.split())))

    assert {verdict.build.family for verdict in pick.considered if verdict.rank.preference == 3} == {own}
    assert {one.rank.preference for one in pick.considered if one.build.family == "cpu"} == {3 if own == "cpu" else 0}


def test_pytorch_s_rocm_does_not_run_under_wsl() -> None:
    where = machine("gfx1100")._replace(driver=Driver(None, os="windows"))

    assert [each.text for each in objections(where, ROCM).values()] == ["PyTorch's ROCm libraries abort under WSL2"]
    assert not objections(where, ROCM._replace(vendor=AMD))
    assert not objections(where._replace(driver=None), ROCM)


@pytest.mark.parametrize(("near", "order"), [
        ("2.9.1", "2.9.1 2.10.0 2.8.0 2.11.0"), ("2.9.5", "2.10.0 2.9.1 2.11.0 2.8.0"),
        ("main", "2.8.0 2.9.1 2.10.0 2.11.0"),
])  # fmt: skip
def test_the_releases_nearest_to_one_come_first_of_two_as_near_the_newer(near: str, order: str) -> None:
    releases = [build(release) for release in ("2.10.0", "2.8.0", "2.11.0", "2.9.1")]

    pick = answer(machine("sm_80"), *releases, wish=Wish(near=near))

    assert [verdict.build.torch for verdict in pick.considered] == order.split()


def test_rocm_versions_are_ordered_as_numbers() -> None:
    older, newer = (build(backend=f"rocm7.{minor}", arches="gfx1100", cudnn=None) for minor in (2, 10))

    assert answer(machine("gfx1100", driver=None), older, newer).build == newer


@pytest.mark.parametrize(("one", "where", "codes"), [
        (build(), machine("sm_80"), []), (build(arches="compute_80"), machine("sm_90"), ["JIT_ONLY"]),
        (build(), machine("sm_80", driver="525.60.13"), ["MINOR_VERSION_COMPATIBILITY"]),
        (build(lacks={"libx.so": (Arch.parse("sm_80"),)}), machine("sm_80"), ["PARTIAL_LIBRARY"]),
        (build(arches="sm_50", nccl="2.28.9"), machine("sm_52", "sm_50"), ["PARTIAL_LIBRARY"]),
        (build(arches="sm_50", nccl="2.28.9"), machine("sm_52"), []),
        (build(arches="sm_70", cudnn=None), machine("sm_70"), ["LIBRARY_UNVERIFIED"]),
        (build(backend="cpu", arches=""), machine(driver=None), ["NO_GPU_FOUND"]),
        (build(arches="sm_70 sm_75", cudnn=None), machine("sm_75"), []),
        (build(arches="sm_70 sm_80", cudnn=None), machine("sm_80", "sm_70"), ["LIBRARY_UNVERIFIED"]),
        (build(arches="sm_80 compute_80"), machine("sm_80", "sm_90"), ["JIT_ONLY"]),
        (build(arches="sm_60", nccl="2.28.9"), machine("sm_60", "sm_61"), []),
        (build(arches="sm_50", nccl="2.28.8"), machine("sm_52", "sm_50"), []),
        (build(backend="cu130", arches="sm_50", nccl="2.28.9"), machine("sm_52", "sm_50"), []),  # NCCL for CUDA 12
        (build(arches="sm_87"), machine("sm_87", driver="525.60.13"), []), (ROCM, machine("gfx1100", driver=None), []),
        (ROCM._replace(vendor=AMD), machine("gfx1100", driver=None), ["VENDOR_INDEX"]),
        (build(backend="rocm7.14", arches="gfx1100"), machine("gfx1100", driver=None), ["ROCM_APART"]),
        # Compilers of CUDA 12.8 to 13.2.1 made code for Blackwell.
        (build(arches="sm_90 sm_120"), machine("sm_90", "sm_120"), ["CUDA_MISCOMPILE"]),
        (build(arches="sm_100"), machine("sm_103"), ["CUDA_MISCOMPILE"]),
        (build(arches="sm_110"), machine("sm_110"), []), (build(arches="sm_90 sm_120"), machine("sm_90"), []),
        (build(backend="cu126", arches="sm_120"), machine("sm_120"), []),
        (build("2.14.0", "cu132", arches="sm_120"), machine("sm_120", driver="595.58.03"), ["CUDA_MISCOMPILE"]),
        (build("2.14.1", "cu132", arches="sm_120"), machine("sm_120", driver="595.58.03"), []),
        (build("2.14.1", "cu130", arches="sm_120"), machine("sm_120", driver="595.58.03"), ["CUDA_MISCOMPILE"]),
        (build("2.14.1", "cu132", arches="sm_120")._replace(platform="windows-x86_64"), machine("sm_120",
         driver="595.58.03"), ["CUDA_MISCOMPILE"]),
])  # fmt: skip
def test_a_pick_carries_its_notes(one: Build, where: Machine, codes: list[str]) -> None:
    notes = answer(where, one).notes

    assert sorted({note.code for note in notes}) == codes


@pytest.mark.parametrize(("channel", "said"), [("stable", True), ("test", True), ("nightly", False)])
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
