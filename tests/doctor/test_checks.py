"""What the checks make of a subject: GPUs of many makers, shells and images, which no folder of a test can have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.wheels import making
from torchpick.doctor import binaries, depends, gpusupport, loading, presence
from torchpick.doctor.binaries import GpuSupport, InspectedPackage, InspectedPackages, PartialLibrary
from torchpick.doctor.depends import Demand
from torchpick.doctor.installedtorch import InstalledTorch
from torchpick.doctor.loading import Absent
from torchpick.doctor.shellvariables import DriverLibrary, Shell
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment import distributions
from torchpick.environment.distributions import (
    CondaPackage,
    Distribution,
    Environment,
    Fault,
)
from torchpick.model.arch import Arch, Fit
from torchpick.model.build import NOT, PARTLY, RUNS, GpuFit, Objection, Reason, Verdict
from torchpick.model.finding import Finding
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python, Trouble
from torchpick.model.package import PackageFacts
from torchpick.model.pick import Request
from torchpick.run import start_run
from torchpick.wheels.judging import GpuCodeFit

HERE = Environment("/env/bin/python", "/env", "3.12", sites=("/env/lib",))
MACHINE = Machine(Platform("linux", "x86_64"), Python("3.12"))
CODE = Arch.parse("sm_86")
TORCH = InstalledTorch("2.9.1+cu128", "2.9.1", "cu128", "12.8", "/env/lib", (CODE,), measured=True)


def distribution(
    name: str, version: str, *faults: str, installer: str = "pip", folder: str = "/env/lib"
) -> Distribution:
    info = f"{name}-{version}.dist-info"
    return Distribution(name, version, folder, info, installer=installer, faults=faults)


def subject(
    *names: str, vendor: str = "nvidia", driver: str | None = None, here: Environment = HERE, **more: Any
) -> EnvironmentUnderTest:
    """With these GPUs, and with what else would be read of the environment."""
    gpus = tuple(Gpu(place, vendor, name, None) for place, name in enumerate(names))
    machine = MACHINE._replace(gpus=gpus, driver=None if driver is None else Driver(driver))
    found = EnvironmentUnderTest(start_run(Request(gpus=("none",)), {}), here, machine, torch_alone=False)
    vars(found).update({"torch": None, "shell": Shell(), "inspected": InspectedPackages(), "known": {}, **more})
    return found


def demand(by: str, name: str, specifier: str = "") -> Demand:
    name_, _, version = by.partition(" ")
    return Demand(distribution(name_, version), name, specifier, "")


def coded(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in findings]


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


COMPAT = Shell(driver_library=DriverLibrary("compat", "/opt/compat", "570.26"))


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "NVIDIA TITAN V", "RTX 4090"])
def test_cuda_compat_is_refused_by_other_boards(name: str) -> None:
    finding = only(loading.driver_library(subject("Tesla T4", name, shell=COMPAT, driver="550.54")))

    assert coded([finding]) == [("CUDA_COMPAT", "error")]
    assert finding.text == f"cuda-compat in /opt/compat does not support {name}"
    assert finding.seen == {"folder": "/opt/compat", "version": "570.26"}
    assert finding.advice == "remove /opt/compat from LD_LIBRARY_PATH"


def test_cuda_compat_refuses_nobody_elses_boards() -> None:
    beside = subject("Tesla T4", shell=COMPAT, driver="550.54")
    beside.machine = beside.machine._replace(gpus=(*beside.machine.gpus, Gpu(1, "amd", "TITAN RTX of nobody", None)))

    assert list(loading.driver_library(beside)) == []


@pytest.mark.parametrize(
    ("version", "driver", "code"),
    [
        ("570.26", "570.26", "error"), ("570.26", "580.95.05", "error"), ("570.26", "570.25", None),
        (None, "580.95.05", None), ("570.26", None, None), ("unknown", "580.95.05", None),
    ],
)  # fmt: skip
def test_cuda_compat_serves_only_while_it_is_newer_than_the_driver(
    version: str | None, driver: str | None, code: str | None
) -> None:
    shell = Shell(driver_library=DriverLibrary("compat", "/opt/compat", version))

    found = list(loading.driver_library(subject("Tesla T4", shell=shell, driver=driver)))

    assert coded(found) == ([] if code is None else [("CUDA_COMPAT", code)])
    if found:
        assert found[0].seen == {"folder": "/opt/compat", "version": version, "driver": driver}


@pytest.mark.parametrize(
    ("vendor", "name", "value", "hides"),
    [
        ("nvidia", "CUDA_VISIBLE_DEVICES", "", True),
        ("nvidia", "CUDA_VISIBLE_DEVICES", " -1,0", True),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "-GPU", True),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "none", True),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "0", False),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "+0,x", False),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "GPU-8f3", False),
        ("nvidia", "HIP_VISIBLE_DEVICES", "", False),
        ("amd", "HIP_VISIBLE_DEVICES", "", True),
        ("amd", "ROCR_VISIBLE_DEVICES", "-1", True),
        ("amd", "ROCR_VISIBLE_DEVICES", "0", False),
        ("amd", "CUDA_VISIBLE_DEVICES", "", False),
    ],
)
def test_a_variable_that_hides_every_gpu_is_named(vendor: str, name: str, value: str, *, hides: bool) -> None:
    found = list(loading.hidden(subject("one", "two", vendor=vendor, shell=Shell({name: value}))))

    assert coded(found) == ([("GPUS_HIDDEN", "warning")] if hides else [])
    for finding in found:
        assert finding.seen == {"variable": name, "value": value, "hidden": [0, 1]}
        assert finding.cure == f"unset {name}"
        assert finding.text.endswith("which hides every GPU")


def test_of_many_missing_libraries_four_are_shown() -> None:
    names = [f"lib{letter}.so" for letter in "abcde"]
    finding = only(loading.nowhere([Absent(name, "flash 2") for name in names], set()))

    assert "flash 2 needs liba.so, libb.so, libc.so, libd.so and 1 more, which" in finding.text
    assert finding.seen == {"package": "flash 2", "libraries": names}
    assert finding.advice is not None
    assert finding.advice.startswith("install the flash that was built for the CUDA of this torch")
    four = only(loading.nowhere([Absent(name, "torch 2.9.1") for name in names[:4]], set()))
    assert "libd.so, which" in four.text
    assert (four.advice, four.by_torch) == (None, True)


def test_a_missing_library_is_said_with_the_package_that_should_have_brought_it() -> None:
    absent = (Absent("libcublas.so.12", "flash 2"), Absent("libc10.so", "flash 2"), Absent("libtorch.so", "flash 2"))

    assert only(loading.nowhere(absent, {"flash 2"})).seen["libraries"] == ["libc10.so", "libtorch.so"]
    assert only(loading.nowhere(absent, set())).seen["libraries"] == ["libcublas.so.12", "libc10.so", "libtorch.so"]
    for library in ("libc10.so", "libtorch.so"):
        advice = only(loading.nowhere([Absent(library, "flash 2")], set())).advice
        assert advice == "install the release of flash that was built for this torch"


@pytest.mark.parametrize(("name", "left"), [("nvidia-cublas-cu12", 0), ("cuda-toolkit", 0), ("einops", 1)])
def test_cudas_libraries_are_said_with_its_missing_wheels(
    name: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "absent_libraries", lambda _: (Absent("libcublas.so.12", "flash 2"),))
    monkeypatch.setattr(depends, "missing", lambda _: [demand("flash 2", name)])

    found = [finding.code for finding in loading.lacking(subject())]

    assert found == ["REQUIREMENT_MISSING", *["MISSING_LIBRARY"] * left]


@pytest.mark.parametrize(
    ("name", "version", "backend", "other"),
    [
        ("torchvision", "0.24.1+cu128", "cu128", False),
        ("torchvision", "0.24.1+cu126", "cu128", False),
        ("torchvision", "0.24.1+cu130", "cu128", True),
        ("torchvision", "0.24.1+cpu", "cu128", True),
        ("torchvision", "0.24.1+rocm6.4", "cu128", True),
        ("torchvision", "0.24.1+rocm6.4", "rocm6.3", False),
        ("torchvision", "0.24.1+xpu", "cu128", True),
        ("torchvision", "0.24.1+xpu", "xpu", False),
        ("torchvision", "0.24.1+local", "cu128", False),
        ("torchvision", "0.24.1", "cu128", False),
        ("torchvision", "0.15.2+cu117", "cu118", True),
        ("torchvision", "0.15.2+cu118", "cu118", False),
        ("torchvision", "0.16.0+cu117", "cu118", False),
        ("torchvision", "0.9.1+cu92", "cu111", True),
        ("torchvision", "1.2+cu126", "cu128", False),
        ("torchvision", "0.15.0a0+cu117", "cu118", True),
        ("torchvision", "main+cu126", "cu128", False),
        ("torchaudio", "0.15.2+cu117", "cu118", False),
        ("torchaudio", "0.9.0+cu90", "cu92", False),
    ],
)
def test_a_companion_goes_with_torch_within_one_cuda_major(
    name: str, version: str, backend: str, *, other: bool
) -> None:
    assert depends.is_for_another(name, version, backend) is other


def test_a_driver_that_gives_no_answer_is_said_and_nothing_is_concluded() -> None:
    silent = subject("GPU", torch=TORCH)
    trouble = Trouble("DRIVER_NOT_LOADED", "no answer", "load it")

    silent.machine = silent.machine._replace(trouble=trouble)
    finding = only(gpusupport.silent(silent))

    assert (finding.text, finding.seen, finding.advice) == ("no answer", {"code": "DRIVER_NOT_LOADED"}, "load it")


@pytest.mark.parametrize(("count", "shown"), [(3, "a, b, c"), (4, "a, b, c and 1 more")])
def test_of_many_missing_files_three_are_shown(count: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "b", "c", "d")[:count]

    monkeypatch.setattr(presence, "gone", lambda _package: names)
    recorded = HERE._replace(distributions=(distribution("torch", "2.9.1"),))

    of_torch = only(presence.broken(subject(torch=TORCH, here=recorded)))

    assert of_torch.text == f"torch 2.9.1+cu128 lacks {shown}"
    assert of_torch.seen == {"folder": "/env/lib", "missing": list(names)}


def test_torch_in_several_folders_records_and_by_two_installers() -> None:
    records = (distribution("torch", "2.9.1"), distribution("torch", "2.8.0"), distribution("torch", "1", folder="/b"))
    conda = tuple(CondaPackage(name, "2.5.1", "py312_0") for name in ("numpy", "pytorch", "libtorch"))

    folders = only(presence.twice(subject(here=HERE._replace(torches=("/env/lib", "/b")))))
    same = only(presence.twice(subject(here=HERE._replace(distributions=records))))
    both = HERE._replace(distributions=(distribution("torch", "2.9.1", installer="uv"),), conda=conda)

    assert folders.text == "torch is in 2 folders of the search path; /env/lib comes first"
    assert folders.seen == {"folders": ["/env/lib", "/b"]}
    command = "uv pip uninstall --python /env/bin/python torch"
    assert folders.advice == f"remove the others: `{command}` with each of their Pythons"
    assert same.advice == f"`{command}` until none is left, then install one"
    assert same.seen == {"folder": "/env/lib", "versions": ["2.9.1", "2.8.0"]}
    finding = only(presence.twice(subject(here=both)))
    assert finding.seen == {"conda": ["pytorch 2.5.1 py312_0", "libtorch 2.5.1 py312_0"], "torch": "2.9.1"}
    assert finding.advice == "keep one: `conda remove pytorch libtorch`, then install torch again"
    by_conda = both._replace(distributions=(distribution("torch", "2.9.1", installer="conda"),))
    assert list(presence.twice(subject(here=by_conda))) == []
    # An image may leave out what says that it is installed.
    assert list(presence.twice(subject(here=both._replace(distributions=())))) == []


@pytest.mark.parametrize("name", ["pytorch", "libtorch", "pytorch-gpu", "pytorch-cpu"])
def test_each_of_condas_names_is_torchs(name: str) -> None:
    here = HERE._replace(distributions=(distribution("torch", "2.9.1"),), conda=(CondaPackage(name, "2.5.1", "0"),))

    assert coded(presence.twice(subject(here=here))) == [("TORCH_TWICE", "warning")]


def test_metadata_that_cannot_be_read_matters_where_it_is_the_familys() -> None:
    ours = ("torch", "torchvision", "torchaudio", "triton", "nvidia-nccl-cu12")
    here = HERE._replace(
        distributions=tuple(distribution(name, "1", "METADATA is gone", "RECORD is gone") for name in (*ours, "other")),
        faults=(Fault("/env/lib", "cannot be read"),),
    )

    first, *rest = presence.unreadable(subject(here=here))

    assert (first.text, first.seen) == ("/env/lib cannot be read", {"where": "/env/lib", "what": "cannot be read"})
    assert [finding.severity for finding in rest] == ["warning"] * 5
    assert rest[0].advice == "install torch again with `--force-reinstall`"
    assert rest[0].seen == {"where": "/env/lib/torch-1.dist-info", "what": "METADATA is gone, RECORD is gone"}
    conda = subject(here=here._replace(conda=(CondaPackage("x", "1", "0"),), faults=()))
    assert {finding.seen["what"] for finding in presence.unreadable(conda)} == {"METADATA is gone"}


def test_a_torch_without_metadata_is_known_to_no_installer() -> None:
    finding = only(presence.unreadable(subject(torch=TORCH)))

    assert finding.seen == {"where": "/env/lib", "what": "no metadata"}
    assert finding.advice == "remove the folder before another torch is installed"


@pytest.mark.parametrize(
    ("one", "other", "cuda", "drop", "keep"),
    [
        ("nvidia-cudnn-cu12 9.1", "nvidia-cudnn-cu13 9.2", "12.8", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12==9.1"),
        ("nvidia-cudnn-cu12 9.1", "nvidia-cudnn-cu13 9.2", "13.0", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13==9.2"),
        ("nvidia-cublas 13.1", "nvidia-cublas-cu12 12.8", "13.0", "nvidia-cublas-cu12", "nvidia-cublas==13.1"),
        ("nvidia-cublas 13.1", "nvidia-cublas-cu12 12.8", "12.8", "nvidia-cublas", "nvidia-cublas-cu12==12.8"),
        ("nvidia-cudnn-cu12 9.1", "nvidia-cudnn-cu13 9.2", None, "nvidia-cudnn-cu12", "nvidia-cudnn-cu13==9.2"),
    ],
)
def test_of_two_with_one_file_torchs_own_is_installed_again(
    one: str, other: str, cuda: str | None, drop: str, keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distributions, "overwritten", lambda _one, _other: "lib.so")
    pip = distribution("pip", "26.3")
    pairs = (distribution(*one.split()), distribution(*other.split()))
    torch = None if cuda is None else TORCH._replace(cuda=cuda)

    finding = only(gpusupport.runtimes(subject(torch=torch, here=HERE._replace(distributions=(*pairs, pip)))))

    assert finding.cure == (
        f"/env/bin/python -m pip uninstall -y {drop} && "
        f"/env/bin/python -m pip install --force-reinstall --no-deps {keep}"
    )
    by_uv = only(gpusupport.runtimes(subject(torch=torch, here=HERE._replace(executable=None, distributions=pairs))))
    assert str(by_uv.cure).startswith(
        f"uv pip uninstall --python python {drop} && uv pip install --python python --rein"
    )


def test_of_a_package_that_no_gpu_loads_what_it_was_built_for_is_said() -> None:
    arches = (Arch.parse("sm_80"), Arch.parse("sm_90a"))
    support = (GpuSupport(0, NOT), GpuSupport(1, RUNS), GpuSupport(2, NOT))
    package = InspectedPackage("kern", "1.0", arches, support)

    finding = only(gpusupport.without_kernels(subject("one", "two", "one", inspected=InspectedPackages((package,)))))

    assert finding.text == "kern 1.0 holds no code for one: it was built for sm_80 sm_90a"
    assert finding.seen == {"package": "kern 1.0", "arches": ["sm_80", "sm_90a"], "gpus": [0, 2], "libraries": {}}
    assert str(finding.advice).startswith("install a release of kern that was built for this GPU")
    assert not finding.by_torch
    partly = package._replace(name="torchaudio", support=(GpuSupport(0, PARTLY),))
    finding = only(gpusupport.without_kernels(subject("one", inspected=InspectedPackages((partly,)))))
    assert (finding.code, finding.advice, finding.by_torch) == ("PACKAGE_PARTLY", None, True)
    for companion in (package._replace(name="torchaudio"), package._replace(per_cuda=True)):
        finding = only(
            gpusupport.without_kernels(subject("one", "two", "one", inspected=InspectedPackages((companion,))))
        )
        assert (finding.code, finding.advice, finding.by_torch) == ("PACKAGE_NO_KERNELS", None, True)
    lone = package._replace(support=(GpuSupport(0, PARTLY),))
    finding = only(gpusupport.without_kernels(subject("one", inspected=InspectedPackages((lone,)))))
    assert (finding.code, finding.advice, finding.by_torch) == ("PACKAGE_PARTLY", None, False)


@pytest.mark.parametrize(
    ("count", "shown"), [(20, "p19==1, and they are not"), (21, "p19==1 and 1 more, and they are not")]
)
def test_of_many_missing_requirements_twenty_are_shown(count: int, shown: str) -> None:
    demands = [demand("torch 2", f"p{place}", "==1") for place in range(count)]

    assert shown.partition(", and")[0] in only(loading.required(demands, cuda_is_found=False)).text


def test_what_an_import_does_without_is_a_warning() -> None:
    spare = ("triton", "pytorch-triton", "filelock", "fsspec", "jinja2", "networkx")

    def severity(*names: str, found: bool = False) -> tuple[str, str | None]:
        finding = only(loading.required([demand("torch 2", name, ">1") for name in names], cuda_is_found=found))
        return finding.severity, finding.advice

    for name in spare:
        assert severity(name) == ("warning", None)
    assert severity(*spare) == ("warning", None)
    assert severity("triton", "sympy") == ("error", None)
    assert severity("nvidia-nccl-cu12", "cuda-bindings") == ("error", None)
    elsewhere = "its CUDA libraries are found elsewhere on this machine"
    assert severity("nvidia-nccl-cu12", "cuda-bindings", found=True) == ("warning", elsewhere)
    assert severity("nvidia-nccl-cu12", "sympy", found=True) == ("error", None)


def test_requirements_are_named_by_who_has_them_and_cudas_first() -> None:
    demands = [
        demand("torch 2", "sympy"), demand("vision 1", "numpy"), demand("torch 2", "cuda-bindings"),
        demand("torch 2", "nvidia-nccl-cu12"),
    ]  # fmt: skip

    one, two = loading.required(demands, cuda_is_found=False)

    assert one.text == "torch 2 requires cuda-bindings, nvidia-nccl-cu12, sympy, and they are not installed"
    assert one.seen == {"package": "torch 2", "missing": ["sympy", "cuda-bindings", "nvidia-nccl-cu12"]}
    assert two.text == "vision 1 requires numpy, and it is not installed"


@pytest.mark.parametrize(
    ("one", "other", "keep", "drop"),
    [
        ("cupy 1", "cupy-x 2", "cupy", "cupy-x"),
        ("onnxruntime 1", "onnxruntime-gpu 2", "onnxruntime-gpu", "onnxruntime"),
        ("onnxruntime-gpu 2", "onnxruntime 1", "onnxruntime-gpu", "onnxruntime"),
        ("faiss-gpu 1", "faiss-gpu-cu12 2", "faiss-gpu", "faiss-gpu-cu12"),
    ],
)
def test_of_two_rivals_the_one_for_gpus_is_kept(one: str, other: str, keep: str, drop: str) -> None:
    pair = [distribution(*text.split()) for text in (one, other)]
    known = {pair[0].name: PackageFacts(pair[0].name, (), rivals=(pair[1].name,))}
    by_uv = subject(here=HERE._replace(distributions=tuple(pair)), known=known)
    by_pip = subject(here=HERE._replace(distributions=(*pair, distribution("pip", "26.3"))), known=known)
    version = "2" if keep == other.split()[0] else one.split()[1]

    finding = only(gpusupport.twice(by_pip))

    assert finding.text == f"{one} and {other} install the same module"
    assert finding.seen == {"packages": [one, other]}
    assert finding.cure == (
        f"/env/bin/python -m pip uninstall -y {keep} {drop} && /env/bin/python -m pip install {keep}=={version}"
    )
    assert finding.advice == f"to uninstall one alone would take files of {keep} away"
    assert str(only(gpusupport.twice(by_uv)).cure).startswith("uv pip uninstall --python /env/bin/python")


def test_a_torch_that_is_not_there_and_one_of_which_only_the_record_is() -> None:
    record = HERE._replace(distributions=(distribution("torch", "2.9.1"),))

    finding = only(presence.missing(subject()))
    assert finding.seen == {"python": "/env/bin/python", "searched": ["/env/lib"]}
    assert finding.by_torch
    jax = HERE._replace(distributions=(distribution("jax", "0.12"),))
    assert list(presence.missing(subject(here=jax))) == list(presence.missing(subject(here=record))) == []
    broken = only(presence.broken(subject(here=record)))
    assert broken.seen == {"folder": "/env/lib", "version": "2.9.1"}
    assert broken.by_torch
    assert list(presence.broken(subject())) == list(presence.broken(subject(torch=TORCH, here=record))) == []


def test_debian_and_conda_leave_the_record_out() -> None:
    def told(folder: str, *conda: CondaPackage) -> list[object]:
        one = distribution("triton", "1", "RECORD is gone", folder=folder)
        here = HERE._replace(distributions=(one,), conda=conda)
        return [finding.seen["what"] for finding in presence.unreadable(subject(here=here))]

    assert told("/env/lib") == ["RECORD is gone"]
    assert told("/usr/lib/python3/dist-packages") == told("/env/lib", CondaPackage("x", "1", "0")) == []


@pytest.mark.parametrize(
    ("backend", "vendors", "check"),
    [
        ("cpu", ["nvidia"], "CPU_ONLY_BUILD"), ("cpu", ["amd", "nvidia"], "CPU_ONLY_BUILD"), ("cpu", ["intel"], None),
        ("cpu", [], None), ("cu128", ["nvidia"], None), ("cu128", ["amd", "nvidia"], None), ("cu128", [], None),
        ("cu128", ["amd"], "OTHER_VENDOR_BUILD"), ("rocm6.4", ["nvidia"], "OTHER_VENDOR_BUILD"),
        ("rocm6.4", ["amd", "intel"], None), ("cu128", ["intel"], None), ("xpu", ["nvidia"], None),
    ],
)  # fmt: skip
def test_a_build_is_for_the_maker_of_the_gpus(backend: str, vendors: list[str], check: str | None) -> None:
    gpus = tuple(Gpu(index, vendor, f"{vendor} one", None) for index, vendor in enumerate(vendors))
    beside = subject(torch=TORCH._replace(backend=backend))
    beside.machine = MACHINE._replace(gpus=gpus)

    found = list(gpusupport.foreign(beside))

    assert [finding.code for finding in found] == ([] if check is None else [check])
    for finding in found:
        assert finding.seen == {"torch": "2.9.1+cu128", "gpus": [*range(len(gpus))]}
        assert finding.by_torch
        assert finding.text.endswith(f"and there is {', '.join(gpu.label for gpu in gpus)}")
        assert ("for NVIDIA GPUs" in finding.text, "for AMD GPUs" in finding.text) == (
            backend == "cu128", backend == "rocm6.4"
        )  # fmt: skip
    beside.torch = None
    assert list(gpusupport.foreign(beside)) == []


@pytest.mark.parametrize(
    ("version", "arch", "vendor", "told"),
    [
        ("3.5.1", "sm_61", "nvidia", True), ("3.5.1", "sm_70", "nvidia", False), ("unknown", "sm_61", "nvidia", False),
        ("3.5.1", None, "nvidia", False), ("3.5.1", "gfx906", "amd", False),
    ],
)  # fmt: skip
def test_triton_compiles_for_the_gpus_that_it_supports(
    version: str, arch: str | None, vendor: str, *, told: bool
) -> None:
    gpu = Gpu(3, vendor, "GPU", None if arch is None else Arch.parse(arch))
    there = subject(torch=TORCH, here=HERE._replace(distributions=(distribution("triton", version),)))
    there.machine = MACHINE._replace(gpus=(gpu,))

    found = list(gpusupport.triton(there))

    assert [finding.seen for finding in found] == ([{"library": "triton 3.5.1", "gpus": [3]}] if told else [])
    for finding in found:
        assert finding.text == f"triton 3.5.1 supports sm_70 and newer, not {gpu.label}"
        assert finding.advice == "run without torch.compile there, or set TORCHDYNAMO_DISABLE=1"
    there.torch = None
    assert list(gpusupport.triton(there)) == []


def judged(*objections: Objection, fits: tuple[GpuFit, ...] = ()) -> InstalledTorch:
    """The torch with resolve's verdict on it; what else a verdict has is no matter to a check."""
    rest: Any = None
    return TORCH._replace(verdict=Verdict(rest, objections, fits, rank=rest))


