"""`plan` and `list NAME` as commands and as a function: exit status, JSON of the schema, words for a person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests import envelope
from torchpick.cli import main
from torchpick.machine import computer
from torchpick.machine.given import MachineOverrides
from torchpick.model.arch import Arch
from torchpick.model.machine import Gpu, Machine, Platform, Trouble

MACHINE = ["--driver", "535.183.01", "--platform", "linux-x86_64", "--python", "3.12", "--glibc", "2.35"]


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    status = main([*words, "--json"])
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    assert found["exit"] == status
    assert not envelope.faults(found)
    return found


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("gptqmodel", "torchpick install gptqmodel -- --no-build-isolation`"),
        ("deepspeed", None),  # its source needs no torch where it is built
    ],
)
def test_what_is_built_against_torch_is_planned_with_its_commands(
    name: str, steps: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", name, "torch", "--gpu", "a100", *MACHINE[2:], "--driver", "580"]) == 0

    lines = [line for line in capsys.readouterr().err.splitlines() if ", then `" in line]
    assert [line.partition(", then `")[2] for line in lines] == ([] if steps is None else [steps])


def test_the_versions_of_a_package_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "list", "xformers", "--gpu", "sm_61", *MACHINE)
    versions = found["versions"]

    assert isinstance(versions, list)
    runs = [each["version"] for each in versions if each["ok"]]
    assert runs[0] == "0.0.30"


@pytest.mark.parametrize("command", [["plan", "torch", "--dockerfile"], ["env", "--shell", "dockerfile"]])
def test_a_login_in_a_dockerfile_is_pointed_out(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [*command, "--gpu", "a100", *MACHINE, "--offline"]

    assert main([*words, "--index-base", "https://me:secret@mirror.example/whl"]) == 0
    assert capsys.readouterr().err.count("the image will hold a password") == 1
    assert main([*words, "--index-base", "https://mirror.example/whl"]) == 0
    assert "password" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["torch", "--gpu", "rtx 3090", "--platform", "windows-x86_64", "--python", "3.12"], "an image runs on Linux"),
        (
            ["torch", "--gpu", "rtx 3090", "--platform", "linux-x86_64", "--python", "3.14t"],
            "no image of Python cp314t",
        ),
        (["torch", "--gpu", "rtx 3090", *MACHINE, "--json"], "two forms of one answer"),
    ],
    ids=("windows", "free-threaded", "json"),
)
def test_what_no_dockerfile_is_made_for(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "torch", "--gpu", "rtx 3090", *words, "--dockerfile", "--offline"]) == 2
    out, err = capsys.readouterr()

    assert "RUN python" not in out
    assert said in out + err


def test_a_list_says_what_torch_lacks_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "vllm", "--gpu", "t4", *MACHINE[2:], "--driver", "580.95.05"]) == 0
    out, err = capsys.readouterr()
    newest = out.splitlines()[1].split(maxsplit=4)

    assert newest[3:] == ["partly", "vllm_flash_attn/_vllm_fa2_C holds no code for t4 (sm_75)"]
    assert "libtorch_cuda_linalg.so" not in out
    assert err.count("libtorch_cuda_linalg.so") == 1


def test_the_versions_of_a_package_are_judged_by_all_else_where_a_gpu_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    really_detect = computer.detect

    def detect(facts: MachineOverrides, **how: Any) -> Machine:  # whatever the real one takes
        lost = Gpu(0, "nvidia", "RTX 3090", Arch.parse("sm_86"))
        trouble = Trouble("GPU_LOST", "a GPU does not answer", "start it again")
        place = Platform("linux", "x86_64", "2.35")
        return really_detect(facts, **how)._replace(platform=place, gpus=(lost,), trouble=trouble)

    monkeypatch.setattr(computer, "detect", detect)

    status = main(["list", "bitsandbytes"])
    out, err = capsys.readouterr()

    assert status == 0, err
    assert "0.50.2" in out
    assert "note: a GPU does not answer, so no GPU was checked; start it again" in err
    assert "3090" not in out


def test_packages_beside_torch_bind_every_build_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """In the answer's own list, in `list`'s rows and in what is said of newer releases."""
    asked = ["torch", "vllm==0.19.1", "--gpu", "a100", *MACHINE]

    bare, listed = answer(capsys, *asked), answer(capsys, "list", *asked)
    assert main(asked) == 0

    for found in (bare, listed):
        first = next(each for each in considered(found) if each["ok"])
        assert first["version"] == "2.10.0+cu128"
    assert "2.14.1, 2.14.0 cu126: vllm 0.19.1 asks for torch==2.10.0" in capsys.readouterr().out


def considered(found: dict[str, object]) -> list[dict[str, object]]:
    rows = found["considered"]
    assert isinstance(rows, list)
    return rows
