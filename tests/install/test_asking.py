"""What an order asks of a target: what binds the decision, what stays, and what only a resolver knows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.install.jobs import TARGET
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import RequirementError
from torchpick.install.asking import Order, TargetQuestion
from torchpick.model.pick import Request
from torchpick.run import start_run

PASCAL = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")


def asked(*words: str, given: RequirementArgs | None = None, **order: Any) -> TargetQuestion:
    """The question of these words in an environment that is empty."""
    target = TARGET._replace(installed={})
    found = requirements.read_requirements(given or RequirementArgs(words), {})
    return TargetQuestion(start_run(PASCAL, {}), Order(found.given, **order), found, target)


def test_a_torch_that_is_no_release_or_pinned_by_anothers_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequirementError) as source:
        _ = asked("torch @ https://h.example/torch.zip").question
    assert source.value.message.startswith("`torch @ https://h.example/torch.zip` is not a wheel")
    _ = asked("numpy @ https://h.example/numpy.zip", "torch").question

    locked = tmp_path / "locked.txt"
    hashed = f"--hash=sha256:{hashlib.sha256().hexdigest()}\n"
    locked.write_text(f"torch==2.9.1 {hashed}", "utf-8")
    with pytest.raises(RequirementError, match=r"locked\.txt line 1 pins the bytes of another torch by their hash"):
        _ = asked(given=RequirementArgs(files=(str(locked),))).question
    locked.write_text(f"torch==2.9.1+cu126 {hashed}numpy==2.0 {hashed}", "utf-8")
    _ = asked(given=RequirementArgs(("torch",), (str(locked),))).question
