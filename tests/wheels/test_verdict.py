"""The verdicts, on module sets as they were measured in real wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import recorded
from tests.wheels import making
from torchpick.environment.distributions import TorchFacts
from torchpick.knowledge.compat import Knowledge
from torchpick.model.arch import Arch
from torchpick.model.build import COMPILES, NO_CODE, NOT, PARTLY, RUNS, UNKNOWN, is_unified
from torchpick.model.machine import Driver
from torchpick.wheels import librarycode
from torchpick.wheels.judging import GpuCodeFit, ReadingVerdict, is_counted, judge_package, judge_reading
from torchpick.wheels.librarycode import CodeContents, Library
from torchpick.wheels.readings import FLAGS, WHOLE, Reading


def of(*groups: tuple[int, str], path: str = "lib.so", **how: object) -> Library:
    modules = [making.module(*codes.split()) for count, codes in groups for _ in range(count)]
    return librarycode.read_buffer(making.library(*modules, **how), path)  # type: ignore[arg-type]


def reading(*libraries: Library, flags: str = "", cuda: str | None = None, compilers: tuple[str, ...] = ()) -> Reading:
    torch = None
    if flags:
        torch = TorchFacts("2.15.0", cuda, flags=tuple(Arch.parse(each) for each in flags.split()))
    return Reading("x", WHOLE, True, 1, 1, 0, torch=torch, libraries=libraries, compilers=compilers)


def word(found: Reading, gpu: str, driver_cuda: str | None = None) -> str:
    return judge_reading(found, GpuCodeFit(Arch.parse(gpu), driver_cuda)).word


LINALG = of((32, "sm_80 sm_86 sm_90 sm_100 sm_120"), (1, "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"))
NCCL = of((54, "sm_60 sm_61 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"), (20, "sm_100f"))
CUDNN_RUNTIME = of(
    (17, "sm_75 sm_80 sm_86 sm_90a sm_100f sm_120f compute_120f"), (9, "sm_80 sm_86 sm_90a sm_100f sm_120f"),
    (7, "sm_90a sm_100f sm_120f"), (3, "sm_80 sm_90a sm_100f sm_120f"), (1, "sm_90a"),
)  # fmt: skip
CUDNN_8_7 = of(
    (79, "sm_80 sm_90"), (59, "sm_90"), (30, "sm_70"), (16, "sm_75"), (14, "sm_86"),
    (6, "sm_35 sm_50 sm_60 sm_70 sm_80 sm_90"),
    (1, "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90"),
)  # fmt: skip
ENGINES = of((5, "sm_75 sm_80 sm_90"), (60, "sm_120f"), (20, "sm_100"))
LATE_PTX = of((1, "sm_75 sm_80 sm_90 sm_100 sm_120"), (20, "sm_100 compute_120"))
XFORMERS = of((11, "sm_60 sm_70 sm_75 sm_80 compute_80"), (4, "sm_90a"))


def test_torch_is_judged_by_its_flags_and_what_fails_beside_them_is_told() -> None:
    flags = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
    assert word(reading(flags=flags), "sm_75") == RUNS
    assert word(reading(LINALG, flags=flags), "sm_75") == PARTLY
    assert word(reading(LINALG, flags=flags), "sm_61") == NOT


@pytest.mark.parametrize(("without", "expected"), [(18, RUNS), (19, PARTLY)])
def test_a_library_fails_where_fewer_than_one_module_in_ten_loads(without: int, expected: str) -> None:
    assert word(reading(of((without, "sm_80 sm_90"), (2, "sm_75 sm_80 sm_90"))), "sm_75") == expected
    assert word(reading(of((20, "sm_90"), (1, "sm_80 sm_90"))), "sm_80") == RUNS, "half of the generations are not most"
    assert word(reading(of((5, "sm_80"), (5, "sm_90"))), "sm_80") == RUNS, "where none is for most of them all count"
    assert word(reading(of((1, "sm_75 sm_80"), (1, "sm_75 compute_75"))), "sm_80") == RUNS, "by half of it"


def test_a_library_per_cuda_is_judged_by_the_one_that_is_loaded() -> None:
    """As in bitsandbytes 0.50.2: Pascal only in the libraries up to CUDA 12.6."""
    found = reading(
        of((1, "sm_60 sm_75"), path="b/alone_cuda118.so"),
        of((1, "sm_60 sm_75"), path="b/libbitsandbytes_cuda126.so"),
        of((1, "sm_75 sm_120"), path="b/libbitsandbytes_cuda128.so"),
        of((1, "sm_75 sm_120"), path="b/libbitsandbytes_cuda132.so"),
        of((1, "sm_60 sm_75"), path="b/libbitsandbytes_cuda126_nocublaslt.so"),
    )
    pascal = GpuCodeFit(Arch.parse("sm_61"))
    assert judge_reading(found, pascal, "12.6").word == RUNS
    assert judge_reading(found, pascal, "12.8").failing[0].path == "b/libbitsandbytes_cuda128.so"
    assert "cuda128.so, the one that torch for CUDA 12.9" in judge_reading(found, pascal, "12.9").notes[0]
    assert "cuda126.so, the one that torch for CUDA 12.7" in judge_reading(found, pascal, "12.7").notes[0]
    assert (judge_reading(found, pascal).word, judge_reading(found, GpuCodeFit(Arch.parse("sm_52"))).word) == (
        RUNS,
        NOT,
    )
    assert "cuda126.so, the one for the newest CUDA that runs here" in judge_reading(found, pascal).notes[0]
    for driver, library in (("12.9", "cuda128.so"), ("13.0", "cuda132.so")):
        turing = judge_reading(found, GpuCodeFit(Arch.parse("sm_75"), driver))
        assert (turing.word, library in turing.notes[0]) == (RUNS, True)
    for none in ("11.8", "13.1"):  # a library of another major is not loaded
        assert f"has no library that torch for CUDA {none}" in judge_reading(found, pascal, none).notes[0]


def test_where_no_kernel_is_registered_it_is_not_known_what_a_library_loads_by_itself() -> None:
    """As cuFFT registers one module without a kernel; a profiler that registers nothing holds a tool's code."""
    data = making.module("sm_60", "sm_80") * 3
    dummy = making.module("sm_52", size=872)
    cufft = librarycode.read_buffer(making.elf({".nv_fatbin": dummy, ".ldata": data}), "libcufft.so")
    profiler = librarycode.read_buffer(making.elf({".rodata": data}), "libcupti.so")

    assert word(reading(cufft), "sm_61") == word(reading(cufft), "sm_52") == UNKNOWN
    assert word(reading(profiler), "sm_61") == NO_CODE
    assert word(reading(profiler, compilers=("ptxas",)), "sm_61") == COMPILES


