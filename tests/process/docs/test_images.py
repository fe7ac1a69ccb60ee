"""The action, the image and the workflow that the pages offer, as far as they can be tried without their services."""

from __future__ import annotations

import json
import re
import shlex
import sys
from typing import NamedTuple

import pytest

from tests import documents
from tests.process.docs.conftest import ROOT, UV, Opened
from tests.process.docs.terminal import Terminal
from tests.skips import made_for_2_15
from torchpick.model import INSTALL_LINE

ACTION = (ROOT / "action.yml").read_text("utf-8")
WORKFLOW = (ROOT / "docs" / "images" / "workflow.yml").read_text("utf-8")
DOCKERFILE = (ROOT / "docs" / "images" / "Dockerfile").read_text("utf-8")

GPU = {"TORCHPICK_GPU": "sm_61", "TORCHPICK_DRIVER": "580.95.05"}


class Step(NamedTuple):
    name: str
    env: dict[str, str]
    script: str


def steps() -> list[Step]:
    """The steps of the action, by the indentation in which it is written."""
    found = []
    for part in ACTION.partition("  steps:\n")[2].split("    - name: ")[1:]:
        head, script = re.split(r"      run: \|.*\n", part)
        env = dict(re.findall(r"^        (\w+): (.*)$", head, re.MULTILINE))
        text = "".join(f"{line.removeprefix('        ')}\n" for line in script.splitlines())
        found.append(Step(part.partition("\n")[0], env, text))
    return found


def section(text: str, name: str, inner: str) -> set[str]:
    """The keys one level below a key of a YAML file."""
    body = re.search(rf"^{name}:\n((?:[ ].*\n|\n)+)", text, re.MULTILINE)
    assert body
    return set(re.findall(rf"^{inner}([\w-]+):", body[1], re.MULTILINE))


def test_the_action_runs_what_it_is_told_and_nothing_that_it_is_given() -> None:
    """An input reaches a script as a variable: written into it, it would be run."""
    inputs = section(ACTION, "inputs", "  ")

    assert [step.name for step in steps()] == [
        "Install torchpick", "Pick", "Sync", "Keep every later installation to it", "Install", "Check",
    ]  # fmt: skip
    assert INSTALL_LINE.removeprefix("python") in steps()[0].script
    assert not [step.name for step in steps() if "${{" in step.script]
    assert set(re.findall(r"inputs\.([\w-]+)", ACTION)) == inputs


def test_the_page_tells_every_input_and_output() -> None:
    page = (ROOT / "docs" / "clusters.md").read_text("utf-8")
    told = page.partition("## Continuous integration")[2].partition("\n## ")[0]

    assert documents.catalogued(told) == section(ACTION, "inputs", "  ")
    outputs = section(ACTION, "outputs", "  ")
    assert set(re.findall(r"`([\w-]+)`", told.partition("Its outputs are")[2])) == outputs


def test_the_workflow_uses_the_action_as_it_is() -> None:
    uses = WORKFLOW.split("      - uses: ./.torchpick\n")[1:]
    given = [re.findall(r"^          ([\w-]+):", part.partition("      - ")[0], re.MULTILINE) for part in uses]

    assert given == [["gpu", "driver", "install", "check"], ["install", "check"]]
    assert {name for each in given for name in each} <= section(ACTION, "inputs", "  ")
    assert set(re.findall(r"^          check: (.+)$", WORKFLOW, re.MULTILINE)) == {'"true"'}  # what Check takes
    outputs = set(re.findall(r"steps\.torch\.outputs\.([\w-]+)", WORKFLOW))
    assert outputs <= section(ACTION, "outputs", "  ")


def on_a_runner(opened: Opened) -> Terminal:
    """A terminal with the files that a runner gives to a step."""
    terminal = opened()
    terminal.environ.update(
        GITHUB_ENV=str(terminal.work / "env"),
        GITHUB_OUTPUT=str(terminal.work / "output"),
        RUNNER_TEMP=str(terminal.home),
    )
    return terminal


def lines_of(terminal: Terminal, step: Step, inputs: dict[str, str]) -> list[str]:
    """A step as the runner starts it, and then the variables that it leaves to the next."""
    script = terminal.work / f"{step.name.split()[0]}.sh"
    script.write_text(step.script, "utf-8")
    told = " ".join(shlex.quote(f"{name}={inputs.get(name, '')}") for name in step.env)
    return [
        f"env {told} bash --noprofile --norc -eo pipefail {script}",
        'while IFS= read -r line; do export "$line"; done <"$GITHUB_ENV"',
    ]


PREPARED = "python3 -m venv .venv && . .venv/bin/activate && touch env output"


