"""The library: the same questions and answers as on the command line, as values and exceptions."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchpick.decide import several
from torchpick.decide.answer import refused
from torchpick.decide.several import Groups, HostGroup
from torchpick.errors import UsageError
from torchpick.install.question import answer_request, read_wish
from torchpick.machine import machinefiles
from torchpick.model.finding import Finding, worst_first
from torchpick.model.fleet import LeftOut
from torchpick.model.machine import Machine
from torchpick.model.package import Stack
from torchpick.model.pick import CHANNELS, Pick, Request, machines_of
from torchpick.run import check_names, start_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchpick.wheels.judging import ReadingVerdict
    from torchpick.wheels.readings import Reading


def detect(
    *,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Machine:
    """This machine, each fact with its source. Its `trouble` says why a GPU that is present does not answer."""
    return start_run(_request(locals()), environ).find_machine()


def pick(  # noqa: PLR0913 # the flags of the contract, by name
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    torch: str = "",
    companions: Mapping[str, str] | Sequence[str] = (),
    backends: Sequence[str] = (),
    channel: str = "stable",
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
    whole: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Pick:
    """The build that runs on this machine, or on the specified one; its `ok` is false if none does.

    `require()` of what is returned raises NoBuildError then, which carries it.

    `gpus` takes what `--gpu` takes, an empty list for no GPU; `torch` is a specifier, and so are the values of
    `companions`, which may also be names alone.
    """
    run = start_run(_request(locals(), _requirements(torch, companions)), environ)
    answer = answer_request(run)
    return answer.pick if answer.ok else refused(answer, run.knowledge.rules)[0]


def fleet(
    machines: Iterable[Machine],
    *,
    torch: str = "",
    backends: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> Groups:
    """The fewest environments that support these machines, each of which has its `name`."""
    run = start_run(_request(locals(), _requirements(torch)), environ)

    wish = read_wish(run)
    crowds = machinefiles.MachineGroups()
    for place, machine in enumerate(machines):
        crowds.add(machine, f"machine {place}", machine.name)
    listed = machinefiles.prepare(crowds.fleet(), run.knowledge.rules.drivers, wish)
    found = several.outlook(listed, run.read_table(listed.machines), wish)
    groups = []
    for group in found.groups:
        places = machines_of(group.members)
        pick = Pick(tuple(listed.machines[place] for place in places), wish, (group.verdict,), ())
        groups.append(HostGroup(pick, listed.hosts(places)))
    if not found.unserved:
        return Groups(groups, listed.left_out)
    places = machines_of(found.unserved)
    unserved = LeftOut(listed.hosts(places), "NO_BUILD", "no build runs there in these environments")
    refusal = f"no build runs on {unserved.hosts}", "`left_out` names them; `torchpick fleet` says why"
    nothing = Pick(tuple(listed.machines[place] for place in places), wish, (), (), refusal=refusal)
    return Groups(groups, (*listed.left_out, unserved), nothing)


def plan(  # noqa: PLR0913 # the flags of the contract, by name
    *requirements: str,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    glibc: str | None = None,
    backends: Sequence[str] = (),
    channel: str = "stable",
    index_base: str | None = None,
    allow_cpu: bool = False,
    allow_unconfirmed: bool = False,
    files: Sequence[str] = (),
    constraints: Sequence[str] = (),
    editables: Sequence[str] = (),
    groups: Sequence[str] = (),
    only_binary: Sequence[str] = (),
    no_binary: Sequence[str] = (),
    pre: bool = False,
    no_deps: bool = False,
    allow_mixed: bool = False,
    offline: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Stack:
    """One environment with these requirements: every pin and why. If none fits, its `ok` is false.

    `files` to `no_deps` take what the flags of `torchpick plan` take. Nothing is installed. What the table of packages
    lacks is read from your own index, unless `offline`.
    """
    words = _list("requirements", requirements, "vllm")
    run = start_run(_request(locals(), words), environ)
    from torchpick.environment.requirements import RequirementArgs  # with packaging, which a check does without
    from torchpick.install.asking import Order, file_rules
    from torchpick.install.planning import plan_environment

    given = RequirementArgs(
        words,
        _list("files", files, "requirements.txt"),
        _list("constraints", constraints, "limits.txt"),
        _list("editables", editables, "."),
        _list("groups", groups, "dev"),
    )
    rules = file_rules(_list("only_binary", only_binary, ":all:"), _list("no_binary", no_binary, "flash-attn"), pre=pre)
    return plan_environment(run, Order(given, no_deps=no_deps, allow_mixed=allow_mixed, passed_on=rules)).stack


def inspect(  # noqa: PLR0913 # the flags of the contract, by name
    thing: str,
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    platform: str | None = None,
    offline: bool = False,
    environ: Mapping[str, str] | None = None,
) -> tuple[Reading, tuple[ReadingVerdict, ...]]:
    """The GPU code in a wheel, a package or a library, and whether each GPU of this or the specified machine runs it.

    `thing` is what the command takes: a file, a URL, `name==version` or an installed package.
    """
    run = start_run(_request(locals()), environ)
    from torchpick.index.wheelnames import WheelTarget
    from torchpick.wheels import inspect_target
    from torchpick.wheels.inspect_target import ReadOptions, read_target

    wanted = WheelTarget(python, platform)
    reading = read_target(thing, ReadOptions(wanted=wanted, offline=run.offline))
    drivers = run.knowledge.rules.drivers
    return reading, inspect_target.judge_machines(reading, run.find_machines(), drivers, wanted.program)


def check(  # noqa: PLR0913 # the flags of the contract, by name
    path: str | None = None,
    *,
    gpus: Sequence[str] | None = None,
    driver: str | None = None,
    cuda_driver: str | None = None,
    python: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> list[Finding]:
    """What is wrong with the installed torch, for this machine or the specified one; worst first.

    `path` is a library file or a wheel to check in its place; the list is empty where it runs. `python` is an
    interpreter or an environment's folder, the active one without it. Nothing of any of them is imported or run.
    """
    given = locals()
    if path is not None:
        from torchpick.wheels import judging

        reading, verdicts = inspect(os.path.abspath(given.pop("path")), **given)
        if not verdicts:
            raise UsageError("there is no GPU to check it for", hint='name one: gpus=["sm_61"]')
        return list(worst_first(judging.findings(reading, verdicts)))
    from torchpick.doctor.examination import examine, of_process

    examination = examine(start_run(_request(given), environ))
    # A notebook's kernel keeps the torch that it imported; that of another environment says nothing of it.
    here = python is None and examination.subject.environment.prefix == sys.prefix
    imported = getattr(sys.modules.get("torch"), "__version__", None) if here else None
    stale = of_process(examination.subject, None if imported is None else str(imported))
    return [*stale, *examination.findings]


def _request(given: Mapping[str, Any], requirements: tuple[str, ...] = ()) -> Request:
    """What the arguments of a function would specify as flags; a value of another type is refused."""
    flags = {name: given[name] for name in Request._fields if name in given}
    for name, value in flags.items():  # `python=3.10` would be 3.1
        if Request.__annotations__[name] == "str | None" and not isinstance(value, str | None):
            raise UsageError(f"{name}={value!r} must be a string", hint="write it in quotes")
    if (channel := flags.get("channel", "stable")) not in CHANNELS:
        raise UsageError(f"channel={channel!r} is not a channel", hint=f"one of {', '.join(CHANNELS)}")
    if flags.get("gpus") is not None:
        flags["gpus"] = _list("gpus", flags["gpus"], "sm_61") or ("none",)
    flags["backends"] = _list("backends", flags.get("backends", ()), "cu126")
    environ = given.get("environ")
    check_names(requirements, "plan", os.environ if environ is None else environ)
    return Request(**{**flags, "requirements": requirements})


def _list(name: str, value: object, example: str) -> tuple[str, ...]:
    items = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else None
    if items is None or not all(isinstance(item, str) for item in items):
        raise UsageError(f"{name}={value!r} must be a list of strings", hint=f'such as {name}=["{example}"]')
    return items


def _requirements(torch: str, companions: Mapping[str, str] | Sequence[str] = ()) -> tuple[str, ...]:
    """Torch and its companions as REQ spells them."""
    if not isinstance(companions, Mapping):
        companions = dict.fromkeys(_list("companions", companions, "torchvision"), "")
    specifiers = {"torch": torch, **companions}
    return tuple(f"{name} {str(specifier).removeprefix(name)}".rstrip() for name, specifier in specifiers.items())
