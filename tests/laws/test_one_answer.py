"""One question, one answer: whatever command is asked, torch, the packages, the exit status and what bound it agree.

They differ only as they were meant to: `plan`, `install`, `lock` and `plan()` alone learn what the table lacks, and the
others say that they did not judge it; `url` has no place for what does not lie on torch's index, nor a fleet for
packages; only `install` and `lock` take `-c`; and both refuse what has to be built or lies on no index, where a plan
has a note.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.utils import canonicalize_version

from tests.fakes.indexes import serve
from tests.laws import commands
from tests.laws.commands import Asked, Said, World
from tests.skips import made_for_2_15
from torchpick.environment import interpreter
from torchpick.install import reporting
from torchpick.knowledge.compat import Knowledge

pytestmark = [
    pytest.mark.process,  # the target's interpreter is asked for its version
    pytest.mark.skipif(sys.platform != "linux", reason="the environment here is one of Linux"),
]

WHOLE = ("plan", "plan()", "lock")

MACHINES = (
    ("GTX 1080 Ti", "580.95.05"), ("V100", "535.183.01"), ("T4", "550.127.08"), ("A100", "525.147.05"),
    ("RTX 3090", "580.95.05"), ("RTX 4090", "570.86.10"), ("H100", "595.58.03"), ("RTX 5090", "560.28.03"),
    ("RTX 5090", "580.95.05"), ("K80", "470.256.02"),
)  # fmt: skip
TORCHES = ("torch", "torch", "torch<2.12", "torch==2.9.1", "torch>=2.6,<2.9", "torch==2.15.0", "torch~=2.14")
COMPANIONS = ("torchvision", "torchaudio", "torchvision<0.24", "torchaudio==2.8.0")
PACKAGES = (
    "vllm", "vllm<0.12", "xformers", "xformers==0.0.29.post3", "bitsandbytes", "bitsandbytes>=0.45", "torchao",
    "torchcodec", "transformers", "transformers[torch]", "accelerate", "timm", "onnxruntime-gpu",
    "faster-whisper", "sglang", "unsloth", "deepspeed", "numpy", "jax[cuda12]", "xgboost",
)  # fmt: skip
LIMITS = ("", "torch<2.13", "torch!=2.14.1", "torchvision<0.24", "xformers<0.0.30", "torch<1.0")
ELSEWHERE = (
    (), (), ("linux-x86_64", "3.10"), ("linux-x86_64", "3.14"), ("windows-x86_64", "3.12"), ("linux-aarch64", "3.12"),
)  # fmt: skip


@st.composite
def questions(draw: st.DrawFn) -> Asked:
    family = [draw(st.sampled_from(TORCHES)), *draw(st.lists(st.sampled_from(COMPANIONS), max_size=1))]
    others = draw(st.lists(st.sampled_from(PACKAGES), max_size=2, unique=True))
    (gpu, driver), elsewhere = draw(st.sampled_from(MACHINES)), draw(st.sampled_from(ELSEWHERE))
    return Asked(
        requirements=(*(family if not others or draw(st.booleans()) else ()), *others),
        gpu=gpu, driver=driver, elsewhere=elsewhere,
        backends=draw(st.sampled_from(((), (), (), ("cu126",), ("cu128", "cu130")))),
        limit=draw(st.sampled_from(LIMITS)),
        by=draw(st.sampled_from(("PIP_CONSTRAINT", "UV_CONSTRAINT", "-c"))),
        installer="uv" if elsewhere else draw(st.sampled_from(("uv", "pip"))),
    )  # fmt: skip


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, World]:
    return {name: World(tmp_path_factory.mktemp(name), name) for name in ("uv", "pip")}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


@pytest.fixture
def ask(worlds: Mapping[str, World], indexes: Path, monkeypatch: pytest.MonkeyPatch) -> commands.Ask:
    """Asks every command, with stand-ins at the edge: nothing is started but the target's interpreter, once."""
    monkeypatch.setitem(sys.modules, "uv", None)  # no uv package beside torchpick
    serve(monkeypatch, commands.page)
    monkeypatch.setattr(reporting, "capture_command", commands.resolver())
    really_ask = interpreter.ask
    said = cache(lambda program, *more: really_ask(program, os.environ, float("inf"), *more))
    monkeypatch.setattr(
        interpreter,
        "ask",
        lambda program, _environ, _deadline, source="given", prefix="": said(program, source, prefix),
    )

    def asked(question: Asked) -> dict[str, Said]:
        world = worlds[question.installer]
        with pytest.MonkeyPatch.context() as variables:
            variables.delenv("UV", raising=False)
            table = Knowledge(os.environ).folder
            index = commands.index(table, indexes / sha256(table.encode()).hexdigest()[:8])
            for name, value in {**world.environ, "PIP_INDEX_URL": index}.items():
                variables.setenv(name, value)
            return dict(world.answers(question))

    return asked