@pytest.mark.parametrize(("version", "cuda", "expected"), [
    ("2.14.0+cu132", "13.2", True), ("2.15.0", "13.4", True), ("2.14.0", "13.0", False), ("2.13.0", "13.2", False),
    ("nonsense", "13.2", False), (None, "13.2", False),
])  # fmt: skip
def test_discrete_code_crosses_to_tegra_from_2_14_and_13_2_on(version: str | None, cuda: str, expected: bool) -> None:
    assert is_unified(version, cuda) is expected
    flags = TorchFacts(version, cuda, flags=(Arch.parse("sm_80"),))
    found = Reading("x", FLAGS, True, 1, 1, 1, torch=flags)
    orin = GpuCodeFit(Arch.parse("sm_87"), unified=is_unified(version, cuda))
    assert (judge_reading(found, orin).word == RUNS) is expected is found.is_unified


def test_a_library_for_one_generation_alone_is_not_meant_for_the_others() -> None:
    """FlashMLA of vLLM holds sm_90a alone; with PTX a library is meant for whatever comes later."""
    main, flash = of((3, "sm_75 sm_80 sm_90"), path="v/_C.so"), of((9, "sm_90a"), path="v/_flashmla.so")
    verdict = judge_reading(reading(main, flash), GpuCodeFit(Arch.parse("sm_75")))

    assert (verdict.word, verdict.failing) == (RUNS, ())
    assert verdict.notes == ("_flashmla.so is for one generation of GPUs only, another one",)
    assert word(reading(main, flash), "sm_61") == NOT
    assert word(reading(main, of((9, "sm_90 compute_90"), path="v/_D.so")), "sm_75") == PARTLY


