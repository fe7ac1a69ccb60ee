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


def asked(*words: str, there: str | None = None, given: RequirementArgs | None = None, **order: Any) -> TargetQuestion:
    """The question of these words in an environment with this torch."""
    target = TARGET._replace(installed={} if there is None else {"torch": there})
    found = requirements.read_requirements(given or RequirementArgs(words), {})
    return TargetQuestion(start_run(PASCAL, {}), Order(found.given, **order), found, target)


@pytest.mark.parametrize(
    ("words", "alone"),
    [
        (("torch",), True),
        (("torch==2.9.1", "torchvision", "torchaudio"), True),
        (("torch", "numpy"), False),
        (("torch; python_version < '3'", "torchvision"), True),
        (("torch", "numpy; python_version < '3'"), True),
        (("torch @ https://h.example/torch-2.9.1-py3-none-any.whl",), False),
    ],
)
def test_torch_and_its_companions_as_releases_are_all_in_the_table(words: tuple[str, ...], alone: bool) -> None:
    assert asked(*words).is_of_family is alone
    assert not asked(*words, only_planned=True).is_of_family


def test_files_and_groups_that_the_installer_reads_are_no_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[dependency-groups]\ndev = ["torch"]\n', "utf-8")

    assert not asked(given=RequirementArgs(("torch",), ("pyproject.toml",))).is_of_family
    assert not asked(given=RequirementArgs(("torch",), groups=("dev",))).is_of_family


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


def test_what_binds_is_what_is_asked_for_and_what_limits_it(tmp_path: Path) -> None:
    limits = tmp_path / "limits.txt"
    limits.write_text("torch<2.10\nnumpy<2; python_version < '3'\nscipy<2; python_version >= '3'\n", "utf-8")
    question = asked(given=RequirementArgs(("known[gpu]>=1", "torch>=2"), constraints=(str(limits),)))
    made = question.question

    assert [(each.name, each.specifier, each.extras) for each in made.wanted] == [
        ("known", ">=1", ("gpu",)), ("torch", ">=2", ()),
    ]  # fmt: skip
    assert [(each.name, each.specifier) for each in made.wish.limits] == [("torch", "<2.10"), ("scipy", "<2")]