def test_a_gpu_for_which_code_is_compiled_first_is_told_from_one_beside_it() -> None:
    fits = (GpuFit(0, Fit.EXACT, None), GpuFit(1, Fit.JIT, None), GpuFit(2, Fit.JIT, None))

    finding = only(gpusupport.compiled_at_first_use(subject("one", "two", "three", torch=judged(fits=fits))))

    assert finding.text == "torch 2.9.1+cu128 has only PTX for two, three"
    assert finding.seen == {
        "torch": "2.9.1+cu128", "arches": ["sm_86"], "evidence": "measured", "where": "/env/lib/torch", "gpus": [1, 2],
    }  # fmt: skip
    for beside in (judged(fits=fits[:1]), judged(Objection(Reason.YANKED), fits=fits), TORCH, None):
        assert list(gpusupport.compiled_at_first_use(subject("one", torch=beside))) == []


def test_a_library_with_part_of_its_code_is_told_where_the_rest_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    partial = PartialLibrary("libtorch_cuda_linalg.so", 0, "half")
    fits = (GpuFit(0, Fit.EXACT, None), GpuFit(1, Fit.NONE, None))
    there = subject("one", "two", torch=judged(fits=fits)._replace(measured=False, arches=None), judge=None)
    there.machine = there.machine._replace(gpus=tuple(gpu._replace(arch=CODE) for gpu in there.machine.gpus))
    asked: list[list[str]] = []

    def parts(_torch: object, gpus: Iterable[Gpu], _judge: object) -> tuple[PartialLibrary, ...]:
        asked.append([str(gpu.name) for gpu in gpus])
        return (partial,)

    monkeypatch.setattr(binaries, "partial", parts)

    finding = only(gpusupport.partial(there))

    assert finding.text == "libtorch_cuda_linalg.so of torch 2.9.1+cu128 supports one (sm_86) only in part: half"
    assert finding.seen == {
        "torch": "2.9.1+cu128", "arches": None, "evidence": "declared", "where": "/env/lib/torch",
        "library": "libtorch_cuda_linalg.so", "gpus": [0],
    }  # fmt: skip
    assert str(finding.advice).startswith("LU of large matrices")
    assert list(gpusupport.partial(subject())) == []
    assert asked == [["one"]]
    partial = partial._replace(name="libtorch_of_nobody.so")
    assert only(gpusupport.partial(there)).advice is None