def test_copies_of_nvidia_s_libraries_do_not_count_beside_a_package_s_own() -> None:
    own, copy = of((3, "sm_80 sm_90"), path="a/_C.so"), of((1, "sm_50"), path="a.libs/libnvjpeg.8dd2b5e6.so.12")
    without = copy._replace(path="a.libs/libcudart.so.12", code=CodeContents())
    verdict = judge_reading(reading(own, copy, without), GpuCodeFit(Arch.parse("sm_80")))

    assert (verdict.word, len(verdict.libraries)) == (RUNS, 1)
    assert verdict.notes[0].startswith("not counted: libnvjpeg.8dd2b5e6.so.12, which")
    assert judge_reading(reading(copy)._replace(name="audio"), GpuCodeFit(Arch.parse("sm_80"))).word == NO_CODE
    assert judge_reading(reading(copy)._replace(name="nvidia-nvjpeg"), GpuCodeFit(Arch.parse("sm_80"))).word == NOT
    assert word(reading(copy), "sm_80") == NOT


def test_which_files_are_copies_of_nvidia_s() -> None:
    names = "cuda cudart cublas cublasLt cudnn cufft curand cusolver cusparse cufile cupti nccl nvrtc nvJitLink nvjpeg"
    names += " nvToolsExt nppig nvshmem_host nvonnxparser nvinfer_plugin torch_nvshmem"
    for name in names.split():
        for file in (f"lib{name}.so", f"{name}.dll", f"lib{name}.so".lower()):
            assert not is_counted(file), file
    more = ("libcudart-d0da41ae.so.11.0", "cudnn_ops64_9.dll", "CUBLASLT64_12.DLL")
    assert not any(map(is_counted, more))
    assert all(
        map(is_counted, ("_C.so", "libtorch_cuda.so", "libmy_cudart.so", "libcudart.py", "libnvx.so", "cutlass.dll"))
    )


def test_a_sample_that_shows_nothing_is_not_the_verdict_that_there_is_nothing() -> None:
    part = of((3, "sm_80 sm_90"), path="n/big.so")._replace(complete=False)
    whole = of((3, "sm_80 sm_90"), path="n/small.so")
    pascal = GpuCodeFit(Arch.parse("sm_61"))

    assert judge_reading(reading()._replace(complete=False), pascal).word == UNKNOWN
    assert judge_reading(reading(part)._replace(complete=False), pascal).word == UNKNOWN
    assert judge_reading(reading(part, whole)._replace(complete=False), pascal).word == PARTLY
    assert judge_reading(reading(whole)._replace(complete=False), pascal).word == PARTLY
    assert judge_reading(reading(part)._replace(complete=False), GpuCodeFit(Arch.parse("sm_86"))).word == RUNS
    assert judge_package((part,), pascal, complete=False).libraries[0].text.endswith("only a part of it was read")


@pytest.mark.parametrize(("driver", "crosses"), [("594.99", False), ("595", True), ("595.78", True)])
def test_discrete_code_crosses_from_the_driver_of_the_unified_stack_on(*, driver: str, crosses: bool) -> None:
    judge = GpuCodeFit.of(Arch.parse("sm_87"), Driver(driver), Knowledge({}).rules.drivers, unified=True)

    assert judge.unified is crosses
    carried = [
        judge._replace(driver_cuda="12.8").supports_cuda(cuda) for cuda in ("12.7", "12.8", "12.9", "13.0", None)
    ]
    assert carried == [True, True, False, False, True]


