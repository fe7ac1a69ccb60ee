"""An answer as the installer's job: what it brings, binds and adds, and what of the order it passes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.install.jobs import TARGET
from torchpick.decide.answer import Answer
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.handover import Learnt, job_of
from torchpick.install.job import Job
from torchpick.model.machine import Note
from torchpick.model.pick import Request
from torchpick.run import start_run

AMPERE = Request(gpus=("sm_80",), driver="535.183.01", platform="linux-x86_64", python="3.12", glibc="2.35")
PIP = {"pip": "26.3"}
NOTE = Note("LEARNT", "something was learnt")
# What onnxruntime-gpu 1.26.0 links, where no torch brings it.
ADDED = (
    "nvidia-cublas-cu12==12.*", "nvidia-cuda-runtime-cu12==12.*", "nvidia-cudnn-cu12==9.*",
    "nvidia-cufft-cu12==11.*", "nvidia-curand-cu12==10.*",
)  # fmt: skip
ORT = {"onnxruntime-gpu": "1.26.0"}


def handed(
    *words: str,
    there: dict[str, str] = PIP,
    request: Request = AMPERE,
    installer: str = "pip",
    **order: Any,
) -> Job:
    found = requirements.read_requirements(RequirementArgs(words), {})
    target = TARGET._replace(installed=there)
    asking = TargetQuestion(
        start_run(request, {"UV": "/tools/uv"}), Order(found.given, installer, **order), found, target
    )
    catalog = asking.run.read_catalog(asking.machine)
    answer = asking.answer_or_needs(catalog)
    assert isinstance(answer, Answer)
    return job_of(asking, Learnt(answer, catalog, (NOTE,)))


@pytest.mark.parametrize(
    ("words", "more", "made", "codes"),
    [
        (("torch", "torchvision"), {}, {"needs": {"torch"}}, []),
        (("torchvision",), {"no_deps": True}, {"no_deps": True}, []),
        (("numpy",), {}, {}, []),
        (("numpy",), {"there": {**PIP, "torch": "2.9.1+cu126"}}, {"needs": {"torch"}}, []),
        (
            ("vllm",),
            {"upgrade": True, "passed_on": ("--no-cache-dir",)},
            {
                "pins": {"vllm": "0.19.1"}, "needs": {"torch", "torchvision", "torchaudio"},
                "upgrade": True, "passed_on": ("--no-cache-dir",),
            },
            ["PACKAGE_MOVED"],
        ),
        (("onnxruntime-gpu",), {}, {"pins": ORT, "added": ADDED}, ["LOADER_PATH", "PACKAGE_MOVED"]),
        # Torch brings CUDA's libraries.
        (("onnxruntime-gpu", "torch"), {}, {"pins": ORT, "needs": {"torch"}}, ["PACKAGE_MOVED"]),
        (
            ("onnxruntime-gpu", "onnxruntime"),
            {},
            {"pins": ORT, "added": ADDED},
            ["LOADER_PATH", "PACKAGE_MOVED", "SAME_MODULE"],
        ),
    ],
)  # fmt: skip
def test_what_a_job_is_made_of(
    words: tuple[str, ...], more: dict[str, Any], made: dict[str, Any], codes: list[str]
) -> None:
    job = handed(*words, **more)

    fields = (
        "pins", "needs", "files", "added", "left_out", "upgrade", "no_deps", "offline", "passed_on",
        "cuda_installed", "elsewhere",
    )  # fmt: skip
    assert {name: getattr(job, name) for name in fields if getattr(job, name)} == made
    assert [note.code for note in job.notes] == [*codes, "LEARNT"]
    assert (job.requirements.given.words, job.target.prefix) == (words, "/env")


def test_uv_leaves_out_what_installs_the_same_module_and_pip_cannot() -> None:
    asked = ("onnxruntime-gpu", "onnxruntime")

    def said(job: Job) -> str:
        (note,) = (note for note in job.notes if note.code == "SAME_MODULE")
        return note.text

    pip, uv = handed(*asked), handed(*asked, installer="uv")
    there = handed(*asked, installer="uv", there={**PIP, "onnxruntime": "1.0"})

    assert (pip.left_out, uv.left_out) == ((), ("onnxruntime",))
    assert len({said(pip), said(uv)}) == 2
    assert said(there) == said(pip)  # what is there already is not left out
