"""The environment of a plan: what is judged where a GPU does not answer, and what a wrong name is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchpick.errors import DetectionError, UsageError
from torchpick.install import stack
from torchpick.model.arch import Arch
from torchpick.model.machine import Driver, Gpu, Machine, Platform, Python
from torchpick.model.request import Request
from torchpick.session import Session

HERE = Machine(
    Platform("linux", "x86_64", "2.35"),
    Python("3.12"),
    Driver("580.95.05"),
    (Gpu(0, "nvidia", "X", Arch.parse("sm_86")),),
)


def test_where_a_gpu_does_not_answer_only_builds_for_such_gpus_are_judged() -> None:
    ground = stack._without_answer(Session(Request(), {}), DetectionError("it is lost", hint="start it again"), HERE)

    assert ground.machine.gpus == ()
    assert [note.text for note in ground.machine.notes] == ["it is lost, so no GPU was judged; start it again"]
    assert "cu126" in ground.wish.backends
    assert all(backend.startswith("cu") for backend in ground.wish.backends)


def test_a_plan_is_for_one_kind_of_machine(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.jsonl"
    here = {"platform": {"os": "linux", "cpu": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12"}}
    lines = (
        {**here, "driver": {"version": "580.95.05"}, "gpus": [{"arch": arch}]} for arch in ("sm_80", "sm_86", "sm_90")
    )
    fleet.write_text("".join(json.dumps(line) + "\n" for line in lines))

    with pytest.raises(UsageError, match="a plan is for one machine, and 3 were given"):
        stack.ground(Session(Request(machine=(str(fleet),)), {}))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("vlm", "did you mean `vllm`?"),
        ("zzzzzzzzz", "`torchpick inspect zzzzzzzzz==VERSION` reads one of its wheels"),
    ],
)
def test_a_name_that_is_no_package_of_the_table_is_told_the_nearest(name: str, hint: str) -> None:
    asked = Request(gpus=("sm_86",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")

    with pytest.raises(UsageError, match=f"`{name}` is not a package") as caught:
        stack.versions(Session(asked, {}), name)

    assert caught.value.hint == hint
