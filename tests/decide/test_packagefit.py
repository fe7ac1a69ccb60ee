"""Which version of a package is for a machine, and which goes with a torch: each rule on a package made for it."""

from __future__ import annotations

import pytest

from tests.decide.test_stack import PLATFORM, code, machine, package, table
from torchpick.decide.demands import PackageDemand
from torchpick.decide.packagefit import ADDED_WHEEL, MIXED, ONE_MAJOR, OWN_WHEELS, PackageFit, filled
from torchpick.model.build import Build
from torchpick.model.machine import Machine, Python
from torchpick.model.package import LibraryCode
from torchpick.model.table import Table

__all__ = ["table"]  # the fixture
OLD = machine(driver="470.82")
FREE = machine()._replace(python=Python("3.13", free_threaded=True))
NO_12 = "and CUDA 12 needs driver 525.60.13 or newer; this one is 470.82"

__all__ = ["table"]  # the fixture


@pytest.mark.parametrize(
    ("facts", "where", "said"),
    [
        ({}, machine(), None),
        ({"platforms": (PLATFORM,)}, machine(), None),
        ({"platforms": ("windows-x86_64",)}, machine(), f"NO_WHEEL_FOR_PLATFORM: there is no wheel for {PLATFORM}"),
        ({"requires_python": ">=3.9"}, machine(), None),
        ({"requires_python": ">=3.12.0,<3.12.1"}, machine(), None),
        ({"requires_python": ">=3.13"}, machine(), "for Python 3.12: it has >=3.13"),
        ({"pythons": ("cp312",)}, machine(), None),
        ({"pythons": ("cp312", "cp313")}, FREE, "for Python 3.13t: it has 3.12 to 3.13"),
        ({"pythons": ("cp313t",)}, FREE, None),
        ({"pythons": ("cp39", "cp310", "cp311")}, machine(), "for Python 3.12: it has 3.9 to 3.11"),
        ({"pythons": ("cp312+",)}, machine(), None),
        ({"pythons": ("cp38+",)}, machine(python="3.14"), None),
        ({"pythons": ("cp38+",)}, FREE, "for Python 3.13t: it has Python 3.8 and later"),
        ({"pythons": ("cp38+",)}, machine()._replace(python=Python("3.11", implementation="pp")), "3.8 and later"),
        (
            {"pythons": ("cp310", "cp313+"), "requires_python": ">=3.10"},
            machine(),
            "for Python 3.12: it has 3.10, Python 3.13 and later, >=3.10",
        ),
        ({"glibc": "2.35"}, machine(), None),
        ({"glibc": "2.4"}, machine(glibc="2.17"), None),
        ({"glibc": "2.39"}, machine(), "GLIBC_TOO_OLD: needs glibc 2.39, this platform has 2.35"),
        # of the libraries of a CUDA that the driver does not carry one is named, the runtime where it is among them
        ({"cuda": "12", "needs": ("libnccl.so.2", "libcublas.so.12")}, OLD, f"needs libcublas.so.12, {NO_12}"),
        (
            {"cuda": "12", "needs": ("libcublas.so.12", "libcudart.so.12", "libcudart.so.13")},
            OLD,
            f"PACKAGE_DRIVER_TOO_OLD: needs libcudart.so.12, {NO_12}",
        ),
        ({"cuda": "12"}, OLD, f"needs CUDA 12, {NO_12}"),
        ({"cuda": "12"}, OLD._replace(driver=None), None),
        ({"cuda": "12", "code": ()}, OLD._replace(gpus=()), None),
        ({"cuda": "11"}, OLD, None),
        ({"cuda": "12", "optional": True}, OLD, None),
        ({"jit": "sm_86"}, machine(), None),
        ({"jit": "sm_89"}, machine(), "ext was built for sm_89 and newer"),
        ({"cuda": "12.9", "code": (code("compute_80"),)}, machine(), None),
        ({"cuda": "12.9", "code": (code("compute_80"),)}, machine(driver="535.183.01"), "built for compute_80"),
        ({"cuda": "12", "code": (code("sm_80", cuda="12.8"),)}, OLD, None),  # one for each CUDA: torch's counts
        ({"code": (code("sm_80"), code("sm_75", main=False))}, machine(), None),
        ({"code": (code("sm_90"),)}, machine(), "PACKAGE_NO_KERNELS: holds no code for sm_86: lib was built for sm_90"),
        ({"code": (code("sm_90", cuda="12.8"),)}, machine(), None),
    ],
)
def test_a_version_is_refused_for_the_first_thing_that_the_machine_lacks(
    facts: dict[str, object], where: Machine, said: str | None, table: Table
) -> None:
    objection = PackageFit(where, table).refusal(package("ext", "1", **facts))
    text = None if objection is None else f"{objection.reason.name}: {objection.text}"

    assert text is None if said is None else str(text).endswith(said)


def build(table: Table, version: str) -> Build:
    return next(each for each in table.of(PLATFORM) if each.version == version)


