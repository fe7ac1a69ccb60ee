"""Which version of a package is for a machine, and which goes with a torch: each rule on a package made for it."""

from __future__ import annotations

import pytest

from tests.decide.test_stack import PLATFORM, code, machine, package, table
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import (
    ADDED_WHEEL,
    MIXED,
    ONE_MAJOR,
    OWN_WHEELS,
    PackageFit,
    filled,
)
from torchpick.model.arch import Arch
from torchpick.model.build import Build
from torchpick.model.machine import Driver, Gpu, Machine, Python
from torchpick.model.package import LibraryCode
from torchpick.model.table import Table

__all__ = ["table"]  # the fixture
OLD = machine(driver="470.82")
FREE = machine()._replace(python=Python("3.13", free_threaded=True))
TWO = machine()._replace(
    gpus=tuple(Gpu(place, "nvidia", None, Arch("sm", *at)) for place, at in enumerate(((8, 6), (7, 0))))
)
NO_12 = "and CUDA 12 needs driver 525.60.13 or newer; this one is 470.82"


@pytest.mark.parametrize(("facts", "where", "said"), [
        ({}, machine(), None), ({"platforms": (PLATFORM,)}, machine(), None),
        ({"platforms": ("windows-x86_64",)}, machine(), f"NO_WHEEL_FOR_PLATFORM: there is no wheel for {PLATFORM}"),
        ({"requires_python": ">=3.9"}, machine(), None),
        ({"requires_python": ">=3.12.4"}, machine()._replace(python=Python("3.12", exact="3.12.4")), None),
        ({"requires_python": ">=3.12"}, machine()._replace(python=Python("3.13", exact="3.13.0rc1")), None),
        ({"requires_python": ">=3.13"}, machine(), "for Python 3.12: it has >=3.13"),
        ({"pythons": ("cp312",)}, machine(), None),
        ({"pythons": ("cp312", "cp313")}, FREE, "for Python 3.13t: it has 3.12 to 3.13"),
        ({"pythons": ("cp313t",)}, FREE, None),
        ({"pythons": ("cp39", "cp310", "cp311")}, machine(), "for Python 3.12: it has 3.9 to 3.11"),
        ({"pythons": ("cp312+",)}, machine(), None), ({"pythons": ()}, machine(), "for Python 3.12: it has none"),
        ({"pythons": ("cp312+",)}, machine(python="3.11"), "for Python 3.11: it has Python 3.12 and later"),
        ({"pythons": ("cp38+",)}, machine(python="3.14"), None),
        ({"pythons": ("cp38+",)}, FREE, "for Python 3.13t: it has Python 3.8 and later"),
        ({"pythons": ("cp38+",)}, machine()._replace(python=Python("3.11", implementation="pp")), "3.8 and later"),
        ({"pythons": ("cp310", "cp313+"), "requires_python": ">=3.10"}, machine(),
         "for Python 3.12: it has 3.10, Python 3.13 and later, >=3.10"), ({"glibc": "2.35"}, machine(), None),
        ({"glibc": "2.4"}, machine(glibc="2.17"), None),
        ({"glibc": "2.39"}, machine(), "GLIBC_TOO_OLD: needs glibc 2.39, this platform has 2.35"),
        # of the libraries of a CUDA that the driver does not carry one is named, the runtime where it is among them
        ({"cuda": "12", "needs": ("libnccl.so.2", "libcublas.so.12")}, OLD, f"needs libcublas.so.12, {NO_12}"),
        ({"cuda": "12", "needs": ("libcublas.so.12", "libcudart.so.12", "libcudart.so.13")}, OLD,
         f"PACKAGE_DRIVER_TOO_OLD: needs libcudart.so.12, {NO_12}"), ({"cuda": "12"}, OLD, f"needs CUDA 12, {NO_12}"),
        ({"cuda": "12"}, OLD._replace(driver=None), None), ({"cuda": "12", "code": ()}, OLD._replace(gpus=()), None),
        ({"cuda": "11"}, OLD, None), ({"cuda": "12", "optional": True}, OLD, None), ({"jit": "sm_86"}, machine(), None),
        ({"jit": "sm_80"}, machine(), None),
        ({"jit": "sm_103", "code": ()}, machine("sm_101"), None),
        ({"jit": "sm_89"}, machine(), "ext was built for sm_89 and newer"),
        ({"jit": "sm_75"}, TWO, "holds no code for sm_70: ext was built for sm_75 and newer"),
        # The driver before the code, and the driver of Windows by its own floors.
        ({"cuda": "12", "code": (code("sm_90"),)}, OLD, f"PACKAGE_DRIVER_TOO_OLD: needs CUDA 12, {NO_12}"),
        ({"cuda": "12"}, machine()._replace(driver=Driver("522.06", os="windows")),
         "needs CUDA 12, and CUDA 12 needs driver 527.41 or newer; this one is 522.06"),
        ({"cuda": "12", "code": (code("compute_80"),)}, machine(driver="575.51.03"), None),
        ({"cuda": "12", "code": (code("compute_80"),)}, machine(driver="570.26"), "built for compute_80"),
        ({"cuda": "13", "code": (code("compute_80"),)}, machine(driver="615.36"), "built for compute_80"),
        ({"cuda": "14", "code": (code("compute_80"),)}, machine()._replace(driver=Driver(None, "14.5")),
         "built for compute_80"),
        ({"cuda": "11", "code": (code("compute_80"),)}, machine(driver="520.61.05"), None),
        ({"cuda": "11", "code": (code("compute_80"),)}, machine(driver="515.43.04"), "built for compute_80"),
        ({"cuda": "12.8", "code": (code("compute_80"),)}, machine(driver="570.26"), None),
        ({"cuda": "12", "code": (code("compute_80", "sm_80"),)}, machine(driver="570.26"), None),
        ({"code": (code("sm_86"),)}, TWO, "holds no code for sm_70: lib was built for sm_86"),
        ({"cuda": "12.9", "code": (code("compute_80"),)}, machine(), None),
        ({"cuda": "12.9", "code": (code("compute_80"),)}, machine(driver="535.183.01"), "built for compute_80"),
        ({"cuda": "12", "code": (code("sm_80", cuda="12.8"),)}, OLD, None),  # one for each CUDA: torch's counts
        ({"code": (code("sm_80"), code("sm_75", main=False))}, machine(), None),
        ({"code": (code("sm_90"),)}, machine(), "PACKAGE_NO_KERNELS: holds no code for sm_86: lib was built for sm_90"),
        ({"code": (code("sm_90", cuda="12.8"),)}, machine(), None),
])  # fmt: skip
def test_a_version_is_refused_for_the_first_thing_that_the_machine_lacks(
    facts: dict[str, object], where: Machine, said: str | None, table: Table
) -> None:
    objection = PackageFit(where, table).refusal(package("ext", "1", **facts))
    text = None if objection is None else f"{objection.reason.name}: {objection.text}"

    assert text is None if said is None else str(text).endswith(said)


