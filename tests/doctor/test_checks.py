"""What the checks make of a subject: GPUs of many makers, shells and images, which no folder of a test can have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from torchpick.decide.demands import PackageDemand
from torchpick.doctor import depends, loading, presence
from torchpick.doctor.depends import Demand
from torchpick.doctor.subject import EnvironmentUnderTest
from torchpick.environment.distributions import (
    Distribution,
    Environment,
)
from torchpick.model.finding import Finding
from torchpick.model.machine import Gpu, Machine, Platform, Python
from torchpick.model.pick import Request
from torchpick.run import start_run

HERE = Environment(Python("3.12", executable="/env/bin/python"), "/env", sites=("/env/lib",))
MACHINE = Machine(Platform("linux", "x86_64"), Python("3.12"))


def distribution(
    name: str, version: str, *faults: str, installer: str = "pip", folder: str = "/env/lib"
) -> Distribution:
    info = f"{name}-{version}.dist-info"
    return Distribution(name, version, folder, info, installer=installer, faults=faults)


def subject(
    *names: str, vendor: str = "nvidia", here: Environment = HERE, environ: Mapping[str, str] = {}, **more: Any
) -> EnvironmentUnderTest:
    """With these GPUs, and with what else would be read of the environment."""
    gpus = tuple(Gpu(place, vendor, name, None) for place, name in enumerate(names))
    machine = MACHINE._replace(gpus=gpus)
    found = EnvironmentUnderTest(start_run(Request(gpus=("none",)), environ), here, machine, torch_alone=False)
    vars(found).update({"torch": None, "_inspection": ((), ()), "known": {}, **more})
    return found


def demand(by: str, name: str, specifier: str = "") -> Demand:
    name_, _, version = by.partition(" ")
    return distribution(name_, version), PackageDemand(name, specifier)


def coded(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    return [(finding.code, finding.severity) for finding in findings]


def only(findings: Iterable[Finding]) -> Finding:
    (finding,) = findings
    return finding


@pytest.mark.parametrize(("vendor", "name", "value", "hides"), [
        ("nvidia", "CUDA_VISIBLE_DEVICES", "", True), ("nvidia", "CUDA_VISIBLE_DEVICES", " -1,0", True),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "-GPU", True), ("nvidia", "CUDA_VISIBLE_DEVICES", "none", True),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "0", False), ("nvidia", "CUDA_VISIBLE_DEVICES", "+0,x", False),
        ("nvidia", "CUDA_VISIBLE_DEVICES", "GPU-8f3", False), ("nvidia", "HIP_VISIBLE_DEVICES", "", False),
        ("amd", "HIP_VISIBLE_DEVICES", "", True), ("amd", "ROCR_VISIBLE_DEVICES", "-1", True),
        ("amd", "ROCR_VISIBLE_DEVICES", "0", False), ("amd", "CUDA_VISIBLE_DEVICES", "", False),
])  # fmt: skip
def test_a_variable_that_hides_every_gpu_is_named(vendor: str, name: str, value: str, *, hides: bool) -> None:
    found = list(loading.hidden(subject("one", "two", vendor=vendor, environ={name: value})))

    assert coded(found) == ([("GPUS_HIDDEN", "warning")] if hides else [])
    for finding in found:
        assert finding.seen == {"variable": name, "value": value, "hidden": [0, 1]}
        assert finding.cure == f"unset {name}"
        assert finding.text.endswith("which hides every GPU")


def test_of_many_missing_libraries_four_are_shown() -> None:
    names = [f"lib{letter}.so" for letter in "abcde"]
    finding = only(loading.nowhere([(name, "flash 2") for name in names], set()))

    assert "flash 2 needs liba.so, libb.so, libc.so, libd.so and 1 more, which" in finding.text
    assert finding.seen == {"package": "flash 2", "libraries": names}
    assert finding.advice is not None
    assert finding.advice.startswith("install the flash that was built for the CUDA of this torch")
    four = only(loading.nowhere([(name, "torch 2.9.1") for name in names[:4]], set()))
    assert "libd.so, which" in four.text
    assert (four.advice, four.by_torch) == (None, True)


@pytest.mark.parametrize(("name", "version", "backend", "other"), [
        ("torchvision", "0.24.1+cu128", "cu128", False), ("torchvision", "0.24.1+cu126", "cu128", False),
        ("torchvision", "0.24.1+cu130", "cu128", True), ("torchvision", "0.24.1+cpu", "cu128", True),
        ("torchvision", "0.24.1+rocm6.4", "cu128", True), ("torchvision", "0.24.1+rocm6.4", "rocm6.3", False),
        ("torchvision", "0.24.1+xpu", "cu128", True), ("torchvision", "0.24.1+xpu", "xpu", False),
        ("torchvision", "0.24.1+local", "cu128", False), ("torchvision", "0.24.1", "cu128", False),
        ("torchvision", "0.15.2+cu117", "cu118", True), ("torchvision", "0.15.2+cu118", "cu118", False),
        ("torchvision", "0.16.0+cu117", "cu118", False), ("torchvision", "0.9.1+cu92", "cu111", True),
        ("torchvision", "1.2+cu126", "cu128", False), ("torchvision", "0.15.0a0+cu117", "cu118", True),
        ("torchvision", "main+cu126", "cu128", False), ("torchaudio", "0.15.2+cu117", "cu118", False),
        ("torchaudio", "0.9.0+cu90", "cu92", False),
])  # fmt: skip
def test_a_companion_goes_with_torch_within_one_cuda_major(
    name: str, version: str, backend: str, *, other: bool
) -> None:
    assert depends.is_for_another(name, version, backend) is other


def test_torch_in_several_folders_and_records() -> None:
    records = (distribution("torch", "2.9.1"), distribution("torch", "2.8.0"))

    folders = only(presence.twice(subject(here=HERE._replace(torches=("/env/lib", "/b")))))
    same = only(presence.twice(subject(here=HERE._replace(distributions=records))))

    assert folders.text == "torch is there 2 times: /env/lib, /b"
    assert folders.advice == "`uv pip uninstall --python /env/bin/python torch` until none is left, then install one"
    assert same.seen == {"folders": [f"/env/lib/{record.info}" for record in records]}
    assert not [*presence.twice(subject(here=HERE._replace(distributions=records[:1])))]


def test_metadata_that_cannot_be_read_matters_where_it_is_the_familys() -> None:
    ours = ("torch", "torchvision", "torchaudio", "triton", "nvidia-nccl-cu12")
    here = HERE._replace(
        distributions=tuple(distribution(name, "1", "METADATA is gone", "RECORD is gone") for name in (*ours, "other")),
        faults=(("/env/lib", "cannot be read"),),
    )

    first, *rest = presence.unreadable(subject(here=here))

    assert (first.text, first.seen) == ("/env/lib cannot be read", {"where": "/env/lib", "what": "cannot be read"})
    assert [finding.severity for finding in rest] == ["warning"] * 5
    assert rest[0].advice == "remove that folder, and install torch again"
    assert rest[0].seen == {"where": "/env/lib/torch-1.dist-info", "what": "METADATA is gone, RECORD is gone"}
    conda = subject(here=here._replace(conda=True, faults=()))
    assert {finding.seen["what"] for finding in presence.unreadable(conda)} == {"METADATA is gone"}


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


def test_debian_and_conda_leave_the_record_out() -> None:
    def told(folder: str, *, conda: bool = False) -> list[object]:
        one = distribution("triton", "1", "RECORD is gone", folder=folder)
        here = HERE._replace(distributions=(one,), conda=conda)
        return [finding.seen["what"] for finding in presence.unreadable(subject(here=here))]

    assert told("/env/lib") == ["RECORD is gone"]
    assert told("/usr/lib/python3/dist-packages") == told("/env/lib", conda=True) == []