VERDICTS = Path(__file__).with_name("verdicts.json")
PER_CUDA = tuple(
    of((1, codes), path=f"b/libbits_cuda{cuda}.so")
    for cuda, codes in (
        ("118", "sm_50 sm_80"),
        ("126", "sm_60 sm_75"),
        ("128", "sm_75 sm_120"),
        ("132", "sm_75 compute_120"),
    )
)
SELF_LOADED = librarycode.read_buffer(
    making.elf({".nv_fatbin": making.module("sm_52", size=872), ".ldata": making.module("sm_60", "sm_80") * 3}),
    "libf.so",
)
COPY = of((1, "sm_50"), path="a.libs/libnvjpeg.so.12")
READINGS = {
    "linalg": reading(LINALG),
    "nccl": reading(NCCL),
    "cudnn": reading(CUDNN_RUNTIME),
    "cudnn 8.7": reading(CUDNN_8_7),
    "engines": reading(ENGINES),
    "late ptx": reading(LATE_PTX),
    "xformers": reading(XFORMERS),
    "one module": reading(of((1, "sm_80 compute_80"))),
    "two libraries": reading(of((3, "sm_80 sm_90"), path="a.so"), of((2, "sm_75 sm_80"), path="b.so")),
    "for one generation": reading(of((3, "sm_75 sm_80 sm_90"), path="v/_C.so"), of((9, "sm_90a"), path="v/_flash.so")),
    "only for one generation": reading(of((9, "sm_90a"), path="v/_flash.so"), of((2, "sm_80"), path="v/_D.so")),
    "a library per CUDA": reading(*PER_CUDA),
    "loaded by itself": reading(SELF_LOADED),
    "a copy beside its own": reading(of((3, "sm_80 sm_90"), path="a/_C.so"), COPY),
    "copies alone": reading(COPY)._replace(name="audio"),
    "a sample": reading(LINALG._replace(complete=False), of((3, "sm_80"), path="b.so"))._replace(complete=False),
    "a compiler": reading(compilers=("triton/ptxas",)),
    "nothing": reading(),
    "nothing so far": reading()._replace(complete=False),
    "torch": reading(
        LINALG, of((9, "sm_50"), path="libtorch_cuda.so"), flags="sm_75 sm_80 sm_90 compute_90", cuda="12.8"
    ),
    "an AMD torch": reading(flags="gfx90a gfx1100"),
}
JUDGES = {
    **{gpu: GpuCodeFit(Arch.parse(gpu)) for gpu in ("sm_52", "sm_75", "sm_90", "sm_121", "gfx1100")},
    "sm_100 behind CUDA 12.6": GpuCodeFit(Arch.parse("sm_100"), "12.6"),
    "sm_120 behind CUDA 13.2": GpuCodeFit(Arch.parse("sm_120"), "13.2"),
    "a Jetson": GpuCodeFit(Arch.parse("sm_87")),
    "a Jetson of the unified stack": GpuCodeFit(Arch.parse("sm_87"), "13.2", unified=True),
    "refused by its driver": GpuCodeFit(Arch.parse("sm_80"), "12.8", refusal="it needs driver 580"),
}


def in_words(verdict: ReadingVerdict) -> dict[str, object]:
    libraries = {each.path: [each.word, each.text] for each in verdict.libraries}
    words = {"word": verdict.word, "fit": verdict.fit.name, "via": verdict.via and str(verdict.via)}
    more = {"libraries": libraries, "notes": [*verdict.notes]}
    return {**words, **{name: value for name, value in more.items() if value}}


def verdicts() -> dict[str, object]:
    """Of each kind of reading for each kind of GPU: `verdicts.json` has them."""
    cudas: dict[str, str | None] = {"": None, ", torch for CUDA 12.9": "12.9", ", torch for CUDA 11.7": "11.7"}
    return {
        f"{name}: {gpu}{more}": in_words(judge_reading(found, judge, cuda))
        for name, found in READINGS.items()
        for gpu, judge in JUDGES.items()
        for more, cuda in (cudas if name == "a library per CUDA" else {"": None}).items()
    }


test_each_kind_of_reading_is_judged_for_each_kind_of_gpu_as_it_was = recorded.table(VERDICTS, verdicts)
