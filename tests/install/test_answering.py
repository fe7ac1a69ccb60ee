"""The answer to an order, and what is taken where an installer refuses the table's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.resolver import Resolver
from tests.installers.jobs import TARGET
from torchpick.environment import requirements
from torchpick.environment.requirements import Given
from torchpick.install import answering
from torchpick.install.asking import Order, TargetQuestion
from torchpick.install.handover import Learnt
from torchpick.installers import run
from torchpick.installers.resolution import Resolution
from torchpick.model.request import Request
from torchpick.session import Session

TORCH = {"2.14.1+cu126": ["filelock"], "2.9.1+cu126": ["filelock"]}
MIRROR = {"torch": TORCH, "filelock": {"3.20.0": []}, "xformers": {"0.0.33.post2": ["torch==2.9.1"]}}


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the resolver finds; at first a mirror that lacks the newest versions."""
    packages: dict[str, Any] = dict(MIRROR)
    monkeypatch.setattr(run, "capture", Resolver(packages))
    return packages


def asked(folder: Path, *words: str, **order: Any) -> TargetQuestion:
    request = Request(gpus=("sm_86",), driver="535.183.01", platform="linux-x86_64", python="3.12", glibc="2.35")
    session = Session(request, {"TORCHPICK_CACHE_DIR": str(folder)})
    found = requirements.read(Given(words), {})
    return TargetQuestion(
        session, Order(found.given, "pip", **order), found, TARGET._replace(installed={"pip": "26.3"})
    )


def test_of_torchs_family_no_resolver_is_asked(tmp_path: Path, index: dict[str, Any]) -> None:
    index.clear()
    learnt = answering.learn(asked(tmp_path, "torch", "torchvision"))

    assert (learnt.answer.pick.version, learnt.resolution, learnt.facts) == ("2.14.1+cu126", None, {})


@pytest.mark.usefixtures("index")
def test_what_the_table_knows_is_resolved_only_where_that_is_said(tmp_path: Path) -> None:
    question = asked(tmp_path, "xformers")
    assert answering.learn(question).resolution is None
    rehearsed = answering.learn(question, rehearse=True)

    assert rehearsed.versions["xformers"] == "0.0.33.post2"
    assert rehearsed.answer.taken == {"torch": "2.9.1+cu126", "xformers": "0.0.33.post2"}
    assert answering.learn(asked(tmp_path, "xformers", no_deps=True), rehearse=True).resolution is None


def test_where_the_installer_refused_the_resolvers_other_answer_is_taken(tmp_path: Path, index: dict[str, Any]) -> None:
    question = asked(tmp_path, "xformers")
    refused = answering.learn(question)

    other = answering.instead(question, refused)
    assert other is not None
    assert other.answer.taken == {"torch": "2.9.1+cu126", "xformers": "0.0.33.post2"}
    # What was resolved already, the same again, or nothing at all is no other answer.
    assert answering.instead(question, Learnt(refused.answer, refused.facts, Resolution({}))) is None
    assert answering.instead(question, other._replace(resolution=None)) is None
    index.clear()
    assert answering.instead(asked(tmp_path, "xformers"), refused) is None
