"""What an order asks of a target: what binds the decision, what stays, and what only a resolver knows."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.install.jobs import TARGET
from torchpick.cli import main
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import RequirementError
from torchpick.install.asking import Order, TargetQuestion
from torchpick.model.pick import Request
from torchpick.run import start_run

PASCAL = Request(gpus=("sm_61",), driver="580.95.05", platform="linux-x86_64", python="3.12", glibc="2.35")


def asked(
    *words: str, given: RequirementArgs | None = None, torch: str = "", request: Request = PASCAL, **order: Any
) -> TargetQuestion:
    """The question of these words in an environment with nothing but this torch."""
    target = TARGET._replace(installed={"torch": torch} if torch else {})
    found = requirements.read_requirements(given or RequirementArgs(words), {})
    return TargetQuestion(start_run(request, {}), Order(found.given, **order), found, target)


def test_a_torch_that_is_no_release_or_pinned_by_anothers_bytes_is_refused(tmp_path: Path) -> None:
    for name in ("torch", "torchvision"):
        with pytest.raises(RequirementError) as source:
            _ = asked(f"{name} @ https://h.example/x.zip").question
        assert source.value.message.startswith(f"`{name} @ https://h.example/x.zip` is not a wheel")
    _ = asked("numpy @ https://h.example/numpy.zip", "torch").question

    locked = tmp_path / "locked.txt"
    hashed = f"--hash=sha256:{hashlib.sha256().hexdigest()}\n"
    locked.write_text(f"torch==2.9.1 {hashed}", "utf-8")
    with pytest.raises(RequirementError, match=r"locked\.txt line 1 pins the bytes of another torch by their hash"):
        _ = asked(given=RequirementArgs(files=(str(locked),))).question
    locked.write_text(f"torch==2.9.1+cu126 {hashed}numpy==2.0 {hashed}", "utf-8")
    _ = asked(given=RequirementArgs(("torch",), (str(locked),))).question


def test_what_is_asked_by_its_place_is_the_one_candidate_and_of_a_repository_nothing_is_known() -> None:
    question = asked("a @ https://h.example/a-1-py3-none-any.whl", "b @ git+https://h.example/b", "c[x]<3").question

    assert [(each.name, each.specifier, each.extras) for each in question.wanted] == [
        ("a", "", ()),
        ("c", "<3", ("x",)),
    ]


def test_a_limit_holds_where_its_marker_does_on_whatever_project(tmp_path: Path) -> None:
    file = tmp_path / "limits.txt"
    file.write_text("torch<2.9 ; os_name == 'nope'\nnumpy<2\ntorchvision<1\nscipy\n", "utf-8")

    for words in (("torch",), ("robots",)):
        limits = asked(given=RequirementArgs(words, constraints=(str(file),))).question.wish.limits
        assert [(limit.name, limit.specifier) for limit in limits] == [("numpy", "<2"), ("torchvision", "<1")]


def test_the_torch_that_is_there_stays_unless_another_is_asked_for() -> None:
    for built in ("2.9.1+cu126", "2.9.1+rocm7.2"):
        version, cuda, wishes = asked("numpy", torch=built).question.stays or ("", "", ())
        assert (version, cuda, [wish.backends for wish in wishes]) == (built, None, [()])
    _, _, plain = asked("numpy", torch="2.9.1").question.stays or ("", "", ())
    assert [wish.backends for wish in plain] == [(), ("default",)]
    for request in (PASCAL._replace(backends=("cu126",)), PASCAL._replace(channel="nightly")):
        assert len((asked("numpy", torch="2.9.1", request=request).question.stays or ("", "", ()))[2]) == 1
    for other in (asked("torch", torch="2.9.1"), asked("numpy", torch="2.9.1", upgrade=True), asked("numpy")):
        assert other.question.stays is None
    for built in ("2.9.1a0+git1", "2.9.1+local-build", "main"):
        assert asked("numpy", torch=built).question.stays is None


@pytest.mark.parametrize(
    ("words", "environ", "named"),
    [
        (["--platform", "windows-x86_64"], {}, "--platform"), (["--gpu", "M2"], {}, "--gpu"),
        ([], {"TORCHPICK_PLATFORM": "windows-x86_64"}, "TORCHPICK_PLATFORM"), (["--machine", "x"], {}, "--machine"),
    ],
)  # fmt: skip
def test_what_is_installed_is_for_this_computer(
    words: list[str],
    environ: dict[str, str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert main(["install", "torch", "--dry-run", *words]) == 2
    assert f"`{named}` is another machine, and packages are installed on this one" in capsys.readouterr().err