def build(table: Table, version: str) -> Build:
    return next(each for each in table.of(PLATFORM) if each.version == version)


@pytest.mark.parametrize(("facts", "torch", "level", "said"), [
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cu128", ONE_MAJOR, None),
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cu130", ADDED_WHEEL, "links CUDA 12, and torch 2.10.0+cu130"),
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cu130", MIXED, None),
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cpu", ONE_MAJOR,
         "links CUDA 12, and torch 2.10.0+cpu has no CUDA"), ({"links_torch": True}, "2.10.0+cu130", ONE_MAJOR, None),
        ({"links_torch": True, "cuda": "12", "optional": True}, "2.10.0+cu130", ONE_MAJOR, None),
        # What is built on the machine is built for the torch that is there, if that is for CUDA or ROCm.
        ({"file": None}, "2.10.0+cpu", MIXED, "is compiled for CUDA or ROCm, and torch 2.10.0+cpu has no CUDA"),
        ({"file": None}, "2.10.0+xpu", MIXED, "is compiled for CUDA or ROCm, and torch 2.10.0+xpu has no CUDA"),
        ({"file": None}, "2.10.0+cu130", MIXED, None), ({"file": None}, "2.10.0+rocm7.1", MIXED, None),
        ({"file": None, "code": ()}, "2.10.0+cpu", MIXED, None), ({}, "2.10.0+cpu", MIXED, None),
        ({"file": None, "place": "https://own.example"}, "2.10.0+cpu", MIXED, None),
        ({"code": (code("sm_80", cuda="12.8"),)}, "2.10.0+cpu", MIXED, None),
        ({"cuda": "12"}, "2.10.0+cu130", ONE_MAJOR, None),
        ({"place": "https://own.example", "cuda": "12.8"}, "2.10.0+cu128", MIXED, None),
        ({"place": "https://own.example", "cuda": "12.8"}, "2.10.0+cu126", MIXED, "was built for CUDA 12.8, and torch"),
        ({"place": "https://own.example", "cuda": "12"}, "2.10.0+cu126", ONE_MAJOR, None),
        ({"cuda": "12.8"}, "2.10.0+cu126", ONE_MAJOR, None),
        ({"code": (code("sm_80", cuda="12.8"), code("sm_80", cuda="13.0"))}, "2.10.0+cu130", ONE_MAJOR, None),
        ({"code": (code("sm_80", cuda="13.0"), code("sm_80", cuda="12.8"), code("sm_80"))}, "2.10.0+cu126", MIXED,
         "has libraries for CUDA 12.8, 13.0, and torch 2.10.0+cu126 is for CUDA 12.6"),
        ({"code": (code("sm_90", cuda="12.8"), code("sm_80", cuda="13.0"))}, "2.10.0+cu128", MIXED,
         "holds no code for sm_86: lib was built for sm_90"),
        # The newest that is not newer than torch's, which is the one that has code for the GPU here.
        ({"code": (code("sm_90", cuda="12.4"), code("sm_80", cuda="12.6"), code("sm_90", cuda="12.9")),
         "minor_fallback": True}, "2.10.0+cu128", ONE_MAJOR, None),
        # Else the oldest of torch's major; one of another major is none.
        ({"code": (code("sm_90", cuda="11.8"), code("sm_80", cuda="12.8"), code("sm_90", cuda="12.9"),
         code("sm_90", cuda="13.0")), "minor_fallback": True}, "2.10.0+cu126", ONE_MAJOR, None),
        ({"code": (code("sm_80", cuda="11.8"), code("sm_80", cuda="13.0")), "minor_fallback": True}, "2.10.0+cu128",
         ONE_MAJOR, "has libraries for CUDA 11.8, 13.0, and torch 2.10.0+cu128 is for CUDA 12.8"),
        ({"cuda": "12", "needs": ("libcublas.so.12", "libcuda.so.1", "libnvidia-ml.so.1")}, "2.10.0+cu128", ONE_MAJOR,
         None), ({"cuda": "12", "needs": ("libx.so",), "optional": True}, "2.10.0+cu128", ONE_MAJOR, None),
        ({"cuda": "12", "needs": ("libcublas.so.12", "libcufft.so.11", "libnccl.so.2")}, "2.10.0+cu130", OWN_WHEELS,
         "needs libcublas.so.12, libcufft.so.11 of CUDA 12, and torch 2.10.0+cu130 is for CUDA 13.0"),
        ({"cuda": "12", "needs": ("libcublas.so.12",)}, "2.10.0+cu130", ADDED_WHEEL, None),
        ({"needs": ("libcublas.so.12",)}, "2.10.0+cu130", ONE_MAJOR, None),
        ({"cuda": "12", "needs": ("libcublas.so.12",)}, None, ONE_MAJOR,
         "needs libcublas.so.12 of CUDA 12, and nothing in this environment provides it"),
])  # fmt: skip
def test_a_version_goes_with_a_torch_of_its_cuda(
    facts: dict[str, object], torch: str | None, level: int, said: str | None, table: Table
) -> None:
    beside = None if torch is None else build(table, torch)
    objection = PackageFit(machine(), table).mismatch(package("ext", "1", **facts), beside, (), level)

    assert (None if objection is None else objection.text[: len(said or "")]) == said


