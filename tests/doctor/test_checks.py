"""What the checks make of facts: GPUs of many makers, shells and images, which no folder of a test can have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from torchpick.doctor.checks import companions, hardware, loader, packages, settings, torch, whole
from torchpick.doctor.facts import (
    Absent,
    Companion,
    Facts,
    GoneFiles,
    GpuSupport,
    InspectedPackage,
    InstalledTorch,
    MissingRequirement,
    Override,
    PackageTrouble,
    PartialLibrary,
    Rivals,
    TwinRuntimes,
    WantedTorch,
)
from torchpick.environment.distributions import (
    CondaPackage,
    Distribution,
    Environment,
    Fault,
    ProjectLock,
    TorchSetting,
)
from torchpick.environment.shellvariables import DriverLibrary, Shell
from torchpick.model.arch import Arch, Fit
from torchpick.model.finding import Finding
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python, Trouble
from torchpick.model.verdict import NOT, PARTLY, RUNS, GpuFit, Objection, Reason, Verdict

HERE = Environment("/env/bin/python", "/env", "3.12", sites=("/env/lib",))
MACHINE = Machine(Platform("linux", "x86_64"), Python("3.12"))
TORCH = InstalledTorch("2.9.1+cu128", "2.9.1", "cu128", "12.8", "/env/lib", (Arch.parse("sm_86"),), measured=True)


def distribution(
    name: str, version: str, *faults: str, installer: str = "pip", folder: str = "/env/lib"
) -> Distribution:
    info = f"{name}-{version}.dist-info"
    return Distribution(name, version, folder, info, installer=installer, faults=faults)


def facts(
    *names: str, vendor: str = "nvidia", driver: str | None = None, here: Environment = HERE, **more: Any
) -> Facts:
    gpus = tuple(Gpu(place, vendor, name, None) for place, name in enumerate(names))
    machine = MACHINE._replace(gpus=gpus, driver=None if driver is None else Driver(driver))
    return Facts(here, machine)._replace(**more)


def coded(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in findings]


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


COMPAT = Shell(driver_library=DriverLibrary("compat", "/opt/compat", "570.26"))


@pytest.mark.parametrize("name", ["NVIDIA GeForce RTX 4090", "NVIDIA TITAN V", "RTX 4090"])
def test_cuda_compat_is_refused_by_other_boards(name: str) -> None:
    finding = only(loader.driver_library(facts("Tesla T4", name, shell=COMPAT, driver="550.54")))

    assert coded([finding]) == [("CUDA_COMPAT", "error")]
    assert finding.text == f"cuda-compat in /opt/compat does not support {name}"
    assert finding.seen == {"folder": "/opt/compat", "version": "570.26"}
    assert finding.advice == "remove /opt/compat from LD_LIBRARY_PATH"


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

    found = list(loader.driver_library(facts("Tesla T4", shell=shell, driver=driver)))

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
    found = list(loader.hidden(facts("one", "two", vendor=vendor, shell=Shell({name: value}))))

    assert coded(found) == ([("GPUS_HIDDEN", "warning")] if hides else [])
    for finding in found:
        assert finding.seen == {"variable": name, "value": value, "hidden": [0, 1]}
        assert finding.cure == f"unset {name}"
        assert finding.text.endswith("which hides every GPU")


def test_of_many_missing_libraries_four_are_shown() -> None:
    names = [f"lib{letter}.so" for letter in "abcde"]
    finding = only(loader.absent(facts(absent=tuple(Absent(name, "flash 2") for name in names))))

    assert "flash 2 needs liba.so, libb.so, libc.so, libd.so …, which" in finding.text
    assert finding.seen == {"package": "flash 2", "libraries": names}
    assert finding.advice is not None
    assert finding.advice.startswith("install the flash that was built for the CUDA of this torch")
    four = only(loader.absent(facts(absent=tuple(Absent(name, "torch 2.9.1") for name in names[:4]))))
    assert "libd.so, which" in four.text
    assert (four.advice, four.by_torch) == (None, True)


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12", "cuda-toolkit"])
def test_a_missing_library_is_said_with_the_package_that_should_have_brought_it(name: str) -> None:
    absent = (Absent("libcublas.so.12", "flash 2"), Absent("libc10.so", "flash 2"), Absent("libtorch.so", "flash 2"))
    lacks = facts(absent=absent, required=(MissingRequirement("flash 2", name, f"{name}==12"),))
    other = facts(absent=absent, required=(MissingRequirement("flash 2", "einops", "einops"),))
    trouble = PackageTrouble("flash", "flash 2", Objection(Reason.CUDA_MAJOR_MIXED))

    assert only(loader.absent(lacks)).seen["libraries"] == ["libc10.so", "libtorch.so"]
    assert only(loader.absent(facts(absent=absent, troubles=(trouble,)))).seen == only(loader.absent(lacks)).seen
    assert only(loader.absent(other)).seen["libraries"] == ["libcublas.so.12", "libc10.so", "libtorch.so"]
    for library in ("libc10.so", "libtorch.so"):
        advice = only(loader.absent(facts(absent=(Absent(library, "flash 2"),)))).advice
        assert advice == "install the release of flash that was built for this torch"


def test_of_many_replaced_libraries_four_are_shown_by_their_folder() -> None:
    overrides = tuple(Override(f"lib{letter}.so", folder) for folder in ("/one", "/two") for letter in "edcba")

    one, two = loader.library_path(facts(overrides=overrides))

    assert one.text.startswith("LD_LIBRARY_PATH puts /one first, so liba.so, libb.so, libc.so, libd.so come from there")
    assert two.seen == {"folder": "/two", "libraries": [f"lib{letter}.so" for letter in "abcde"]}


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
        ("torchvision", "0.16.0+cu117", "cu118", False),
        ("torchvision", "0.9.1+cu92", "cu111", True),
        ("torchvision", "1.2+cu126", "cu128", False),
        ("torchvision", "0.15.0a0+cu117", "cu118", True),
        ("torchvision", "main+cu126", "cu128", False),
        ("torchaudio", "0.15.2+cu117", "cu118", False),
        ("torchaudio", "0.9.0+cu90", "cu92", True),
    ],
)
def test_a_companion_goes_with_torch_within_one_cuda_major(
    name: str, version: str, backend: str, *, other: bool
) -> None:
    beside = TORCH._replace(backend=backend, version=f"2.9.1+{backend}")
    found = list(companions.other_cuda(facts(torch=beside, companions=(Companion(name, version),))))

    assert coded(found) == ([("COMPANION_OTHER_CUDA", "error")] if other else [])


def test_what_torchpick_does_not_pin_is_to_be_installed_by_hand() -> None:
    """Torchcodec is not pinned with torch, so the command that fixes torch does not bring it along."""
    mine = Companion("torchcodec", "0.9.0+cu130", "0.10.0")
    torch_without_label = TORCH._replace(version="2.9.1")

    other = only(companions.other_cuda(facts(torch=torch_without_label, companions=(mine,))))
    mismatch = only(companions.mismatch(facts(torch=TORCH, companions=(mine,))))

    assert other.advice == "install torchcodec from the same index as torch"
    assert other.text == "torchcodec 0.9.0+cu130 is installed beside torch 2.9.1 (a cu128 build)"
    assert mismatch.advice == "install torchcodec 0.10.0"
    assert not other.by_torch
    assert not mismatch.by_torch


def test_a_driver_that_gives_no_answer_is_said_and_nothing_is_concluded() -> None:
    silent = facts("GPU", torch=TORCH)
    trouble = Trouble("DRIVER_NOT_LOADED", "no answer", "load it")

    finding = only(hardware.silent(silent._replace(machine=silent.machine._replace(trouble=trouble))))

    assert (finding.text, finding.seen, finding.advice) == ("no answer", {"code": "DRIVER_NOT_LOADED"}, "load it")


def test_an_environment_without_its_python_and_one_without_a_wheel() -> None:
    gone = only(torch.interpreter(facts(here=HERE._replace(gone="its Python is gone"))))
    unwheeled = facts(unwheeled="no wheel is made for CPython 3.6")

    assert gone.seen == {"prefix": "/env", "why": "its Python is gone"}
    assert coded([gone]) == [("PYTHON_GONE", "error")]
    assert gone.advice == "create the environment again, and reinstall what is wanted in it"
    finding = only(torch.interpreter(unwheeled))
    assert coded([finding]) == [("NO_WHEEL_FOR_PYTHON", "error")]
    assert finding.seen == {"python": "cp312", "platform": "linux-x86_64"}
    assert finding.advice == "create an environment with a Python that has wheels: `torchpick list` names them"
    assert list(torch.interpreter(unwheeled._replace(torch=TORCH))) == []


@pytest.mark.parametrize(("count", "shown"), [(3, "a, b, c"), (4, "a, b, c and 1 more")])
def test_of_many_missing_files_three_are_shown(count: int, shown: str) -> None:
    names = ("a", "b", "c", "d")[:count]

    of_torch = only(torch.broken(facts(torch=TORCH._replace(missing=names))))
    package = only(
        whole.gone(facts(gone=(GoneFiles("needy", "needy 1.0", names), GoneFiles("torch", "torch 2", names))))
    )

    assert of_torch.text == f"torch 2.9.1+cu128 lacks {shown}"
    assert of_torch.seen == {"folder": "/env/lib", "missing": list(names)}
    assert package.text == f"needy 1.0 lacks {shown}"


def test_torch_in_several_folders_records_and_by_two_installers() -> None:
    records = (distribution("torch", "2.9.1"), distribution("torch", "2.8.0"), distribution("torch", "1", folder="/b"))
    conda = tuple(CondaPackage(name, "2.5.1", "py312_0") for name in ("numpy", "pytorch", "libtorch"))

    folders = only(torch.twice(facts(here=HERE._replace(torches=("/env/lib", "/b")))))
    same = only(torch.twice(facts(here=HERE._replace(distributions=records))))
    both = HERE._replace(distributions=(distribution("torch", "2.9.1", installer="uv"),), conda=conda)

    assert folders.text == "torch is in 2 folders of the search path; /env/lib comes first"
    assert folders.seen == {"folders": ["/env/lib", "/b"]}
    assert folders.advice == ("remove the others: `/env/bin/python -m pip uninstall torch` with each of their Pythons")
    assert same.advice == "`/env/bin/python -m pip uninstall torch` until none is left, then install one"
    assert same.seen == {"folder": "/env/lib", "versions": ["2.9.1", "2.8.0"]}
    finding = only(torch.twice(facts(here=both)))
    assert finding.seen == {"conda": ["pytorch 2.5.1 py312_0", "libtorch 2.5.1 py312_0"], "torch": "2.9.1"}
    assert finding.advice == "keep one: `conda remove pytorch libtorch`, then install torch again"
    by_conda = both._replace(distributions=(distribution("torch", "2.9.1", installer="conda"),))
    assert list(torch.twice(facts(here=by_conda))) == []


@pytest.mark.parametrize("name", ["pytorch", "libtorch", "pytorch-gpu", "pytorch-cpu"])
def test_each_of_condas_names_is_torchs(name: str) -> None:
    here = HERE._replace(distributions=(distribution("torch", "2.9.1"),), conda=(CondaPackage(name, "2.5.1", "0"),))

    assert coded(torch.twice(facts(here=here))) == [("TORCH_TWICE", "warning")]


def test_metadata_that_cannot_be_read_matters_where_it_is_the_familys() -> None:
    ours = ("torch", "torchvision", "torchaudio", "triton", "nvidia-nccl-cu12")
    here = HERE._replace(
        distributions=tuple(distribution(name, "1", "METADATA is gone", "RECORD is gone") for name in (*ours, "other")),
        faults=(Fault("/env/lib", "cannot be read"),),
    )

    first, *rest = torch.unreadable(facts(here=here))

    assert (first.text, first.seen) == ("/env/lib cannot be read", {"where": "/env/lib", "what": "cannot be read"})
    assert [finding.severity for finding in rest] == [*["warning"] * 5, "note"]
    assert rest[0].advice == "install torch again with `--force-reinstall`"
    assert rest[-1].advice is None
    assert rest[0].seen == {"where": "/env/lib/torch-1.dist-info", "what": "METADATA is gone, RECORD is gone"}
    conda = facts(here=here._replace(conda=(CondaPackage("x", "1", "0"),), faults=()))
    assert {finding.seen["what"] for finding in torch.unreadable(conda)} == {"METADATA is gone"}


def test_a_torch_without_metadata_is_known_to_no_installer() -> None:
    finding = only(torch.unreadable(facts(torch=TORCH)))

    assert finding.seen == {"where": "/env/lib", "what": "no metadata"}
    assert finding.advice == "remove the folder before another torch is installed"


def test_what_another_cuda_of_condas_means() -> None:
    names = ("cudatoolkit", "cuda-cudart", "cuda-runtime", "other")
    conda = tuple(CondaPackage(name, "11.8.0", "0") for name in names)
    by_pip = HERE._replace(distributions=(distribution("torch", "2.9.1"),), conda=conda)

    found = list(packages.runtimes(facts(here=by_pip, torch=TORCH)))

    assert coded(found) == [("TWO_CUDA_RUNTIMES", "note")] * 3
    assert [finding.seen for finding in found] == [
        {"packages": [f"{name} 11.8.0", "torch 2.9.1+cu128"], "file": None} for name in names[:3]
    ]
    same = by_pip._replace(conda=(CondaPackage("cudatoolkit", "12.1.0", "0"),))
    by_conda = by_pip._replace(distributions=(distribution("torch", "2.9.1", installer="conda"),))
    for here in (same, by_conda, by_pip._replace(distributions=())):
        assert list(packages.runtimes(facts(here=here, torch=TORCH))) == []
    assert list(packages.runtimes(facts(here=by_pip, torch=TORCH._replace(cuda=None)))) == []
    assert coded(packages.runtimes(facts(here=by_conda._replace(
        distributions=(distribution("torch", "2.9.1", installer="uv"),)), torch=TORCH))) == coded(found)  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "cuda", "drop", "keep"),
    [
        ("nvidia-cudnn-cu12 9.1", "nvidia-cudnn-cu13 9.2", "12.8", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12==9.1"),
        ("nvidia-cudnn-cu12 9.1", "nvidia-cudnn-cu13 9.2", "13.0", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13==9.2"),
        ("nvidia-cublas 13.1", "nvidia-cublas-cu12 12.8", "13.0", "nvidia-cublas-cu12", "nvidia-cublas==13.1"),
        ("nvidia-cublas 13.1", "nvidia-cublas-cu12 12.8", "12.8", "nvidia-cublas", "nvidia-cublas-cu12==12.8"),
        ("nvidia-x-custom 13.1", "nvidia-x 12.8", "13.0", "nvidia-x", "nvidia-x-custom==13.1"),
        ("nvidia-cudnn-cu12 9.1", "nvidia-cudnn-cu13 9.2", None, "nvidia-cudnn-cu12", "nvidia-cudnn-cu13==9.2"),
    ],
)
def test_of_two_with_one_file_torchs_own_is_installed_again(
    one: str, other: str, cuda: str | None, drop: str, keep: str
) -> None:
    both = facts(torch=TORCH._replace(cuda=cuda), twins=(TwinRuntimes(one, other, "lib.so"),))

    finding = only(packages.runtimes(both))

    assert finding.advice == (
        f"`/env/bin/python -m pip uninstall {drop}`, then "
        f"`/env/bin/python -m pip install --force-reinstall --no-deps {keep}`"
    )
    nobody = only(packages.runtimes(both._replace(environment=HERE._replace(executable=None), torch=None)))
    assert str(nobody.advice).startswith("`python -m pip uninstall")


def test_of_a_package_that_no_gpu_loads_what_it_was_built_for_is_said() -> None:
    arches = (Arch.parse("sm_80"), Arch.parse("sm_90a"))
    support = (GpuSupport(0, NOT), GpuSupport(1, RUNS), GpuSupport(2, NOT))
    package = InspectedPackage("kern", "1.0", arches, support)

    finding = only(packages.without_kernels(facts("one", "two", "one", packages=(package,))))

    assert finding.text == "kern 1.0 holds no code for one: it was built for sm_80 sm_90a"
    assert finding.seen == {"package": "kern 1.0", "arches": ["sm_80", "sm_90a"], "gpus": [0, 2], "libraries": {}}
    assert str(finding.advice).startswith("install a release of kern that was built for this GPU")
    assert not finding.by_torch
    partly = package._replace(name="torchaudio", support=(GpuSupport(0, PARTLY),))
    finding = only(packages.without_kernels(facts("one", packages=(partly,))))
    assert (finding.code, finding.advice, finding.by_torch) == ("PACKAGE_PARTLY", None, True)


@pytest.mark.parametrize(
    ("count", "shown"), [(20, "p19==1, and they are not"), (21, "p19==1 and 1 more, and they are not")]
)
def test_of_many_missing_requirements_twenty_are_shown(count: int, shown: str) -> None:
    required = tuple(MissingRequirement("torch 2", f"p{place}", f"p{place}==1") for place in range(count))

    assert shown.partition(", and")[0] in only(whole.required(facts(required=required))).text


def test_what_an_import_does_without_is_a_warning() -> None:
    spare = ("triton", "pytorch-triton", "filelock", "fsspec", "jinja2", "networkx")

    def severity(*names: str, found: bool = False) -> tuple[str, str | None]:
        required = tuple(MissingRequirement("torch 2", name, f"{name}>1") for name in names)
        finding = only(whole.required(facts(required=required, cuda_is_found=found)))
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
    required = (
        MissingRequirement("torch 2", "sympy", "sympy"),
        MissingRequirement("vision 1", "numpy", "numpy"),
        MissingRequirement("torch 2", "cuda-bindings", "cuda-bindings"),
        MissingRequirement("torch 2", "nvidia-nccl-cu12", "nvidia-nccl-cu12"),
    )

    one, two = whole.required(facts(required=required))

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
    rivals = facts(rivals=(Rivals(one, other, one),))
    with_pip = rivals._replace(environment=HERE._replace(distributions=(distribution("pip", "26.3"),)))
    version = "2" if keep == other.split()[0] else one.split()[1]

    finding = only(whole.twice(with_pip))

    assert finding.text == f"{one} and {other} install the same module; the files of {one} are there now"
    assert finding.seen == {"packages": [one, other], "winner": one}
    assert finding.cure == (
        f"/env/bin/python -m pip uninstall -y {keep} {drop} && /env/bin/python -m pip install {keep}=={version}"
    )
    assert finding.advice == f"to uninstall one alone would take files of {keep} away"
    assert str(only(whole.twice(rivals)).cure).startswith("uv pip uninstall --python /env/bin/python")


def test_files_come_back_by_the_installer_that_is_there() -> None:
    gone = facts(gone=(GoneFiles("needy", "needy 1.0", ("a",)),))
    with_pip = gone._replace(environment=HERE._replace(distributions=(distribution("pip", "26.3"),)))

    assert only(whole.gone(with_pip)).cure == "/env/bin/python -m pip install --force-reinstall --no-deps needy==1.0"
    assert only(whole.gone(gone)).cure == "uv pip install --python /env/bin/python --reinstall --no-deps needy==1.0"
    nobody = gone._replace(environment=HERE._replace(executable=None))
    assert only(whole.gone(nobody)).cure == "uv pip install --python python --reinstall --no-deps needy==1.0"


def test_at_most_fifty_missing_files_are_told_apart() -> None:
    missing = tuple(f"torch/{number}.py" for number in range(51))

    assert only(torch.broken(facts(torch=TORCH._replace(missing=missing)))).seen["missing"] == list(missing[:50])


def test_a_torch_that_is_not_there_and_one_of_which_only_the_record_is() -> None:
    record = HERE._replace(distributions=(distribution("torch", "2.9.1"),))

    finding = only(torch.missing(facts()))
    assert finding.seen == {"python": "/env/bin/python", "searched": ["/env/lib"]}
    assert finding.by_torch
    assert list(torch.missing(facts(torch_is_wanted=False))) == list(torch.missing(facts(here=record))) == []
    broken = only(torch.broken(facts(here=record)))
    assert broken.seen == {"folder": "/env/lib", "version": "2.9.1"}
    assert broken.by_torch
    assert list(torch.broken(facts())) == list(torch.broken(facts(torch=TORCH, here=record))) == []


def test_debian_and_conda_leave_the_record_out() -> None:
    def told(folder: str, *conda: CondaPackage) -> list[object]:
        one = distribution("triton", "1", "RECORD is gone", folder=folder)
        here = HERE._replace(distributions=(one,), conda=conda)
        return [finding.seen["what"] for finding in torch.unreadable(facts(here=here))]

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
    beside = facts(torch=TORCH._replace(backend=backend))
    beside = beside._replace(machine=MACHINE._replace(gpus=gpus))

    found = [*hardware.cpu_only(beside), *hardware.other_vendor(beside)]

    assert [finding.code for finding in found] == ([] if check is None else [check])
    for finding in found:
        assert finding.seen == {"torch": "2.9.1+cu128", "gpus": [*range(len(gpus))]}
        assert finding.by_torch
        assert finding.text.endswith(f"and there is {', '.join(gpu.label for gpu in gpus)}")
        assert ("for NVIDIA GPUs" in finding.text, "for AMD GPUs" in finding.text) == (
            backend == "cu128", backend == "rocm6.4"
        )  # fmt: skip
    assert list(hardware.cpu_only(beside._replace(torch=None))) == []
    assert list(hardware.other_vendor(beside._replace(torch=None))) == []


@pytest.mark.parametrize(
    ("floor", "arch", "vendor", "told"),
    [
        ((7, 5), "sm_70", "nvidia", True), ((7, 0), "sm_70", "nvidia", False), (None, "sm_70", "nvidia", False),
        ((7, 5), None, "nvidia", False), ((7, 5), "gfx906", "amd", False),
    ],
)  # fmt: skip
def test_triton_compiles_for_the_gpus_that_it_supports(
    floor: tuple[int, int] | None, arch: str | None, vendor: str, *, told: bool
) -> None:
    gpu = Gpu(3, vendor, "GPU", None if arch is None else Arch.parse(arch))
    with_triton = HERE._replace(distributions=(distribution("triton", "3.5.1"),))
    there = facts(torch=TORCH, here=with_triton, triton_floor=floor)._replace(machine=MACHINE._replace(gpus=(gpu,)))

    found = list(hardware.triton(there))

    assert [finding.seen for finding in found] == ([{"library": "triton 3.5.1", "gpus": [3]}] if told else [])
    for finding in found:
        assert finding.text == f"triton 3.5.1 supports sm_75 and newer, not {gpu.label}"
        assert finding.advice == "run without torch.compile there, or set TORCHDYNAMO_DISABLE=1"
    assert list(hardware.triton(there._replace(torch=None))) == []
    assert list(hardware.triton(there._replace(environment=HERE))) == []


@pytest.mark.parametrize(
    ("where", "backend", "text", "cure", "advice"),
    [
        ("the environment", "cu130", "leads to cu130 builds", "unset NAME", None),
        ("/etc/pip.conf", "cu130", "leads to cu130 builds", None, "remove that line from /etc/pip.conf"),
        ("the environment", None, "offers builds of every backend", "unset NAME", None),
        ("the environment", "cu128", None, None, None),
        ("the environment", "auto", None, None, None),
    ],
)
def test_a_setting_that_leads_elsewhere_is_to_go(
    where: str, backend: str | None, text: str | None, cure: str | None, advice: str | None
) -> None:
    setting = TorchSetting("NAME", where, "value", backend)
    here = facts(settings=(setting,), wanted=WantedTorch("2.9.1", "cu128"))

    found = list(settings.undo(here))

    assert [(finding.text, finding.cure, finding.advice, finding.seen) for finding in found] == (
        [] if text is None
        else [(f"NAME in {where} {text}, and cu128 is the one to keep", cure, advice,
               {"setting": "NAME", "where": where, "value": "value", "backend": backend})]
    )  # fmt: skip
    assert list(settings.undo(here._replace(wanted=None))) == []


def test_the_auto_of_uv_is_told_only_where_it_fails() -> None:
    auto = TorchSetting("NAME", "uv.toml", "auto", "auto")
    here = facts(settings=(auto._replace(backend="cu126"), auto), uv_auto_fails=True)

    finding = only(settings.uv_auto(here))

    assert finding.seen == {"setting": "NAME", "where": "uv.toml", "value": "auto", "backend": "auto"}
    assert finding.advice is None
    assert only(settings.uv_auto(here._replace(wanted=WantedTorch("2.9.1", "cu126")))).advice == "set it to cu126"
    assert list(settings.uv_auto(here._replace(uv_auto_fails=False))) == []


@pytest.mark.parametrize(
    ("locked", "wanted", "is_there", "undoes"),
    [
        (("2.9.1+cu128",), "2.9.1+cu128", True, False),
        (("2.9.1",), "2.9.1+cu128", True, False),  # as the metadata has it, where torch stays as it is
        (("2.9.1",), "2.9.1+cu126", True, True),
        (("2.9.1",), "2.9.1+cu128", False, True),
        (("2.8.0", "2.9.1"), "2.9.1+cu128", True, False),
        (("2.8.0",), "2.9.1+cu128", True, True),
    ],
)
def test_a_lock_must_hold_the_torch_to_keep(
    locked: tuple[str, ...], wanted: str, *, is_there: bool, undoes: bool
) -> None:
    here = HERE._replace(distributions=(distribution("torch", "2.9.1"),))
    there = facts(here=here, lock=ProjectLock("uv.lock", locked), wanted=WantedTorch(wanted, "cu128"))
    there = there._replace(torch=TORCH if is_there else None)

    found = list(settings.lock(there))

    assert [finding.seen for finding in found] == (
        [{"file": "uv.lock", "locked": list(locked), "wanted": wanted}] if undoes else []
    )
    for finding in found:
        assert finding.text == f"uv.lock holds torch {', '.join(locked)}, and {wanted} (cu128) is the one to keep"
        assert str(finding.advice).startswith("write the backend into the project")
    assert list(settings.lock(there._replace(lock=None))) == list(settings.lock(there._replace(wanted=None))) == []


def judged(*objections: Objection, fits: tuple[GpuFit, ...] = ()) -> InstalledTorch:
    """The torch with resolve's verdict on it; what else a verdict has is no matter to a check."""
    rest: Any = None
    return TORCH._replace(verdict=Verdict(rest, objections, fits, native=True, rank=rest))