def test_the_action_keeps_a_job_to_the_pick(opened: Opened) -> None:
    terminal = on_a_runner(opened)
    inputs = {**GPU, "REQUIREMENTS": "torch torchvision", "CHECK": "true"}
    lines = [line for step in steps()[1:] if step.name != "Sync" for line in lines_of(terminal, step, inputs)]

    _, pick, _, keep, _, install, _, check, _, later, listed = terminal.run(
        [PREPARED, *lines, "pip install accelerate", "pip list --format freeze"]
    )

    assert [each.status for each in (pick, keep, install, later)] == [0, 0, 0, 0], install.printed
    assert (terminal.work / "output").read_text("utf-8").splitlines() == [
        "torch=2.14.1+cu126", "backend=cu126", "index-url=https://download.pytorch.org/whl/cu126",
        "requirements=torch==2.14.1+cu126", "label=",
    ]  # fmt: skip
    assert {"torch==2.14.1+cu126", "torchvision==0.29.1+cu126", "accelerate==1.12.0"} <= set(listed.printed.split())
    # The stand-in for torch has no library in it, and the check says so.
    assert check.status == 3
    assert "TORCH_BROKEN" in check.printed


PROJECT = """\
[project]
name = "app"
version = "0"
requires-python = ">=3.10"
[project.optional-dependencies]
cpu = ["torch"]
cu126 = ["torch"]
[tool.uv]
conflicts = [[{ extra = "cpu" }, { extra = "cu126" }]]
environments = ["sys_platform == 'linux'"]
[tool.uv.sources]
torch = [{ index = "cpu", extra = "cpu" }, { index = "cu126", extra = "cu126" }]
[[tool.uv.index]]
name = "cpu"
url = "https://download.pytorch.org/whl/cpu"
explicit = true
[[tool.uv.index]]
name = "cu126"
url = "https://download.pytorch.org/whl/cu126"
explicit = true
"""


@made_for_2_15
@pytest.mark.skipif(UV is None, reason="no uv")
def test_the_action_syncs_a_project_with_the_extra_for_the_gpu(opened: Opened) -> None:
    terminal = on_a_runner(opened)
    terminal.environ["UV_DEFAULT_INDEX"] = terminal.environ["PIP_INDEX_URL"]
    terminal.environ["UV_PYTHON"] = sys.executable  # that of `python`, which the pick is for
    (terminal.work / "pyproject.toml").write_text(PROJECT, "utf-8")
    _, pick, sync, *_ = steps()
    lines = [line for step in (pick, sync) for line in lines_of(terminal, step, GPU)]

    shown = terminal.run(["touch env output && uv lock", *lines, "uv pip list --python .venv --format freeze"])

    assert [each.status for each in shown] == [0] * len(shown), "".join(each.printed for each in shown)
    assert "label=cu126" in (terminal.work / "output").read_text("utf-8")
    assert "torch==2.14.1+cu126" in shown[-1].printed


def test_the_action_stops_where_nothing_runs(opened: Opened) -> None:
    terminal = on_a_runner(opened)
    inputs = {"TORCHPICK_GPU": "sm_120", "TORCHPICK_DRIVER": "560.28.03", "CHECK": "yes"}
    _, pick, _, keep, _, check = steps()
    lines = [line for step in (pick, keep, check) for line in lines_of(terminal, step, inputs)]

    shown = terminal.run(["touch env output", *lines])

    assert [shown[1].status, shown[3].status, shown[5].status] == [3, 3, 2]
    assert "no PyTorch build runs" in shown[1].printed
    assert (terminal.work / "output").read_text("utf-8") == ""


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, each on one line."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE)
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_image_is_built_for_the_told_gpu_only(opened: Opened) -> None:
    """Its RUN lines in a shell, its entry point before a torch that cannot run and before one that can."""
    ran = [rest for word, rest in instructions() if word == "RUN"]
    assert {word for word, _ in instructions()} == {"FROM", "ARG", "COPY", "WORKDIR", "RUN", "ENTRYPOINT", "CMD"}
    assert ran[0] == INSTALL_LINE
    (entry,) = [json.loads(rest) for word, rest in instructions() if word == "ENTRYPOINT"]
    terminal = opened()
    (terminal.work / "requirements.txt").write_text("accelerate\n", "utf-8")
    (terminal.work / "build.sh").write_text(ran[1], "utf-8")
    (terminal.work / "entry.sh").write_text(f'exec {entry[0]} {entry[1]} "$ENTRY" {entry[3]} "$@"\n', "utf-8")
    terminal.environ["ENTRY"] = entry[2]

    _, neither, no_driver, built, listed, broken, _, started = terminal.run(
        [
            "python3 -m venv .venv && . .venv/bin/activate", "sh build.sh", "GPU=sm_61 sh build.sh",
            "GPU=sm_61 DRIVER=580.95.05 sh build.sh", "pip list --format freeze", "sh entry.sh echo started",
            f"printf '#!/bin/sh\\n' >{terminal.folder}/bin/torchpick", "sh entry.sh echo 'with blanks'",
        ]
    )  # fmt: skip

    assert "GPU: is needed: --build-arg GPU=…" in neither.printed
    assert "DRIVER: is needed: --build-arg DRIVER=…" in no_driver.printed
    assert [neither.status, no_driver.status, built.status] == [2, 2, 0], built.printed
    assert {"torch==2.14.1+cu126", "accelerate==1.12.0"} <= set(listed.printed.split())
    assert broken.status
    assert "started" not in broken.printed
    assert started == ("with blanks\n", 0)