def test_wheels_of_another_cuda_that_it_brings_and_loads_itself_are_allowed_from_their_level_on(table: Table) -> None:
    fit, beside, own = (
        PackageFit(machine(), table),
        build(table, "2.10.0+cu130"),
        (PackageDemand("nvidia-cublas-cu12"),),
    )

    objections = [fit.mismatch(package("ext", "1"), beside, own, level) for level in (ONE_MAJOR, OWN_WHEELS)]
    linked = fit.mismatch(package("ext", "1", links_torch=True, cuda="12"), beside, own, ONE_MAJOR)
    assert linked is not None
    assert linked.text == "links CUDA 12, and torch 2.10.0+cu130 is for CUDA 13.0"  # before what it brings

    assert [objection and objection.text.partition(",")[0] for objection in objections] == [
        "brings nvidia-cublas-cu12 of CUDA 12", None,
    ]  # fmt: skip


# What the wheels of NVIDIA hold, by their file lists: by CUDA's major the library's number, and the wheel.
BROUGHT = """
libcudart     11.0 12 13  cuda-runtime | libcublas  11 12 13 cublas   | libcublasLt 11 12 13 cublas
libcufft      10 11 12    cufft        | libcurand   10 10 10 curand
libcusolver 11 11 12 cusolver | libcusparse 11 12 12 cusparse
libnvrtc      11.2 12 13  cuda-nvrtc   | libnccl    2 2 2    nccl     | libcupti    11.8 12 13 cuda-cupti
libnvJitLink  -  12 13    nvjitlink    | libcudnn   9 9 9    cudnn
"""