@pytest.mark.parametrize(
    ("reason", "code", "text", "advice"),
    [
        (Reason.NO_KERNELS, "NO_KERNELS", " holds no code for G: it was built for A", None),
        (Reason.PTX_ONLY_DRIVER_TOO_OLD, "PTX_ONLY_DRIVER_TOO_OLD",
         " has only PTX for G, which needs a driver for CUDA C; this one is for H",
         "or install a driver that supports CUDA C and keep this torch"),
        (Reason.DRIVER_TOO_OLD, "DRIVER_TOO_OLD", ": CUDA C needs driver N or newer; this one is H",
         "or install driver N or newer and keep this torch"),
        (Reason.GPU_NOT_SERVED_BY_DRIVER, "GPU_NOT_SERVED_BY_DRIVER", None,
         "change the driver: W; no build of torch can fix this"),
        (Reason.LIBRARY_DROPPED_GPU, "LIBRARY_DROPPED_GPU", ": L in it supports F, not G", None),
        (Reason.UNKNOWN_ARCHES, "UNKNOWN_ARCHES", ": which GPUs it was built for is not known", None),
        (Reason.YANKED, None, None, None),
    ],
)  # fmt: skip
def test_each_objection_to_the_installed_build_is_told_once_for_all_its_gpus(
    reason: Reason, code: str | None, text: str | None, advice: str | None
) -> None:
    said = {"gpu": "G", "arches": "A", "cuda": "C", "has": "H", "needs": "N", "why": "W", "library": "L", "floor": "F"}
    objections = [Objection(reason, said, gpu) for gpu in (0, 2)]
    gpus = subject("one", "two", "three", torch=judged(*objections))

    found = list(gpusupport.unsupported(gpus))

    assert [finding.code for finding in found] == ([] if code is None else [code])
    for finding in found:
        assert finding.text == ("driver H does not support G: W" if text is None else f"torch 2.9.1+cu128{text}")
        assert (finding.seen["gpus"], finding.seen["cuda"], finding.seen["arches"]) == ([0, 2], "C", ["sm_86"])
        assert finding.advice == advice
        assert finding.by_torch == (text is not None)
    gpus.torch = judged(Objection(reason, said))
    assert [finding.seen["gpus"] for finding in gpusupport.unsupported(gpus)] == [[0, 1, 2]] * len(found)
    for nothing in (
        None, TORCH, judged(*objections)._replace(backend="cpu"), judged(*objections)._replace(backend="rocm6.4"),
    ):  # fmt: skip
        gpus.torch = nothing
        assert list(gpusupport.unsupported(gpus)) == []
    gpus.torch = judged(*objections)
    gpus.machine = gpus.machine._replace(trouble=Trouble("DRIVER_NOT_LOADED", "no answer", "load it"))
    assert list(gpusupport.unsupported(gpus)) == []


def test_a_library_of_torch_is_judged_for_the_gpus_whose_architecture_is_known(tmp_path: Path) -> None:
    library = tmp_path / "torch" / "lib" / "libtorch_cuda_linalg.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(making.library(making.module("sm_90")))
    gpus = (Gpu(0, "nvidia", "new", None), Gpu(1, "nvidia", "old", Arch.parse("sm_75")))
    found = binaries.partial(TORCH._replace(folder=str(tmp_path)), gpus, GpuCodeFit(CODE))

    assert [(each.name, each.gpu) for each in found] == [("libtorch_cuda_linalg.so", 1)]