def check(said: Mapping[str, Said]) -> None:
    """Whether all who judged the question gave one answer."""
    judged = {who: each for who, each in said.items() if each.judged}
    every = "\n".join(f"{who}: {each}" for who, each in judged.items())
    assert len({each.status for each in judged.values()}) <= 1, every
    assert len({each.torch for each in judged.values() if each.torch}) <= 1, every
    assert len({judged[who].torch for who in WHOLE if who in judged}) <= 1, every  # who may say that there is none
    assert len({each.bound for each in judged.values() if each.bound is not None}) <= 1, every
    for name in {name for each in judged.values() for name in each.pins}:
        versions = {each.pins[name] for each in judged.values() if name in each.pins}
        # Not `12.*` of a wheel that is only added; 0.5 and 0.5.0 are one, as a table and a file's name spell it.
        exact = {canonicalize_version(version) for version in versions if not version.endswith("*")}
        assert len(exact) <= 1, f"{name}\n{every}"


@pytest.mark.usefixtures("living_table")
@settings(max_examples=5, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=questions())
def test_every_command_gives_the_same_answer(ask: commands.Ask, asked: Asked) -> None:
    check(ask(asked))


@pytest.mark.long
@pytest.mark.usefixtures("living_table")
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=questions())
def test_every_command_gives_the_same_answer_to_many_questions(ask: commands.Ask, asked: Asked) -> None:
    check(ask(asked))


# Where commands once disagreed, or ended in a traceback: what was asked, the exit status, torch, and what bound it.
FOUND = {
    "a companion that the limit names is not asked for": (Asked(limit="torchvision<0.24"), 0, "2.15.0+cu132", ""),
    "a fleet names what bound it": (
        Asked(gpu="GTX 1080 Ti", limit="torch!=2.14.1"), 0, "2.14.0+cu126", "torch!=2.14.1",
    ),
    "a package that links torch and does not require it": (Asked(("torchao",), "GTX 1080 Ti"), 0, "2.14.1+cu126", ""),
    "an extra that nobody asked for, in pip's report": (
        Asked(("torchao", "transformers"), "GTX 1080 Ti", installer="pip"),
        0, "2.14.1+cu126", "",
    ),
    "a resolution that was bound": (
        Asked(("torch", "onnxruntime-gpu"), limit="torch<2.12"), 0, "2.11.0+cu130", "torch<2.12",
    ),
    "a limit against what a package asks for by its number": (
        Asked(("vllm<0.12",), "T4", "550.127.08", limit="xformers<0.0.33", installer="pip"),
        0, "2.8.0+cu128", "xformers<0.0.33",
    ),
    "code for no such GPU, from source or not": (Asked(("flash-attn",), "GTX 1080 Ti"), 3, None, ""),
    "triton binds the torch it belongs to": (Asked(("triton==3.1.0",), "RTX 3090"), 0, "2.5.1+cu124", ""),
    "nothing runs, and the package needs no torch": (Asked(("xgboost",), "RTX 5090", "560.28.03"), 3, None, ""),
    "a package alone is no command": (Asked(("vllm",), "A100", "535.183.01"), 0, "2.10.0+cu128", ""),
    "the index has moved on": (Asked(("torch", "torchvision", "numpy"), "GTX 1080 Ti"), 0, "2.14.1+cu126", ""),
    "no index has it, and the resolver says so": (Asked(("torch", "numpy>=99")), 1, None, ""),
    "unread versions beside bad ones": (Asked(("sglang",), "GTX 1080 Ti"), 3, None, ""),
    "an unread version that another asks for, between two that need a newer driver": (
        Asked(("sglang",), "A100", "525.147.05", elsewhere=("linux-aarch64", "3.12")),
        0, "2.9.1+cu128", "",
    ),
}  # fmt: skip


@made_for_2_15
@pytest.mark.parametrize("name", FOUND)
def test_an_answer_that_once_differed(name: str, ask: commands.Ask) -> None:
    asked, status, torch, limit = FOUND[name]
    said = ask(asked)

    check(said)
    assert {(each.status, each.torch) for each in said.values() if each.judged} == {(status, torch)}
    assert all(f"bound by {limit}" in "".join(each.bound or ()) for each in said.values() if limit and each.judged)
    assert limit or not any(each.bound for each in said.values())


@pytest.mark.parametrize("words", [("plan", "vllm", "numpy"), ("install", "vllm", "numpy", "--dry-run")])
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_no_installer_is_asked_for_a_plan(
    installer: str,
    words: tuple[str, ...],
    worlds: Mapping[str, World],
    ask: commands.Ask,
    indexes: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ask(Asked())  # the index is there
    index = (indexes / sha256(Knowledge(os.environ).folder.encode()).hexdigest()[:8]).as_uri()
    monkeypatch.setattr(reporting, "capture_command", None)
    for name, value in {**worlds[installer].environ, "PIP_INDEX_URL": index}.items():
        monkeypatch.setenv(name, value)

    here = ["--gpu", "A100", "--driver", "535", "--python", worlds[installer].python]
    status, out, err = worlds[installer].run(*words[:3], *here, *words[3:])

    assert status == 0, str(out) + err


@pytest.mark.parametrize("requirements", [("vllm",), ("transformers[torch]", "accelerate"), ("bitsandbytes", "numpy")])
def test_the_answer_does_not_depend_on_whether_uv_is_there(requirements: tuple[str, ...], ask: commands.Ask) -> None:
    pip, uv = (ask(Asked(requirements, "A100", "580.95.05", installer=installer)) for installer in ("pip", "uv"))

    for who in ("plan", "install"):
        assert (pip[who].status, pip[who].torch) == (uv[who].status, uv[who].torch), who
        assert pip[who].pins == uv[who].pins, who
