"""An app's extras are exact builds, one for each backend that its users' GPUs need."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from torchpick.environment.projectfile import Project, ProjectSetting
from torchpick.errors import UsageError
from torchpick.knowledge import compat
from torchpick.model.pick import Request
from torchpick.projects import app
from torchpick.projects.extras import PLATFORMS, Extra, Plan, settings_of
from torchpick.run import start_run

TABLE = compat.Knowledge(os.environ).table(PLATFORMS)


def own(*requirements: str, python: str = "", base: str = "https://download.pytorch.org/whl") -> app.App:
    run = start_run(Request(index_base=base, offline=True))
    return app.App(run, Project(requires_python=python, requirements=requirements), TABLE)


def requirements(found: app.App, backend: str) -> tuple[str, ...]:
    (extra,) = planned(found, backend).extras
    return extra.requirements


def planned(found: app.App, *backends: str, sources: Mapping[str, object] | None = None) -> Plan:
    names = {name.replace(".", "-"): name for name in backends or found.backends()}
    return app.plan(found, names, sources_before=sources)


@pytest.mark.parametrize(
    ("torch", "requires_python", "expected"),
    [
        (">=2.5", ">=3.11", ["cpu", "cu126", "cu132"]), ("", "", ["cpu", "cu126", "cu132"]),
        ("<2.10", ">=3.10", ["cpu", "cu126", "cu129", "cu130"]), (">=2.15", ">=3.11", ["cpu", "cu132"]),
        (">=2.0", ">=3.9", ["cpu", "cu118", "cu126", "cu129"]), (">=2.0", ">=3.8.4", ["cpu", "cu118", "cu124"]),
    ],
)  # fmt: skip
def test_the_backends_are_those_that_the_gpus_need(torch: str, requires_python: str, expected: list[str]) -> None:
    found = own(f"torch{torch}", python=requires_python).backends()

    assert list(found) == expected


def test_a_companion_is_counted_before_the_backends_are_chosen() -> None:
    """cu132 holds no torchaudio (compat/companions.json), so no extra is named after it."""
    plan = planned(own("torchaudio", python=">=3.11"))

    assert [extra.name for extra in plan.extras][:2] == ["cpu", "cu126"]
    assert len(plan.extras) >= 3
    assert "cu132" not in [extra.name for extra in plan.extras]
    for extra in plan.extras:
        assert any(line.startswith("torchaudio==") for line in extra.requirements)


LINUX, WINDOWS = "sys_platform == 'linux'", "sys_platform == 'win32'"
OF_EXTRA = [{"index": "own", "extra": "gpu"}]  # which is nobody's who does not name it


def test_each_system_has_the_wheels_that_are_published_for_it() -> None:
    """A Mac has plain wheels of the cpu backend; nobody saw cu132's of 2.15.0 for Windows."""
    cpu, cu126, cu132 = planned(own(python=">=3.11")).extras

    assert cpu.requirements == (
        f"torch==2.15.0+cpu ; {LINUX} or {WINDOWS}",
        "torch==2.15.0 ; sys_platform == 'darwin'",
    )
    assert cu126.requirements == (f"torch==2.14.1+cu126 ; {LINUX} or {WINDOWS}",)
    assert cu132.requirements == (f"torch==2.15.0+cu132 ; {LINUX}",)


def test_what_the_author_has_for_windows_and_macos_stays() -> None:
    sources = {"torch": [{"index": "pytorch-cu130", "marker": f"{LINUX} or {WINDOWS}"}], "torchvision": OF_EXTRA}

    plan = planned(own("torchvision", python=">=3.11"), "cu126", sources=sources)

    (extra,) = plan.extras
    assert extra.requirements[0] == f"torch==2.14.1+cu126 ; {LINUX}"
    assert extra.requirements[1] == f"torchvision==0.29.1+cu126 ; {LINUX} or {WINDOWS}"
    assert [entry["marker"] for entry in plan.sources["torch"]] == [LINUX]


@pytest.mark.parametrize(
    ("torch", "backend", "triton"),
    [
        ("torch==2.14.1", "rocm7.2", "triton-rocm"),
        ("torch==2.8.0", "rocm6.4", "pytorch-triton-rocm"),
        ("torch==2.14.1", "xpu", "triton-xpu"),
    ],
)
def test_triton_of_other_vendors_is_a_dependency_with_a_source(torch: str, backend: str, triton: str) -> None:
    """What torch requires uv takes from the default index, where nobody has it."""
    plan = planned(own(torch, python=">=3.11"), backend)

    (extra,) = plan.extras
    assert extra.name == backend.replace(".", "-")
    assert triton in [line.partition(" ;")[0] for line in extra.requirements]
    assert plan.sources[triton] == plan.sources["torch"]