def test_a_library_comes_from_the_wheel_of_its_cuda_or_with_torch(table: Table) -> None:
    wheels: dict[int, dict[str, str]] = {11: {}, 12: {}, 13: {}}
    for library, *numbers, wheel in map(str.split, BROUGHT.replace("|", "\n").strip().splitlines()):
        for major, number in zip(wheels, numbers, strict=True):
            suffix = "" if major == 13 and wheel not in ("nccl", "cudnn") else f"-cu{major}"
            wheels[major] |= {f"{library}.so.{number}": f"nvidia-{wheel}{suffix}"} if number != "-" else {}
    fit = PackageFit(machine(), table)
    for major, libraries in wheels.items():
        assert {library: fit.wheel_for(library, major) for library in libraries} == libraries
        needy = package("ext", "1", cuda=str(major), needs=(*libraries, "libx.so.1"), preloads=True)
        for other, provided in wheels.items():
            beside = build(table, "2.10.0+cu128")._replace(cuda=f"{other}.0")
            left = tuple(library for library in needy.needs if library not in provided)
            assert fit.missing(needy, beside, (), OWN_WHEELS) == left
            own = tuple(map(PackageDemand, libraries.values()))
            assert fit.missing(needy, beside, own, OWN_WHEELS) == ("libx.so.1",)
            assert fit.missing(needy, beside, own, ONE_MAJOR) == left
            assert fit.missing(needy._replace(preloads=False), beside, own, OWN_WHEELS) == left
            for whole in ("cuda-toolkit", "cuda-pathfinder"):
                found = fit.missing(needy, beside, (PackageDemand(whole),), OWN_WHEELS)
                assert found == tuple(name for name in left if name in ("libx.so.1", "libcudnn.so.9"))
        own = tuple(map(PackageDemand, libraries.values()))
        assert fit.missing(needy._replace(preloads=False), None, own, ONE_MAJOR) == ("libx.so.1",)
    assert fit.wheel_for("libx.so.1", 12) is None
    for cudnn in ("8", "9"):
        beside = build(table, "2.10.0+cu128")._replace(libraries={"cudnn": f"{cudnn}.9.2"})
        assert {library for library in fit.by_torch(beside) if "cudnn" in library} == {f"libcudnn.so.{cudnn}"}
    assert not [library for library in fit.by_torch(beside._replace(libraries={})) if "cudnn" in library]
    assert not fit.by_torch(build(table, "2.10.0+cpu"))
    lacking = package("ext", "1", cuda="12", needs=("libx.so.1",))
    assert fit.missing(lacking, None, (), ONE_MAJOR) == ("libx.so.1",)
    assert not PackageFit(machine()._replace(gpus=()), table).missing(lacking, None, (), ONE_MAJOR)


