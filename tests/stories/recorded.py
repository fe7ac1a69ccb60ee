"""The recording of packages that the stories are told on, and a question on it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from torchpick.decide import demands, environments
from torchpick.decide.search import Needs
from torchpick.decide.solving import StackSearch
from torchpick.install.question import answer_request, read_wish
from torchpick.knowledge import packages
from torchpick.model.package import Catalog, PackageFacts, Stack
from torchpick.model.pick import Request
from torchpick.model.table import BuildsByRelease, Table
from torchpick.model.versions import release_key
from torchpick.run import start_run

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text("utf-8"))


@lru_cache(maxsize=8)
def facts(platform: str) -> dict[str, PackageFacts]:
    known = [packages.parse(value, platform) for value in RECORDED["packages"]]
    return {each.name: each for each in known}


def capped(table: Table) -> Table:
    """The table without the releases that came after the recording."""
    newest = release_key(RECORDED["newest_torch"])
    builds = {
        platform: BuildsByRelease.of(build for build in shelf if release_key(build.torch) <= newest)
        for platform, shelf in table.builds.items()
    }
    return table._replace(builds=builds)


def plan(  # a machine has so many facts
    *requirements: str,
    gpu: str,
    driver: str | None = None,
    platform: str = "linux-x86_64",
    python: str = "3.12",
    glibc: str | None = "2.35",
    backend: str | None = None,
    mixed: bool = False,
) -> Stack:
    """What `torchpick plan` answers for this machine, on the recording."""
    request = Request(
        requirements=requirements,
        gpus=tuple(gpu.split(",")),
        driver=driver,
        platform=platform,
        python=python,
        glibc=glibc if platform.startswith("linux") else None,
        backends=(backend,) if backend else (),
    )
    run = start_run(request._replace(requirements=()), {})
    answer_request(run)  # what the flags say of machine and backend is checked as for a pick
    (machine,) = run.find_machines()
    table, asked = capped(run.read_table()), demands.parse_demands(requirements, lambda: machine)
    search = StackSearch(machine, table, read_wish(run), Catalog(facts(machine.platform.name)))
    found = environments.best(search, asked, allow_mixed=mixed)
    assert not isinstance(found, Needs)
    return found[0]


def codes(stack: Stack, name: str) -> list[str]:
    """The objection codes of one package, in their order."""
    return list(dict.fromkeys(each.objection.reason.name for each in stack.objections if each.name == name))


def noted(stack: Stack, code: str) -> str:
    """The texts of the notes of this code."""
    return "\n".join(note.text for note in stack.notes if note.code == code)