@pytest.mark.parametrize(
    ("words", "python", "backend"),
    [
        ("torch<2.0", "", "cu132"), ("torch>=99", "", "cu126"), ("torch", ">=3.20", "cu126"), ("torch", "", "cu999"),
        ("torchaudio", "", "cu132"),  # whose index holds none
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused(words: str, python: str, backend: str) -> None:
    with pytest.raises(UsageError) as caught:
        requirements(own(words, python=python), backend)

    assert caught.value.hint


def test_a_mirror_takes_the_wheel_hosts_place_and_a_flat_one_cannot() -> None:
    plan = planned(own(python=">=3.11", base="https://mirror.example/whl"), "cu126")

    assert [*plan.indexes.values()] == ["https://mirror.example/whl/cu126"]
    with pytest.raises(UsageError, match="flat mirror"):
        planned(own(python=">=3.11", base="flat+https://m.example"), "cu126")


def test_where_no_backend_fits_the_first_one_says_so() -> None:
    with pytest.raises(UsageError, match=r"no build of `torch>=99` for cpu is known"):
        planned(own("torch>=99", python=">=3.11"))


# What a project needs that it does not name, by the table of packages.


@pytest.mark.parametrize(
    ("needs", "pinned"),
    [
        (("timm",), ["torch", "torchvision"]), (("speechbrain",), ["torch", "torchaudio"]),
        (("speechbrain", "timm"), ["torch", "torchvision", "torchaudio"]), (("numpy", "nonesuch"), ["torch"]),
    ],
)  # fmt: skip
def test_companions_below_known_packages(needs: tuple[str, ...], pinned: list[str]) -> None:
    pins = requirements(own(*needs, python=">=3.11"), "cu126")

    assert [line.partition("==")[0] for line in pins] == pinned


def test_what_is_built_against_torch() -> None:
    found = own("flash-attn", "llama-cpp-python", "timm", "torch-scatter", python=">=3.11")

    assert found.builds_with_torch == ("flash-attn", "torch-scatter")


@pytest.mark.parametrize(
    ("needs", "extras"),
    [
        # vllm 0.33.0 pins torch 2.14.0 for CUDA 13, 0.19.1 torch 2.10.0 for CUDA 12 (compat/packages/vllm.json).
        (("vllm",), {"cu126": "2.10.0", "cu129": "2.10.0", "cu130": "2.14.0"}),
        # Each release of xformers links CUDA 12, so nothing of CUDA 13 goes with it, and not the cpu build.
        (("xformers",), {"cu126": "2.14.1", "cu129": "2.13.0"}),
        (("timm",), {"cpu": "2.15.0", "cu126": "2.14.1", "cu132": "2.15.0"}),
    ],
)
def test_an_extra_is_a_torch_that_the_projects_packages_go_with(needs: tuple[str, ...], extras: dict[str, str]) -> None:
    plan = planned(own(*needs, python=">=3.11"))

    pins = {extra.name: extra.requirements[0].partition("==")[2].partition("+")[0] for extra in plan.extras}
    assert pins == extras


# How the file says it.

CU126 = Extra("cu126", ("torch==2.14.1",), ("short", " ".join(letter * 45 for letter in "xyz")), "cu126")
CPU = Extra("cpu", ("torch>=2.5",), ())
PAGES = {"pytorch-cu126": "https://host.example/cu126"}


def written(plan: Plan) -> dict[str, object]:
    return {".".join(setting.path): setting.value for setting in settings_of(plan).settings}


@pytest.mark.parametrize(("groups", "kind"), [(False, "extra"), (True, "group")])
def test_an_app_s_extras_have_their_sources_and_exclude_each_other(groups: bool, kind: str) -> None:
    entries = ({"index": "pytorch-cu126", kind: "cu126"},)
    plan = Plan((CU126, CPU), groups, PAGES, {"torch": entries}, ("flash-attn",), ("mine", "cu126", "cpu"))
    found = settings_of(plan)

    assert written(plan) == written(Plan((CU126, CPU), groups)) | {
        "tool.uv.sources.torch": [{"index": "pytorch-cu126", kind: "cu126"}],
        "tool.uv.extra-build-dependencies.flash-attn": [{"requirement": "torch", "match-runtime": True}],
        "tool.uv.conflicts": [[{kind: "mine"}, {kind: "cu126"}, {kind: "cpu"}]],
    }
    entry = {"name": "pytorch-cu126", "url": "https://host.example/cu126", "explicit": True}
    assert found.entries == (ProjectSetting(("tool", "uv", "index"), entry),)
    assert found.binding == {"torch"}
    assert "tool.uv.conflicts" not in written(plan._replace(conflicts=("cu126",)))