def test_wheels_of_another_cuda_are_counted_by_the_files_that_both_write(table: Table) -> None:
    """The first that writes over torch's own is named; one that is not NVIDIA's CUDA is none."""
    asked: list[tuple[str, str]] = []

    def shared(one: str, other: str) -> int:
        asked.append((one, other))
        return 7 if "cufft" in one else 0

    fit = PackageFit(machine(), table, shared)
    own = tuple(
        map(
            PackageDemand,
            (
                "nvidia-dali-cuda120",
                "nvidia-nvcomp-cu12",
                "nvidia-nccl-cu13",
                "nvidia-cublas-cu12",
                "nvidia-cufft-cu12",
            ),
        )
    )
    found = {
        torch: [fit.mismatch(package("ext", "1"), build(table, torch), own, level) for level in range(4)]
        for torch in ("2.10.0+cu130", "2.10.0+cpu")
    }

    texts = [None if one is None else one.text for one in found["2.10.0+cu130"]]
    writes = "brings nvidia-cufft-cu12, which writes 7 files of the nvidia-cufft-cu13 that torch brings"
    assert texts == [
        "brings nvidia-cublas-cu12 of CUDA 12, and torch 2.10.0+cu130 is for CUDA 13.0",
        writes,
        writes,
        None,
    ]
    assert found["2.10.0+cpu"] == [None] * 4
    assert asked == [(f"nvidia-{name}-cu12", f"nvidia-{name}-cu13") for name in ("cublas", "cufft")] * 2


HOPPER, TURING = machine("sm_90"), machine("sm_75")
PYTHON = "none of its libraries holds code for sm_90, so it falls back to Python"
WIDE = code("sm_75", "sm_80", "sm_90", path="pkg/sub/main.so")


@pytest.mark.parametrize(("where", "libraries", "word", "partial"), [
        (HOPPER, None, "not read", ()), (HOPPER, (), "no GPU code", ()), (HOPPER, (WIDE,), "runs", ()),
        (TWO, (code("sm_70", "compute_80"),), "runs by JIT", ()),
        (machine()._replace(gpus=(Gpu(0, "amd", None, None),)), (WIDE,), "not read", ()),
        (machine()._replace(gpus=(Gpu(0, "amd", None, None),)), (), "no GPU code", ()),
        (machine()._replace(gpus=(Gpu(0, "intel", None, None, counted=False),)), (WIDE,), "not judged", ()),
        (HOPPER, (code("compute_80"), code("sm_80", main=False, path="x.so")), "runs by JIT", ()),
        (HOPPER, (code("sm_80", "compute_90"), code("sm_80", main=False, path="x.so")), "runs by JIT", ()),
        (HOPPER, (code("sm_70", "sm_80", "compute_80"), code("sm_70", "sm_80", main=False, path="x.so")), "runs by JIT",
         ("x holds no code for sm_90",)),
        (HOPPER, (WIDE, code("sm_75", "sm_80", main=False, path="x.so")._replace(whole=False)), "runs", ()),
        (HOPPER, (code("compute_80"),), "runs by JIT", ()), (machine()._replace(gpus=()), (WIDE,), "not judged", ()),
        # a library beside the main ones that supports all generations but one lacks it; one for a single one does not
        (HOPPER, (WIDE, code("sm_75", "sm_80", main=False, path="pkg/x.so")), "partly", ("x holds no code for sm_90",)),
        (HOPPER, (WIDE, code("sm_75", main=False, path="pkg/x.so")), "runs", ()),
        (TURING, (WIDE, code("sm_80", "sm_90", main=False, path="x.so")), "partly", ("x holds no code for sm_75",)),
        (TURING, (WIDE, code("compute_80", main=False, path="x.so")), "partly", ("x holds no code for sm_75",)),
        (TURING, (WIDE, code("compute_75", main=False, path="x.so")), "runs", ()),
        (HOPPER, (code("sm_90"), code("sm_80", main=False, path="x.so")), "runs", ()),
        # without a main library it goes on in Python where none of them has code
        (HOPPER, (code("sm_80", main=False),), "partly", (PYTHON,)),
        (HOPPER, (code("sm_80", main=False), code("sm_90", main=False)), "runs", ()),
        (HOPPER, (code("sm_80", main=False), code("sm_80", main=False)._replace(whole=False)), "runs", ()),
])  # fmt: skip
def test_how_code_supports_a_gpu_is_said_in_one_word(
    where: Machine, libraries: tuple[LibraryCode, ...] | None, word: str, partial: tuple[str, ...], table: Table
) -> None:
    coverage = PackageFit(where, table).coverage(package("ext", "1", code=libraries), None)

    assert coverage == (word, (), partial)


