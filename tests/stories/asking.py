"""A question of a stack, as `torchpick plan` puts it to the table."""

from __future__ import annotations

from collections.abc import Mapping

from torchpick.decide import demands, environments
from torchpick.decide.searchfacts import Needs, SearchFacts
from torchpick.install.question import answer_request, read_wish
from torchpick.model.package import PackageFacts, Stack
from torchpick.model.pick import Request
from torchpick.run import start_run


def catalog() -> Mapping[str, PackageFacts]:
    """What the table has of packages on Linux."""
    run = start_run(Request(gpus=("none",), platform="linux-x86_64"), {})
    return run.read_catalog(run.find_machines()[0]).packages


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
    """What `torchpick plan` answers for this machine."""
    request = Request(
        requirements=requirements, gpus=tuple(gpu.split(",")), driver=driver, platform=platform, python=python,
        glibc=glibc if platform.startswith("linux") else None, backends=(backend,) if backend else (),
    )  # fmt: skip
    run = start_run(request._replace(requirements=()), {})
    answer_request(run)  # what the flags say of machine and backend is checked as for a pick
    (machine,) = run.find_machines()
    wanted = demands.parse_demands(requirements, lambda: machine)
    search = SearchFacts(machine, run.read_table(), read_wish(run), run.read_catalog(machine))
    found = environments.best(search, wanted, allow_mixed=mixed)
    assert not isinstance(found, Needs)
    return found[0]


def codes(stack: Stack, name: str) -> list[str]:
    """The objection codes of one package, in their order."""
    return list(dict.fromkeys(each.objection.reason.name for each in stack.objections if each.name == name))


def noted(stack: Stack, code: str) -> str:
    """The texts of the notes of this code."""
    return "\n".join(note.text for note in stack.notes if note.code == code)