def test_a_gpu_for_which_code_is_compiled_first_is_told_from_one_beside_it() -> None:
    fits = (GpuFit(0, Fit.EXACT, None), GpuFit(1, Fit.JIT, None), GpuFit(2, Fit.JIT, None))

    finding = only(hardware.compiled_at_first_use(facts("one", "two", "three", torch=judged(fits=fits))))

    assert finding.text == "torch 2.9.1+cu128 has only PTX for two, three"
    assert finding.seen == {
        "torch": "2.9.1+cu128", "arches": ["sm_86"], "evidence": "measured", "where": "/env/lib/torch", "gpus": [1, 2],
    }  # fmt: skip
    for beside in (judged(fits=fits[:1]), judged(Objection(Reason.YANKED), fits=fits), TORCH, None):
        assert list(hardware.compiled_at_first_use(facts("one", torch=beside))) == []


def test_a_library_with_part_of_its_code_is_told_where_the_rest_runs() -> None:
    partial = (PartialLibrary("libtorch_cuda_linalg.so", 0, "half"), PartialLibrary("libother.so", 1, "none"))
    fits = (GpuFit(0, Fit.EXACT, None), GpuFit(1, Fit.NONE, None))
    there = facts("one", "two", torch=judged(fits=fits)._replace(partial=partial, measured=False, arches=None))

    finding = only(hardware.partial(there))

    assert finding.text == "libtorch_cuda_linalg.so of torch 2.9.1+cu128 supports one only in part: half"
    assert finding.seen == {
        "torch": "2.9.1+cu128", "arches": None, "evidence": "declared", "where": "/env/lib/torch",
        "library": "libtorch_cuda_linalg.so", "gpus": [0],
    }  # fmt: skip
    assert str(finding.advice).startswith("LU of large matrices")
    assert list(hardware.partial(facts())) == []


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
    gpus = facts("one", "two", "three", torch=judged(*objections))

    found = list(hardware.unsupported(gpus))

    assert [finding.code for finding in found] == ([] if code is None else [code])
    for finding in found:
        assert finding.text == ("driver H does not support G: W" if text is None else f"torch 2.9.1+cu128{text}")
        assert (finding.seen["gpus"], finding.seen["cuda"], finding.seen["arches"]) == ([0, 2], "C", ["sm_86"])
        assert finding.advice == advice
        assert finding.by_torch == (text is not None)
    of_all = gpus._replace(torch=judged(Objection(reason, said)))
    assert [finding.seen["gpus"] for finding in hardware.unsupported(of_all)] == [[0, 1, 2]] * len(found)
    for nothing in (
        gpus._replace(torch=None), gpus._replace(torch=TORCH),
        gpus._replace(torch=judged(*objections)._replace(backend="cpu")),
        gpus._replace(torch=judged(*objections)._replace(backend="rocm6.4")),
        gpus._replace(machine=gpus.machine._replace(trouble=Trouble("DRIVER_NOT_LOADED", "no answer", "load it"))),
    ):  # fmt: skip
        assert list(hardware.unsupported(nothing)) == []
