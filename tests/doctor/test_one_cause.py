"""A symptom in a text and the same fact in an environment lead to the same finding, words and command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.doctor.homes import CU126, CU128, Home
from torchpick.doctor import examination, explanation, texts
from torchpick.model.fields import Fields
from torchpick.model.finding import Ailment
from torchpick.model.machine import Machine, Platform, Python, Trouble
from torchpick.model.pick import Request
from torchpick.run import Run, start_run

ROOT = Path(__file__).parents[2]
KNOWN = texts.read_signatures(Fields(json.loads((ROOT / "compat" / "errors.json").read_text("utf-8"))))


def explained(root: Path, text: str, request: Request | None = None) -> explanation.Explanation:
    run = start_run(request or Request(), {"HOME": str(root), "VIRTUAL_ENV": str(root)})
    return explanation.explain([text.encode()], run)


@pytest.mark.process
@pytest.mark.parametrize(
    ("torch", "cuda", "flags", "beside", "words", "gpu", "driver"),
    [
        ("2.9.1+cpu", None, None, None, "Torch not compiled with CUDA enabled", "RTX 3090", "580.95.05"),
        ("2.9.1+cu128", "12.8", CU128, None, "no kernel image is available", "GTX 1080 Ti", "580.95.05"),
        ("2.9.1+cu130", "13.0", CU126, None, "NVIDIA driver on your system is too old", "RTX 3090", "550.127.08"),
        ("2.9.1+cu126", "12.6", CU126, ("torchvision", "0.23.0+cu126"), "torchvision::nms", "RTX 3090", "580.95.05"),
        ("2.2.2+cu121", "12.1", CU126, ("numpy", "2.1.3"), "RuntimeError: Numpy is not available", "T4", "580.95.05"),
    ],
    ids=["CPU_ONLY_BUILD", "NO_KERNELS", "DRIVER_TOO_OLD", "COMPANION_MISMATCH", "NUMPY_TOO_NEW"],
)
def test_a_text_is_answered_as_its_environment_is(
    torch: str,
    cuda: str | None,
    flags: str | None,
    beside: tuple[str, str] | None,
    words: str,
    gpu: str,
    driver: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    code = request.node.callspec.id
    home, elsewhere = Home(tmp_path / "of-the-text"), Home(tmp_path / "here")
    home.torch(torch, cuda, flags)
    if beside is not None:
        home.add(*beside)
    asked = Request(gpus=(gpu,), driver=driver)
    variables = {"HOME": str(home.root), "VIRTUAL_ENV": str(home.root)}
    found = examination.examine(start_run(asked, variables)).findings
    lines = [f"torch=={torch}", f"{gpu}, NVIDIA driver {driver}", words]
    text = "\n".join([*lines, *(["==".join(beside)] if beside else [])])

    (error,) = explained(elsewhere.root, text).errors

    (by_doctor,) = (each for each in found if each.code == code)
    by_text = next(each for each in error.findings if each.code == code)
    same = ("code", "severity", "text", "why", "cure", "advice")
    assert {key: by_text.to_dict()[key] for key in same} == {key: by_doctor.to_dict()[key] for key in same}


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", "DRIVER_MISMATCH"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "MODULE_NOT_LOADED"),
        ("No CUDA GPUs are available in my docker container", "GPU_NOT_PASSED_IN"),
        ("WSL2: Found no NVIDIA driver on your system", "WSL_DRIVER"),
    ],
)
def test_the_words_of_a_driver_that_is_in_disorder_are_those_of_its_state(
    text: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "here")
    (by_text,) = explained(home.root, text).errors[0].findings
    silent = Machine(Platform("linux", "x86_64", "2.35"), Python("3.12"), trouble=Trouble(code, "text", "hint"))
    monkeypatch.setattr(Run, "find_machine", lambda _: silent)
    run = start_run(Request(), {"HOME": str(home.root), "VIRTUAL_ENV": str(home.root)})

    (by_doctor,) = (each for each in examination.examine(run).findings if "code" in each.seen)

    assert (by_text.code, by_doctor.code) == ("DRIVER_NO_ANSWER", "DRIVER_NO_ANSWER")
    assert explained(home.root, text).errors[0].cause.id == by_doctor.seen["code"]


def test_each_case_names_a_cause_of_the_table() -> None:
    assert [cause for row in KNOWN.values() for _, cause in row.cases if cause not in KNOWN] == []
    assert {row.finding for row in KNOWN.values()} <= {None, *(each.name for each in Ailment)}