TWO_CUDAS = (code("sm_86", cuda="12.8"), code("sm_90", cuda="13.0"))
MIXED_WITH_PLAIN = (code("sm_86", cuda="12.8"), code("sm_90")._replace(whole=False))
BARE = ("none of its libraries holds code for sm_86, so it falls back to Python",)


@pytest.mark.parametrize(("facts", "torch", "word", "failing", "partial"), [
    ({"jit": "sm_80", "code": ()}, None, "compiles at run time", 0, ()), ({"jit": "sm_80"}, None, "runs", 0, ()),
    ({"jit": "", "code": (code("sm_90"),)}, None, "runs", 1, ()), ({"file": None}, None, "not read", 0, ()),
    ({"optional": True, "code": (code("sm_90"),)}, None, "partly", 0, BARE),
    # Of a library for each CUDA the one of torch's counts, and what is for none in particular.
    ({"code": TWO_CUDAS}, "12.8", "runs", 0, ()), ({"code": TWO_CUDAS}, "13.0", "runs", 1, ()),
    ({"code": TWO_CUDAS}, None, "not judged", 0, ()), ({"code": MIXED_WITH_PLAIN}, "12.8", "not read", 0, ()),
    ({"code": (*TWO_CUDAS, code("sm_90", path="x.so"))}, "12.8", "runs", 1, ()),
])  # fmt: skip
def test_what_counts_of_its_code(
    facts: dict[str, object], torch: str | None, word: str, failing: int, partial: tuple[str, ...], table: Table
) -> None:
    fit, one = PackageFit(machine(), table), package("ext", "1", **facts)

    for cuda in ("12.8", "13.0", None, torch):  # whatever was asked before
        found, objections, lacking = fit.coverage(one, cuda)
    assert len(objections) == failing
    assert objections or (found, lacking) == (word, partial)
    assert not fit.is_unread(one) or found == "not read"
    assert not (one.per_cuda and fit.is_unread(one))


def test_a_package_that_is_gone_lends_its_verdict_to_no_other(table: Table) -> None:
    fit = PackageFit(TURING, table)
    runs, fails = (package("ext", "1", code=(code(arch),)) for arch in ("sm_75", "sm_90"))

    assert [fit.objection(one, None) is not None for one in (runs, fails) * 10] == [False, True] * 10
    # Whatever file of it was installed.
    other = runs._replace(requires_python=">=4", pythons=("cp39",), platforms=("x",), glibc="9", yanked=True)
    assert fit.objection(other, None) is None
    needy = runs._replace(cuda="12", needs=("libx.so",))
    assert fit.objection(needy, build(table, "2.10.0+cu128")) is None


def test_a_library_that_was_not_read_whole_speaks_against_no_gpu(table: Table) -> None:
    part = package("ext", "1", code=(code("sm_90")._replace(whole=False),))
    here = PackageFit(machine(), table)

    assert here.refusal(part) is None
    assert here.coverage(part, None) == ("not read", (), ())
    assert here.is_unread(part)
    assert not here.is_unread(package("ext", "1"))
    assert not PackageFit(machine()._replace(gpus=()), table).is_unread(part)


def test_prebuilt_wheels_are_named_after_the_abi_of_torch(table: Table) -> None:
    one = build(table, "2.10.0+cu128")
    torches = [("2.5.1", "cu124"), ("2.6.0", "cu124"), ("2.6.0", "cu126"), ("2.7.0", "cu118"), ("2.7.1", "cu126")]
    beside = [one._replace(torch=torch, backend=backend) for torch, backend in torches]

    names = [filled("{abi}", package("ext", "1"), each, "3.12") for each in beside]

    assert names == ["FALSE", "FALSE", "TRUE", "TRUE", "TRUE"]
    text = "{version} {python} {torch} {release} {cu} {major} {x}"
    assert filled(text, package("ext", "1"), beside[-1], "cp312") == "1 cp312 2.7 2.7.1 cu126 12 {x}"
    assert filled(text, package("ext", "1"), None, "cp312") == "1 cp312 {torch} {release} {cu} {major} {x}"
