"""What only a build would say is asked of the installer's resolver, and what it takes is asked again."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.fakes.resolver import Resolver
from tests.fakes.wheelindex import Release, Source, WheelIndex
from tests.install.jobs import TARGET
from torchpick.environment import requirements
from torchpick.environment.requirements import RequirementArgs
from torchpick.errors import ResolverError
from torchpick.install import reporting
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.command import Command
from torchpick.install.handover import find_answer
from torchpick.model.pick import Request
from torchpick.run import start_run

TORCH = {"2.14.1+cu126": ["filelock"], "2.10.0+cu128": ["filelock"]}
# What a build of it would say; its sdist says nothing.
BUILT = {"secret": {"1.0": ["torch==2.10.*"]}, "torch": TORCH}
# What torch itself requires, which its stand-ins say too.
BUILT |= {name: {"99": []} for name in ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy")}
BUILT |= {"typing-extensions": {"99": []}}


def question(folder: Path, *words: str, **order: Any) -> TargetQuestion:
    index = WheelIndex({"secret": {"1.0": Release(source=Source.SILENT, tags=())}})
    request = Request(gpus=("sm_86",), driver="535.183.01", platform="linux-x86_64", python="3.12", glibc="2.35")
    environ = {"TORCHPICK_CACHE_DIR": str(folder / "cache"), "PIP_INDEX_URL": index.write(folder / "index")}
    found = requirements.read_requirements(RequirementArgs(words), {})
    target = TARGET._replace(installed={"pip": "26.3"})
    return TargetQuestion(start_run(request, environ), Order(found.given, "pip", **order), found, target)


def test_an_installation_takes_the_torch_that_the_resolver_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Command] = []
    resolver = Resolver(BUILT)

    def capture(command: Command, *more: Any) -> CompletedProcess[str]:
        asked.append(command)
        return resolver(command, *more)

    monkeypatch.setattr(reporting, "capture_command", capture)
    learnt = find_answer(question(tmp_path, "secret"))

    assert learnt.answer.pick.version.startswith("2.10.0+")
    assert len(asked) == 1
    limits = next(text for path, text in asked[0].files.items() if "limits" in path)
    assert "==" not in limits, "torch is bound before it was asked"


def test_a_plan_asks_nobody_and_says_what_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "capture_command", lambda *_: pytest.fail("the resolver is asked for a plan"))
    learnt = find_answer(question(tmp_path, "secret", only_planned=True))

    (note,) = [note for note in learnt.notes if note.code == "PACKAGE_UNREAD"]
    assert "secret 1.0" in note.text


def test_what_it_refuses_is_said_in_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "capture_command", Resolver({**BUILT, "secret": {"1.0": ["nothing==9"]}}))

    with pytest.raises(ResolverError) as refused:
        find_answer(question(tmp_path, "secret"))
    assert refused.value.installer == "pip"
    assert "nothing" in refused.value.message
