"""What must hold of every stack, whichever way the search went: judged anew from the table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from packaging.requirements import Requirement

from tests.stories.asking import catalog, plan
from torchpick.model.arch import Arch, Fit, best
from torchpick.model.package import Package, Stack
from torchpick.model.versions import marker_facts

REQUESTS = (
    ("vllm<0.15", "torchaudio"), ("sglang",), ("xformers", "torchvision"), ("unsloth",), ("torch", "torchcodec"),
    ("bitsandbytes", "xformers"), ("jax[cuda12]", "torch"), ("tensorflow[and-cuda]", "xformers"),
    ("vllm", "onnxruntime-gpu"), ("speechbrain", "ctranslate2"),
)  # fmt: skip
MACHINES = (
    ("sm_61", "580.95.05"), ("sm_70", "550.54.15"), ("sm_75", "535.183.01"), ("sm_80", "525.147.05"),
    ("sm_86", "580.95.05"), ("sm_90", "610.43.02"), ("sm_100", "570.86.10"), ("sm_120", "575.51.02"),
    ("sm_120", "580.95.05"),
)  # fmt: skip

ENVIRONMENT = marker_facts("3.12", platform="linux-x86_64")


def chosen(stack: Stack) -> dict[str, Package]:
    known = catalog()
    return {
        pin.name: next(each for each in known[pin.name].versions if each.version == pin.version)
        for pin in stack.packages
        if pin.name in known and pin.name != "torch"
    }


@pytest.mark.parametrize("asked", REQUESTS, ids=" ".join)
def test_an_answer_is_one_that_runs(asked: tuple[str, ...]) -> None:
    answers = 0
    for gpu, driver in MACHINES:
        stack = plan(*asked, gpu=gpu, driver=driver)
        if not stack.ok:
            assert stack.objections, (asked, gpu, driver)
            continue
        answers += 1
        _check(stack, Arch.parse(gpu), driver)
    assert answers


def _check(stack: Stack, gpu: Arch, driver: str) -> None:
    packages = chosen(stack)
    torch = stack.version("torch")
    major = None if torch is None else torch.partition("+cu")[2][:2]
    newest = 13 if int(driver.split(".", maxsplit=1)[0]) >= 580 else 12
    versions = {pin.name: pin.version for pin in stack.packages}
    for name, package in packages.items():
        if package.links_torch and package.major is not None:
            assert str(package.major) == major, (name, torch)
        assert package.major is None or package.major <= newest, (name, driver)
        for library in package.code or ():
            mine = library.cuda is None or (torch or "").endswith(library.cuda.replace(".", ""))
            assert not (library.main and mine) or best(library.arches, gpu)[0] is not Fit.NONE, (name, library.path)
        for text in package.requires:
            requirement = Requirement(text)
            version = versions.get(requirement.name)
            holds = requirement.marker is None or requirement.marker.evaluate(dict(ENVIRONMENT))
            if version is not None and holds:
                assert requirement.specifier.contains(version), (name, text, version)


@pytest.mark.parametrize("machines", [MACHINES[::8], pytest.param(MACHINES[2:8:2], marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["vllm", "xformers", "onnxruntime-gpu", "sglang-kernel", "torchcodec"])
def test_no_newer_version_would_have_fitted(name: str, machines: Sequence[tuple[str, str]]) -> None:
    """Each passed over by itself, without the search among versions."""
    known = [package.version for package in catalog()[name].versions]
    for gpu, driver in machines:
        stack = plan(name, "torch", gpu=gpu, driver=driver)
        taken = stack.version(name)
        for version in known[: len(known) if taken is None else known.index(taken)]:
            alone = plan(f"{name}=={version}", "torch", gpu=gpu, driver=driver)
            notes = {note.code for note in alone.notes}
            assert not alone.ok or notes & {"LOADER_PATH", "CUDA_MAJOR_MIXED"}, (version, gpu, driver)