@pytest.mark.parametrize(
    ("facts", "torch", "level", "said"),
    [
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cu128", ONE_MAJOR, None),
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cu130", ADDED_WHEEL, "links CUDA 12, and torch 2.10.0+cu130"),
        ({"links_torch": True, "cuda": "12"}, "2.10.0+cu130", MIXED, None),
        (
            {"links_torch": True, "cuda": "12"},
            "2.10.0+cpu",
            ONE_MAJOR,
            "links CUDA 12, and torch 2.10.0+cpu has no CUDA",
        ),
        ({"links_torch": True}, "2.10.0+cu130", ONE_MAJOR, None),
        ({"cuda": "12"}, "2.10.0+cu130", ONE_MAJOR, None),
        ({"place": "https://own.example", "cuda": "12.8"}, "2.10.0+cu128", MIXED, None),
        ({"place": "https://own.example", "cuda": "12.8"}, "2.10.0+cu126", MIXED, "was built for CUDA 12.8, and torch"),
        ({"place": "https://own.example", "cuda": "12"}, "2.10.0+cu126", ONE_MAJOR, None),
        ({"cuda": "12.8"}, "2.10.0+cu126", ONE_MAJOR, None),
        ({"code": (code("sm_80", cuda="12.8"), code("sm_80", cuda="13.0"))}, "2.10.0+cu130", ONE_MAJOR, None),
        (
            {"code": (code("sm_80", cuda="13.0"), code("sm_80", cuda="12.8"))},
            "2.10.0+cu126",
            MIXED,
            "has libraries for CUDA 12.8, 13.0, and torch 2.10.0+cu126 is for CUDA 12.6",
        ),
        (
            {"code": (code("sm_90", cuda="12.8"), code("sm_80", cuda="13.0"))},
            "2.10.0+cu128",
            MIXED,
            "holds no code for sm_86: lib was built for sm_90",
        ),
        # The newest that is not newer than torch's, which is the one that has code for the GPU here.
        (
            {
                "code": (code("sm_90", cuda="12.4"), code("sm_80", cuda="12.6"), code("sm_90", cuda="12.9")),
                "minor_fallback": True,
            },
            "2.10.0+cu128",
            ONE_MAJOR,
            None,
        ),
        ({"cuda": "12", "needs": ("libcublas.so.12", "libcuda.so.1")}, "2.10.0+cu128", ONE_MAJOR, None),
        (
            {"cuda": "12", "needs": ("libcublas.so.12", "libcufft.so.11", "libnccl.so.2")},
            "2.10.0+cu130",
            OWN_WHEELS,
            "needs libcublas.so.12, libcufft.so.11 of CUDA 12, and torch 2.10.0+cu130 is for CUDA 13.0",
        ),
        ({"cuda": "12", "needs": ("libcublas.so.12",)}, "2.10.0+cu130", ADDED_WHEEL, None),
        ({"needs": ("libcublas.so.12",)}, "2.10.0+cu130", ONE_MAJOR, None),
        (
            {"cuda": "12", "needs": ("libcublas.so.12",)},
            None,
            ONE_MAJOR,
            "needs libcublas.so.12 of CUDA 12, and nothing in this environment provides it",
        ),
    ],
)
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

    assert [objection and objection.text.partition(",")[0] for objection in objections] == [
        "brings nvidia-cublas-cu12 of CUDA 12", None,
    ]  # fmt: skip


HOPPER, TURING = machine("sm_90"), machine("sm_75")
PYTHON = "none of its libraries holds code for sm_90, so it falls back to Python"
WIDE = code("sm_75", "sm_80", "sm_90", path="pkg/sub/main.so")


@pytest.mark.parametrize(
    ("where", "libraries", "word", "partial"),
    [
        (HOPPER, None, "not read", ()),
        (HOPPER, (), "no GPU code", ()),
        (HOPPER, (WIDE,), "runs", ()),
        (HOPPER, (code("compute_80"),), "runs by JIT", ()),
        (machine()._replace(gpus=()), (WIDE,), "not judged", ()),
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
    ],
)  # fmt: skip
def test_how_code_supports_a_gpu_is_said_in_one_word(
    where: Machine, libraries: tuple[LibraryCode, ...] | None, word: str, partial: tuple[str, ...], table: Table
) -> None:
    coverage = PackageFit(where, table).coverage(package("ext", "1", code=libraries), None)

    assert coverage == (word, (), partial)


def test_a_package_that_is_gone_lends_its_verdict_to_no_other(table: Table) -> None:
    fit = PackageFit(TURING, table)
    runs, fails = (package("ext", "1", code=(code(arch),)) for arch in ("sm_75", "sm_90"))

    assert [fit.objection(one, None) is not None for one in (runs, fails) * 10] == [False, True] * 10


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
    torches = [("2.5.1", "cu124"), ("2.6.0", "cu124"), ("2.6.0", "cu126"), ("2.7.0", "cu118")]
    beside = [one._replace(torch=torch, backend=backend) for torch, backend in torches]

    names = [filled("{abi}", package("ext", "1"), each, "3.12") for each in beside]

    assert names == ["FALSE", "FALSE", "TRUE", "TRUE"]
