"""Each finding has a case that raises it and a near miss that must not; the environments are folders.

What is said of each, word for word, is in findings.json.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import recorded
from tests.doctor.homes import CU126, CU128, VERSION, Home, codes, examine, linking
from tests.wheels import making
from torchpick.doctor.examination import Examination
from torchpick.environment import distributions
from torchpick.model.arch import Arch
from torchpick.model.build import NO_CODE, NOT, PARTLY, RUNS
from torchpick.model.finding import Ailment
from torchpick.wheels import readings
from torchpick.wheels.judging import GpuCodeFit, judge_reading

pytestmark = pytest.mark.process  # every environment's interpreter is asked for its folders

Make = Callable[[Home], object]


class Case(NamedTuple):
    """`code` must be among the findings with `make`, and must not be with `miss`."""

    code: str
    make: Make
    miss: Make
    gpus: tuple[str, ...] = ("sm_86",)
    driver: str | None = None
    miss_gpus: tuple[str, ...] | None = None
    miss_driver: str | None = None
    environ: Mapping[str, str] = {}
    miss_environ: Mapping[str, str] | None = None


def torch(home: Home) -> Home:
    return home.torch()


def cu126(home: Home) -> Home:
    return home.torch("2.9.1+cu126", "12.6", CU126)


def cpu(home: Home) -> Home:
    return home.torch("2.9.1+cpu", None, None)


def rocm(home: Home) -> Home:
    return home.torch("2.9.1+rocm6.4", None, "gfx1100 gfx1030", hip="6.4.43482-0f2d60242")


def amds(*targets: str) -> Make:
    """AMD's own torch, with its kernels for these targets beside it."""

    def make(home: Home) -> None:
        kernels = 'amd-torch-device-gfx1201 == 2.14.0+rocm10.1.0 ; extra == "device-gfx1201"'
        home.torch("2.14.0+rocm10.1.0", None, "gfx1201", hip="10.1.26371", requires=[kernels])
        for target in targets:
            home.add(f"amd-torch-device-{target}", "2.14.0+rocm10.1.0")

    return make


def ptx_only(home: Home) -> Home:
    return home.torch("2.14.0+cu132", "13.2", "sm_75 sm_80 compute_90")


def without(*gone: str) -> Make:
    def make(home: Home) -> None:
        home.torch(more=dict.fromkeys((name for name in gone if "lib" not in name and "version" not in name), ""))
        for name in gone:
            (home.site / name).unlink()

    return make


def with_cudnn(version: str, name: str = "nvidia-cudnn-cu12") -> Make:
    def make(home: Home) -> None:
        cu126(home).add(name, version)

    return make


def with_package(*modules: bytes, name: str = "kernels") -> Make:
    def make(home: Home) -> None:
        torch(home).add(name, "1.0", {f"{name}/_C.so": making.library(*modules)})

    return make


