"""Every build that a page, a generated file or an example names is one that the command takes for some machine."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from scripts.shipping import data, pages
from torchpick.cli import main
from torchpick.errors import TorchpickError
from torchpick.install.question import answer_request
from torchpick.knowledge.compat import Knowledge
from torchpick.model.build import Build, python_name
from torchpick.model.pick import Request
from torchpick.projects.extras import PLATFORMS
from torchpick.run import start_run

ROOT = Path(__file__).parents[2]
TEXTS = [
    path
    for pattern in ("*.md", "action.yml", "Dockerfile", "docs/*.md", "docs/images/*", "docs/pictures/*.svg",
                    "compat/README.md", "src/torchpick/cli/help/*.txt")
    for path in sorted(ROOT.glob(pattern))
]  # fmt: skip
# `torch==2.14.1+cu126`, `torch 2.14.1 with cu126`, `torch-2.14.1%2Bcu126-cp312-…`
NAMED = re.compile(r"\btorch(?:==|[ -])(\d+\.\d+\.\d+)(?:\+| with |%2B)((?:cu|rocm)\d[\d.]*\d|cpu|xpu)")
pytestmark = pytest.mark.usefixtures("live_table")


def named(text: str) -> set[tuple[str, str]]:
    return set(NAMED.findall(text))


@cache
def builds() -> dict[tuple[str, str], list[Build]]:
    """Every row of the table, confirmed or not, by what a text calls it."""
    rows: dict[tuple[str, str], list[Build]] = {}
    for build in Knowledge(dict(os.environ)).shipped(default_index=False):
        rows.setdefault((build.torch, build.backend), []).append(build)
    return rows


def taken(build: Build) -> bool:
    """Whether the command takes this build for a GPU that it has code for (or none, where it is for none)."""
    gpus = {"cpu": ["none"], "xpu": ["Arc B580"]}.get(build.family, [str(arch) for arch in (build.arches or ())[::-1]])
    for gpu, python in ((gpu, tag) for tag in build.pythons[:1] for gpu in gpus):
        version = python_name(python).removeprefix("Python ")
        requirements = (f"torch=={build.torch}",)
        question = Request(requirements, platform=build.platform, gpus=(gpu,), python=version)
        run = start_run(question._replace(backends=(build.backend,)), {"TORCHPICK_OFFLINE": "1"})
        try:
            pick = answer_request(run).pick
        except TorchpickError:
            continue
        if pick.ok and pick.build.key == build.key:
            return True
    return False


def refused(pairs: set[tuple[str, str]]) -> list[str]:
    """Those that the command takes on no platform."""
    return ["+".join(pair) for pair in sorted(pairs) if not any(map(taken, builds().get(pair, ())))]


def test_no_text_names_a_build_that_the_command_refuses() -> None:
    pairs = {pair for path in TEXTS for pair in named(path.read_text("utf-8"))}

    assert len(pairs) > 10
    assert refused(pairs) == []


def offered() -> Iterator[Build]:
    """What the release pages and the table for other programs offer."""
    for rows in pages.builds().values():
        yield from rows
    table = json.loads(data.table_json())
    own = (build for rows in builds().values() for build in rows if build.vendor is None)
    by_key = {(build.platform, build.version): build for build in own}
    yield from (by_key[row["platform"], row["version"]] for row in table["builds"] if row["vendor"] is None)


def test_what_pages_and_files_offer_is_what_the_command_takes() -> None:
    every = {build.key: build for build in offered()}

    assert len(every) > 200
    assert [key for key, build in every.items() if not taken(build)] == []


def test_what_extras_say_of_a_build_is_what_the_command_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            [
                "extras", "--for", "app", "--offline", "torch>=2.5", "--backend", "cpu", "--backend", "cu126",
                "--backend", "cu132",
            ]
        )
        == 0
    )  # fmt: skip
    parts = re.findall(
        r"^# torchpick: torch (\S+?)(?::.*)?\n(?:# torchpick:   .*\n)*# torchpick: .* on (.+)\n([a-z0-9]+) = ",
        capsys.readouterr().out,
        re.MULTILINE,
    )

    assert len(parts) == 3
    for torch, systems, backend in parts:
        platforms = {platform for platform, label in PLATFORMS.items() if label in systems.split(", ")}
        own = {build.platform for build in builds()[torch, backend] if taken(build)}
        assert platforms <= own, (torch, backend, platforms - own)