def with_two(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> Make:
    def make(home: Home) -> None:
        torch(home).add("nvidia-cudnn-cu12", "9.10.2.21", one)
        home.add("nvidia-cudnn-cu13", "9.10.2.21", other)

    return make


def with_companion(version: str, *requires: str, name: str = "torchvision") -> Make:
    return lambda home: torch(home).companion(name, version, requires=requires)


def twice(home: Home) -> None:
    torch(home)
    (home.site / "torch-2.8.0.dist-info").mkdir()
    (home.site / "torch-2.8.0.dist-info" / "METADATA").write_text("Name: torch\nVersion: 2.8.0\n", "utf-8")


def unrecorded(home: Home) -> None:
    torch(home).add("triton", "3.5.1", without=["RECORD"])


def unrecorded_by_conda(home: Home) -> None:
    unrecorded(home)
    (home.root / "conda-meta").mkdir()
    (home.root / "conda-meta" / "pytorch-2.9.1-py3.12_cuda12.8_0.json").write_text("{}", "utf-8")


NVJITLINK = "nvidia/nvjitlink/lib/libnvJitLink.so.12"
CUSPARSE = "nvidia/cusparse/lib/libcusparse.so.12"


def with_cuda(home: Home) -> None:
    """Torch finds cusparse by its rpath, cusparse its nvJitLink by a runpath."""
    home.torch(
        more={"torch/lib/libtorch_cuda.so": linking(["libcusparse.so.12"], rpath="$ORIGIN/../../nvidia/cusparse/lib")}
    )
    home.add("nvidia-cusparse-cu12", "12.5", {CUSPARSE: linking(["libnvJitLink.so.12"], runpath="$ORIGIN")})
    home.add("nvidia-nvjitlink-cu12", "12.8", {NVJITLINK: linking([])})


def system(home: Home, *names: str, folder: str = "cuda") -> str:
    """A folder for LD_LIBRARY_PATH, beside the environment; `{}` in a variable stands for its parent."""
    place = home.root.parent / folder
    place.mkdir(parents=True, exist_ok=True)
    for name in names:
        (place / name).write_bytes(linking([]))
    return str(place)


def shadowed(*names: str) -> Make:
    def make(home: Home) -> None:
        with_cuda(home)
        system(home, *names)

    return make


def whole(home: Home) -> None:
    home.torch("2.15.0+cu132", "13.2", "sm_75 sm_80 sm_90")


def requiring(has: str, *, links: bool = False, marker: str = "") -> Make:
    def make(home: Home) -> None:
        torch(home)
        library = linking(["libtorch.so"]) if links else b"text"
        home.add("needy", "1.0", {"needy/_C.so": library}, requires=["sympy", "torch>=1", f"torch{has}{marker}"])

    return make


def linked(*needed: str, name: str = "kern", version: str = "1.0") -> Make:
    """A package whose library asks for these, beside a torch for CUDA 12.8."""
    return lambda home: torch(home).add(name, version, {f"{name}/_A.so": linking(()), f"{name}/_C.so": linking(needed)})


def both(*makes: Make) -> Make:
    def make(home: Home) -> None:
        for one in makes:
            one(home)

    return make


def two_onnxruntimes(home: Home) -> None:
    home.add("onnxruntime", "1.23.2", {"onnxruntime/capi/state.so": b"cpu"})
    home.add("onnxruntime-gpu", "1.23.2", {"onnxruntime/capi/state.so": b"the gpu"})
    for name, size in (("onnxruntime", 3), ("onnxruntime_gpu", 7)):
        (home.site / f"{name}-1.23.2.dist-info" / "RECORD").write_text(
            f"onnxruntime/capi/state.so,sha256=x,{size}\n", "utf-8"
        )


def jax(home: Home) -> None:
    """An environment of JAX alone, for CUDA 13."""
    home.add("jax", "0.12.0", requires=["numpy>=2"])
    home.add("jax-cuda13-plugin", "0.12.0.1", {"jax_cuda13_plugin/_solver.so": making.library(making.module("sm_80"))})


CASES = (
    Case("REQUIREMENT_MISSING",
     lambda home: home.torch(requires=["nvidia-cublas-cu12==12.8.4.1; platform_system == 'Linux'"]),
     lambda home: home.torch(requires=["nvidia-cublas-cu12==12.6; platform_system == 'Windows'",
     "expecttest; extra == 'dev'"])),
    Case("TORCH_BROKEN", without("torch/nn/__init__.py"), without("torch/include/c10.h", "torch/test/test_nn.py")),
    Case("CUDA_MAJOR_MIXED", linked("libtorch_cuda.so", "libcudart.so.13"), linked("libtorch_cuda.so",
     "libcudart.so.12")),
    Case("CUDA_MAJOR_MIXED", linked("libc10.so", "libcublas.so.13", name="torchcodec"), linked("libcublas.so.13")),
    Case(
        "CUDA_MAJOR_MIXED",
        linked("libc10_cuda.so", "libnvrtc.so.11.2"),
        # A library for each CUDA: it loads the one of torch's.
        lambda home: torch(home).add(
            "per",
            "1.0",
            {
                "per/_a.so": linking(["libc10.so", "libcudart.so.12"]),
                "per/_b.so": linking(["libc10.so", "libcudart.so.13"]),
            },
        ),
    ),
    Case("PACKAGE_DRIVER_TOO_OLD", jax, jax, driver="570.124.06", miss_driver="580.95.05"),
    Case("PACKAGE_DRIVER_TOO_OLD", lambda home: home.add("cupy-cuda13x", "99.0"),
     lambda home: home.add("cupy-cuda12x", "99.0"), driver="570.124.06"),
    Case("PACKAGE_DRIVER_TOO_OLD", jax, jax, driver="570.124.06", miss_gpus=("none",)),
    Case("TORCH_MISSING", both(jax, lambda home: home.add("lib", "1", requires=["torch>=2"])), jax),
    Case("NUMPY_TOO_NEW", lambda home: home.torch("2.2.2+cu121", "12.1").add("numpy", "2.1.0"),
     lambda home: home.torch("2.3.0+cu121", "12.1").add("numpy", "2.1.0")),
    Case("MODULE_TWICE", two_onnxruntimes, lambda home: home.add("onnxruntime-gpu", "1.23.2")),
    Case("MODULE_TWICE", both(lambda home: home.add("cupy-cuda12x", "13.6.0"), lambda home: home.add("cupy-cuda13x",
     "14.0.0")), lambda home: home.add("cupy-cuda12x", "13.6.0")),
    Case("TORCH_MISSING", lambda home: home.add("numpy", "2.0"), torch),
    Case("TORCH_BROKEN", without("torch/lib/libtorch_cpu.so"), torch),
    Case("TORCH_BROKEN", without("torch/version.py"), torch),
    Case("TORCH_BROKEN", lambda home: home.torch().site.joinpath("torch/version.py").write_bytes(b""), torch),
    Case("TORCH_BROKEN",
     lambda home: home.torch().site.joinpath("torch-2.9.1.dist-info").rename(home.site / "~orch-2.9.1.dist-info"),
     lambda home: home.torch().site.joinpath("~orch-2.9.1.dist-info").mkdir()),
    Case("CPU_ONLY_BUILD", cpu, cpu, miss_gpus=("none",)), Case("CPU_ONLY_BUILD", cpu, torch),
    Case("OTHER_VENDOR_BUILD", torch, rocm, gpus=("gfx1100",)), Case("OTHER_VENDOR_BUILD", rocm, torch),
    Case("OTHER_VENDOR_BUILD", torch, torch, gpus=("gfx1100",), miss_gpus=("gfx1100", "sm_86")),
    Case("NO_KERNELS", torch, cu126, gpus=("MX330",), driver="580.119.02"),
    Case("NO_KERNELS", cu126, torch, gpus=("RTX 5090",), driver="580.119.02"),
    Case("NO_KERNELS", rocm, rocm, gpus=("gfx90a",), miss_gpus=("gfx1030",)),
    Case("PTX_ONLY_DRIVER_TOO_OLD", ptx_only, ptx_only, gpus=("sm_120",), driver="580.1", miss_driver="595.58.03"),
    Case("DRIVER_TOO_OLD", ptx_only, torch, gpus=("sm_80",), driver="570.1"),
    Case("DRIVER_TOO_OLD", torch, torch, gpus=("sm_80",), driver="470.1", miss_driver="525.60.13"),
    Case("GPU_NOT_SERVED_BY_DRIVER", cu126, cu126, gpus=("sm_61",), driver="595.1", miss_driver="580.1"),
    Case("LIBRARY_DROPPED_GPU", with_cudnn("9.11.0.98"), with_cudnn("9.10.2.21"), gpus=("sm_61",)),
    Case("LIBRARY_DROPPED_GPU", with_cudnn("9.11.0.98"), with_cudnn("9.11.0.98"), gpus=("sm_70",),
     miss_gpus=("sm_75",)),
    Case("JIT_ONLY", ptx_only, ptx_only, gpus=("sm_80", "sm_120"), driver="595.58.03", miss_gpus=("sm_80",)),
    Case("PARTIAL_LIBRARY", whole, whole, gpus=("T4",), miss_gpus=("a100",)),
    Case("COMPANION_MISMATCH", with_companion("0.25.0+cu128", "torch (==2.10.0)"), with_companion("0.24.1+cu128",
     "torch (==2.9.1)")), Case("COMPANION_MISMATCH", with_companion("0.22.0+cu128"), with_companion("0.24.0+cu128")),
    Case("COMPANION_MISMATCH", requiring("==2.8.0", links=True), requiring(">=2.8", links=True)),
    Case("COMPANION_OTHER_CUDA", with_companion("0.24.1+cpu"), with_companion("0.24.1+cu126")),
    Case("COMPANION_OTHER_CUDA", lambda home: home.torch("2.9.0a0+gitabc", "12.8").companion("torchvision",
     "0.24.1+cpu"), lambda home: home.torch("2.9.0a0+gitabc", "12.8").companion("torchvision", "0.24.1+cu128")),
    # That a torchaudio goes with a torch of which its maintainers say nothing is inferred.
    Case("COMPANION_MISMATCH", lambda home: home.torch("2.8.0+cu128").companion("torchaudio", "2.7.0+cu128",
     codes=""), lambda home: home.torch("2.15.0+cu130", "13.0").companion("torchaudio", "2.7.0+cu130", codes="")),
    Case("REQUIREMENT_UNMET", requiring("<2.9"), requiring(">=2.9,<3")),
    Case("REQUIREMENT_UNMET", requiring("<2.9", marker='; extra != "dev"'), requiring("<2.9",
     marker='; extra == "dev"')),
    Case(
        "REQUIREMENT_UNMET",
        lambda home: home.torch(requires=["nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Linux'"]).add(
            "nvidia-cudnn-cu12", "9.8.0.87"
        ),
        lambda home: home.torch(requires=["nvidia-cudnn-cu12==9.10.2.21; platform_system == 'Windows'"]).add(
            "nvidia-cudnn-cu12", "9.8.0.87"
        ),
    ),
    Case("PACKAGE_NO_KERNELS", with_package(making.module("sm_80", "sm_90")), with_package(making.module("sm_75",
     "sm_80")), gpus=("T4",)),
    Case("PACKAGE_PARTLY", lambda home: torch(home).add("vllm", "1.0",
     {"vllm/_C.so": making.library(making.module("sm_75")), "vllm/fa2.so": making.library(making.module("sm_80",
     "sm_90")), "vllm/fa3.so": making.library(making.module("sm_80", "sm_90"))}), lambda home: torch(home).add("vllm",
     "1.0", {"vllm/_C.so": making.library(making.module("sm_75")),
     "vllm/mla.so": making.library(making.module("sm_90a"))}), gpus=("T4",)),
    Case("TWO_CUDA_RUNTIMES", with_two({"nvidia/cudnn/lib/libcudnn.so.9": b"one"},
     {"nvidia/cudnn/lib/libcudnn.so.9": b"two"}), torch), Case("TORCH_TWICE", twice, torch),
    Case("LIBRARY_PATH", shadowed("libnvJitLink.so.12"), shadowed("libcusparse.so.12", "libcudart.so.11"),
     environ={"LD_LIBRARY_PATH": "{}/cuda"}),
    Case("GPUS_HIDDEN", torch, torch, environ={"CUDA_VISIBLE_DEVICES": ""}, miss_environ={"CUDA_VISIBLE_DEVICES": "0"}),
    Case("UNREADABLE", lambda home: torch(home).add("nvidia-nccl-cu12", "2.27.5", without=["METADATA"]),
     lambda home: torch(home).add("nvidia-nccl-cu12", "2.27.5")),
    Case("UNREADABLE", unrecorded, unrecorded_by_conda),
    Case("UNKNOWN_ARCHES", lambda home: home.torch("2.9.0a0+gitabc", "12.8", None),
     lambda home: home.torch("2.9.1+cu128", "12.8", None)),
    # Without a cuDNN of its own, that which lies inside torch counts; one for another CUDA does not.
    Case("LIBRARY_DROPPED_GPU", lambda home: home.torch("2.9.1+cu130", "13.0", "sm_61 sm_75"),
     lambda home: cu126(home).add("nvidia-cudnn-cu13", "9.13.0.50"), gpus=("sm_61",)),
    Case("JIT_ONLY", lambda home: home.torch("2.15.0.dev20260901+cu132", "13.2", "sm_75 sm_80 compute_90"),
     lambda home: home.torch("2.15.0.dev20260901+cu132", "13.2", "sm_75 sm_80 sm_120"), gpus=("sm_120",),
     driver="595.58.03"), Case("CPU_ONLY_BUILD", cpu, cpu, gpus=("gfx1100", "gfx1100"), miss_gpus=("arc a770",)),
    Case("NO_KERNELS", ptx_only, torch, gpus=("sm_61", "sm_70", "sm_61"), driver="580.95.05", miss_gpus=("sm_70",)),
    Case("NO_KERNELS", amds(), amds("gfx1201", "gfx12-0"), gpus=("gfx1201",)),
    Case("NO_KERNELS", amds("gfx1100", "gfx11"), amds("gfx1201"), gpus=("gfx1201",)),
    Case("UNREADABLE", lambda home: home.torch().site.joinpath("torch-2.9.1.dist-info").rename(home.root / "x"), torch),
)  # fmt: skip


def named(cases: tuple[Case, ...]) -> Iterator[tuple[str, Case]]:
    """Each case by its code and its place among those of that code."""
    count: Counter[str] = Counter()
    for case in cases:
        count[case.code] += 1
        yield f"{case.code} {count[case.code]}", case


NAMED = dict(named(CASES))
FILE = Path(__file__).parent / "findings.json"


def _filled(environ: Mapping[str, str], home: Home) -> dict[str, str]:
    return {name: value.replace("{}", str(home.root.parent)) for name, value in environ.items()}


def examined(case: Case, folder: Path) -> tuple[Examination, Examination]:
    """The environment of the case, and its near miss."""
    sick, well = Home(folder / "sick" / ".venv"), Home(folder / "well" / ".venv")
    case.make(sick)
    case.miss(well)
    found = examine(sick, *case.gpus, driver=case.driver, environ=_filled(case.environ, sick))
    near = examine(
        well, *(case.miss_gpus or case.gpus), driver=case.miss_driver or case.driver,
        environ=_filled(case.environ if case.miss_environ is None else case.miss_environ, well),
    )  # fmt: skip
    return found, near


def said(exam: Examination, folder: Path) -> list[dict[str, object]]:
    """The findings without what differs from one computer to another: folders, and the build that fixes torch."""
    shown = []
    for finding in exam.findings:
        words = {key: value for key, value in finding.to_dict().items() if key != "why"}
        if finding.by_torch:
            # Which build there is depends on the Python that runs the tests.
            words |= {"cure": "torch", "advice": finding.advice if exam.remedy else None}
        text = json.dumps(words).replace(str(folder), "$FOLDER").replace(f"python{VERSION}", "python$VERSION")
        shown.append(json.loads(text))
    return shown


@recorded.cases(FILE)
def test_a_case_raises_it_and_a_near_miss_does_not(
    case: recorded.Case, answers: recorded.Answers, tmp_path: Path
) -> None:
    found, near = examined(NAMED[case.name], tmp_path)

    assert NAMED[case.name].code in codes(found)
    assert NAMED[case.name].code not in codes(near)
    answers.same({"case": said(found, tmp_path), "miss": said(near, tmp_path)})


# What no told machine can have, or what another file of tests makes.
ELSEWHERE = {"DRIVER_NO_ANSWER", "MISSING_LIBRARY"}
ELSEWHERE |= {"LOCK_UNDOES", "NO_WHEEL_FOR_PLATFORM"}  # a project, a lock


def test_every_finding_has_a_case() -> None:
    assert {case.code for case in CASES} | ELSEWHERE == {ailment.name for ailment in Ailment}
    assert NAMED.keys() == json.loads(FILE.read_text("utf-8")).keys()


@pytest.mark.parametrize(("gpu", "version", "cuda", "flags", "via"), [
        ("sm_89", "2.9.1+cu128", "12.8", CU128, "sm_86"), ("sm_61", "2.9.1+cu126", "12.6", CU126, "sm_60"),
        ("sm_121", "2.9.1+cu130", "13.0", "sm_80 sm_100 sm_120", "sm_120"),
        ("sm_103", "2.9.1+cu130", "13.0", "sm_80 sm_100 sm_120", "sm_100"),
        ("sm_87", "2.15.0+cu132", "13.2", "sm_80 sm_90 sm_110 sm_120", "sm_80"),
])  # fmt: skip
def test_machine_code_of_an_older_gpu_is_no_alarm(
    home: Home, gpu: str, version: str, cuda: str, flags: str, via: str
) -> None:
    """What other tools call incompatible, and is not."""
    home.torch(version, cuda, flags)
    home.companion("torchvision", f"0.24.1{version[version.index('+') :]}", codes=flags) if "2.9.1" in version else None

    found = examine(home, gpu, driver="595.78" if gpu == "sm_87" else None)  # JetPack 7

    assert codes(found) == []
    assert found.subject.torch is not None
    assert found.subject.torch.verdict is not None
    assert [str(fit.via) for fit in found.subject.torch.verdict.fits] == [via]


def test_a_label_is_no_part_of_a_companion_s_release(home: Home) -> None:
    torch(home).companion("torchvision", "0.24+cu128")

    assert codes(examine(home, "sm_86")) == []


def test_orin_is_still_refused_before_the_unification(home: Home) -> None:
    home.torch("2.13.0+cu130", "13.0", "sm_80 sm_90 sm_110 sm_120")

    assert codes(examine(home, "sm_87", driver="595.78")) == ["NO_KERNELS"]


def test_the_worst_comes_first_and_every_gpu_of_a_kind_is_named_once(home: Home) -> None:
    torch(home).add("triton", "3.5.1")
    home.companion("torchvision", "0.24.1+cu128")

    found = examine(home, "sm_61", "sm_89", "sm_61", driver="580.1")

    assert codes(found) == ["NO_KERNELS", "PACKAGE_NO_KERNELS"]
    assert [finding.seen["gpus"] for finding in found.findings[:2]] == [[0, 2], [0, 2]]
    assert not found.ok


def test_two_nvidia_majors_that_share_no_file_are_harmless(home: Home) -> None:
    with_two({"nvidia/a.so": b"x"}, {"nvidia/b.so": b"x"})(home)

    assert codes(examine(home, "sm_86")) == []


def test_nvidia_s_own_libraries_are_not_counted(home: Home) -> None:
    """The library of cuFFT 12.2 registers one module of sm_75 alone and runs everywhere, vendored copies likewise."""
    torch(home).add("nvidia-cufft", "12.2", {"nvidia/lib/libcufft.so.12": making.library(making.module("sm_75"))})
    vendored = {"audio.libs/libnvjpeg.8dd2b5e6.so.12": making.library(making.module("sm_50"))}
    home.add("audio", "1.0", vendored)

    assert codes(examine(home, "sm_89")) == []


def test_a_library_per_cuda_is_judged_by_torch_s_own(home: Home) -> None:
    """bitsandbytes: its library for CUDA 12.6 has what the one for 12.8 lacks, so another torch mends it."""
    files = {
        f"bitsandbytes/libbitsandbytes_cuda{cuda}.so": making.library(making.module(*arches.split()))
        for cuda, arches in (("126", CU126), ("128", CU128))
    }
    torch(home).add("bitsandbytes", "0.48", files)

    old = examine(home, "sm_61", driver="580.1")
    new = examine(home, "sm_120", driver="580.1")

    bitsandbytes = next(finding for finding in old.findings if "bitsandbytes" in finding.text)
    assert bitsandbytes.code == "PACKAGE_NO_KERNELS"
    assert bitsandbytes.cure == old.findings[0].cure is not None
    assert codes(new) == []
    # Before there is a torch nothing says that it would be the one for CUDA 12.8.
    bare = Home(home.root / "bare")
    bare.add("bitsandbytes", "0.48", files)
    assert codes(examine(bare, "sm_61", driver="580.1")) == ["TORCH_MISSING"]


def test_a_broken_library_of_a_package_is_said_and_the_rest_is_judged(home: Home) -> None:
    torch(home).add("odd", "1.0", {"odd/_C.so": b"\x7fELF\x02\x01\x01" + bytes(60), "odd/empty.so": b""})
    (home.site / "odd" / "loop.so").symlink_to("loop.so")
    (home.site / "odd-1.0.dist-info" / "RECORD").write_text("odd/_C.so,,\nodd/loop.so,,\nodd/empty.so,,\n", "utf-8")

    found = examine(home, "sm_86")

    assert codes(found) == ["UNREADABLE"]
    assert "loop.so" in found.findings[0].text


def test_without_compiled_flags_the_largest_library_tells_what_torch_was_built_for(home: Home) -> None:
    """A torch of before 1.8 has no such list."""
    main = making.library(making.module("sm_70"), making.module("sm_75"))
    home.torch(flags=None, more={"torch/lib/libtorch_cuda.so": main})

    found = examine(home, "sm_61")

    assert found.findings[0].code == "NO_KERNELS"
    assert found.findings[0].seen["arches"] == ["sm_70", "sm_75"]
    assert codes(examine(home, "sm_75")) == []


def test_a_version_without_a_label_is_given_the_one_of_its_cuda(home: Home) -> None:
    home.torch("2.9.1", "12.8")

    found = examine(home, "sm_61")

    assert found.subject.torch is not None
    assert found.subject.torch.label == "torch 2.9.1+cu128"
    assert codes(found)[0] == "NO_KERNELS"


@pytest.mark.parametrize(("cuda", "goes", "stays"), [("12.8", "cu13", "cu12"), ("13.0", "cu12", "cu13")])
def test_of_two_nvidia_majors_torch_s_own_stays(cuda: str, goes: str, stays: str, home: Home) -> None:
    home.torch(f"2.9.1+cu{cuda.replace('.', '')}", cuda)
    for major in ("12", "13"):
        home.add(f"nvidia-cudnn-cu{major}", "9.10.2.21", {"nvidia/cudnn/lib/libcudnn.so.9": b"x"})

    (finding,) = (each for each in examine(home, "sm_86").findings if each.code == "TWO_CUDA_RUNTIMES")

    assert str(finding.cure).partition(" && ")[0].endswith(f" nvidia-cudnn-{goes}")
    assert str(finding.cure).endswith(f"--no-deps nvidia-cudnn-{stays}==9.10.2.21")


@pytest.mark.parametrize(("backend", "said"), [("cu126", []), ("cu128", ["NO_KERNELS"])])
def test_where_the_files_tell_nothing_the_table_s_row_of_that_build_does(
    backend: str, said: list[str], home: Home
) -> None:
    home.torch(f"2.9.1+{backend}", f"12.{backend[-1]}", None)

    found = examine(home, "sm_61", driver="580.1")

    assert codes(found) == said
    assert found.subject.torch is not None
    assert not found.subject.torch.measured
    assert found.subject.torch.verdict is not None
    assert found.subject.torch.verdict.build.evidence == ("declared", str(home.site), None)


def test_a_companion_that_says_itself_what_it_needs_is_named_once(home: Home) -> None:
    torch(home).companion("torchvision", "0.20.1+cu128", requires=["torch==2.5.1"])
    home.companion("torchaudio", "2.5.1+cu128", requires=["torch==2.5.1"])

    assert codes(examine(home, "sm_86")).count("COMPANION_MISMATCH") == 2


@pytest.mark.parametrize(("libraries", "gpu", "code", "word"), [
    ({"_C.so": "sm_75 sm_80", "_flashmla.so": "sm_90a"}, "sm_75", None, RUNS),
    ({"_C.so": "sm_75 sm_80", "_D.so": "sm_90 compute_90"}, "sm_75", "PACKAGE_PARTLY", PARTLY),
    ({"_C.so": "sm_75 sm_80", "_D.so": "sm_80 sm_90"}, "sm_75", "PACKAGE_PARTLY", PARTLY),
    ({"_C.so": "sm_80 sm_90", "libnvjpeg.so.12": "sm_75"}, "sm_86", None, RUNS),
    ({"libnvjpeg.so.12": "sm_50"}, "sm_86", None, NO_CODE),
    ({"_flashmla.so": "sm_90a"}, "sm_86", "PACKAGE_NO_KERNELS", NOT),
    ({"lib_cuda126.so": "sm_75 sm_86", "lib_cuda128.so": "sm_90 sm_100"}, "sm_86", "PACKAGE_NO_KERNELS", NOT),
    ({"lib_cuda126.so": "sm_90 sm_100", "lib_cuda128.so": "sm_75 sm_86"}, "sm_86", None, RUNS),
])  # fmt: skip
def test_doctor_says_of_a_package_what_inspect_says(
    libraries: dict[str, str], gpu: str, code: str | None, word: str, home: Home
) -> None:
    files = {f"kern/{name}": making.library(making.module(*codes.split())) for name, codes in libraries.items()}
    torch(home).add("kern", "1.0", files)
    package = distributions.read_environment(home.python, {}, metadata=False).find("kern")
    assert package is not None
    reading = readings.read_distribution(package, "kern")

    assert judge_reading(reading, GpuCodeFit(Arch.parse(gpu)), "12.8").word == word
    assert codes(examine(home, gpu, driver="580.95.05")) == ([] if code is None else [code])


@pytest.mark.parametrize("name", ["triton", "pytorch-triton"])
def test_triton_s_own_code_is_a_profiler_s(name: str, home: Home) -> None:
    torch(home).add(name, "3.5.1", {f"{name}/_C.so": making.library(making.module("sm_90"))})

    assert examine(home, "sm_86").subject.inspected == ()
